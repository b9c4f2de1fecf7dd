//! A replay is the same bytes, and costs nothing (behaviour 14).

use std::sync::Arc;

use panpan_failure::{Effect, Failure, codes};
use panpan_runtime::retry::{BudgetSettings, CircuitRule, Upstream};
use panpan_runtime::{CallRequest, Registration};
use serde_json::json;

use crate::support::failures::{SECRETS, declares, failures, out_of_tea};
use crate::support::{
    Act, Bench, Work, failure, harmful, harmless, opening_after, order, retried, text, told,
};

pub(crate) async fn an_output_is_replayed_byte_by_byte(bench: Bench) {
    for (index, output) in [
        json!(null),
        json!("\u{0} \u{2028} \u{1f375} \\ \" </script>"),
        json!([1, 1.0, -0.0, 1e300, u64::MAX, i64::MIN, 0.1]),
        json!({"z": 1, "a": {"secret": "sk_live_0123456789abcdefghijklmn", "": []}}),
    ]
    .into_iter()
    .enumerate()
    {
        let work = Work::of([Act::Give(output.clone())]);
        let fixture = bench.fixture(harmful(work.clone()));
        let key = format!("k{index}");
        let first = fixture.call(&key).await;
        let again = bench.fixture(harmful(work.clone())).call(&key).await;
        assert_eq!(text(&first), output.to_string());
        assert_eq!(text(&again), text(&first));
        assert_eq!(again.into_value().unwrap(), output);
        assert_eq!(work.runs(), 1);
    }
}

pub(crate) async fn a_failure_is_replayed_byte_by_byte(bench: Bench) {
    for (index, (name, fails)) in failures().into_iter().enumerate() {
        let work = Work::of([Act::Fail(fails)]);
        let fixture = bench.fixture(harmful(work.clone()).with(declares));
        let mut request = order(&format!("k{index}"));
        request.input = Arc::new(json!({"note": "hunter22", "password": "p4ssw0rd", "n": 1.0}));
        let first = fixture.ask(request.clone()).await;
        let another = bench.fixture(harmful(work.clone()).with(declares));
        let again = another.ask(request).await;
        assert_eq!((again.replayed, work.runs()), (true, 1), "{name}");
        assert_eq!(text(&again), text(&first), "{name}");
        let (first, again) = (failure(first), failure(again));
        assert_eq!(again.kind(), first.kind(), "{name}");
        assert_eq!(again.is_defined(), first.is_defined(), "{name}");
        for secret in SECRETS {
            assert!(!format!("{first:?}").contains(secret), "{name}: {secret}");
        }
    }
}

pub(crate) async fn details_that_were_checked_stay_so_in_the_replay(bench: Bench) {
    let sensitive = out_of_tea().with_detail("pin", "0815-4711");
    let fixture = bench.fixture(harmful(Work::of([Act::Fail(sensitive)])).with(declares));
    let first = failure(fixture.call("k").await);
    let again = failure(fixture.call("k").await);
    assert_eq!((first.is_defined(), again.is_defined()), (true, true));
    assert_eq!(again.kind().http_status(), 418);
    assert_eq!(again.kind().jsonrpc_code(), 4180);
}

pub(crate) async fn an_answer_after_retries_is_replayed_with_their_number(bench: Bench) {
    let busy = || Act::Fail(Failure::new(codes::ERR_HTTP_429_RATE_LIMITED));
    let broke = Act::Fail(Failure::new(codes::INSUFFICIENT_FUNDS));
    let work = Work::of([busy(), busy(), broke]);
    let fixture = bench.fixture(retried(harmful(work.clone()), 5));
    let first = fixture.call("k").await;
    let again = fixture.call("k").await;
    assert_eq!((first.attempts, again.attempts), (3, 0));
    assert_eq!(text(&again), text(&first));
    assert_eq!(failure(again).attempts(), Some(3));
}

fn behind(work: &Work, failures_to_open: u32, per_thousand_calls: u64) -> Registration {
    let budget = BudgetSettings {
        per_thousand_calls,
        per_second: 0,
        saved_max: 1000,
    };
    let upstream = Arc::new(Upstream::new("api", CircuitRule::default(), budget));
    let operation = retried(harmless(work.clone()), 5);
    opening_after(failures_to_open, operation).behind(upstream)
}

pub(crate) async fn a_replay_is_given_while_the_circuit_is_open(bench: Bench) {
    let cut = Act::Fail(Failure::new(codes::NETWORK_ERROR));
    let work = Work::of([Act::Number, cut]);
    let fixture = bench.fixture(retried(behind(&work, 1, 0), 0));
    fixture.call("kept").await;
    assert_eq!(told(&fixture.call("opens").await), "NETWORK_ERROR");
    assert_eq!(told(&fixture.call("kept").await), r#"{"run":1}"#);
    assert_eq!(told(&fixture.call("new").await), "ERR_CIRCUIT_OPEN");
}

pub(crate) async fn a_replay_earns_no_retries(bench: Bench) {
    let busy = || Act::Fail(Failure::new(codes::ERR_HTTP_429_RATE_LIMITED));
    let script = std::iter::once(Act::Number).chain(std::iter::repeat_with(busy).take(9));
    let work = Work::of(script);
    let fixture = bench.fixture(behind(&work, 100, 1000));
    for _ in 0..20 {
        fixture.call("kept").await;
    }
    // Two calls were made, and each earned one retry.
    let answer = fixture.call("busy").await;
    assert_eq!(
        (told(&answer).as_str(), answer.attempts),
        ("ERR_HTTP_429_RATE_LIMITED", 3)
    );
}

pub(crate) async fn a_replayed_failure_does_not_count_against_its_upstream(bench: Bench) {
    let cut = Act::Fail(Failure::new(codes::NETWORK_ERROR).with_effect(Effect::Unknown));
    let work = Work::of([cut]);
    let operation = opening_after(2, harmful(work.clone()));
    let fixture = bench.fixture(operation.behind(Arc::new(Upstream::named("api"))));
    for _ in 0..5 {
        assert_eq!(told(&fixture.call("k").await), "NETWORK_ERROR");
    }
    assert_eq!(told(&fixture.call("l").await), r#"{"run":2}"#);
}

pub(crate) async fn a_replay_needs_the_right_to_call(bench: Bench) {
    let fixture = bench.fixture(harmful(Work::plain()));
    fixture.call("k").await;
    let restricted = harmful(Work::plain())
        .with(|spec| spec.access_control.required_scopes = vec!["orders".to_owned()]);
    let fixture = bench.fixture(restricted);
    assert_eq!(told(&fixture.call("k").await), "FORBIDDEN");
    let stranger = CallRequest {
        caller: None,
        ..order("k")
    };
    assert_eq!(told(&fixture.ask(stranger).await), "FORBIDDEN");
}
