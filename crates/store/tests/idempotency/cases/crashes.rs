//! A crash between effect and record, simulated by a lease that nobody shows a sign of life for
//! (behaviour 9).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use panpan_failure::{Effect, Failure, codes};
use panpan_runtime::{Context, RECOVERIES_LIMIT, Reconcile, Reconciled};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::support::{
    Act, Bench, LEASE_MS, Work, detail, failure, harmful, harmless, order, query, reconciled, told,
};

fn finds(found: Result<Reconciled, Failure>) -> impl Reconcile {
    move |_: Context, _: Arc<Value>| std::future::ready(found.clone())
}

pub(crate) async fn work_that_does_no_harm_runs_again(bench: Bench) {
    for (key, operation) in [("mutation", harmless as fn(Work) -> _), ("query", query)] {
        let work = Work::plain();
        let fixture = bench.fixture(operation(work.clone()));
        fixture.crash(key).await;
        let answer = fixture.call(key).await;
        assert_eq!(
            (told(&answer).as_str(), answer.replayed),
            (r#"{"run":1}"#, false)
        );
        assert!(fixture.call(key).await.replayed);
    }
}

pub(crate) async fn of_work_that_may_do_harm_nobody_knows_and_that_is_its_outcome(bench: Bench) {
    let work = Work::plain();
    let fixture = bench.fixture(harmful(work.clone()));
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
    assert_eq!(work.runs(), 0);
}

pub(crate) async fn who_can_be_asked_is_asked_first(bench: Bench) {
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
        let work = Work::plain();
        let fixture = bench.fixture(reconciled(work.clone(), finds(Ok(found))));
        fixture.crash(key).await;
        let first = fixture.call(key).await;
        assert_eq!((told(&first).as_str(), work.runs()), (expected, runs));
        let second = fixture.call(key).await;
        assert_eq!(second.outcome, first.outcome, "{key}");
        assert_eq!((first.replayed, second.replayed), (false, true), "{key}");
        assert_eq!(second.expires_at, first.expires_at);
    }
}

pub(crate) async fn nobody_is_asked_without_a_crash(bench: Bench) {
    let happened = finds(Ok(Reconciled::Happened(json!("asked"))));
    let busy = Failure::new(codes::ERR_HTTP_429_RATE_LIMITED);
    let work = Work::of([Act::Fail(busy)]);
    let fixture = bench.fixture(reconciled(work.clone(), happened));
    fixture.call("k").await;
    assert_eq!(told(&fixture.call("k").await), r#"{"run":2}"#);
}

pub(crate) async fn who_cannot_say_today_is_asked_again_tomorrow(bench: Bench) {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    let moody = move |context: Context, _: Arc<Value>| {
        let number = counted.fetch_add(1, Ordering::SeqCst);
        assert!(context.downstream_key().is_some());
        async move {
            match number {
                0 => panic!("a defect while asking"),
                1..6 => Err(Failure::new(codes::NETWORK_ERROR)),
                _ => Ok(Reconciled::Happened(json!("found"))),
            }
        }
    };
    let work = Work::plain();
    let fixture = bench.fixture(reconciled(work.clone(), moody));
    fixture.crash("k").await;
    for _ in 0..6 {
        let answer = fixture.call("k").await;
        assert_eq!(answer.expires_at, None);
        let unknown = failure(answer);
        assert_eq!(unknown.code().as_str(), "ERR_OUTCOME_UNKNOWN");
        assert_eq!(detail(&unknown, "idempotency_key").unwrap(), "k");
        assert_eq!(fixture.kept("k").await, None);
    }
    assert_eq!(told(&fixture.call("k").await), r#""found""#);
    assert_eq!((asked.load(Ordering::SeqCst), work.runs()), (7, 0));
    let causes = fixture.notes.causes().join("; ");
    assert!(causes.contains("a defect while asking"), "{causes}");
}

pub(crate) async fn what_ends_its_worker_again_and_again_is_given_up(bench: Bench) {
    for (crashes, expected) in [
        (RECOVERIES_LIMIT, r#"{"run":1}"#),
        (RECOVERIES_LIMIT + 1, "ERR_RECOVERY_EXHAUSTED"),
    ] {
        let work = Work::plain();
        let fixture = bench.fixture(harmless(work.clone()));
        let key = format!("k{crashes}");
        for _ in 0..crashes {
            fixture.crash(&key).await;
        }
        let first = fixture.call(&key).await;
        let second = fixture.call(&key).await;
        assert_eq!(told(&first), expected);
        assert_eq!((second.outcome, second.replayed), (first.outcome, true));
    }
}

pub(crate) async fn a_key_stays_held_while_somebody_is_asked_for_long(bench: Bench) {
    let (said, says) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (asked, answers) = (said.clone(), says.clone());
    let slow = move |_: Context, _: Arc<Value>| {
        let (asked, answers) = (asked.clone(), answers.clone());
        async move {
            asked.notify_one();
            answers.notified().await;
            Ok::<_, Failure>(Reconciled::DidNotHappen)
        }
    };
    let work = Work::plain();
    let fixture = bench.fixture(reconciled(work.clone(), slow));
    fixture.crash("k").await;
    let first = fixture.begin(order("k"));
    said.notified().await;
    for _ in 0..6 {
        fixture.clock.pass_asleep(LEASE_MS / 3).await;
    }
    fixture.clock.asleep(LEASE_MS / 3).await;
    assert_eq!(told(&fixture.call("k").await), "ERR_IDEMPOTENCY_IN_FLIGHT");
    says.notify_one();
    assert_eq!(told(&first.await.unwrap()), r#"{"run":1}"#);
    assert_eq!(work.runs(), 1);
}

pub(crate) async fn what_was_found_is_held_against_the_output_schema_at_once(bench: Bench) {
    let odd = finds(Ok(Reconciled::Happened(json!("a text"))));
    let operation = reconciled(Work::plain(), odd);
    let fixture =
        bench.fixture(operation.with(|spec| spec.output_schema = json!({"type": "object"})));
    fixture.crash("k").await;
    let first = fixture.call("k").await;
    let second = fixture.call("k").await;
    assert_eq!((first.as_declared, second.as_declared), (false, false));
}
