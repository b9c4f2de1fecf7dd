//! A replay returns the same bytes, and does not count as a call of the upstream.

use std::sync::Arc;

use panpan_failure::{Effect, Failure, codes};
use panpan_runtime::retry::{BudgetSettings, CircuitRule, UpstreamHealth};
use panpan_runtime::{CallRequest, Registration};
use serde_json::json;

use crate::support::failures::{SECRETS, declares, failures, out_of_tea};
use crate::support::{
    ScriptedHandler, Step, Storage, failure, idempotent, mutation, order, outcome_json, result_of,
    retried, with_circuit,
};

pub(crate) async fn an_output_is_replayed_byte_by_byte(storage: Storage) {
    for (index, output) in [
        json!(null),
        json!("\u{0} \u{2028} \u{1f375} \\ \" </script>"),
        json!([1, 1.0, -0.0, 1e300, u64::MAX, i64::MIN, 0.1]),
        json!({"z": 1, "a": {"secret": "sk_live_0123456789abcdefghijklmn", "": []}}),
    ]
    .into_iter()
    .enumerate()
    {
        let handler = ScriptedHandler::of([Step::Return(output.clone())]);
        let fixture = storage.fixture(mutation(handler.clone()));
        let key = format!("k{index}");
        let first = fixture.call(&key).await;
        let again = storage.fixture(mutation(handler.clone())).call(&key).await;
        assert_eq!(outcome_json(&first), output.to_string());
        assert_eq!(outcome_json(&again), outcome_json(&first));
        assert_eq!(again.into_value().unwrap(), output);
        assert_eq!(handler.runs(), 1);
    }
}

pub(crate) async fn a_failure_is_replayed_byte_by_byte(storage: Storage) {
    for (index, (name, fails)) in failures().into_iter().enumerate() {
        let handler = ScriptedHandler::of([Step::Fail(fails)]);
        let fixture = storage.fixture(mutation(handler.clone()).with(declares));
        let mut request = order(&format!("k{index}"));
        request.input = Arc::new(json!({"note": "hunter22", "password": "p4ssw0rd", "n": 1.0}));
        let first = fixture.send(request.clone()).await;
        let another = storage.fixture(mutation(handler.clone()).with(declares));
        let again = another.send(request).await;
        assert_eq!((again.replayed, handler.runs()), (true, 1), "{name}");
        assert_eq!(outcome_json(&again), outcome_json(&first), "{name}");
        let (first, again) = (failure(first), failure(again));
        assert_eq!(again.kind(), first.kind(), "{name}");
        assert_eq!(again.is_defined(), first.is_defined(), "{name}");
        for secret in SECRETS {
            assert!(!format!("{first:?}").contains(secret), "{name}: {secret}");
        }
    }
}

pub(crate) async fn a_replay_keeps_the_definition_of_its_details(storage: Storage) {
    let sensitive = out_of_tea().with_detail("pin", "0815-4711");
    let fixture =
        storage.fixture(mutation(ScriptedHandler::of([Step::Fail(sensitive)])).with(declares));
    let first = failure(fixture.call("k").await);
    let again = failure(fixture.call("k").await);
    assert_eq!((first.is_defined(), again.is_defined()), (true, true));
    assert_eq!(again.kind().http_status(), 418);
    assert_eq!(again.kind().jsonrpc_code(), 4180);
}

pub(crate) async fn a_replay_keeps_the_number_of_attempts(storage: Storage) {
    let busy = || Step::Fail(Failure::new(codes::ERR_HTTP_429_RATE_LIMITED));
    let broke = Step::Fail(Failure::new(codes::INSUFFICIENT_FUNDS));
    let handler = ScriptedHandler::of([busy(), busy(), broke]);
    let fixture = storage.fixture(retried(mutation(handler.clone()), 5));
    let first = fixture.call("k").await;
    let again = fixture.call("k").await;
    assert_eq!((first.attempts, again.attempts), (3, 0));
    assert_eq!(outcome_json(&again), outcome_json(&first));
    assert_eq!(failure(again).attempts(), Some(3));
}

fn behind(
    handler: &ScriptedHandler,
    failures_to_open: u32,
    per_thousand_calls: u64,
) -> Registration {
    let budget = BudgetSettings {
        per_thousand_calls,
        per_second: 0,
        saved_max: 1000,
    };
    let upstream = Arc::new(UpstreamHealth::new("api", CircuitRule::default(), budget));
    let operation = retried(idempotent(handler.clone()), 5);
    with_circuit(failures_to_open, operation).behind(upstream)
}

pub(crate) async fn a_replay_is_returned_while_the_circuit_is_open(storage: Storage) {
    let cut = Step::Fail(Failure::new(codes::NETWORK_ERROR));
    let handler = ScriptedHandler::of([Step::ReturnRun, cut]);
    let fixture = storage.fixture(retried(behind(&handler, 1, 0), 0));
    fixture.call("kept").await;
    assert_eq!(result_of(&fixture.call("opens").await), "NETWORK_ERROR");
    assert_eq!(result_of(&fixture.call("kept").await), r#"{"run":1}"#);
    assert_eq!(result_of(&fixture.call("new").await), "ERR_CIRCUIT_OPEN");
}

pub(crate) async fn a_replay_does_not_add_to_the_retry_budget(storage: Storage) {
    let busy = || Step::Fail(Failure::new(codes::ERR_HTTP_429_RATE_LIMITED));
    let script = std::iter::once(Step::ReturnRun).chain(std::iter::repeat_with(busy).take(9));
    let handler = ScriptedHandler::of(script);
    let fixture = storage.fixture(behind(&handler, 100, 1000));
    for _ in 0..20 {
        fixture.call("kept").await;
    }
    // Two calls ran, and each added one retry to the budget.
    let answer = fixture.call("busy").await;
    assert_eq!(
        (result_of(&answer).as_str(), answer.attempts),
        ("ERR_HTTP_429_RATE_LIMITED", 3)
    );
}

pub(crate) async fn a_replayed_failure_does_not_count_against_its_upstream(storage: Storage) {
    let cut = Step::Fail(Failure::new(codes::NETWORK_ERROR).with_effect(Effect::Unknown));
    let handler = ScriptedHandler::of([cut]);
    let operation = with_circuit(2, mutation(handler.clone()));
    let fixture = storage.fixture(operation.behind(Arc::new(UpstreamHealth::named("api"))));
    for _ in 0..5 {
        assert_eq!(result_of(&fixture.call("k").await), "NETWORK_ERROR");
    }
    assert_eq!(result_of(&fixture.call("l").await), r#"{"run":2}"#);
}

pub(crate) async fn a_replay_requires_permission_to_call(storage: Storage) {
    let fixture = storage.fixture(mutation(ScriptedHandler::unscripted()));
    fixture.call("k").await;
    let restricted = mutation(ScriptedHandler::unscripted())
        .with(|spec| spec.access_control.required_scopes = vec!["orders".to_owned()]);
    let fixture = storage.fixture(restricted);
    assert_eq!(result_of(&fixture.call("k").await), "FORBIDDEN");
    let stranger = CallRequest {
        caller: None,
        ..order("k")
    };
    assert_eq!(result_of(&fixture.send(stranger).await), "FORBIDDEN");
}
