//! Claiming keys.

use std::thread;

use panpan_runtime::ports::{Before, Claimed, End};

use crate::support::{DAY_MS, Fixture, KEEP_MS, claim_request, keep};

/// Claims one key from many threads, each with its own runtime.
pub(crate) async fn only_one_of_many_threads_gets_a_key(fixture: Fixture) {
    for key in 0..20 {
        let claimed: Vec<Claimed> = thread::scope(|threads| {
            let claims: Vec<_> = (0..8)
                .map(|_| threads.spawn(|| claim_on_this_thread(&fixture, key)))
                .collect();
            claims.into_iter().map(|one| one.join().unwrap()).collect()
        });
        let held = |one: &&Claimed| matches!(one, Claimed::Held { .. });
        let in_flight = |one: &&Claimed| matches!(one, Claimed::InFlight { .. });
        assert_eq!(claimed.iter().filter(held).count(), 1, "key {key}");
        assert_eq!(claimed.iter().filter(in_flight).count(), 7, "key {key}");
    }
}

fn claim_on_this_thread(fixture: &Fixture, key: u8) -> Claimed {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.unwrap();
    runtime
        .block_on(fixture.store.claim(claim_request(key, 1)))
        .unwrap()
}

pub(crate) async fn a_new_key_has_no_history(fixture: Fixture) {
    assert_eq!(fixture.before(1).await, Before::Nothing);
}

pub(crate) async fn a_held_key_is_in_flight_until_its_lease_ends(fixture: Fixture) {
    fixture.hold(1).await;
    for (pass_ms, remaining_ms) in [(0, 1000), (1, 999), (998, 1)] {
        fixture.clock.advance(pass_ms);
        let expected = Claimed::InFlight { remaining_ms };
        assert_eq!(fixture.claim(1, 1).await, expected);
    }
}

pub(crate) async fn different_input_is_reported_in_every_state(fixture: Fixture) {
    fixture.abandon(2).await;
    fixture.hold(1).await;
    fixture.release(3, 1).await;
    fixture.finish(4, "1").await;
    fixture.finish(5, "1").await;
    fixture.reopen(5).await;
    for (key, state) in [
        (1, "held"),
        (2, "abandoned"),
        (3, "released"),
        (4, "finished"),
        (5, "reopened"),
    ] {
        for attempt in 0..2 {
            let claimed = fixture.claim(key, 2).await;
            assert_eq!(claimed, Claimed::Reused, "{state}, attempt {attempt}");
        }
    }
    assert!(matches!(fixture.before(2).await, Before::Abandoned { .. }));
    assert!(matches!(fixture.before(3).await, Before::Released { .. }));
}

pub(crate) async fn a_key_without_effect_accepts_different_input_as_the_next_generation(
    fixture: Fixture,
) {
    for (key, end) in [(1, keep("refused")), (2, End::Release)] {
        let (lease, _) = fixture.hold(key).await;
        fixture.end_without_effect(lease, end).await;
        let Claimed::Held {
            lease,
            before,
            generation,
        } = fixture.claim(key, 2).await
        else {
            panic!("key {key} is not held");
        };
        assert_eq!((before, generation), (Before::Nothing, 2));
        assert_eq!(fixture.claim(key, 1).await, Claimed::Reused);
        fixture.end(lease, 1, keep("done")).await;
        assert_eq!(fixture.claim(key, 1).await, Claimed::Reused);
        assert_eq!(fixture.output(key).await.as_deref(), Some("done"));
    }
}

pub(crate) async fn a_key_without_effect_is_replayed_for_the_same_input(fixture: Fixture) {
    let (lease, _) = fixture.hold(1).await;
    fixture.end_without_effect(lease, keep("refused")).await;
    assert!(matches!(fixture.claim(1, 1).await, Claimed::Replay(_)));
}

pub(crate) async fn an_expired_key_accepts_any_input(fixture: Fixture) {
    fixture.finish(1, "1").await;
    fixture.release(2, 1).await;
    fixture.clock.advance(KEEP_MS.max(DAY_MS));
    for key in [1, 2] {
        let Claimed::Held { before, .. } = fixture.claim(key, 2).await else {
            panic!("key {key} is not held");
        };
        assert_eq!(before, Before::Nothing);
        assert_eq!(fixture.claim(key, 1).await, Claimed::Reused);
    }
}

pub(crate) async fn keys_are_independent(fixture: Fixture) {
    fixture.finish(1, "one").await;
    fixture.finish(2, "two").await;
    fixture.hold(3).await;
    fixture.reopen(1).await;
    assert_eq!(fixture.output(1).await, None);
    assert_eq!(fixture.output(2).await.as_deref(), Some("two"));
    assert_eq!(fixture.before(4).await, Before::Nothing);
}
