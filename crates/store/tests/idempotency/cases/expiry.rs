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
    let house = bench.house(harmful(work.clone()));
    let first = house.begin(order("k"));
    work.began(1).await;
    house.clock.pass(900);
    work.let_go();
    let first = first.await.unwrap();
    let expires_ms = first.expires_at.unwrap().as_millisecond();
    assert_eq!(expires_ms, house.now_ms() + KEEP_MS.cast_signed());
    house.clock.pass(KEEP_MS - 1);
    assert!(house.call("k").await.replayed);
    house.clock.pass(1);
    let new = house.call("k").await;
    assert_eq!((told(&new).as_str(), new.replayed), (r#"{"run":2}"#, false));
}

pub(crate) async fn first_answer_and_replay_say_the_same_about_themselves(bench: Bench) {
    let broke = Act::Fail(Failure::new(codes::INSUFFICIENT_FUNDS));
    for (key, act) in [("output", Act::Number), ("failure", broke)] {
        let house = bench.house(harmful(Work::of([act])));
        let first = house.call(key).await;
        house.clock.pass(5000);
        let again = house.call(key).await;
        assert_eq!((first.replayed, again.replayed), (false, true));
        assert!(first.expires_at.is_some());
        assert_eq!(again.expires_at, first.expires_at);
        assert_eq!(again.call, first.call);
        assert_eq!((first.attempts, again.attempts), (1, 0));
    }
}

pub(crate) async fn an_expired_key_is_new_though_nobody_swept_it(bench: Bench) {
    let work = Work::plain();
    let house = bench.house(harmful(work.clone()));
    house.call("k").await;
    house.clock.pass(KEEP_MS);
    let other = CallRequest {
        input: Arc::new(json!({"item": "coffee"})),
        ..order("k")
    };
    let answer = house.ask(other).await;
    assert_eq!(
        (told(&answer).as_str(), answer.replayed),
        (r#"{"run":2}"#, false)
    );
    assert_eq!(work.attempts(), [1, 1]);
}

pub(crate) async fn a_key_that_is_held_never_expires(bench: Bench) {
    let work = Work::plain();
    let house = bench.house(harmful(work.clone()));
    house.crash("k").await;
    house.clock.pass(2 * KEEP_MS);
    house.dispatcher.tend().await.unwrap();
    assert_eq!(told(&house.call("k").await), "ERR_OUTCOME_UNKNOWN");
    assert_eq!(work.runs(), 0);
}

pub(crate) async fn what_expired_is_swept_even_while_nothing_can_be_flushed(bench: Bench) {
    let house = bench.house(harmful(Work::plain()));
    house.call("k").await;
    house.clock.pass(KEEP_MS);
    house.store.breaks(Fault::Away(StoreError::Full));
    assert_eq!(house.dispatcher.tend().await, Err(StoreError::Full));
    house.store.recovers();
    assert_eq!(house.dispatcher.tend().await.unwrap().keys, 0);
}

pub(crate) async fn settings_of_nothing_do_not_defeat_a_key(bench: Bench) {
    let nothing = Settings {
        lease_ms: 0,
        keep_ms: 0,
        ..settings()
    };
    let work = Work::of([Act::Hold]);
    let house = bench.house_with([harmful(work.clone())], nothing);
    let first = house.begin(order("k"));
    work.began(1).await;
    assert_eq!(told(&house.call("k").await), "ERR_IDEMPOTENCY_IN_FLIGHT");
    work.let_go();
    first.await.unwrap();
    assert!(house.call("k").await.replayed);
    assert_eq!(work.attempts(), [1]);
}
