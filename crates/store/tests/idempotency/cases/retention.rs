//! Which outcomes are kept, and which release the key.

use std::sync::Arc;

use panpan_contract::operation::OperationSpec;
use panpan_failure::{Effect, Failure, codes};
use panpan_runtime::retry::{CircuitSettings, UpstreamHealth};
use panpan_runtime::{CallRequest, Identity, Registration};
use serde_json::json;

use crate::support::{
    ScriptedHandler, Step, Storage, failure, key, kinds, mutation, order, request, result_of,
    retried, with_circuit,
};

fn busy(effect: Effect) -> Failure {
    Failure::new(codes::ERR_HTTP_429_RATE_LIMITED).with_effect(effect)
}

pub(crate) async fn final_outcomes_and_possible_effects_are_kept(storage: Storage) {
    let broke = || Step::Fail(Failure::new(codes::INSUFFICIENT_FUNDS));
    // Name, step, and whether the outcome is kept for a mutation and for an idempotent operation.
    let steps = [
        ("success", Step::ReturnRun, true, true),
        ("final", broke(), true, true),
        (
            "nothing happened",
            Step::Fail(busy(Effect::None)),
            false,
            false,
        ),
        (
            "may have happened",
            Step::Fail(busy(Effect::Unknown)),
            true,
            false,
        ),
        ("happened", Step::Fail(busy(Effect::Applied)), true, false),
    ];
    for (name, step, if_mutation, if_idempotent) in steps {
        for (index, is_idempotent) in [false, true, true].into_iter().enumerate() {
            let handler = ScriptedHandler::of([step.clone()]);
            let [a, b, c] = kinds(|| handler.clone());
            let fixture = storage.fixture([a, b, c].into_iter().nth(index).unwrap().0);
            let key = format!("{}-{index}", name.replace(' ', "-"));
            let kept = if is_idempotent {
                if_idempotent
            } else {
                if_mutation
            };
            let first = fixture.call(&key).await;
            let second = fixture.call(&key).await;
            assert_eq!(second.replayed, kept, "{key}");
            assert_eq!(handler.runs(), if kept { 1 } else { 2 }, "{key}");
            assert_eq!(first.expires_at.is_some(), kept, "{key}");
            assert_eq!(first.outcome == second.outcome, kept, "{key}");
        }
    }
}

pub(crate) async fn the_next_call_continues_the_attempt_count(storage: Storage) {
    let handler = ScriptedHandler::of([1, 2, 3].map(|_| Step::Fail(busy(Effect::None))));
    let fixture = storage.fixture(retried(mutation(handler.clone()), 1));
    let first = fixture.call("k").await;
    assert_eq!(first.attempts, 2);
    assert_eq!(failure(first).attempts(), Some(2));
    let second = fixture.call("k").await;
    assert_eq!(
        (result_of(&second).as_str(), second.attempts),
        (r#"{"run":4}"#, 2)
    );
    assert_eq!(handler.attempts(), [1, 2, 3, 4]);
}

pub(crate) async fn a_refused_call_keeps_nothing(storage: Storage) {
    let handler = ScriptedHandler::unscripted();
    let restrict = |spec: &mut OperationSpec| {
        spec.input_schema = json!({"required": ["item"]});
        spec.access_control.required_scopes = vec!["orders".to_owned()];
    };
    let fixture = storage.fixture(mutation(handler.clone()).with(restrict));
    let ann = Arc::new(Identity::new("ann").with_scope("orders"));
    let invalid = CallRequest {
        caller: Some(ann.clone()),
        ..request(crate::support::PLACE, json!({"wrong": 1})).keyed(key("k"))
    };
    let forbidden = request(crate::support::PLACE, json!({"item": 1})).keyed(key("k"));
    for (request, code) in [(invalid, "INVALID_INPUT"), (forbidden, "FORBIDDEN")] {
        let answer = fixture.send(request).await;
        assert_eq!(result_of(&answer), code);
        assert_eq!(answer.expires_at, None);
    }
    // If anything had been kept, this would be different input under the same key.
    let good = CallRequest {
        caller: Some(ann),
        ..order("k")
    };
    assert_eq!(result_of(&fixture.send(good).await), r#"{"run":1}"#);
    assert_eq!(handler.attempts(), [1]);
}

pub(crate) async fn a_call_whose_handler_never_ran_is_not_kept(storage: Storage) {
    let cut = || Step::Fail(Failure::new(codes::NETWORK_ERROR).with_effect(Effect::None));
    let handler = ScriptedHandler::of([cut()]);
    let behind: Registration = with_circuit(1, mutation(handler.clone()));
    let behind = behind.behind(Arc::new(UpstreamHealth::named("api")));
    let fixture = storage.fixture(behind);
    fixture.call("opens-the-circuit").await;
    let refused = fixture.call("k").await;
    assert_eq!(result_of(&refused), "ERR_CIRCUIT_OPEN");
    assert_eq!((refused.expires_at, handler.runs()), (None, 1));
    let late = CallRequest {
        timeout_ms: Some(0),
        ..order("l")
    };
    fixture.clock.advance(CircuitSettings::default().open_ms);
    let late = fixture.send(late).await;
    assert_eq!(
        (result_of(&late).as_str(), late.expires_at),
        ("TIMEOUT", None)
    );
    // The refused calls did not use up the trial that closes the circuit.
    assert_eq!(result_of(&fixture.call("k").await), r#"{"run":2}"#);
    assert_eq!(result_of(&fixture.call("l").await), r#"{"run":3}"#);
}
