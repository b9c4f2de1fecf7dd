//! What others are told while one of them works (behaviours 5 and 6).

use std::time::Duration;

use panpan_runtime::{CallRequest, CancellationToken, InFlight};

use crate::support::{Act, Bench, Work, detail, failure, harmful, order, told};

fn waiting(timeout_ms: u64) -> CallRequest {
    CallRequest {
        in_flight: InFlight::Wait,
        timeout_ms: Some(timeout_ms),
        ..order("k")
    }
}

pub(crate) async fn a_running_call_is_in_flight_and_asked_for_again_soon(bench: Bench) {
    let work = Work::of([Act::Hold]);
    let fixture = bench.fixture(harmful(work.clone()));
    let first = fixture.begin(order("k"));
    work.began(1).await;
    fixture.clock.pass(700);
    let told_so = failure(fixture.call("k").await);
    assert_eq!(told_so.code().as_str(), "ERR_IDEMPOTENCY_IN_FLIGHT");
    assert_eq!(told_so.kind().http_status(), 409);
    // The lease says when the key may be taken over; the call itself may end long before.
    assert_eq!(told_so.recovery().retry_after_ms, Some(2000));
    assert!(told_so.retryable());
    assert_eq!(detail(&told_so, "idempotency_key").unwrap(), "k");
    work.let_go();
    assert_eq!(told(&first.await.unwrap()), r#"{"run":1}"#);
}

/// Longer than a store takes to answer, also on a machine that is busy.
const STORE_ANSWERS: Duration = Duration::from_millis(300);

pub(crate) async fn who_waits_gets_the_outcome_of_the_other(bench: Bench) {
    let work = Work::of([Act::Hold]);
    let fixture = bench.fixture(harmful(work.clone()));
    let first = fixture.begin(order("k"));
    work.began(1).await;
    let second = fixture.begin(waiting(60_000));
    fixture.clock.pass_asleep(50).await;
    fixture.clock.asleep(50).await;
    assert!(!second.is_finished());
    work.let_go();
    let first = first.await.unwrap();
    fixture.clock.pass_asleep(50).await;
    let second = second.await.unwrap();
    assert_eq!(second.outcome, first.outcome);
    assert_eq!((first.replayed, second.replayed), (false, true));
    assert_eq!(work.runs(), 1);
}

pub(crate) async fn who_waits_does_so_no_longer_than_it_said(bench: Bench) {
    let work = Work::of([Act::Hold]);
    let fixture = bench.fixture(harmful(work.clone()));
    let _first = fixture.begin(order("k"));
    work.began(1).await;
    let second = fixture.begin(waiting(120));
    for step_ms in [50, 50] {
        fixture.clock.pass_asleep(step_ms).await;
    }
    // The store is asked once more, and waited for as long as is left: it has to have answered before
    // that passes.
    tokio::time::sleep(STORE_ANSWERS).await;
    fixture.clock.pass_asleep(20).await;
    let answer = second.await.unwrap();
    assert_eq!(told(&answer), "ERR_IDEMPOTENCY_IN_FLIGHT");
    assert_eq!(work.runs(), 1);
}

pub(crate) async fn who_waits_and_is_aborted_waits_no_more(bench: Bench) {
    let work = Work::of([Act::Hold]);
    let fixture = bench.fixture(harmful(work.clone()));
    let first = fixture.begin(order("k"));
    work.began(1).await;
    let abort = CancellationToken::new();
    let second = fixture.begin(CallRequest {
        abort: Some(abort.clone()),
        ..waiting(60_000)
    });
    fixture.clock.asleep(50).await;
    abort.cancel();
    assert_eq!(told(&second.await.unwrap()), "ERR_CANCELLED");
    work.let_go();
    assert_eq!(told(&first.await.unwrap()), r#"{"run":1}"#);
    assert_eq!(told(&fixture.call("k").await), r#"{"run":1}"#);
}

pub(crate) async fn who_waits_runs_it_when_the_other_set_the_key_free(bench: Bench) {
    let abort = CancellationToken::new();
    let work = Work::of([Act::Hang]);
    let fixture = bench.fixture(crate::support::harmless(work.clone()));
    let first = fixture.begin(CallRequest {
        abort: Some(abort.clone()),
        ..order("k")
    });
    work.began(1).await;
    let second = fixture.begin(waiting(60_000));
    fixture.clock.asleep(50).await;
    abort.cancel();
    assert_eq!(told(&first.await.unwrap()), "ERR_CANCELLED");
    fixture.clock.pass_asleep(50).await;
    let second = second.await.unwrap();
    assert_eq!(
        (told(&second).as_str(), second.replayed),
        (r#"{"run":2}"#, false)
    );
}

pub(crate) async fn of_many_callers_at_many_gateways_one_runs(bench: Bench) {
    const CALLERS: usize = 32;
    let work = Work::of([Act::Hold]);
    let fixtures = [0, 1, 2].map(|_| bench.fixture(harmful(work.clone())));
    let callers: Vec<_> = (0..CALLERS)
        .map(|caller| fixtures[caller % fixtures.len()].begin(order("k")))
        .collect();
    work.began(1).await;
    work.let_go();
    let mut ran = 0;
    for caller in callers {
        let answer = caller.await.unwrap();
        match told(&answer).as_str() {
            r#"{"run":1}"# => ran += usize::from(!answer.replayed),
            other => assert_eq!(other, "ERR_IDEMPOTENCY_IN_FLIGHT"),
        }
    }
    assert_eq!((ran, work.runs()), (1, 1));
}
