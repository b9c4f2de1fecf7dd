//! Work that does not do what is expected of it, and keys where few people look for them.

use std::sync::Arc;

use panpan_contract::operation::OperationName;
use panpan_failure::{Effect, Failure, codes};
use panpan_runtime::ports::{Completion, End, KeptOutcome, Outcomes as _};
use panpan_runtime::{CallRequest, Context, Identity, Registration};
use serde_json::{Value, json};

use crate::support::{
    Act, Bench, OTHER, PLACE, Work, asked, detail, failure, harmful, harmless, key, order, query,
    retried, settings, told,
};

pub(crate) async fn a_defect_of_the_work_is_its_outcome(bench: Bench) {
    let timeout = Failure::new(codes::TIMEOUT).with_effect(Effect::None);
    let not_found = Failure::new(codes::NOT_FOUND);
    for (key, act) in [
        ("panic", Act::Panic),
        ("timeout", Act::Fail(timeout)),
        ("not-found", Act::Fail(not_found)),
    ] {
        let work = Work::of([act]);
        let fixture = bench.fixture(retried(harmful(work.clone()), 3));
        let first = fixture.call(key).await;
        let again = fixture.call(key).await;
        assert_eq!(
            (told(&first).as_str(), again.replayed),
            ("INTERNAL", true),
            "{key}"
        );
        assert_eq!(again.outcome, first.outcome);
        assert_eq!(work.runs(), 1, "{key}");
    }
}

pub(crate) async fn work_that_runs_out_of_time_may_have_happened(bench: Bench) {
    let work = Work::of([Act::Hang]);
    let fixture = bench.fixture(harmful(work.clone()).with(|spec| spec.timeout_ms = Some(400)));
    let call = fixture.begin(order("order-4711"));
    work.began(1).await;
    fixture.clock.pass_asleep(400).await;
    let first = call.await.unwrap();
    assert!(first.expires_at.is_some());
    let again = fixture.call("order-4711").await;
    assert_eq!((&again.outcome, again.replayed), (&first.outcome, true));
    let unknown = failure(first);
    assert_eq!(unknown.code().as_str(), "ERR_OUTCOME_UNKNOWN");
    assert_eq!(detail(&unknown, "idempotency_key").unwrap(), "order-4711");
}

pub(crate) async fn work_that_can_be_repeated_and_runs_out_of_time_is_free_again(bench: Bench) {
    for (key, operation) in [("mutation", harmless as fn(Work) -> _), ("query", query)] {
        let work = Work::of([Act::Hang]);
        let fixture =
            bench.fixture(operation(work.clone()).with(|spec| spec.timeout_ms = Some(400)));
        let call = fixture.begin(order(key));
        work.began(1).await;
        fixture.clock.pass_asleep(400).await;
        assert_eq!(told(&call.await.unwrap()), "TIMEOUT");
        assert_eq!(told(&fixture.call(key).await), r#"{"run":2}"#);
        assert_eq!(work.attempts(), [1, 2]);
    }
}

pub(crate) async fn an_unknown_outcome_names_the_key_of_its_own_call(bench: Bench) {
    // As the work itself says it, with a key that means nothing to this caller.
    let inner = Failure::new(codes::ERR_OUTCOME_UNKNOWN).with_detail("idempotency_key", "inner");
    for name in [
        "order-1",
        "5f0c8a8e-9d0b-4b7e-8f3a-0a1b2c3d4e5f",
        "9f86d081884c7d659a2feaa0c55ad015",
        "place_order:2026-11-15-attempt-2",
    ] {
        let fixture = bench.fixture(harmful(Work::of([Act::Fail(inner.clone())])));
        let unknown = failure(fixture.call(name).await);
        assert_eq!(unknown.code().as_str(), "ERR_OUTCOME_UNKNOWN");
        assert_eq!(detail(&unknown, "idempotency_key").unwrap(), name);
    }
}

pub(crate) async fn a_refusal_after_an_attempt_does_not_deny_its_effect(bench: Bench) {
    let cut = Act::Fail(Failure::new(codes::NETWORK_ERROR).with_effect(Effect::Unknown));
    let open = || Act::Fail(Failure::new(codes::ERR_CIRCUIT_OPEN));
    let work = Work::of([cut, open(), open(), open()]);
    let operation = retried(harmless(work.clone()), 3);
    let last = failure(bench.fixture(operation).call("k").await);
    // What happened before the circuit opened is not hidden by it.
    assert_eq!(last.code().as_str(), "NETWORK_ERROR");
    assert_eq!(last.effect(), Effect::Unknown);
    assert_eq!((last.attempts(), work.runs()), (Some(1), 4));
}

pub(crate) async fn an_outcome_that_cannot_be_read_is_no_reason_to_run(bench: Bench) {
    let work = Work::plain();
    let fixture = bench.fixture(harmful(work.clone()));
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
    assert_eq!((unreadable.effect(), work.runs()), (Effect::Unknown, 0));
}

pub(crate) async fn a_large_and_deep_input_is_told_from_another(bench: Bench) {
    let work = Work::plain();
    let fixture = bench.fixture(harmful(work.clone()));
    let input = |last: u64| {
        let mut deep = json!(last);
        for _ in 0..120 {
            deep = json!({ "in": [deep] });
        }
        let many: Vec<Value> = (0..100_000)
            .map(|number| json!({"number": number}))
            .collect();
        asked(PLACE, json!({"many": many, "deep": deep})).keyed(key("k"))
    };
    assert_eq!(told(&fixture.ask(input(1)).await), r#"{"run":1}"#);
    assert!(fixture.ask(input(1)).await.replayed);
    assert_eq!(
        told(&fixture.ask(input(2)).await),
        "ERR_IDEMPOTENCY_KEY_REUSED"
    );
}

/// An operation that calls another under the key its input names, and gives what it heard.
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

pub(crate) async fn a_call_by_an_operation_is_keyed_under_its_authority(bench: Bench) {
    let work = Work::plain();
    let fixture = bench.house_with([harmful(work.clone()), relay()], settings());
    let through = |inner: &str| asked(OTHER, json!({ "key": inner }));
    for (inner, expected) in [("a", 1), ("a", 1), ("b", 2)] {
        let answer = fixture.ask(through(inner)).await;
        assert_eq!(told(&answer), json!({"run": expected}).to_string());
    }
    // The caller's own call under the same key is another piece of work.
    let own = asked(PLACE, json!({"item": "tea"})).keyed(key("a"));
    assert_eq!(told(&fixture.ask(own).await), r#"{"run":3}"#);
}

pub(crate) async fn a_call_by_an_operation_ends_with_it_and_is_recorded(bench: Bench) {
    let work = Work::of([Act::Hang]);
    let fixture = bench.house_with([harmful(work.clone()), relay()], settings());
    let call = fixture.begin(asked(OTHER, json!({"key": "a"})));
    work.began(1).await;
    call.abort();
    work.ended_early(1).await;
    let again = fixture
        .begin(asked(OTHER, json!({"key": "a"})))
        .await
        .unwrap();
    // Right after the abort it may still be on its way to its record.
    let heard = told(&again);
    assert!(
        ["ERR_CANCELLED", "ERR_IDEMPOTENCY_IN_FLIGHT"].contains(&heard.as_str()),
        "{heard}"
    );
    assert_eq!(work.runs(), 1);
}

pub(crate) async fn a_keyed_call_of_what_is_not_there_keeps_nothing(bench: Bench) {
    let fixture = bench.fixture(harmful(Work::plain()));
    let elsewhere = CallRequest {
        operation: OTHER.to_owned(),
        ..order("k")
    };
    for _ in 0..2 {
        let answer = fixture.ask(elsewhere.clone()).await;
        assert_eq!(
            (told(&answer).as_str(), answer.replayed),
            ("NOT_FOUND", false)
        );
    }
}
