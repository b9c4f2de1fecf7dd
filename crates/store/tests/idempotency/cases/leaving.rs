//! Callers that go away, and callers that stop their work on purpose.

use panpan_failure::{Effect, Failure, codes};
use panpan_runtime::{CallRequest, CancellationToken};

use crate::support::{
    Act, Bench, Fault, Work, failure, harmful, harmless, kinds, order, query, retried, settings,
    told,
};

fn abortable(key: &str) -> (CallRequest, CancellationToken) {
    let abort = CancellationToken::new();
    let request = CallRequest {
        abort: Some(abort.clone()),
        ..order(key)
    };
    (request, abort)
}

pub(crate) async fn a_keyed_call_nobody_waits_for_still_reaches_its_record(bench: Bench) {
    let work = Work::of([Act::Hold]);
    let fixture = bench.fixture(harmful(work.clone()));
    let call = fixture.begin(order("k"));
    work.began(1).await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    work.let_go();
    assert_eq!(fixture.recorded("k").await, r#"{"run":1}"#);
    assert!(fixture.call("k").await.replayed);
    assert_eq!(work.dropped(), 0);
}

pub(crate) async fn a_drained_house_has_recorded_what_it_began(bench: Bench) {
    let work = Work::of([Act::Hold]);
    let fixture = bench.fixture(harmful(work.clone()));
    fixture.dispatcher.drain().await;
    let call = fixture.begin(order("k"));
    work.began(1).await;
    call.abort();
    let dispatcher = fixture.dispatcher.clone();
    let drained = tokio::spawn(async move { dispatcher.drain().await });
    tokio::task::yield_now().await;
    assert!(!drained.is_finished());
    work.let_go();
    drained.await.unwrap();
    assert!(fixture.kept("k").await.is_some());
}

pub(crate) async fn a_call_without_a_key_stops_with_its_caller(bench: Bench) {
    let work = Work::of([Act::Hold]);
    let fixture = bench.fixture(harmful(work.clone()));
    let call = fixture.begin(CallRequest {
        key: None,
        ..order("k")
    });
    work.began(1).await;
    call.abort();
    work.ended_early(1).await;
}

pub(crate) async fn a_call_that_was_let_through_runs_even_if_its_caller_left_while_claiming(
    bench: Bench,
) {
    let work = Work::plain();
    let fixture = bench.fixture(harmful(work.clone()));
    fixture.store.breaks(Fault::SlowClaims);
    let call = fixture.begin(order("k"));
    fixture.store.claimed(1).await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    fixture.store.recovers();
    fixture.store.completed(1).await;
    let answer = fixture.call_at_last("k").await;
    assert!(answer.replayed);
    assert_eq!(told(&answer), r#"{"run":1}"#);
    assert_eq!(work.attempts(), [1]);
}

pub(crate) async fn a_crashed_key_is_recovered_even_if_the_caller_left_while_claiming(
    bench: Bench,
) {
    let work = Work::plain();
    let fixture = bench.fixture(harmful(work.clone()));
    fixture.crash("k").await;
    fixture.store.breaks(Fault::SlowClaims);
    let call = fixture.begin(order("k"));
    fixture.store.claimed(2).await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    fixture.store.recovers();
    assert_eq!(
        told(&fixture.call_at_last("k").await),
        "ERR_OUTCOME_UNKNOWN"
    );
    assert_eq!(work.runs(), 0);
}

pub(crate) async fn an_abort_is_kept_where_repeating_might_do_harm(bench: Bench) {
    for (index, (_, is_harmless)) in kinds(Work::plain).into_iter().enumerate() {
        let work = Work::of([Act::Hang]);
        let operation = kinds(|| work.clone()).into_iter().nth(index).unwrap().0;
        let fixture = bench.fixture(operation);
        let key = format!("k{index}");
        let (request, abort) = abortable(&key);
        let call = fixture.begin(request);
        work.began(1).await;
        abort.cancel();
        let first = call.await.unwrap();
        assert_eq!(told(&first), "ERR_CANCELLED");
        assert_eq!(first.expires_at.is_some(), !is_harmless);
        assert_eq!(work.dropped(), 1);
        let again = fixture.call(&key).await;
        let expected = if is_harmless {
            r#"{"run":2}"#
        } else {
            "ERR_CANCELLED"
        };
        assert_eq!(
            (told(&again).as_str(), again.replayed),
            (expected, !is_harmless)
        );
    }
}

pub(crate) async fn an_abort_says_what_it_knows_of_the_effect(bench: Bench) {
    for (key, operation, effect) in [
        ("harmful", harmful as fn(Work) -> _, Effect::Unknown),
        ("harmless", harmless, Effect::Unknown),
        ("query", query, Effect::None),
    ] {
        let work = Work::of([Act::Hang]);
        let fixture = bench.fixture(operation(work.clone()));
        let (request, abort) = abortable(key);
        let call = fixture.begin(request);
        work.began(1).await;
        abort.cancel();
        assert_eq!(failure(call.await.unwrap()).effect(), effect, "{key}");
    }
}

pub(crate) async fn what_was_aborted_before_anything_happened_is_free_again(bench: Bench) {
    // Before the work began, and while it waited after a failure without effect.
    let work = Work::plain();
    let fixture = bench.fixture(harmful(work.clone()));
    let (request, abort) = abortable("early");
    abort.cancel();
    let early = fixture.ask(request).await;
    assert_eq!((told(&early).as_str(), work.runs()), ("ERR_CANCELLED", 0));
    assert_eq!(failure(early).effect(), Effect::None);
    assert_eq!(told(&fixture.call("early").await), r#"{"run":1}"#);

    let busy = Failure::new(codes::ERR_HTTP_429_RATE_LIMITED).with_retry_after_ms(77);
    let work = Work::of([Act::Fail(busy)]);
    let patient = retried(harmful(work.clone()), 3).with(|spec| spec.retry = None);
    let fixture = bench.house_with([patient], settings());
    let (request, abort) = abortable("waiting");
    let call = fixture.begin(CallRequest {
        retry_seed: Some(42),
        ..request
    });
    fixture.clock.asleep(965).await;
    abort.cancel();
    let waiting = call.await.unwrap();
    assert_eq!(
        (told(&waiting).as_str(), waiting.expires_at),
        ("ERR_CANCELLED", None)
    );
    assert_eq!(told(&fixture.call("waiting").await), r#"{"run":2}"#);
}

pub(crate) async fn an_abort_after_the_end_changes_nothing(bench: Bench) {
    let fixture = bench.fixture(harmful(Work::plain()));
    let (request, abort) = abortable("k");
    let first = fixture.ask(request.clone()).await;
    abort.cancel();
    let again = fixture.ask(request).await;
    assert_eq!((again.outcome, again.replayed), (first.outcome, true));
}
