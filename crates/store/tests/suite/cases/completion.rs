//! Completing and releasing held keys.

use panpan_failure::codes;
use panpan_runtime::ports::{Before, Claimed, Completed, Completion, End, Lease, Reopened};
use uuid::Uuid;

use crate::support::{
    DAY_MS, Fixture, KEEP_MS, LEASE_MS, START_MS, keep, recording, released, text,
};

pub(crate) async fn a_released_key_remembers_its_attempts(fixture: Fixture) {
    for attempts in [0, 3, u32::MAX] {
        fixture.release(1, attempts).await;
        let (lease, before) = fixture.hold(1).await;
        assert_eq!(before, released(attempts));
        fixture.end(lease, attempts, End::Release).await;
    }
}

pub(crate) async fn a_released_key_remembers_whether_it_may_have_had_an_effect(fixture: Fixture) {
    let (lease, _) = fixture.hold(1).await;
    fixture.end_without_effect(lease, End::Release).await;
    let (lease, before) = fixture.hold(1).await;
    let nothing_happened = Before::Released {
        attempts: 1,
        may_have_happened: false,
    };
    assert_eq!(before, nothing_happened);
    fixture.end(lease, 2, End::Release).await;
    assert_eq!(fixture.before(1).await, released(2));
}

/// Two leases of one key: the first expired, the second is the newest.
async fn taken_over(fixture: &Fixture, key: u8) -> (Lease, Lease) {
    let (late, _) = fixture.hold(key).await;
    fixture.clock.advance(LEASE_MS);
    (late, fixture.hold(key).await.0)
}

pub(crate) async fn a_late_completion_writes_nothing_while_another_call_runs(fixture: Fixture) {
    let (late, newest) = taken_over(&fixture, 1).await;
    let superseded = Completed::Superseded { kept: None };
    for end in [keep("late"), End::Release] {
        assert_eq!(fixture.end(late, 9, end).await, superseded);
    }
    assert!(matches!(
        fixture.claim(1, 1).await,
        Claimed::InFlight { .. }
    ));
    fixture.end(newest, 1, keep("good")).await;
    assert_eq!(fixture.output(1).await.as_deref(), Some("good"));
}

pub(crate) async fn a_late_completion_returns_the_recorded_outcome(fixture: Fixture) {
    let (late, newest) = taken_over(&fixture, 1).await;
    fixture.end(newest, 1, keep("good")).await;
    for end in [keep("late"), End::Release] {
        match fixture.end(late, 9, end).await {
            Completed::Superseded { kept: Some(kept) } => assert_eq!(text(&kept), "good"),
            other => panic!("not superseded but {other:?}"),
        }
    }
    assert_eq!(fixture.output(1).await.as_deref(), Some("good"));
}

pub(crate) async fn a_key_is_completed_once(fixture: Fixture) {
    let (lease, _) = fixture.hold(1).await;
    fixture.end(lease, 1, keep("first")).await;
    match fixture.end(lease, 1, keep("second")).await {
        Completed::Superseded { kept: Some(kept) } => assert_eq!(text(&kept), "first"),
        other => panic!("not superseded but {other:?}"),
    }
    let (lease, _) = fixture.hold(2).await;
    fixture.end(lease, 1, End::Release).await;
    let superseded = Completed::Superseded { kept: None };
    assert_eq!(fixture.end(lease, 5, keep("late")).await, superseded);
    assert_eq!(fixture.before(2).await, released(1));
}

pub(crate) async fn a_completion_after_the_lease_is_accepted_while_its_epoch_is_the_newest(
    fixture: Fixture,
) {
    let (lease, _) = fixture.hold(1).await;
    fixture.clock.advance(100 * LEASE_MS);
    let completed = fixture.end(lease, 1, keep("slow")).await;
    assert!(matches!(completed, Completed::Recorded { .. }));
    assert_eq!(fixture.output(1).await.as_deref(), Some("slow"));
}

pub(crate) async fn a_recording_is_written_with_its_completion_or_not_at_all(fixture: Fixture) {
    let (late, newest) = taken_over(&fixture, 1).await;
    for (lease, call, written) in [(late, 7, false), (newest, 8, true)] {
        let noted = recording(call, START_MS, Some(codes::ERR_TIMEOUT));
        let completion = Completion {
            lease,
            attempts: 1,
            end: keep("1"),
            without_effect: false,
            recording: Some(Box::new(noted.clone())),
        };
        fixture.store.complete(completion).await.unwrap();
        let found = fixture.store.find(Uuid::from_u128(call)).await.unwrap();
        assert_eq!(found, written.then_some(noted));
    }
    assert_eq!(fixture.recent(9, false).await, [8]);
}

pub(crate) async fn a_held_key_never_expires(fixture: Fixture) {
    fixture.hold(1).await;
    fixture.clock.advance(1000 * DAY_MS.max(KEEP_MS));
    assert_eq!(fixture.sweep().await.keys, 0);
    assert_eq!(fixture.claim(1, 2).await, Claimed::Reused);
    assert_eq!(fixture.reopen(1).await, Reopened::NothingKept);
    assert!(matches!(fixture.before(1).await, Before::Abandoned { .. }));
}

pub(crate) async fn a_free_key_expires_after_a_day(fixture: Fixture) {
    fixture.release(1, 2).await;
    fixture.release(2, 2).await;
    fixture.clock.advance(DAY_MS - 1);
    assert_eq!(fixture.before(1).await, released(2));
    fixture.clock.advance(1);
    assert_eq!(fixture.before(2).await, Before::Nothing);
}
