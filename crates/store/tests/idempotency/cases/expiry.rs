//! How long an outcome is replayed.

use std::sync::Arc;

use panpan_failure::{Failure, codes};
use panpan_runtime::ports::StoreError;
use panpan_runtime::{CallRequest, Settings};
use serde_json::json;

use crate::support::{
    Fault, KEEP_MS, ScriptedHandler, Step, Storage, mutation, order, result_of, settings,
};

pub(crate) async fn an_outcome_is_kept_for_a_day_from_its_completion(storage: Storage) {
    const DAY_MS: u64 = 24 * 60 * 60 * 1000;
    assert!(Settings::default().keep_ms >= DAY_MS);
    let handler = ScriptedHandler::of([Step::Block]);
    let fixture = storage.fixture(mutation(handler.clone()));
    let first = fixture.start(order("k"));
    handler.wait_for_runs(1).await;
    fixture.clock.advance(900);
    handler.unblock();
    let first = first.await.unwrap();
    let expires_ms = first.expires_at.unwrap().as_millisecond();
    assert_eq!(expires_ms, fixture.now_ms() + KEEP_MS.cast_signed());
    fixture.clock.advance(KEEP_MS - 1);
    assert!(fixture.call("k").await.replayed);
    fixture.clock.advance(1);
    let new = fixture.call("k").await;
    assert_eq!(
        (result_of(&new).as_str(), new.replayed),
        (r#"{"run":2}"#, false)
    );
}

pub(crate) async fn a_replay_has_the_same_call_id_and_expiry(storage: Storage) {
    let broke = Step::Fail(Failure::new(codes::INSUFFICIENT_FUNDS));
    for (key, step) in [("output", Step::ReturnRun), ("failure", broke)] {
        let fixture = storage.fixture(mutation(ScriptedHandler::of([step])));
        let first = fixture.call(key).await;
        fixture.clock.advance(5000);
        let again = fixture.call(key).await;
        assert_eq!((first.replayed, again.replayed), (false, true));
        assert!(first.expires_at.is_some());
        assert_eq!(again.expires_at, first.expires_at);
        assert_eq!(again.call, first.call);
        assert_eq!((first.attempts, again.attempts), (1, 0));
    }
}

pub(crate) async fn an_expired_key_is_new_before_it_is_swept(storage: Storage) {
    let handler = ScriptedHandler::unscripted();
    let fixture = storage.fixture(mutation(handler.clone()));
    fixture.call("k").await;
    fixture.clock.advance(KEEP_MS);
    let other = CallRequest {
        input: Arc::new(json!({"item": "coffee"})),
        ..order("k")
    };
    let answer = fixture.send(other).await;
    assert_eq!(
        (result_of(&answer).as_str(), answer.replayed),
        (r#"{"run":2}"#, false)
    );
    assert_eq!(handler.attempts(), [1, 1]);
}

pub(crate) async fn a_held_key_never_expires(storage: Storage) {
    let handler = ScriptedHandler::unscripted();
    let fixture = storage.fixture(mutation(handler.clone()));
    fixture.crash("k").await;
    fixture.clock.advance(2 * KEEP_MS);
    fixture.dispatcher.maintain().await.unwrap();
    assert_eq!(result_of(&fixture.call("k").await), "ERR_OUTCOME_UNKNOWN");
    assert_eq!(handler.runs(), 0);
}

pub(crate) async fn expired_keys_are_swept_while_flushing_fails(storage: Storage) {
    let fixture = storage.fixture(mutation(ScriptedHandler::unscripted()));
    fixture.call("k").await;
    fixture.clock.advance(KEEP_MS);
    fixture.store.inject(Fault::Unavailable(StoreError::Full));
    assert_eq!(fixture.dispatcher.maintain().await, Err(StoreError::Full));
    fixture.store.clear_fault();
    assert_eq!(fixture.dispatcher.maintain().await.unwrap().keys, 0);
}

pub(crate) async fn zero_settings_do_not_disable_keys(storage: Storage) {
    let nothing = Settings {
        lease_ms: 0,
        keep_ms: 0,
        ..settings()
    };
    let handler = ScriptedHandler::of([Step::Block]);
    let fixture = storage.fixture_with([mutation(handler.clone())], nothing);
    let first = fixture.start(order("k"));
    handler.wait_for_runs(1).await;
    assert_eq!(
        result_of(&fixture.call("k").await),
        "ERR_IDEMPOTENCY_IN_FLIGHT"
    );
    handler.unblock();
    first.await.unwrap();
    assert!(fixture.call("k").await.replayed);
    assert_eq!(handler.attempts(), [1]);
}
