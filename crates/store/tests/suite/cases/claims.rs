//! Who gets a key.

use std::thread;

use panpan_runtime::ports::{Before, Claimed, End};

use crate::support::{Bench, DAY_MS, KEEP_MS, keep, wish};

/// Claims one key from many threads at once, each with its own runtime.
pub(crate) async fn of_many_threads_one_holds_a_key(bench: Bench) {
    for key in 0..20 {
        let claimed: Vec<Claimed> = thread::scope(|threads| {
            let claims: Vec<_> = (0..8)
                .map(|_| threads.spawn(|| claim_on_this_thread(&bench, key)))
                .collect();
            claims.into_iter().map(|one| one.join().unwrap()).collect()
        });
        let held = |one: &&Claimed| matches!(one, Claimed::Held { .. });
        let in_flight = |one: &&Claimed| matches!(one, Claimed::InFlight { .. });
        assert_eq!(claimed.iter().filter(held).count(), 1, "key {key}");
        assert_eq!(claimed.iter().filter(in_flight).count(), 7, "key {key}");
    }
}

fn claim_on_this_thread(bench: &Bench, key: u8) -> Claimed {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.unwrap();
    runtime.block_on(bench.store.claim(wish(key, 1))).unwrap()
}

pub(crate) async fn a_new_key_is_held_after_nothing(bench: Bench) {
    assert_eq!(bench.before(1).await, Before::Nothing);
}

pub(crate) async fn a_held_key_is_in_flight_for_what_is_left_of_its_lease(bench: Bench) {
    bench.hold(1).await;
    for (pass_ms, remaining_ms) in [(0, 1000), (1, 999), (998, 1)] {
        bench.clock.pass(pass_ms);
        let expected = Claimed::InFlight { remaining_ms };
        assert_eq!(bench.claim(1, 1).await, expected);
    }
}

pub(crate) async fn other_input_is_found_before_the_state(bench: Bench) {
    bench.abandon(2).await;
    bench.hold(1).await;
    bench.release(3, 1).await;
    bench.finish(4, "1").await;
    bench.finish(5, "1").await;
    bench.reopen(5).await;
    for (key, state) in [
        (1, "held"),
        (2, "abandoned"),
        (3, "released"),
        (4, "finished"),
        (5, "reopened"),
    ] {
        for attempt in 0..2 {
            let claimed = bench.claim(key, 2).await;
            assert_eq!(claimed, Claimed::Reused, "{state}, attempt {attempt}");
        }
    }
    assert!(matches!(bench.before(2).await, Before::Abandoned { .. }));
    assert!(matches!(bench.before(3).await, Before::Released { .. }));
}

pub(crate) async fn a_key_without_an_effect_takes_other_input_as_its_next_generation(bench: Bench) {
    for (key, end) in [(1, keep("refused")), (2, End::Release)] {
        let (lease, _) = bench.hold(key).await;
        bench.end_without_effect(lease, end).await;
        let Claimed::Held {
            lease,
            before,
            generation,
        } = bench.claim(key, 2).await
        else {
            panic!("key {key} is not held");
        };
        assert_eq!((before, generation), (Before::Nothing, 2));
        assert_eq!(bench.claim(key, 1).await, Claimed::Reused);
        bench.end(lease, 1, keep("done")).await;
        assert_eq!(bench.claim(key, 1).await, Claimed::Reused);
        assert_eq!(bench.output(key).await.as_deref(), Some("done"));
    }
}

pub(crate) async fn a_key_without_an_effect_is_replayed_to_its_own_input(bench: Bench) {
    let (lease, _) = bench.hold(1).await;
    bench.end_without_effect(lease, keep("refused")).await;
    assert!(matches!(bench.claim(1, 1).await, Claimed::Replay(_)));
}

pub(crate) async fn a_forgotten_key_takes_any_input(bench: Bench) {
    bench.finish(1, "1").await;
    bench.release(2, 1).await;
    bench.clock.pass(KEEP_MS.max(DAY_MS));
    for key in [1, 2] {
        let Claimed::Held { before, .. } = bench.claim(key, 2).await else {
            panic!("key {key} is not held");
        };
        assert_eq!(before, Before::Nothing);
        assert_eq!(bench.claim(key, 1).await, Claimed::Reused);
    }
}

pub(crate) async fn keys_do_not_touch_each_other(bench: Bench) {
    bench.finish(1, "one").await;
    bench.finish(2, "two").await;
    bench.hold(3).await;
    bench.reopen(1).await;
    assert_eq!(bench.output(1).await, None);
    assert_eq!(bench.output(2).await.as_deref(), Some("two"));
    assert_eq!(bench.before(4).await, Before::Nothing);
}
