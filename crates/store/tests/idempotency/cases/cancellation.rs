//! Callers that disconnect, and callers that abort their calls.

use panpan_failure::{Effect, Failure, codes};
use panpan_runtime::{CallRequest, CancellationToken};

use crate::support::{
    Fault, ScriptedHandler, Step, Storage, failure, idempotent, kinds, mutation, order, query,
    result_of, retried, settings,
};

fn abortable(key: &str) -> (CallRequest, CancellationToken) {
    let abort = CancellationToken::new();
    let request = CallRequest {
        abort: Some(abort.clone()),
        ..order(key)
    };
    (request, abort)
}

pub(crate) async fn a_keyed_call_is_recorded_after_its_caller_left(storage: Storage) {
    let handler = ScriptedHandler::of([Step::Block]);
    let fixture = storage.fixture(mutation(handler.clone()));
    let call = fixture.start(order("k"));
    handler.wait_for_runs(1).await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    handler.unblock();
    assert_eq!(fixture.wait_for_outcome("k").await, r#"{"run":1}"#);
    assert!(fixture.call("k").await.replayed);
    assert_eq!(handler.dropped(), 0);
}

pub(crate) async fn a_drain_waits_for_running_keyed_calls(storage: Storage) {
    let handler = ScriptedHandler::of([Step::Block]);
    let fixture = storage.fixture(mutation(handler.clone()));
    fixture.dispatcher.drain().await;
    let call = fixture.start(order("k"));
    handler.wait_for_runs(1).await;
    call.abort();
    let dispatcher = fixture.dispatcher.clone();
    let drained = tokio::spawn(async move { dispatcher.drain().await });
    tokio::task::yield_now().await;
    assert!(!drained.is_finished());
    handler.unblock();
    drained.await.unwrap();
    assert!(fixture.kept("k").await.is_some());
}

pub(crate) async fn a_call_without_a_key_stops_when_its_caller_leaves(storage: Storage) {
    let handler = ScriptedHandler::of([Step::Block]);
    let fixture = storage.fixture(mutation(handler.clone()));
    let call = fixture.start(CallRequest {
        key: None,
        ..order("k")
    });
    handler.wait_for_runs(1).await;
    call.abort();
    handler.wait_for_dropped(1).await;
}

pub(crate) async fn a_granted_call_runs_even_if_its_caller_left_during_the_claim(storage: Storage) {
    let handler = ScriptedHandler::unscripted();
    let fixture = storage.fixture(mutation(handler.clone()));
    fixture.store.inject(Fault::SlowClaims);
    let call = fixture.start(order("k"));
    fixture.store.wait_for_claims(1).await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    fixture.store.clear_fault();
    fixture.store.wait_for_completions(1).await;
    let answer = fixture.call_until_done("k").await;
    assert!(answer.replayed);
    assert_eq!(result_of(&answer), r#"{"run":1}"#);
    assert_eq!(handler.attempts(), [1]);
}

pub(crate) async fn a_crashed_key_is_recovered_even_if_the_caller_left_during_the_claim(
    storage: Storage,
) {
    let handler = ScriptedHandler::unscripted();
    let fixture = storage.fixture(mutation(handler.clone()));
    fixture.crash("k").await;
    fixture.store.inject(Fault::SlowClaims);
    let call = fixture.start(order("k"));
    fixture.store.wait_for_claims(2).await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    fixture.store.clear_fault();
    assert_eq!(
        result_of(&fixture.call_until_done("k").await),
        "ERR_OUTCOME_UNKNOWN"
    );
    assert_eq!(handler.runs(), 0);
}

pub(crate) async fn an_abort_of_a_mutation_is_kept(storage: Storage) {
    for (index, (_, is_idempotent)) in kinds(ScriptedHandler::unscripted).into_iter().enumerate() {
        let handler = ScriptedHandler::of([Step::Hang]);
        let operation = kinds(|| handler.clone()).into_iter().nth(index).unwrap().0;
        let fixture = storage.fixture(operation);
        let key = format!("k{index}");
        let (request, abort) = abortable(&key);
        let call = fixture.start(request);
        handler.wait_for_runs(1).await;
        abort.cancel();
        let first = call.await.unwrap();
        assert_eq!(result_of(&first), "ERR_CANCELLED");
        assert_eq!(first.expires_at.is_some(), !is_idempotent);
        assert_eq!(handler.dropped(), 1);
        let again = fixture.call(&key).await;
        let expected = if is_idempotent {
            r#"{"run":2}"#
        } else {
            "ERR_CANCELLED"
        };
        assert_eq!(
            (result_of(&again).as_str(), again.replayed),
            (expected, !is_idempotent)
        );
    }
}

pub(crate) async fn an_abort_reports_the_known_effect(storage: Storage) {
    for (key, operation, effect) in [
        (
            "mutation",
            mutation as fn(ScriptedHandler) -> _,
            Effect::Unknown,
        ),
        ("idempotent", idempotent, Effect::Unknown),
        ("query", query, Effect::None),
    ] {
        let handler = ScriptedHandler::of([Step::Hang]);
        let fixture = storage.fixture(operation(handler.clone()));
        let (request, abort) = abortable(key);
        let call = fixture.start(request);
        handler.wait_for_runs(1).await;
        abort.cancel();
        assert_eq!(failure(call.await.unwrap()).effect(), effect, "{key}");
    }
}

pub(crate) async fn a_key_aborted_before_any_effect_is_free_again(storage: Storage) {
    // Before the handler ran, and during the delay after a failure without effect.
    let handler = ScriptedHandler::unscripted();
    let fixture = storage.fixture(mutation(handler.clone()));
    let (request, abort) = abortable("early");
    abort.cancel();
    let early = fixture.send(request).await;
    assert_eq!(
        (result_of(&early).as_str(), handler.runs()),
        ("ERR_CANCELLED", 0)
    );
    assert_eq!(failure(early).effect(), Effect::None);
    assert_eq!(result_of(&fixture.call("early").await), r#"{"run":1}"#);

    let busy = Failure::new(codes::ERR_HTTP_429_RATE_LIMITED).with_retry_after_ms(77);
    let handler = ScriptedHandler::of([Step::Fail(busy)]);
    let patient = retried(mutation(handler.clone()), 3).with(|spec| spec.retry = None);
    let fixture = storage.fixture_with([patient], settings());
    let (request, abort) = abortable("waiting");
    let call = fixture.start(CallRequest {
        retry_seed: Some(42),
        ..request
    });
    fixture.clock.wait_for_sleep(965).await;
    abort.cancel();
    let waiting = call.await.unwrap();
    assert_eq!(
        (result_of(&waiting).as_str(), waiting.expires_at),
        ("ERR_CANCELLED", None)
    );
    assert_eq!(result_of(&fixture.call("waiting").await), r#"{"run":2}"#);
}

pub(crate) async fn an_abort_after_completion_changes_nothing(storage: Storage) {
    let fixture = storage.fixture(mutation(ScriptedHandler::unscripted()));
    let (request, abort) = abortable("k");
    let first = fixture.send(request.clone()).await;
    abort.cancel();
    let again = fixture.send(request).await;
    assert_eq!((again.outcome, again.replayed), (first.outcome, true));
}
