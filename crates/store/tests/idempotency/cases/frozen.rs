//! What a key keeps, and what sets it free (behaviours 7 and 8).

use std::sync::Arc;

use panpan_contract::operation::OperationSpec;
use panpan_failure::{Effect, Failure, codes};
use panpan_runtime::retry::{CircuitSettings, Upstream};
use panpan_runtime::{CallRequest, Freeze, Identity, Registration, Settings};
use serde_json::json;

use crate::support::{
    Act, Bench, Work, asked, failure, harmful, harmless, key, kinds, opening_after, order, retried,
    settings, told,
};

fn busy(effect: Effect) -> Failure {
    Failure::new(codes::ERR_HTTP_429_RATE_LIMITED).with_effect(effect)
}

pub(crate) async fn what_repeating_cannot_or_must_not_change_is_kept(bench: Bench) {
    let broke = || Act::Fail(Failure::new(codes::INSUFFICIENT_FUNDS));
    // Which act, and whether it is kept where repeating does harm and where it does none.
    let acts = [
        ("success", Act::Number, true, true),
        ("final", broke(), true, true),
        (
            "nothing happened",
            Act::Fail(busy(Effect::None)),
            false,
            false,
        ),
        (
            "may have happened",
            Act::Fail(busy(Effect::Unknown)),
            true,
            false,
        ),
        ("happened", Act::Fail(busy(Effect::Applied)), true, false),
    ];
    for (name, act, where_harmful, where_harmless) in acts {
        for (index, is_harmless) in [false, true, true].into_iter().enumerate() {
            let work = Work::of([act.clone()]);
            let [a, b, c] = kinds(|| work.clone());
            let fixture = bench.fixture([a, b, c].into_iter().nth(index).unwrap().0);
            let key = format!("{}-{index}", name.replace(' ', "-"));
            let kept = if is_harmless {
                where_harmless
            } else {
                where_harmful
            };
            let first = fixture.call(&key).await;
            let second = fixture.call(&key).await;
            assert_eq!(second.replayed, kept, "{key}");
            assert_eq!(work.runs(), if kept { 1 } else { 2 }, "{key}");
            assert_eq!(first.expires_at.is_some(), kept, "{key}");
            assert_eq!(first.outcome == second.outcome, kept, "{key}");
        }
    }
}

pub(crate) async fn attempts_are_counted_on_by_the_next_call(bench: Bench) {
    let work = Work::of([1, 2, 3].map(|_| Act::Fail(busy(Effect::None))));
    let fixture = bench.fixture(retried(harmful(work.clone()), 1));
    let first = fixture.call("k").await;
    assert_eq!(first.attempts, 2);
    assert_eq!(failure(first).attempts(), Some(2));
    let second = fixture.call("k").await;
    assert_eq!(
        (told(&second).as_str(), second.attempts),
        (r#"{"run":4}"#, 2)
    );
    assert_eq!(work.attempts(), [1, 2, 3, 4]);
}

pub(crate) async fn everything_is_kept_where_that_is_chosen(bench: Bench) {
    let work = Work::of([Act::Fail(busy(Effect::None))]);
    let settings = Settings {
        freeze: Freeze::All,
        ..settings()
    };
    let fixture = bench.house_with([harmless(work.clone())], settings);
    let first = fixture.call("k").await;
    let second = fixture.call("k").await;
    assert_eq!(second.outcome, first.outcome);
    assert_eq!((second.replayed, work.runs()), (true, 1));
}

pub(crate) async fn nothing_is_kept_of_a_call_that_was_refused(bench: Bench) {
    let work = Work::plain();
    let restrict = |spec: &mut OperationSpec| {
        spec.input_schema = json!({"required": ["item"]});
        spec.access_control.required_scopes = vec!["orders".to_owned()];
    };
    let fixture = bench.fixture(harmful(work.clone()).with(restrict));
    let ann = Arc::new(Identity::new("ann").with_scope("orders"));
    let invalid = CallRequest {
        caller: Some(ann.clone()),
        ..asked(crate::support::PLACE, json!({"wrong": 1})).keyed(key("k"))
    };
    let forbidden = asked(crate::support::PLACE, json!({"item": 1})).keyed(key("k"));
    for (request, code) in [(invalid, "INVALID_INPUT"), (forbidden, "FORBIDDEN")] {
        let answer = fixture.ask(request).await;
        assert_eq!(told(&answer), code);
        assert_eq!(answer.expires_at, None);
    }
    // Had anything been kept, this input would be another than before.
    let good = CallRequest {
        caller: Some(ann),
        ..order("k")
    };
    assert_eq!(told(&fixture.ask(good).await), r#"{"run":1}"#);
    assert_eq!(work.attempts(), [1]);
}

pub(crate) async fn a_call_whose_work_never_began_is_not_kept_even_where_all_is(bench: Bench) {
    let cut = || Act::Fail(Failure::new(codes::NETWORK_ERROR).with_effect(Effect::None));
    let settings = Settings {
        freeze: Freeze::All,
        ..settings()
    };
    let work = Work::of([cut()]);
    let behind: Registration = opening_after(1, harmful(work.clone()));
    let behind = behind.behind(Arc::new(Upstream::named("api")));
    let fixture = bench.house_with([behind], settings);
    fixture.call("opens-the-circuit").await;
    let refused = fixture.call("k").await;
    assert_eq!(told(&refused), "ERR_CIRCUIT_OPEN");
    assert_eq!((refused.expires_at, work.runs()), (None, 1));
    let late = CallRequest {
        timeout_ms: Some(0),
        ..order("l")
    };
    fixture.clock.pass(CircuitSettings::default().open_ms);
    let late = fixture.ask(late).await;
    assert_eq!((told(&late).as_str(), late.expires_at), ("TIMEOUT", None));
    // It did not use up the trial that would close the circuit.
    assert_eq!(told(&fixture.call("k").await), r#"{"run":2}"#);
    assert_eq!(told(&fixture.call("l").await), r#"{"run":3}"#);
}
