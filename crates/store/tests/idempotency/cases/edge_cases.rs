//! Defective handlers, nested calls and other unusual uses of keys.

use std::sync::Arc;

use panpan_contract::operation::OperationName;
use panpan_failure::{Effect, Failure, codes};
use panpan_runtime::ports::{Completion, End, KeptOutcome, Outcomes as _};
use panpan_runtime::{CallRequest, Context, Identity, Registration};
use serde_json::{Value, json};

use crate::support::{
    OTHER, PLACE, ScriptedHandler, Step, Storage, detail, failure, idempotent, key, mutation,
    order, query, request, result_of, retried, settings,
};

pub(crate) async fn a_defect_of_the_handler_is_its_outcome(storage: Storage) {
    let timeout = Failure::new(codes::TIMEOUT).with_effect(Effect::None);
    let not_found = Failure::new(codes::NOT_FOUND);
    for (key, step) in [
        ("panic", Step::Panic),
        ("timeout", Step::Fail(timeout)),
        ("not-found", Step::Fail(not_found)),
    ] {
        let handler = ScriptedHandler::of([step]);
        let fixture = storage.fixture(retried(mutation(handler.clone()), 3));
        let first = fixture.call(key).await;
        let again = fixture.call(key).await;
        assert_eq!(
            (result_of(&first).as_str(), again.replayed),
            ("INTERNAL", true),
            "{key}"
        );
        assert_eq!(again.outcome, first.outcome);
        assert_eq!(handler.runs(), 1, "{key}");
    }
}

pub(crate) async fn a_mutation_that_times_out_has_an_unknown_outcome(storage: Storage) {
    let handler = ScriptedHandler::of([Step::Hang]);
    let fixture =
        storage.fixture(mutation(handler.clone()).with(|spec| spec.timeout_ms = Some(400)));
    let call = fixture.start(order("order-4711"));
    handler.wait_for_runs(1).await;
    fixture.clock.advance_when_asleep(400).await;
    let first = call.await.unwrap();
    assert!(first.expires_at.is_some());
    let again = fixture.call("order-4711").await;
    assert_eq!((&again.outcome, again.replayed), (&first.outcome, true));
    let unknown = failure(first);
    assert_eq!(unknown.code().as_str(), "ERR_OUTCOME_UNKNOWN");
    assert_eq!(detail(&unknown, "idempotency_key").unwrap(), "order-4711");
}

pub(crate) async fn an_idempotent_call_that_times_out_releases_its_key(storage: Storage) {
    for (key, operation) in [
        ("mutation", idempotent as fn(ScriptedHandler) -> _),
        ("query", query),
    ] {
        let handler = ScriptedHandler::of([Step::Hang]);
        let fixture =
            storage.fixture(operation(handler.clone()).with(|spec| spec.timeout_ms = Some(400)));
        let call = fixture.start(order(key));
        handler.wait_for_runs(1).await;
        fixture.clock.advance_when_asleep(400).await;
        assert_eq!(result_of(&call.await.unwrap()), "TIMEOUT");
        assert_eq!(result_of(&fixture.call(key).await), r#"{"run":2}"#);
        assert_eq!(handler.attempts(), [1, 2]);
    }
}

pub(crate) async fn an_unknown_outcome_names_the_key_of_its_own_call(storage: Storage) {
    // The handler itself reports it, with a key that is unknown to this caller.
    let inner = Failure::new(codes::ERR_OUTCOME_UNKNOWN).with_detail("idempotency_key", "inner");
    for name in [
        "order-1",
        "5f0c8a8e-9d0b-4b7e-8f3a-0a1b2c3d4e5f",
        "9f86d081884c7d659a2feaa0c55ad015",
        "place_order:2026-11-15-attempt-2",
    ] {
        let fixture = storage.fixture(mutation(ScriptedHandler::of([Step::Fail(inner.clone())])));
        let unknown = failure(fixture.call(name).await);
        assert_eq!(unknown.code().as_str(), "ERR_OUTCOME_UNKNOWN");
        assert_eq!(detail(&unknown, "idempotency_key").unwrap(), name);
    }
}

pub(crate) async fn a_refusal_after_an_attempt_does_not_deny_its_effect(storage: Storage) {
    let cut = Step::Fail(Failure::new(codes::NETWORK_ERROR).with_effect(Effect::Unknown));
    let open = || Step::Fail(Failure::new(codes::ERR_CIRCUIT_OPEN));
    let handler = ScriptedHandler::of([cut, open(), open(), open()]);
    let operation = retried(idempotent(handler.clone()), 3);
    let last = failure(storage.fixture(operation).call("k").await);
    // The open circuit does not hide the earlier failure.
    assert_eq!(last.code().as_str(), "NETWORK_ERROR");
    assert_eq!(last.effect(), Effect::Unknown);
    assert_eq!((last.attempts(), handler.runs()), (Some(1), 4));
}

pub(crate) async fn an_unreadable_outcome_does_not_run_the_call_again(storage: Storage) {
    let handler = ScriptedHandler::unscripted();
    let fixture = storage.fixture(mutation(handler.clone()));
    let completion = Completion {
        lease: fixture.hold("k").await,
        attempts: 1,
        end: End::Keep {
            outcome: KeptOutcome::Failure(r#"{"message": "half a"#.into()),
            keep_ms: 1000,
        },
        without_effect: false,
        recording: None,
    };
    fixture.store.complete(completion).await.unwrap();
    let unreadable = failure(fixture.call("k").await);
    assert_eq!(unreadable.code().as_str(), "INTERNAL");
    assert_eq!((unreadable.effect(), handler.runs()), (Effect::Unknown, 0));
}

pub(crate) async fn large_and_deeply_nested_inputs_are_distinguished(storage: Storage) {
    let handler = ScriptedHandler::unscripted();
    let fixture = storage.fixture(mutation(handler.clone()));
    let input = |last: u64| {
        let mut deep = json!(last);
        for _ in 0..120 {
            deep = json!({ "in": [deep] });
        }
        let many: Vec<Value> = (0..100_000)
            .map(|number| json!({"number": number}))
            .collect();
        request(PLACE, json!({"many": many, "deep": deep})).keyed(key("k"))
    };
    assert_eq!(result_of(&fixture.send(input(1)).await), r#"{"run":1}"#);
    assert!(fixture.send(input(1)).await.replayed);
    assert_eq!(
        result_of(&fixture.send(input(2)).await),
        "ERR_IDEMPOTENCY_KEY_REUSED"
    );
}

/// An operation that calls another operation under the key in its input, and returns the result.
fn relay() -> Registration {
    let relay = |context: Context, input: Arc<Value>| async move {
        let inner = key(input["key"].as_str().unwrap());
        let order = json!({"item": "tea"});
        context.call_keyed(PLACE, order, inner).await
    };
    query(relay)
        .with(|spec| spec.name = OTHER.parse().unwrap())
        .calling([PLACE.parse::<OperationName>().unwrap()])
        .acting_as(Identity::new("relay"))
}

pub(crate) async fn a_nested_call_is_keyed_under_the_identity_of_its_operation(storage: Storage) {
    let handler = ScriptedHandler::unscripted();
    let fixture = storage.fixture_with([mutation(handler.clone()), relay()], settings());
    let through = |inner: &str| request(OTHER, json!({ "key": inner }));
    for (inner, expected) in [("a", 1), ("a", 1), ("b", 2)] {
        let answer = fixture.send(through(inner)).await;
        assert_eq!(result_of(&answer), json!({"run": expected}).to_string());
    }
    // The caller's own call with the same key is a different call.
    let own = request(PLACE, json!({"item": "tea"})).keyed(key("a"));
    assert_eq!(result_of(&fixture.send(own).await), r#"{"run":3}"#);
}

pub(crate) async fn a_nested_call_ends_with_its_operation_and_is_recorded(storage: Storage) {
    let handler = ScriptedHandler::of([Step::Hang]);
    let fixture = storage.fixture_with([mutation(handler.clone()), relay()], settings());
    let call = fixture.start(request(OTHER, json!({"key": "a"})));
    handler.wait_for_runs(1).await;
    call.abort();
    handler.wait_for_dropped(1).await;
    let again = fixture
        .start(request(OTHER, json!({"key": "a"})))
        .await
        .unwrap();
    // Right after the abort, the outcome may not be recorded yet.
    let heard = result_of(&again);
    assert!(
        ["ERR_CANCELLED", "ERR_IDEMPOTENCY_IN_FLIGHT"].contains(&heard.as_str()),
        "{heard}"
    );
    assert_eq!(handler.runs(), 1);
}

pub(crate) async fn a_keyed_call_of_an_unknown_operation_keeps_nothing(storage: Storage) {
    let fixture = storage.fixture(mutation(ScriptedHandler::unscripted()));
    let elsewhere = CallRequest {
        operation: OTHER.to_owned(),
        ..order("k")
    };
    for _ in 0..2 {
        let answer = fixture.send(elsewhere.clone()).await;
        assert_eq!(
            (result_of(&answer).as_str(), answer.replayed),
            ("NOT_FOUND", false)
        );
    }
}
