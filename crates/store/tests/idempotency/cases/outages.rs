//! Calls while the store is unavailable.

use panpan_failure::Effect;
use panpan_runtime::ports::StoreError;
use panpan_runtime::{Answer, CallRequest, CancellationToken, Settings};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::support::{
    Fault, Fixture, LEASE_MS, ScriptedHandler, Step, Storage, detail, failure, kinds, mutation,
    order, result_of, settings,
};

/// The delays between the attempts to write an outcome.
const WRITE_DELAYS_MS: [u64; 6] = [50, 100, 200, 400, 800, 1600];
const LAST_WRITE_DELAY_MS: u64 = 2000;

fn unavailable() -> Fault {
    Fault::Unavailable(StoreError::Full)
}

pub(crate) async fn no_call_with_a_key_runs_without_the_store(storage: Storage) {
    let handler = ScriptedHandler::unscripted();
    for (operation, _) in kinds(|| handler.clone()) {
        let fixture = storage.fixture(operation);
        fixture.store.inject(unavailable());
        let refused = failure(fixture.call("k").await);
        assert_eq!(handler.runs(), 0);
        assert_eq!(refused.code().as_str(), "ERR_STORE_UNAVAILABLE");
        assert_eq!(
            (refused.retryable(), refused.effect()),
            (true, Effect::None)
        );
        assert_eq!(detail(&refused, "reason").unwrap(), "full");
    }
}

/// A call whose handler has finished and whose outcome cannot be written.
async fn unwritten(
    fixture: &Fixture,
    handler: &ScriptedHandler,
    timeout_ms: u64,
) -> JoinHandle<Answer> {
    let call = fixture.start(CallRequest {
        timeout_ms: Some(timeout_ms),
        ..order("k")
    });
    handler.wait_for_runs(1).await;
    fixture.store.inject(unavailable());
    handler.unblock();
    call
}

pub(crate) async fn an_unwritten_outcome_is_reported_in_time_and_written_later(storage: Storage) {
    let handler = ScriptedHandler::of([Step::Block]);
    let fixture = storage.fixture(mutation(handler.clone()));
    // The store is waited for no longer than the delays below, whatever the timeout.
    let call = unwritten(&fixture, &handler, 60_000).await;
    for delay_ms in WRITE_DELAYS_MS {
        assert!(!call.is_finished());
        fixture.clock.advance_when_asleep(delay_ms).await;
    }
    let refused = failure(call.await.unwrap());
    assert_eq!(refused.code().as_str(), "ERR_STORE_UNAVAILABLE");
    assert_eq!(refused.effect(), Effect::Unknown);
    assert_eq!(detail(&refused, "idempotency_key").unwrap(), "k");
    assert_eq!(fixture.kept("k").await, None);
    fixture.clock.wait_for_sleep(LAST_WRITE_DELAY_MS).await;
    fixture.store.clear_fault();
    fixture.clock.advance(LAST_WRITE_DELAY_MS);
    assert_eq!(fixture.wait_for_outcome("k").await, r#"{"run":1}"#);
    let next = fixture.call_until_done("k").await;
    assert_eq!(
        (result_of(&next).as_str(), next.replayed),
        (r#"{"run":1}"#, true)
    );
}

pub(crate) async fn an_outcome_written_while_the_caller_waits_is_returned(storage: Storage) {
    let handler = ScriptedHandler::of([Step::Block]);
    let fixture = storage.fixture(mutation(handler.clone()));
    let call = unwritten(&fixture, &handler, 60_000).await;
    fixture.clock.advance_when_asleep(50).await;
    fixture.clock.wait_for_sleep(100).await;
    fixture.store.clear_fault();
    fixture.clock.advance(100);
    let answer = call.await.unwrap();
    assert_eq!(
        (result_of(&answer).as_str(), answer.replayed),
        (r#"{"run":1}"#, false)
    );
    assert!(answer.expires_at.is_some());
}

pub(crate) async fn a_known_outcome_is_written_after_its_lease_expired(storage: Storage) {
    let handler = ScriptedHandler::of([Step::Block]);
    let fixture = storage.fixture(mutation(handler.clone()));
    let call = unwritten(&fixture, &handler, 1000).await;
    assert_eq!(result_of(&call.await.unwrap()), "ERR_STORE_UNAVAILABLE");
    fixture.clock.wait_for_sleep(50).await;
    fixture.store.clear_fault();
    // The next call arrives before writing the outcome is tried again.
    fixture.store.inject(Fault::Stuck);
    fixture.clock.advance(LEASE_MS);
    assert_eq!(
        result_of(&fixture.call("k").await),
        "ERR_IDEMPOTENCY_IN_FLIGHT"
    );
    fixture.store.clear_fault();
    assert_eq!(fixture.wait_for_outcome("k").await, r#"{"run":1}"#);
    let next = fixture.call_until_done("k").await;
    assert_eq!(
        (result_of(&next).as_str(), next.replayed),
        (r#"{"run":1}"#, true)
    );
}

pub(crate) async fn a_caller_waits_for_a_stuck_store_for_a_bounded_time(storage: Storage) {
    let handler = ScriptedHandler::of([Step::Block]);
    let fixture = storage.fixture(mutation(handler.clone()));
    let call = fixture.start(CallRequest {
        timeout_ms: Some(700),
        ..order("k")
    });
    handler.wait_for_runs(1).await;
    fixture.store.inject(Fault::Stuck);
    handler.unblock();
    fixture.clock.wait_for_sleep(LAST_WRITE_DELAY_MS).await;
    fixture.clock.advance(700);
    assert!(!call.is_finished());
    fixture.clock.advance(LAST_WRITE_DELAY_MS - 700);
    assert_eq!(result_of(&call.await.unwrap()), "ERR_STORE_UNAVAILABLE");
    fixture.store.clear_fault();
    assert_eq!(fixture.wait_for_outcome("k").await, r#"{"run":1}"#);
}

pub(crate) async fn a_call_waits_for_its_claim_until_its_timeout(storage: Storage) {
    let handler = ScriptedHandler::unscripted();
    let fixture = storage.fixture(mutation(handler.clone()));
    fixture.store.inject(Fault::SlowClaims);
    let call = fixture.start(CallRequest {
        timeout_ms: Some(700),
        ..order("k")
    });
    fixture.store.wait_for_claims(1).await;
    fixture.clock.advance_when_asleep(700).await;
    let refused = failure(call.await.unwrap());
    assert_eq!(refused.code().as_str(), "ERR_STORE_UNAVAILABLE");
    assert_eq!((refused.effect(), handler.runs()), (Effect::None, 0));
    fixture.store.clear_fault();
    assert_eq!(
        result_of(&fixture.call_until_done("k").await),
        r#"{"run":1}"#
    );
}

pub(crate) async fn an_abort_does_not_wait_for_a_stuck_store(storage: Storage) {
    let handler = ScriptedHandler::unscripted();
    let fixture = storage.fixture(mutation(handler.clone()));
    fixture.store.inject(Fault::SlowClaims);
    let abort = CancellationToken::new();
    let call = fixture.start(CallRequest {
        abort: Some(abort.clone()),
        ..order("k")
    });
    fixture.store.wait_for_claims(1).await;
    abort.cancel();
    let refused = failure(call.await.unwrap());
    assert_eq!(refused.code().as_str(), "ERR_CANCELLED");
    assert_eq!((refused.effect(), handler.runs()), (Effect::None, 0));
    fixture.store.clear_fault();
    assert_eq!(
        result_of(&fixture.call_until_done("k").await),
        r#"{"run":1}"#
    );
}

pub(crate) async fn a_crashed_key_that_is_granted_too_late_is_abandoned_again(storage: Storage) {
    let handler = ScriptedHandler::unscripted();
    let fixture = storage.fixture(mutation(handler.clone()));
    fixture.crash("k").await;
    fixture.store.inject(Fault::SlowClaims);
    let abort = CancellationToken::new();
    let call = fixture.start(CallRequest {
        abort: Some(abort.clone()),
        ..order("k")
    });
    fixture.store.wait_for_claims(2).await;
    abort.cancel();
    let refused = failure(call.await.unwrap());
    assert_eq!(refused.code().as_str(), "ERR_CANCELLED");
    fixture.store.clear_fault();
    // No lease has to expire first.
    assert_eq!(
        result_of(&fixture.call_until_done("k").await),
        "ERR_OUTCOME_UNKNOWN"
    );
    assert_eq!(handler.runs(), 0);
}

pub(crate) async fn an_outcome_whose_confirmation_was_lost_is_returned(storage: Storage) {
    let large = json!("x".repeat(1024));
    let handler = ScriptedHandler::of([Step::Return(large.clone())]);
    let settings = Settings {
        kept_output_bytes_limit: 1024,
        ..settings()
    };
    let fixture = storage.fixture_with([mutation(handler.clone())], settings);
    fixture.store.inject(Fault::Unconfirmed);
    let call = fixture.start(order("k"));
    fixture.clock.wait_for_sleep(50).await;
    fixture.store.clear_fault();
    fixture.clock.advance(50);
    let answer = call.await.unwrap();
    assert_eq!(
        (result_of(&answer), answer.replayed),
        (large.to_string(), false)
    );
    assert!(answer.expires_at.is_some());
    assert_eq!(result_of(&fixture.call("k").await), "ERR_OUTCOME_TOO_LARGE");
    assert_eq!(handler.runs(), 1);
}

pub(crate) async fn a_closed_store_is_reported_at_once(storage: Storage) {
    let handler = ScriptedHandler::of([Step::Block]);
    let fixture = storage.fixture(mutation(handler.clone()));
    let call = fixture.start(order("k"));
    handler.wait_for_runs(1).await;
    fixture.store.inject(Fault::Unavailable(StoreError::Closed));
    handler.unblock();
    let refused = failure(call.await.unwrap());
    assert_eq!(refused.code().as_str(), "ERR_STORE_UNAVAILABLE");
    assert_eq!(detail(&refused, "reason").unwrap(), "closed");
}
