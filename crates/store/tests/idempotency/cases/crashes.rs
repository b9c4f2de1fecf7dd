//! A crash between effect and record, simulated by a lease that is never extended.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use panpan_failure::{Effect, Failure, codes};
use panpan_runtime::{Context, RECOVERIES_LIMIT, Reconcile, Reconciled};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::support::{
    LEASE_MS, ScriptedHandler, Step, Storage, detail, failure, idempotent, mutation, order, query,
    reconciled, result_of,
};

fn finds(found: Result<Reconciled, Failure>) -> impl Reconcile {
    move |_: Context, _: Arc<Value>| std::future::ready(found.clone())
}

pub(crate) async fn an_idempotent_call_runs_again_after_a_crash(storage: Storage) {
    for (key, operation) in [
        ("mutation", idempotent as fn(ScriptedHandler) -> _),
        ("query", query),
    ] {
        let handler = ScriptedHandler::unscripted();
        let fixture = storage.fixture(operation(handler.clone()));
        fixture.crash(key).await;
        let answer = fixture.call(key).await;
        assert_eq!(
            (result_of(&answer).as_str(), answer.replayed),
            (r#"{"run":1}"#, false)
        );
        assert!(fixture.call(key).await.replayed);
    }
}

pub(crate) async fn a_crashed_mutation_has_an_unknown_outcome(storage: Storage) {
    let handler = ScriptedHandler::unscripted();
    let fixture = storage.fixture(mutation(handler.clone()));
    fixture.crash("k").await;
    let first = fixture.call("k").await;
    assert!(first.expires_at.is_some());
    let second = fixture.call("k").await;
    assert_eq!((first.replayed, second.replayed), (false, true));
    assert_eq!(second.outcome, first.outcome);
    let unknown = failure(first);
    assert_eq!(unknown.code().as_str(), "ERR_OUTCOME_UNKNOWN");
    assert_eq!(unknown.effect(), Effect::Unknown);
    assert_eq!(detail(&unknown, "idempotency_key").unwrap(), "k");
    assert_eq!(handler.runs(), 0);
}

pub(crate) async fn a_crashed_call_is_reconciled_first(storage: Storage) {
    let unknown = "ERR_OUTCOME_UNKNOWN";
    for (key, found, expected, runs) in [
        (
            "happened",
            Reconciled::Happened(json!({"found": 1})),
            r#"{"found":1}"#,
            0,
        ),
        ("did-not", Reconciled::DidNotHappen, r#"{"run":1}"#, 1),
        ("unknown", Reconciled::Unknown, unknown, 0),
    ] {
        let handler = ScriptedHandler::unscripted();
        let fixture = storage.fixture(reconciled(handler.clone(), finds(Ok(found))));
        fixture.crash(key).await;
        let first = fixture.call(key).await;
        assert_eq!(
            (result_of(&first).as_str(), handler.runs()),
            (expected, runs)
        );
        let second = fixture.call(key).await;
        assert_eq!(second.outcome, first.outcome, "{key}");
        assert_eq!((first.replayed, second.replayed), (false, true), "{key}");
        assert_eq!(second.expires_at, first.expires_at);
    }
}

pub(crate) async fn a_call_is_not_reconciled_without_a_crash(storage: Storage) {
    let happened = finds(Ok(Reconciled::Happened(json!("reconciled"))));
    let busy = Failure::new(codes::ERR_HTTP_429_RATE_LIMITED);
    let handler = ScriptedHandler::of([Step::Fail(busy)]);
    let fixture = storage.fixture(reconciled(handler.clone(), happened));
    fixture.call("k").await;
    assert_eq!(result_of(&fixture.call("k").await), r#"{"run":2}"#);
}

pub(crate) async fn a_failed_reconciliation_is_repeated_by_the_next_call(storage: Storage) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let flaky = move |context: Context, _: Arc<Value>| {
        let number = counted.fetch_add(1, Ordering::SeqCst);
        assert!(context.downstream_key().is_some());
        async move {
            match number {
                0 => panic!("a defect while reconciling"),
                1..6 => Err(Failure::new(codes::NETWORK_ERROR)),
                _ => Ok(Reconciled::Happened(json!("found"))),
            }
        }
    };
    let handler = ScriptedHandler::unscripted();
    let fixture = storage.fixture(reconciled(handler.clone(), flaky));
    fixture.crash("k").await;
    for _ in 0..6 {
        let answer = fixture.call("k").await;
        assert_eq!(answer.expires_at, None);
        let unknown = failure(answer);
        assert_eq!(unknown.code().as_str(), "ERR_OUTCOME_UNKNOWN");
        assert_eq!(detail(&unknown, "idempotency_key").unwrap(), "k");
        assert_eq!(fixture.kept("k").await, None);
    }
    assert_eq!(result_of(&fixture.call("k").await), r#""found""#);
    assert_eq!((count.load(Ordering::SeqCst), handler.runs()), (7, 0));
    let causes = fixture.notes.causes().join("; ");
    assert!(causes.contains("a defect while reconciling"), "{causes}");
}

pub(crate) async fn a_call_that_crashes_repeatedly_is_given_up(storage: Storage) {
    for (crashes, expected) in [
        (RECOVERIES_LIMIT, r#"{"run":1}"#),
        (RECOVERIES_LIMIT + 1, "ERR_RECOVERY_EXHAUSTED"),
    ] {
        let handler = ScriptedHandler::unscripted();
        let fixture = storage.fixture(idempotent(handler.clone()));
        let key = format!("k{crashes}");
        for _ in 0..crashes {
            fixture.crash(&key).await;
        }
        let first = fixture.call(&key).await;
        let second = fixture.call(&key).await;
        assert_eq!(result_of(&first), expected);
        assert_eq!((second.outcome, second.replayed), (first.outcome, true));
    }
}

pub(crate) async fn a_key_stays_held_during_a_long_reconciliation(storage: Storage) {
    let (started, finish) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (start, end) = (started.clone(), finish.clone());
    let slow = move |_: Context, _: Arc<Value>| {
        let (start, end) = (start.clone(), end.clone());
        async move {
            start.notify_one();
            end.notified().await;
            Ok::<_, Failure>(Reconciled::DidNotHappen)
        }
    };
    let handler = ScriptedHandler::unscripted();
    let fixture = storage.fixture(reconciled(handler.clone(), slow));
    fixture.crash("k").await;
    let first = fixture.start(order("k"));
    started.notified().await;
    for _ in 0..6 {
        fixture.clock.advance_when_asleep(LEASE_MS / 3).await;
    }
    fixture.clock.wait_for_sleep(LEASE_MS / 3).await;
    assert_eq!(
        result_of(&fixture.call("k").await),
        "ERR_IDEMPOTENCY_IN_FLIGHT"
    );
    finish.notify_one();
    assert_eq!(result_of(&first.await.unwrap()), r#"{"run":1}"#);
    assert_eq!(handler.runs(), 1);
}

pub(crate) async fn a_reconciled_output_is_checked_against_the_output_schema(storage: Storage) {
    let odd = finds(Ok(Reconciled::Happened(json!("a text"))));
    let operation = reconciled(ScriptedHandler::unscripted(), odd);
    let fixture =
        storage.fixture(operation.with(|spec| spec.output_schema = json!({"type": "object"})));
    fixture.crash("k").await;
    let first = fixture.call("k").await;
    let second = fixture.call("k").await;
    assert!(first.schema_violation.is_some() && second.schema_violation.is_some());
}
