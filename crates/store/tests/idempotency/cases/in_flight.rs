//! Calls with the key of a running call.

use std::time::Duration;

use panpan_failure::{Effect, Failure, codes};
use panpan_runtime::{CallRequest, CancellationToken, InFlight, TaskState};

use crate::support::{
    ScriptedHandler, Step, Storage, detail, failure, mutation, order, result_of, retried,
};

fn waiting(timeout_ms: u64) -> CallRequest {
    CallRequest {
        in_flight: InFlight::Wait,
        timeout_ms: Some(timeout_ms),
        ..order("k")
    }
}

pub(crate) async fn a_running_call_is_in_flight_with_a_short_retry_delay(storage: Storage) {
    let handler = ScriptedHandler::of([Step::Block]);
    let fixture = storage.fixture(mutation(handler.clone()));
    let first = fixture.start(order("k"));
    handler.wait_for_runs(1).await;
    fixture.clock.advance(700);
    let refused = failure(fixture.call("k").await);
    assert_eq!(refused.code().as_str(), "ERR_IDEMPOTENCY_IN_FLIGHT");
    assert_eq!(refused.kind().http_status(), 409);
    // The lease says when the key can be taken over; the call itself may end much earlier.
    assert_eq!(refused.recovery().retry_after_ms, Some(2000));
    assert!(refused.retryable());
    assert_eq!(detail(&refused, "idempotency_key").unwrap(), "k");
    handler.unblock();
    assert_eq!(result_of(&first.await.unwrap()), r#"{"run":1}"#);
}

/// Longer than a store takes to respond, even on a busy machine.
const STORE_ANSWERS: Duration = Duration::from_millis(300);

pub(crate) async fn a_waiting_caller_gets_the_outcome_of_the_running_call(storage: Storage) {
    let handler = ScriptedHandler::of([Step::Block]);
    let fixture = storage.fixture(mutation(handler.clone()));
    let first = fixture.start(order("k"));
    handler.wait_for_runs(1).await;
    let second = fixture.start(waiting(60_000));
    fixture.clock.advance_when_asleep(50).await;
    fixture.clock.wait_for_sleep(50).await;
    assert!(!second.is_finished());
    handler.unblock();
    let first = first.await.unwrap();
    fixture.clock.advance_when_asleep(50).await;
    let second = second.await.unwrap();
    assert_eq!(second.outcome, first.outcome);
    assert_eq!((first.replayed, second.replayed), (false, true));
    assert_eq!(handler.runs(), 1);
}

pub(crate) async fn a_waiting_caller_waits_until_its_timeout(storage: Storage) {
    let handler = ScriptedHandler::of([Step::Block]);
    let fixture = storage.fixture(mutation(handler.clone()));
    let _first = fixture.start(order("k"));
    handler.wait_for_runs(1).await;
    let second = fixture.start(waiting(120));
    for step_ms in [50, 50] {
        fixture.clock.advance_when_asleep(step_ms).await;
    }
    // The store is asked once more, for the rest of the timeout: it must have responded before that ends.
    tokio::time::sleep(STORE_ANSWERS).await;
    fixture.clock.advance_when_asleep(20).await;
    let answer = second.await.unwrap();
    assert_eq!(result_of(&answer), "ERR_IDEMPOTENCY_IN_FLIGHT");
    assert_eq!(handler.runs(), 1);
}

pub(crate) async fn an_abort_ends_the_wait(storage: Storage) {
    let handler = ScriptedHandler::of([Step::Block]);
    let fixture = storage.fixture(mutation(handler.clone()));
    let first = fixture.start(order("k"));
    handler.wait_for_runs(1).await;
    let abort = CancellationToken::new();
    let second = fixture.start(CallRequest {
        abort: Some(abort.clone()),
        ..waiting(60_000)
    });
    fixture.clock.wait_for_sleep(50).await;
    abort.cancel();
    assert_eq!(result_of(&second.await.unwrap()), "ERR_CANCELLED");
    handler.unblock();
    assert_eq!(result_of(&first.await.unwrap()), r#"{"run":1}"#);
    assert_eq!(result_of(&fixture.call("k").await), r#"{"run":1}"#);
}

pub(crate) async fn a_waiting_caller_runs_the_call_when_the_key_is_released(storage: Storage) {
    let abort = CancellationToken::new();
    let handler = ScriptedHandler::of([Step::Hang]);
    let fixture = storage.fixture(crate::support::idempotent(handler.clone()));
    let first = fixture.start(CallRequest {
        abort: Some(abort.clone()),
        ..order("k")
    });
    handler.wait_for_runs(1).await;
    let second = fixture.start(waiting(60_000));
    fixture.clock.wait_for_sleep(50).await;
    abort.cancel();
    assert_eq!(result_of(&first.await.unwrap()), "ERR_CANCELLED");
    fixture.clock.advance_when_asleep(50).await;
    let second = second.await.unwrap();
    assert_eq!(
        (result_of(&second).as_str(), second.replayed),
        (r#"{"run":2}"#, false)
    );
}

pub(crate) async fn only_one_of_many_callers_at_many_gateways_runs(storage: Storage) {
    const CALLERS: usize = 32;
    let handler = ScriptedHandler::of([Step::Block]);
    let fixtures = [0, 1, 2].map(|_| storage.fixture(mutation(handler.clone())));
    let callers: Vec<_> = (0..CALLERS)
        .map(|caller| fixtures[caller % fixtures.len()].start(order("k")))
        .collect();
    handler.wait_for_runs(1).await;
    handler.unblock();
    let mut ran = 0;
    for caller in callers {
        let answer = caller.await.unwrap();
        match result_of(&answer).as_str() {
            r#"{"run":1}"# => ran += usize::from(!answer.replayed),
            other => assert_eq!(other, "ERR_IDEMPOTENCY_IN_FLIGHT"),
        }
    }
    assert_eq!((ran, handler.runs()), (1, 1));
}

pub(crate) async fn a_task_gets_the_outcome_of_a_running_call_later(storage: Storage) {
    let handler = ScriptedHandler::of([Step::Block]);
    let fixture = storage.fixture(mutation(handler.clone()));
    let first = fixture.start(order("k"));
    handler.wait_for_runs(1).await;
    let attempt = || {
        fixture
            .dispatcher
            .dispatch_task(order("k"), TaskState::default())
    };
    let early = attempt().await;
    assert_eq!(result_of(&early.answer), "ERR_IDEMPOTENCY_IN_FLIGHT");
    assert!(early.retry_after_ms.is_some());
    handler.unblock();
    let first = first.await.unwrap();
    let late = attempt().await;
    assert_eq!(late.answer.outcome, first.outcome);
    assert_eq!((late.retry_after_ms, handler.runs()), (None, 1));
}

pub(crate) async fn a_task_repeats_its_attempts_under_its_key(storage: Storage) {
    let busy = Failure::new(codes::ERR_HTTP_429_RATE_LIMITED).with_effect(Effect::None);
    let handler = ScriptedHandler::of([Step::Fail(busy), Step::ReturnRun]);
    let fixture = storage.fixture(retried(mutation(handler.clone()), 3));
    let attempt = |state| fixture.dispatcher.dispatch_task(order("k"), state);
    let first = attempt(TaskState::default()).await;
    assert!(first.retry_after_ms.is_some());
    let state = TaskState {
        history: first.attempt.into_iter().collect(),
        ..TaskState::default()
    };
    let second = attempt(state).await;
    assert_eq!(result_of(&second.answer), r#"{"run":2}"#);
    assert_eq!(handler.attempts(), [1, 2]);
    let direct = fixture.call("k").await;
    assert_eq!(
        (direct.outcome, direct.replayed),
        (second.answer.outcome, true)
    );
}
