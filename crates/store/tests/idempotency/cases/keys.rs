//! The scope and the syntax of keys, and what they are compared with.

use std::sync::Arc;

use panpan_contract::operation::{ByInput, KeyRule};
use panpan_contract::retry::RetryRule;
use panpan_failure::{Effect, Failure, codes};
use panpan_runtime::{CallRequest, Identity, KEY_LENGTH_LIMIT, Origin};
use serde_json::json;

use crate::support::{
    OTHER, ScriptedHandler, Step, Storage, failure, key, mutation, order, request, result_of,
    retried, settings,
};

fn callers_and_operations() -> [CallRequest; 5] {
    let by = |caller: Option<&str>| CallRequest {
        caller: caller.map(|id| Arc::new(Identity::new(id))),
        ..order("k")
    };
    let elsewhere = CallRequest {
        operation: OTHER.to_owned(),
        ..order("k")
    };
    [
        by(Some("ann")),
        by(Some("bob")),
        by(None),
        elsewhere,
        order("l"),
    ]
}

pub(crate) async fn a_key_belongs_to_its_caller_and_its_operation(storage: Storage) {
    let handler = ScriptedHandler::unscripted();
    let other = mutation(handler.clone()).with(|spec| spec.name = OTHER.parse().unwrap());
    let fixture = storage.fixture_with([mutation(handler.clone()), other], settings());
    for replayed in [false, true] {
        for (index, request) in callers_and_operations().into_iter().enumerate() {
            let answer = fixture.send(request).await;
            let expected = json!({"run": index + 1}).to_string();
            assert_eq!((result_of(&answer), answer.replayed), (expected, replayed));
        }
    }
}

pub(crate) async fn a_quoted_key_is_the_same_key(storage: Storage) {
    let handler = ScriptedHandler::unscripted();
    let fixture = storage.fixture(mutation(handler.clone()));
    let longest = "k".repeat(KEY_LENGTH_LIMIT);
    for bare in ["order-1", "a\"b", &longest] {
        fixture.call(bare).await;
        let replayed = fixture.call(&format!("\"{bare}\"")).await.replayed;
        assert!(replayed, "{bare}");
    }
    assert_eq!(handler.runs(), 3);
}

pub(crate) async fn a_mutation_that_requires_a_key_is_refused_without_one(storage: Storage) {
    let by_method = ByInput {
        pointer: "/method".to_owned(),
        idempotent_values: vec![json!("GET"), json!("PUT")],
    };
    for (method, has_key, runs) in [
        ("GET", false, true),
        ("PUT", false, true),
        ("POST", false, false),
        ("post", false, false),
        ("POST", true, true),
    ] {
        let handler = ScriptedHandler::unscripted();
        let fixture = storage.fixture(mutation(handler.clone()).with(|spec| {
            spec.idempotency.key = KeyRule::Required;
            spec.idempotency.by_input = Some(by_method.clone());
        }));
        let request = request(crate::support::PLACE, json!({"method": method}));
        let request = if has_key {
            request.keyed(key("k"))
        } else {
            request
        };
        let answer = fixture.send(request).await;
        assert_eq!(handler.runs() == 1, runs, "{method}");
        if !runs {
            let refused = failure(answer);
            assert_eq!(refused.code().as_str(), "ERR_MISSING_IDEMPOTENCY_KEY");
            assert!(!refused.retryable());
            assert_eq!(refused.effect(), Effect::None);
        }
    }
}

pub(crate) async fn only_the_operation_and_its_input_identify_a_call(storage: Storage) {
    let handler = ScriptedHandler::unscripted();
    let fixture = storage.fixture(mutation(handler.clone()));
    let written = |input: &str| CallRequest {
        input: Arc::new(serde_json::from_str(input).unwrap()),
        ..order("k")
    };
    fixture
        .send(written(r#"{"a": {"x": 1, "y": [1, 2]}, "b": 2}"#))
        .await;
    let mut same = written(r#"{"b": 2.0, "a": {"y": [1, 2], "x": 1e0}}"#);
    same.retry_seed = Some(7);
    same.timeout_ms = Some(9000);
    same.origin = Origin::Internal;
    same.operation = "/orders/place".to_owned();
    let answer = fixture.send(same).await;
    assert_eq!(
        (result_of(&answer).as_str(), answer.replayed),
        (r#"{"run":1}"#, true)
    );
    for other in [
        r#"{"a": {"x": 1, "y": [2, 1]}, "b": 2}"#,
        r#"{"a": {"x": 1, "y": [1, 2]}, "b": "2"}"#,
        r#"{"a": {"x": 1, "y": [1, 2]}, "b": 2, "c": null}"#,
        r#"{}"#,
        r#"null"#,
    ] {
        let answer = fixture.send(written(other)).await;
        assert_eq!(result_of(&answer), "ERR_IDEMPOTENCY_KEY_REUSED", "{other}");
    }
    assert_eq!(handler.runs(), 1);
}

pub(crate) async fn different_input_is_refused_if_there_may_have_been_an_effect(storage: Storage) {
    let failed = Failure::new(codes::ERR_HTTP_500_SERVER_ERROR).with_effect(Effect::Unknown);
    let handler = ScriptedHandler::of([Step::Block, Step::ReturnRun, Step::Fail(failed)]);
    let fixture = storage.fixture(mutation(handler.clone()));
    let running = fixture.start(order("running"));
    handler.wait_for_runs(1).await;
    fixture.call("finished").await;
    fixture.call("failed").await;
    fixture.hold("held").await;
    for key in ["running", "finished", "failed", "held"] {
        let other = CallRequest {
            input: Arc::new(json!({"item": "coffee"})),
            ..order(key)
        };
        let refused = failure(fixture.send(other).await);
        assert_eq!(refused.code().as_str(), "ERR_IDEMPOTENCY_KEY_REUSED");
        assert_eq!(refused.kind().http_status(), 422);
        assert!(!refused.retryable());
    }
    handler.unblock();
    assert_eq!(result_of(&running.await.unwrap()), r#"{"run":1}"#);
    assert_eq!(handler.runs(), 3);
}

/// A service that honours keys is called again after a lost response. Its second response is about the
/// second attempt only: the first may have had an effect.
pub(crate) async fn a_possible_effect_is_remembered_by_its_key(storage: Storage) {
    let lost = Failure::new(codes::ERR_SOCKET_ERROR).with_effect(Effect::Unknown);
    let refused = Failure::new(codes::ERR_HTTP_400_BAD_REQUEST);
    let busy = Failure::new(codes::ERR_HTTP_429_RATE_LIMITED);
    for (key, then) in [("refused", refused), ("busy", busy)] {
        let handler = ScriptedHandler::of([Step::Fail(lost.clone()), Step::Fail(then.clone())]);
        let fixture = storage.fixture(mutation(handler.clone()).with(|spec| {
            spec.idempotency.honours_key = true;
            spec.retry = Some(RetryRule::OFF);
        }));
        assert_eq!(failure(fixture.call(key).await).effect(), Effect::Unknown);
        let second = failure(fixture.call(key).await);
        assert_eq!(
            (second.code(), second.effect()),
            (then.code(), Effect::Unknown)
        );
        let other = CallRequest {
            input: Arc::new(json!({"item": "coffee"})),
            ..order(key)
        };
        assert_eq!(
            result_of(&fixture.send(other).await),
            "ERR_IDEMPOTENCY_KEY_REUSED"
        );
        assert_eq!(handler.runs(), 2);
    }
}

/// An agent that corrects its input after a 400 can keep its key, because the call had no effect.
pub(crate) async fn a_key_can_be_reused_for_corrected_input(storage: Storage) {
    let refused = Failure::new(codes::ERR_HTTP_400_BAD_REQUEST);
    let busy = Failure::new(codes::ERR_HTTP_429_RATE_LIMITED);
    for (key, first) in [("refused", refused), ("busy", busy)] {
        let handler = ScriptedHandler::of([Step::Fail(first.clone())]);
        let fixture = storage.fixture(mutation(handler.clone()));
        let corrected = || CallRequest {
            input: Arc::new(json!({"item": "coffee"})),
            ..order(key)
        };
        let failed = failure(fixture.call(key).await);
        assert_eq!(failed.code(), first.code());
        let answer = fixture.send(corrected()).await;
        assert_eq!(
            (result_of(&answer).as_str(), answer.replayed),
            (r#"{"run":2}"#, false)
        );
        // The call had an effect with the corrected input, so the key now belongs to that input.
        assert!(fixture.send(corrected()).await.replayed);
        assert_eq!(
            result_of(&fixture.call(key).await),
            "ERR_IDEMPOTENCY_KEY_REUSED"
        );
        let keys: Vec<_> = handler
            .run_log()
            .into_iter()
            .map(|run| run.downstream_key)
            .collect();
        assert_ne!(
            keys[0], keys[1],
            "different input is a different call to the upstream"
        );
    }
}

/// The failure of a rejected input is replayed for the same input only.
pub(crate) async fn a_rejected_input_is_replayed_for_the_same_input(storage: Storage) {
    let refused = Failure::new(codes::ERR_HTTP_400_BAD_REQUEST);
    let handler = ScriptedHandler::of([Step::Fail(refused)]);
    let fixture = storage.fixture(mutation(handler.clone()));
    fixture.call("k").await;
    assert!(fixture.call("k").await.replayed);
    assert_eq!(handler.runs(), 1);
}

pub(crate) async fn the_downstream_key_is_constant_and_does_not_reveal_the_callers_key(
    storage: Storage,
) {
    let busy = || Step::Fail(Failure::new(codes::ERR_HTTP_429_RATE_LIMITED));
    let handler = ScriptedHandler::of([busy(), busy(), busy()]);
    let place = retried(mutation(handler.clone()), 1);
    let other = mutation(handler.clone()).with(|spec| spec.name = OTHER.parse().unwrap());
    let fixture = storage.fixture_with([place, other], settings());
    // Three attempts in two calls, then one for each caller, operation and key.
    fixture.call("k").await;
    for request in callers_and_operations() {
        fixture.send(request).await;
    }
    let run_log: Vec<String> = handler
        .run_log()
        .into_iter()
        .filter_map(|run| run.downstream_key)
        .collect();
    assert_eq!(handler.attempts(), [1, 2, 3, 4, 1, 1, 1, 1]);
    assert_eq!(run_log.len(), 8);
    assert!(run_log[..4].iter().all(|key| *key == run_log[0]));
    for (index, key) in run_log.iter().enumerate().skip(4) {
        assert!(!run_log[..index].contains(key), "{index}");
    }
    for key in &run_log {
        assert_eq!(key.len(), 32);
        assert!(
            key.bytes()
                .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
        );
    }
}
