//! Who holds a key, and what becomes of work whose key was lost (behaviour 10).
//!
//! The first fixture cannot reach the store for longer than its lease, so that the second takes over.

use panpan_failure::{Failure, codes};
use panpan_runtime::Answer;
use panpan_runtime::ports::StoreError;
use tokio::task::JoinHandle;

use crate::support::{Act, Bench, Fault, Fixture, LEASE_MS, Work, harmful, harmless, order, told};

const SIGN_OF_LIFE_MS: u64 = LEASE_MS / 3;

/// A call in a fixture that has lost touch with the store until its lease was over.
async fn cut_off(bench: &Bench, work: &Work) -> (Fixture, JoinHandle<Answer>) {
    let fixture = bench.fixture(harmless(work.clone()));
    let call = fixture.begin(order("k"));
    work.began(1).await;
    fixture.store.breaks(Fault::Away(StoreError::Unreachable));
    for _ in 0..3 {
        fixture.clock.pass_asleep(SIGN_OF_LIFE_MS).await;
    }
    fixture.clock.asleep(SIGN_OF_LIFE_MS).await;
    fixture.store.recovers();
    (fixture, call)
}

pub(crate) async fn a_late_worker_answers_what_is_recorded(bench: Bench) {
    let work = Work::of([Act::Hold, Act::Number]);
    let (late, call) = cut_off(&bench, &work).await;
    let other = bench.fixture(harmless(work.clone()));
    assert_eq!(told(&other.call("k").await), r#"{"run":2}"#);
    work.let_go();
    let answer = call.await.unwrap();
    assert_eq!(
        (told(&answer).as_str(), answer.replayed),
        (r#"{"run":2}"#, true)
    );
    assert_eq!(late.kept("k").await.unwrap(), r#"{"run":2}"#);
}

pub(crate) async fn a_late_worker_hears_that_another_is_at_work(bench: Bench) {
    let work = Work::of([Act::Hold, Act::Hold]);
    let (late, call) = cut_off(&bench, &work).await;
    let other = bench.fixture(harmless(work.clone())).begin(order("k"));
    work.began(2).await;
    work.let_go();
    assert_eq!(told(&call.await.unwrap()), "ERR_IDEMPOTENCY_IN_FLIGHT");
    assert_eq!(late.kept("k").await, None);
    work.let_go();
    assert_eq!(told(&other.await.unwrap()), r#"{"run":2}"#);
}

pub(crate) async fn a_worker_nobody_took_over_from_still_counts(bench: Bench) {
    let work = Work::of([Act::Hold]);
    let (fixture, call) = cut_off(&bench, &work).await;
    work.let_go();
    let answer = call.await.unwrap();
    assert_eq!(
        (told(&answer).as_str(), answer.replayed),
        (r#"{"run":1}"#, false)
    );
    assert_eq!(fixture.kept("k").await.unwrap(), r#"{"run":1}"#);
}

pub(crate) async fn signs_of_life_keep_the_key_of_long_work(bench: Bench) {
    let work = Work::of([Act::Hold]);
    let fixture = bench.fixture(harmful(work.clone()));
    let call = fixture.begin(order("k"));
    work.began(1).await;
    for _ in 0..9 {
        fixture.clock.pass_asleep(SIGN_OF_LIFE_MS).await;
    }
    fixture.clock.asleep(SIGN_OF_LIFE_MS).await;
    assert_eq!(told(&fixture.call("k").await), "ERR_IDEMPOTENCY_IN_FLIGHT");
    work.let_go();
    assert_eq!(told(&call.await.unwrap()), r#"{"run":1}"#);
    assert_eq!(work.runs(), 1);
}

pub(crate) async fn signs_of_life_go_on_while_a_retry_is_waited_for(bench: Bench) {
    const DELAY_MS: u64 = 3 * LEASE_MS + 500;
    let busy = Failure::new(codes::ERR_HTTP_429_RATE_LIMITED).with_retry_after_ms(DELAY_MS);
    let work = Work::of([Act::Fail(busy)]);
    let fixture = bench.fixture(harmful(work.clone()).with(|spec| {
        spec.retry = None;
        spec.patience_ms = Some(DELAY_MS);
    }));
    let call = fixture.begin(order("k"));
    fixture.clock.asleep(DELAY_MS).await;
    for _ in 0..9 {
        fixture.clock.pass_asleep(SIGN_OF_LIFE_MS).await;
    }
    fixture.clock.asleep(SIGN_OF_LIFE_MS).await;
    assert_eq!(told(&fixture.call("k").await), "ERR_IDEMPOTENCY_IN_FLIGHT");
    fixture.clock.pass(500);
    assert_eq!(told(&call.await.unwrap()), r#"{"run":2}"#);
}

pub(crate) async fn a_worker_that_finds_its_key_lost_stops(bench: Bench) {
    let work = Work::of([Act::Hold, Act::Number]);
    let (late, call) = cut_off(&bench, &work).await;
    let other = bench.fixture(harmless(work.clone()));
    assert_eq!(told(&other.call("k").await), r#"{"run":2}"#);
    late.clock.pass_asleep(SIGN_OF_LIFE_MS).await;
    work.ended_early(1).await;
    let answer = call.await.unwrap();
    assert_eq!(
        (told(&answer).as_str(), answer.replayed),
        (r#"{"run":2}"#, true)
    );
}
