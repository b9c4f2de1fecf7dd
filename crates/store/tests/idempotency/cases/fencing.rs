//! Leases and fencing: heartbeats, takeovers and late outcomes.
//!
//! The first dispatcher loses the store for longer than its lease, so the second takes over.

use panpan_failure::{Failure, codes};
use panpan_runtime::Answer;
use panpan_runtime::ports::StoreError;
use tokio::task::JoinHandle;

use crate::support::{
    Fault, Fixture, LEASE_MS, ScriptedHandler, Step, Storage, idempotent, mutation, order,
    result_of,
};

const HEARTBEAT_MS: u64 = LEASE_MS / 3;

/// A call in a dispatcher that could not reach the store until its lease expired.
async fn cut_off(storage: &Storage, handler: &ScriptedHandler) -> (Fixture, JoinHandle<Answer>) {
    let fixture = storage.fixture(idempotent(handler.clone()));
    let call = fixture.start(order("k"));
    handler.wait_for_runs(1).await;
    fixture
        .store
        .inject(Fault::Unavailable(StoreError::Unreachable));
    for _ in 0..3 {
        fixture.clock.advance_when_asleep(HEARTBEAT_MS).await;
    }
    fixture.clock.wait_for_sleep(HEARTBEAT_MS).await;
    fixture.store.clear_fault();
    (fixture, call)
}

pub(crate) async fn a_late_call_returns_the_recorded_outcome(storage: Storage) {
    let handler = ScriptedHandler::of([Step::Block, Step::ReturnRun]);
    let (late, call) = cut_off(&storage, &handler).await;
    let other = storage.fixture(idempotent(handler.clone()));
    assert_eq!(result_of(&other.call("k").await), r#"{"run":2}"#);
    handler.unblock();
    let answer = call.await.unwrap();
    assert_eq!(
        (result_of(&answer).as_str(), answer.replayed),
        (r#"{"run":2}"#, true)
    );
    assert_eq!(late.kept("k").await.unwrap(), r#"{"run":2}"#);
}

pub(crate) async fn a_late_call_reports_that_another_call_is_in_flight(storage: Storage) {
    let handler = ScriptedHandler::of([Step::Block, Step::Block]);
    let (late, call) = cut_off(&storage, &handler).await;
    let other = storage
        .fixture(idempotent(handler.clone()))
        .start(order("k"));
    handler.wait_for_runs(2).await;
    handler.unblock();
    assert_eq!(result_of(&call.await.unwrap()), "ERR_IDEMPOTENCY_IN_FLIGHT");
    assert_eq!(late.kept("k").await, None);
    handler.unblock();
    assert_eq!(result_of(&other.await.unwrap()), r#"{"run":2}"#);
}

pub(crate) async fn a_late_call_is_recorded_if_its_lease_was_not_taken_over(storage: Storage) {
    let handler = ScriptedHandler::of([Step::Block]);
    let (fixture, call) = cut_off(&storage, &handler).await;
    handler.unblock();
    let answer = call.await.unwrap();
    assert_eq!(
        (result_of(&answer).as_str(), answer.replayed),
        (r#"{"run":1}"#, false)
    );
    assert_eq!(fixture.kept("k").await.unwrap(), r#"{"run":1}"#);
}

pub(crate) async fn heartbeats_keep_the_key_of_a_long_call(storage: Storage) {
    let handler = ScriptedHandler::of([Step::Block]);
    let fixture = storage.fixture(mutation(handler.clone()));
    let call = fixture.start(order("k"));
    handler.wait_for_runs(1).await;
    for _ in 0..9 {
        fixture.clock.advance_when_asleep(HEARTBEAT_MS).await;
    }
    fixture.clock.wait_for_sleep(HEARTBEAT_MS).await;
    assert_eq!(
        result_of(&fixture.call("k").await),
        "ERR_IDEMPOTENCY_IN_FLIGHT"
    );
    handler.unblock();
    assert_eq!(result_of(&call.await.unwrap()), r#"{"run":1}"#);
    assert_eq!(handler.runs(), 1);
}

pub(crate) async fn heartbeats_continue_during_a_retry_delay(storage: Storage) {
    const DELAY_MS: u64 = 3 * LEASE_MS + 500;
    let busy = Failure::new(codes::ERR_HTTP_429_RATE_LIMITED).with_retry_after_ms(DELAY_MS);
    let handler = ScriptedHandler::of([Step::Fail(busy)]);
    let fixture = storage.fixture(mutation(handler.clone()).with(|spec| {
        spec.retry = None;
        spec.patience_ms = Some(DELAY_MS);
    }));
    let call = fixture.start(order("k"));
    fixture.clock.wait_for_sleep(DELAY_MS).await;
    for _ in 0..9 {
        fixture.clock.advance_when_asleep(HEARTBEAT_MS).await;
    }
    fixture.clock.wait_for_sleep(HEARTBEAT_MS).await;
    assert_eq!(
        result_of(&fixture.call("k").await),
        "ERR_IDEMPOTENCY_IN_FLIGHT"
    );
    fixture.clock.advance(500);
    assert_eq!(result_of(&call.await.unwrap()), r#"{"run":2}"#);
}

pub(crate) async fn a_call_that_lost_its_lease_stops(storage: Storage) {
    let handler = ScriptedHandler::of([Step::Block, Step::ReturnRun]);
    let (late, call) = cut_off(&storage, &handler).await;
    let other = storage.fixture(idempotent(handler.clone()));
    assert_eq!(result_of(&other.call("k").await), r#"{"run":2}"#);
    late.clock.advance_when_asleep(HEARTBEAT_MS).await;
    handler.wait_for_dropped(1).await;
    let answer = call.await.unwrap();
    assert_eq!(
        (result_of(&answer).as_str(), answer.replayed),
        (r#"{"run":2}"#, true)
    );
}
