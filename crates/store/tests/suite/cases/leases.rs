//! How long a key is held, and what happens when its holder says nothing.

use panpan_runtime::ports::{Before, Claim, Claimed, Completed, End, Lease};

use crate::support::{Bench, KEEP_MS, LEASE_MS, START_MS, keep, scope, wish};

pub(crate) async fn a_lease_that_ran_out_is_taken_over(bench: Bench) {
    bench.hold(1).await;
    bench.clock.pass(LEASE_MS - 1);
    let in_flight = Claimed::InFlight { remaining_ms: 1 };
    assert_eq!(bench.claim(1, 1).await, in_flight);
    bench.clock.pass(1);
    let abandoned = Before::Abandoned {
        attempts: 0,
        recoveries: 1,
    };
    assert_eq!(bench.before(1).await, abandoned);
    let in_flight = Claimed::InFlight {
        remaining_ms: LEASE_MS,
    };
    assert_eq!(bench.claim(1, 1).await, in_flight);
}

async fn recoveries(bench: &Bench, key: u8) -> u32 {
    match bench.before(key).await {
        Before::Abandoned { recoveries, .. } => recoveries,
        other => panic!("not abandoned but {other:?}"),
    }
}

pub(crate) async fn every_takeover_is_counted(bench: Bench) {
    bench.abandon(1).await;
    for expected in 1..=5 {
        assert_eq!(recoveries(&bench, 1).await, expected);
        bench.clock.pass(LEASE_MS);
    }
}

pub(crate) async fn attempts_of_before_are_remembered_over_a_takeover(bench: Bench) {
    bench.release(1, 3).await;
    bench.abandon(1).await;
    for recoveries in 1..=2 {
        let abandoned = Before::Abandoned {
            attempts: 3,
            recoveries,
        };
        assert_eq!(bench.before(1).await, abandoned);
        bench.clock.pass(LEASE_MS);
    }
}

pub(crate) async fn takeovers_are_counted_anew_after_a_word(bench: Bench) {
    bench.abandon(1).await;
    let (lease, _) = bench.hold(1).await;
    bench.end(lease, 2, End::Release).await;
    bench.abandon(1).await;
    assert_eq!(recoveries(&bench, 1).await, 1);
}

pub(crate) async fn an_extended_lease_lasts_from_its_extension(bench: Bench) {
    let (lease, _) = bench.hold(1).await;
    bench.clock.pass(LEASE_MS - 1);
    assert_eq!(bench.store.extend(lease, 5000).await, Ok(true));
    for (pass_ms, remaining_ms) in [(0, 5000), (4999, 1)] {
        bench.clock.pass(pass_ms);
        let expected = Claimed::InFlight { remaining_ms };
        assert_eq!(bench.claim(1, 1).await, expected);
    }
    bench.clock.pass(1);
    assert_eq!(recoveries(&bench, 1).await, 1);
}

pub(crate) async fn a_lease_that_ran_out_can_be_extended_until_it_is_taken_over(bench: Bench) {
    let (lease, _) = bench.hold(1).await;
    bench.clock.pass(10 * LEASE_MS);
    assert_eq!(bench.store.extend(lease, LEASE_MS).await, Ok(true));
    let in_flight = Claimed::InFlight {
        remaining_ms: LEASE_MS,
    };
    assert_eq!(bench.claim(1, 1).await, in_flight);
    bench.clock.pass(LEASE_MS);
    bench.hold(1).await;
    assert_eq!(bench.store.extend(lease, LEASE_MS).await, Ok(false));
}

pub(crate) async fn a_lost_lease_is_not_extended(bench: Bench) {
    let (taken_over, _) = bench.hold(1).await;
    bench.clock.pass(LEASE_MS);
    bench.hold(1).await;
    let (finished, _) = bench.hold(2).await;
    bench.end(finished, 1, keep("1")).await;
    let (released, _) = bench.hold(3).await;
    bench.end(released, 1, End::Release).await;
    let unknown = Lease {
        scope: scope(4),
        epoch: 1,
    };
    for lease in [taken_over, finished, released, unknown] {
        let extended = bench.store.extend(lease, LEASE_MS).await;
        assert_eq!(extended, Ok(false), "{lease:?}");
    }
    assert_eq!(bench.output(2).await.as_deref(), Some("1"));
}

pub(crate) async fn epochs_rise_and_begin_at_the_time(bench: Bench) {
    let start = START_MS.cast_unsigned();
    for claim in 0..3 {
        let (lease, _) = bench.hold(1).await;
        assert_eq!(lease.epoch, start + claim);
        bench.end(lease, 1, End::Release).await;
    }
    bench.clock.pass(500);
    assert_eq!(bench.hold(1).await.0.epoch, start + 500);
    bench.clock.pass(LEASE_MS);
    assert_eq!(bench.hold(1).await.0.epoch, start + 1500);
}

pub(crate) async fn an_epoch_does_not_come_back_with_a_forgotten_key(bench: Bench) {
    let (mut last, _) = bench.hold(1).await;
    for swept in [false, true] {
        bench.end(last, 1, keep("1")).await;
        bench.clock.pass(KEEP_MS);
        if swept {
            assert_eq!(bench.sweep().await.keys, 1);
        }
        let (lease, before) = bench.hold(1).await;
        assert_eq!(before, Before::Nothing);
        assert!(lease.epoch > last.epoch, "{lease:?} after {last:?}");
        let superseded = Completed::Superseded { kept: None };
        assert_eq!(bench.end(last, 1, keep("late")).await, superseded);
        last = lease;
    }
}

pub(crate) async fn what_stays_unclear_is_abandoned_at_once_and_not_counted(bench: Bench) {
    bench.abandon(1).await;
    for _ in 0..5 {
        let (lease, before) = bench.hold(1).await;
        let abandoned = Before::Abandoned {
            attempts: 0,
            recoveries: 1,
        };
        assert_eq!(before, abandoned);
        let recorded = Completed::Recorded { expires_at: None };
        assert_eq!(bench.end(lease, 0, End::Abandon).await, recorded);
        // It is let go of for good: saying so twice changes nothing, and nothing can be said after it.
        for late in [End::Abandon, keep("late")] {
            let superseded = Completed::Superseded { kept: None };
            assert_eq!(bench.end(lease, 0, late).await, superseded);
        }
        assert_eq!(bench.store.extend(lease, LEASE_MS).await, Ok(false));
        assert_eq!(bench.kept(1).await, None);
    }
}

pub(crate) async fn a_lease_may_be_of_any_length(bench: Bench) {
    for (key, lease_ms) in [(1, 0), (2, u64::MAX)] {
        let claim = Claim {
            lease_ms,
            ..wish(key, 1)
        };
        let claimed = bench.store.claim(claim).await.unwrap();
        assert!(matches!(claimed, Claimed::Held { .. }));
    }
    assert_eq!(recoveries(&bench, 1).await, 1);
    assert!(matches!(bench.claim(2, 1).await, Claimed::InFlight { .. }));
}
