//! What happens while the store is away (behaviour 15).

use panpan_failure::Effect;
use panpan_runtime::ports::StoreError;
use panpan_runtime::{Answer, CallRequest, CancellationToken, Settings};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::support::{
    Act, Bench, Fault, Fixture, LEASE_MS, Work, detail, failure, harmful, harmless, kinds, order,
    scope, settings, told,
};

/// How long writing an outcome is left alone after each time it failed.
const PAUSES_MS: [u64; 6] = [50, 100, 200, 400, 800, 1600];
const LONGEST_PAUSE_MS: u64 = 2000;

fn away() -> Fault {
    Fault::Away(StoreError::Full)
}

pub(crate) async fn nothing_that_may_do_harm_runs_without_the_store(bench: Bench) {
    for run_without_store in [false, true] {
        let work = Work::plain();
        for (operation, is_harmless) in kinds(|| work.clone()) {
            let settings = Settings {
                run_without_store,
                ..settings()
            };
            let fixture = bench.house_with([operation], settings);
            fixture.store.breaks(away());
            let before = work.runs();
            let answer = fixture.call("k").await;
            let runs = run_without_store && is_harmless;
            assert_eq!(work.runs() > before, runs);
            assert_eq!(answer.outcome.is_ok(), runs);
            if !runs {
                let refused = failure(answer);
                assert_eq!(refused.code().as_str(), "ERR_STORE_UNAVAILABLE");
                assert_eq!(
                    (refused.retryable(), refused.effect()),
                    (true, Effect::None)
                );
                assert_eq!(detail(&refused, "reason").unwrap(), "full");
            }
        }
    }
}

pub(crate) async fn work_without_the_store_hands_on_the_same_key(bench: Bench) {
    let work = Work::plain();
    let settings = Settings {
        run_without_store: true,
        ..settings()
    };
    let fixture = bench.house_with([harmless(work.clone())], settings);
    fixture.store.breaks(away());
    fixture.call("k").await;
    fixture.store.recovers();
    fixture.call("k").await;
    let expected = Some(scope("k").downstream_key());
    let handed_on: Vec<_> = work
        .seen()
        .into_iter()
        .map(|run| run.downstream_key)
        .collect();
    assert_eq!(handed_on, [expected.clone(), expected]);
}

/// A call that has done its work and cannot write what it gave.
async fn unwritten(fixture: &Fixture, work: &Work, timeout_ms: u64) -> JoinHandle<Answer> {
    let call = fixture.begin(CallRequest {
        timeout_ms: Some(timeout_ms),
        ..order("k")
    });
    work.began(1).await;
    fixture.store.breaks(away());
    work.let_go();
    call
}

pub(crate) async fn an_outcome_that_is_not_written_is_told_in_time_and_written_later(bench: Bench) {
    let work = Work::of([Act::Hold]);
    let fixture = bench.fixture(harmful(work.clone()));
    // However long it would wait.
    let call = unwritten(&fixture, &work, 60_000).await;
    for pause_ms in PAUSES_MS {
        assert!(!call.is_finished());
        fixture.clock.pass_asleep(pause_ms).await;
    }
    let told_so = failure(call.await.unwrap());
    assert_eq!(told_so.code().as_str(), "ERR_STORE_UNAVAILABLE");
    assert_eq!(told_so.effect(), Effect::Unknown);
    assert_eq!(detail(&told_so, "idempotency_key").unwrap(), "k");
    assert_eq!(fixture.kept("k").await, None);
    fixture.clock.asleep(LONGEST_PAUSE_MS).await;
    fixture.store.recovers();
    fixture.clock.pass(LONGEST_PAUSE_MS);
    assert_eq!(fixture.recorded("k").await, r#"{"run":1}"#);
    let next = fixture.call_at_last("k").await;
    assert_eq!(
        (told(&next).as_str(), next.replayed),
        (r#"{"run":1}"#, true)
    );
}

pub(crate) async fn an_outcome_written_while_the_caller_waits_is_its_answer(bench: Bench) {
    let work = Work::of([Act::Hold]);
    let fixture = bench.fixture(harmful(work.clone()));
    let call = unwritten(&fixture, &work, 60_000).await;
    fixture.clock.pass_asleep(50).await;
    fixture.clock.asleep(100).await;
    fixture.store.recovers();
    fixture.clock.pass(100);
    let answer = call.await.unwrap();
    assert_eq!(
        (told(&answer).as_str(), answer.replayed),
        (r#"{"run":1}"#, false)
    );
    assert!(answer.expires_at.is_some());
}

pub(crate) async fn a_known_outcome_is_not_lost_because_its_lease_was_over(bench: Bench) {
    let work = Work::of([Act::Hold]);
    let fixture = bench.fixture(harmful(work.clone()));
    let call = unwritten(&fixture, &work, 1000).await;
    assert_eq!(told(&call.await.unwrap()), "ERR_STORE_UNAVAILABLE");
    fixture.clock.asleep(50).await;
    fixture.store.recovers();
    // The next call comes before the outcome is tried to be written again.
    fixture.store.breaks(Fault::Stuck);
    fixture.clock.pass(LEASE_MS);
    assert_eq!(told(&fixture.call("k").await), "ERR_IDEMPOTENCY_IN_FLIGHT");
    fixture.store.recovers();
    assert_eq!(fixture.recorded("k").await, r#"{"run":1}"#);
    let next = fixture.call_at_last("k").await;
    assert_eq!(
        (told(&next).as_str(), next.replayed),
        (r#"{"run":1}"#, true)
    );
}

pub(crate) async fn a_caller_does_not_wait_for_a_stuck_store_beyond_its_time(bench: Bench) {
    let work = Work::of([Act::Hold]);
    let fixture = bench.fixture(harmful(work.clone()));
    let call = fixture.begin(CallRequest {
        timeout_ms: Some(700),
        ..order("k")
    });
    work.began(1).await;
    fixture.store.breaks(Fault::Stuck);
    work.let_go();
    fixture.clock.asleep(LONGEST_PAUSE_MS).await;
    fixture.clock.pass(700);
    assert!(!call.is_finished());
    fixture.clock.pass(LONGEST_PAUSE_MS - 700);
    assert_eq!(told(&call.await.unwrap()), "ERR_STORE_UNAVAILABLE");
    fixture.store.recovers();
    assert_eq!(fixture.recorded("k").await, r#"{"run":1}"#);
}

pub(crate) async fn a_call_does_not_wait_for_a_stuck_store_to_begin(bench: Bench) {
    let work = Work::plain();
    let fixture = bench.fixture(harmful(work.clone()));
    fixture.store.breaks(Fault::SlowClaims);
    let call = fixture.begin(CallRequest {
        timeout_ms: Some(700),
        ..order("k")
    });
    fixture.store.claimed(1).await;
    fixture.clock.pass_asleep(700).await;
    let refused = failure(call.await.unwrap());
    assert_eq!(refused.code().as_str(), "ERR_STORE_UNAVAILABLE");
    assert_eq!((refused.effect(), work.runs()), (Effect::None, 0));
    fixture.store.recovers();
    assert_eq!(told(&fixture.call_at_last("k").await), r#"{"run":1}"#);
}

pub(crate) async fn an_abort_does_not_wait_for_a_stuck_store(bench: Bench) {
    let work = Work::plain();
    let fixture = bench.fixture(harmful(work.clone()));
    fixture.store.breaks(Fault::SlowClaims);
    let abort = CancellationToken::new();
    let call = fixture.begin(CallRequest {
        abort: Some(abort.clone()),
        ..order("k")
    });
    fixture.store.claimed(1).await;
    abort.cancel();
    let refused = failure(call.await.unwrap());
    assert_eq!(refused.code().as_str(), "ERR_CANCELLED");
    assert_eq!((refused.effect(), work.runs()), (Effect::None, 0));
    fixture.store.recovers();
    assert_eq!(told(&fixture.call_at_last("k").await), r#"{"run":1}"#);
}

pub(crate) async fn a_crashed_key_granted_too_late_is_left_as_it_was(bench: Bench) {
    let work = Work::plain();
    let fixture = bench.fixture(harmful(work.clone()));
    fixture.crash("k").await;
    fixture.store.breaks(Fault::SlowClaims);
    let abort = CancellationToken::new();
    let call = fixture.begin(CallRequest {
        abort: Some(abort.clone()),
        ..order("k")
    });
    fixture.store.claimed(2).await;
    abort.cancel();
    let refused = failure(call.await.unwrap());
    assert_eq!(refused.code().as_str(), "ERR_CANCELLED");
    fixture.store.recovers();
    // Without a lease having to run out first.
    assert_eq!(
        told(&fixture.call_at_last("k").await),
        "ERR_OUTCOME_UNKNOWN"
    );
    assert_eq!(work.runs(), 0);
}

pub(crate) async fn an_outcome_whose_confirmation_was_lost_is_still_the_answer(bench: Bench) {
    let large = json!("x".repeat(1024));
    let work = Work::of([Act::Give(large.clone())]);
    let settings = Settings {
        kept_output_bytes_limit: 1024,
        ..settings()
    };
    let fixture = bench.house_with([harmful(work.clone())], settings);
    fixture.store.breaks(Fault::Unconfirmed);
    let call = fixture.begin(order("k"));
    fixture.clock.asleep(50).await;
    fixture.store.recovers();
    fixture.clock.pass(50);
    let answer = call.await.unwrap();
    assert_eq!((told(&answer), answer.replayed), (large.to_string(), false));
    assert!(answer.expires_at.is_some());
    assert_eq!(told(&fixture.call("k").await), "ERR_OUTCOME_TOO_LARGE");
    assert_eq!(work.runs(), 1);
}

pub(crate) async fn a_store_that_closed_for_good_is_told_at_once(bench: Bench) {
    let work = Work::of([Act::Hold]);
    let fixture = bench.fixture(harmful(work.clone()));
    let call = fixture.begin(order("k"));
    work.began(1).await;
    fixture.store.breaks(Fault::Away(StoreError::Closed));
    work.let_go();
    let told_so = failure(call.await.unwrap());
    assert_eq!(told_so.code().as_str(), "ERR_STORE_UNAVAILABLE");
    assert_eq!(detail(&told_so, "reason").unwrap(), "closed");
}
