//! Leases: expiry, takeover, extension and epochs.

use panpan_runtime::ports::{Before, Claim, Claimed, Completed, End, Lease};

use crate::support::{Fixture, KEEP_MS, LEASE_MS, START_MS, claim_request, keep, scope};

pub(crate) async fn an_expired_lease_is_taken_over(fixture: Fixture) {
    fixture.hold(1).await;
    fixture.clock.advance(LEASE_MS - 1);
    let in_flight = Claimed::InFlight { remaining_ms: 1 };
    assert_eq!(fixture.claim(1, 1).await, in_flight);
    fixture.clock.advance(1);
    let abandoned = Before::Abandoned {
        attempts: 0,
        recoveries: 1,
    };
    assert_eq!(fixture.before(1).await, abandoned);
    let in_flight = Claimed::InFlight {
        remaining_ms: LEASE_MS,
    };
    assert_eq!(fixture.claim(1, 1).await, in_flight);
}

async fn recoveries(fixture: &Fixture, key: u8) -> u32 {
    match fixture.before(key).await {
        Before::Abandoned { recoveries, .. } => recoveries,
        other => panic!("not abandoned but {other:?}"),
    }
}

pub(crate) async fn every_takeover_is_counted(fixture: Fixture) {
    fixture.abandon(1).await;
    for expected in 1..=5 {
        assert_eq!(recoveries(&fixture, 1).await, expected);
        fixture.clock.advance(LEASE_MS);
    }
}

pub(crate) async fn earlier_attempts_survive_a_takeover(fixture: Fixture) {
    fixture.release(1, 3).await;
    fixture.abandon(1).await;
    for recoveries in 1..=2 {
        let abandoned = Before::Abandoned {
            attempts: 3,
            recoveries,
        };
        assert_eq!(fixture.before(1).await, abandoned);
        fixture.clock.advance(LEASE_MS);
    }
}

pub(crate) async fn a_completion_resets_the_takeover_count(fixture: Fixture) {
    fixture.abandon(1).await;
    let (lease, _) = fixture.hold(1).await;
    fixture.end(lease, 2, End::Release).await;
    fixture.abandon(1).await;
    assert_eq!(recoveries(&fixture, 1).await, 1);
}

pub(crate) async fn an_extension_starts_at_the_current_time(fixture: Fixture) {
    let (lease, _) = fixture.hold(1).await;
    fixture.clock.advance(LEASE_MS - 1);
    assert_eq!(fixture.store.extend(lease, 5000).await, Ok(true));
    for (pass_ms, remaining_ms) in [(0, 5000), (4999, 1)] {
        fixture.clock.advance(pass_ms);
        let expected = Claimed::InFlight { remaining_ms };
        assert_eq!(fixture.claim(1, 1).await, expected);
    }
    fixture.clock.advance(1);
    assert_eq!(recoveries(&fixture, 1).await, 1);
}

pub(crate) async fn an_expired_lease_can_be_extended_until_it_is_taken_over(fixture: Fixture) {
    let (lease, _) = fixture.hold(1).await;
    fixture.clock.advance(10 * LEASE_MS);
    assert_eq!(fixture.store.extend(lease, LEASE_MS).await, Ok(true));
    let in_flight = Claimed::InFlight {
        remaining_ms: LEASE_MS,
    };
    assert_eq!(fixture.claim(1, 1).await, in_flight);
    fixture.clock.advance(LEASE_MS);
    fixture.hold(1).await;
    assert_eq!(fixture.store.extend(lease, LEASE_MS).await, Ok(false));
}

pub(crate) async fn a_lost_lease_is_not_extended(fixture: Fixture) {
    let (taken_over, _) = fixture.hold(1).await;
    fixture.clock.advance(LEASE_MS);
    fixture.hold(1).await;
    let (finished, _) = fixture.hold(2).await;
    fixture.end(finished, 1, keep("1")).await;
    let (released, _) = fixture.hold(3).await;
    fixture.end(released, 1, End::Release).await;
    let unknown = Lease {
        scope: scope(4),
        epoch: 1,
    };
    for lease in [taken_over, finished, released, unknown] {
        let extended = fixture.store.extend(lease, LEASE_MS).await;
        assert_eq!(extended, Ok(false), "{lease:?}");
    }
    assert_eq!(fixture.output(2).await.as_deref(), Some("1"));
}

pub(crate) async fn epochs_rise_and_start_at_the_current_time(fixture: Fixture) {
    let start = START_MS.cast_unsigned();
    for claim in 0..3 {
        let (lease, _) = fixture.hold(1).await;
        assert_eq!(lease.epoch, start + claim);
        fixture.end(lease, 1, End::Release).await;
    }
    fixture.clock.advance(500);
    assert_eq!(fixture.hold(1).await.0.epoch, start + 500);
    fixture.clock.advance(LEASE_MS);
    assert_eq!(fixture.hold(1).await.0.epoch, start + 1500);
}

pub(crate) async fn an_expired_key_does_not_reuse_an_epoch(fixture: Fixture) {
    let (mut last, _) = fixture.hold(1).await;
    for swept in [false, true] {
        fixture.end(last, 1, keep("1")).await;
        fixture.clock.advance(KEEP_MS);
        if swept {
            assert_eq!(fixture.sweep().await.keys, 1);
        }
        let (lease, before) = fixture.hold(1).await;
        assert_eq!(before, Before::Nothing);
        assert!(lease.epoch > last.epoch, "{lease:?} after {last:?}");
        let superseded = Completed::Superseded { kept: None };
        assert_eq!(fixture.end(last, 1, keep("late")).await, superseded);
        last = lease;
    }
}

pub(crate) async fn abandoning_a_key_ends_its_lease_and_is_not_counted_as_a_takeover(
    fixture: Fixture,
) {
    fixture.abandon(1).await;
    for _ in 0..5 {
        let (lease, before) = fixture.hold(1).await;
        let abandoned = Before::Abandoned {
            attempts: 0,
            recoveries: 1,
        };
        assert_eq!(before, abandoned);
        let recorded = Completed::Recorded { expires_at: None };
        assert_eq!(fixture.end(lease, 0, End::Abandon).await, recorded);
        // The lease has ended: later completions change nothing.
        for late in [End::Abandon, keep("late")] {
            let superseded = Completed::Superseded { kept: None };
            assert_eq!(fixture.end(lease, 0, late).await, superseded);
        }
        assert_eq!(fixture.store.extend(lease, LEASE_MS).await, Ok(false));
        assert_eq!(fixture.kept(1).await, None);
    }
}

pub(crate) async fn a_lease_can_have_any_length(fixture: Fixture) {
    for (key, lease_ms) in [(1, 0), (2, u64::MAX)] {
        let claim = Claim {
            lease_ms,
            ..claim_request(key, 1)
        };
        let claimed = fixture.store.claim(claim).await.unwrap();
        assert!(matches!(claimed, Claimed::Held { .. }));
    }
    assert_eq!(recoveries(&fixture, 1).await, 1);
    assert!(matches!(
        fixture.claim(2, 1).await,
        Claimed::InFlight { .. }
    ));
}
