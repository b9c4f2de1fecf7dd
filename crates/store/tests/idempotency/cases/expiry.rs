//! How long an outcome is given again (behaviours 12 and 13).

use std::sync::Arc;

use panpan_failure::{Failure, codes};
use panpan_runtime::ports::StoreError;
use panpan_runtime::{CallRequest, Settings};
use serde_json::json;

use crate::support::{Act, Bench, Fault, KEEP_MS, Work, harmful, order, settings, told};

pub(crate) async fn an_outcome_is_kept_for_a_day_from_its_completion(bench: Bench) {
    const DAY_MS: u64 = 24 * 60 * 60 * 1000;
    assert!(Settings::default().keep_ms >= DAY_MS);
    let work = Work::of([Act::Hold]);
    let fixture = bench.fixture(harmful(work.clone()));
    let first = fixture.begin(order("k"));
    work.began(1).await;
    fixture.clock.pass(900);
    work.let_go();
    let first = first.await.unwrap();
    let expires_ms = first.expires_at.unwrap().as_millisecond();
    assert_eq!(expires_ms, fixture.now_ms() + KEEP_MS.cast_signed());
    fixture.clock.pass(KEEP_MS - 1);
    assert!(fixture.call("k").await.replayed);
    fixture.clock.pass(1);
    let new = fixture.call("k").await;
    assert_eq!((told(&new).as_str(), new.replayed), (r#"{"run":2}"#, false));
}

pub(crate) async fn first_answer_and_replay_say_the_same_about_themselves(bench: Bench) {
    let broke = Act::Fail(Failure::new(codes::INSUFFICIENT_FUNDS));
    for (key, act) in [("output", Act::Number), ("failure", broke)] {
        let fixture = bench.fixture(harmful(Work::of([act])));
        let first = fixture.call(key).await;
        fixture.clock.pass(5000);
        let again = fixture.call(key).await;
        assert_eq!((first.replayed, again.replayed), (false, true));
        assert!(first.expires_at.is_some());
        assert_eq!(again.expires_at, first.expires_at);
        assert_eq!(again.call, first.call);
        assert_eq!((first.attempts, again.attempts), (1, 0));
    }
}

pub(crate) async fn an_expired_key_is_new_though_nobody_swept_it(bench: Bench) {
    let work = Work::plain();
    let fixture = bench.fixture(harmful(work.clone()));
    fixture.call("k").await;
    fixture.clock.pass(KEEP_MS);
    let other = CallRequest {
        input: Arc::new(json!({"item": "coffee"})),
        ..order("k")
    };
    let answer = fixture.ask(other).await;
    assert_eq!(
        (told(&answer).as_str(), answer.replayed),
        (r#"{"run":2}"#, false)
    );
    assert_eq!(work.attempts(), [1, 1]);
}

pub(crate) async fn a_key_that_is_held_never_expires(bench: Bench) {
    let work = Work::plain();
    let fixture = bench.fixture(harmful(work.clone()));
    fixture.crash("k").await;
    fixture.clock.pass(2 * KEEP_MS);
    fixture.dispatcher.tend().await.unwrap();
    assert_eq!(told(&fixture.call("k").await), "ERR_OUTCOME_UNKNOWN");
    assert_eq!(work.runs(), 0);
}

pub(crate) async fn what_expired_is_swept_even_while_nothing_can_be_flushed(bench: Bench) {
    let fixture = bench.fixture(harmful(Work::plain()));
    fixture.call("k").await;
    fixture.clock.pass(KEEP_MS);
    fixture.store.breaks(Fault::Away(StoreError::Full));
    assert_eq!(fixture.dispatcher.tend().await, Err(StoreError::Full));
    fixture.store.recovers();
    assert_eq!(fixture.dispatcher.tend().await.unwrap().keys, 0);
}

pub(crate) async fn settings_of_nothing_do_not_defeat_a_key(bench: Bench) {
    let nothing = Settings {
        lease_ms: 0,
        keep_ms: 0,
        ..settings()
    };
    let work = Work::of([Act::Hold]);
    let fixture = bench.house_with([harmful(work.clone())], nothing);
    let first = fixture.begin(order("k"));
    work.began(1).await;
    assert_eq!(told(&fixture.call("k").await), "ERR_IDEMPOTENCY_IN_FLIGHT");
    work.let_go();
    first.await.unwrap();
    assert!(fixture.call("k").await.replayed);
    assert_eq!(work.attempts(), [1]);
}
