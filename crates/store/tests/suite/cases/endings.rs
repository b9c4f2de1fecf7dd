//! How a held key ends, and who may end it.

use panpan_failure::codes;
use panpan_runtime::ports::{Before, Claimed, Completed, Completion, End, Lease, Reopened};
use uuid::Uuid;

use crate::support::{Bench, DAY_MS, KEEP_MS, LEASE_MS, START_MS, keep, recording, released, text};

pub(crate) async fn a_released_key_remembers_its_attempts(bench: Bench) {
    for attempts in [0, 3, u32::MAX] {
        bench.release(1, attempts).await;
        let (lease, before) = bench.hold(1).await;
        assert_eq!(before, released(attempts));
        bench.end(lease, attempts, End::Release).await;
    }
}

pub(crate) async fn a_released_key_remembers_whether_something_may_have_happened(bench: Bench) {
    let (lease, _) = bench.hold(1).await;
    bench.end_without_effect(lease, End::Release).await;
    let (lease, before) = bench.hold(1).await;
    let nothing_happened = Before::Released {
        attempts: 1,
        may_have_happened: false,
    };
    assert_eq!(before, nothing_happened);
    bench.end(lease, 2, End::Release).await;
    assert_eq!(bench.before(1).await, released(2));
}

/// Two leases of one key: the first ran out, the second is the newest.
async fn taken_over(bench: &Bench, key: u8) -> (Lease, Lease) {
    let (late, _) = bench.hold(key).await;
    bench.clock.pass(LEASE_MS);
    (late, bench.hold(key).await.0)
}

pub(crate) async fn a_late_end_writes_nothing_while_another_works(bench: Bench) {
    let (late, newest) = taken_over(&bench, 1).await;
    let superseded = Completed::Superseded { kept: None };
    for end in [keep("late"), End::Release] {
        assert_eq!(bench.end(late, 9, end).await, superseded);
    }
    assert!(matches!(bench.claim(1, 1).await, Claimed::InFlight { .. }));
    bench.end(newest, 1, keep("good")).await;
    assert_eq!(bench.output(1).await.as_deref(), Some("good"));
}

pub(crate) async fn a_late_end_is_told_the_outcome_there_is(bench: Bench) {
    let (late, newest) = taken_over(&bench, 1).await;
    bench.end(newest, 1, keep("good")).await;
    for end in [keep("late"), End::Release] {
        match bench.end(late, 9, end).await {
            Completed::Superseded { kept: Some(kept) } => assert_eq!(text(&kept), "good"),
            other => panic!("not superseded but {other:?}"),
        }
    }
    assert_eq!(bench.output(1).await.as_deref(), Some("good"));
}

pub(crate) async fn an_end_is_taken_once(bench: Bench) {
    let (lease, _) = bench.hold(1).await;
    bench.end(lease, 1, keep("first")).await;
    match bench.end(lease, 1, keep("second")).await {
        Completed::Superseded { kept: Some(kept) } => assert_eq!(text(&kept), "first"),
        other => panic!("not superseded but {other:?}"),
    }
    let (lease, _) = bench.hold(2).await;
    bench.end(lease, 1, End::Release).await;
    let superseded = Completed::Superseded { kept: None };
    assert_eq!(bench.end(lease, 5, keep("late")).await, superseded);
    assert_eq!(bench.before(2).await, released(1));
}

pub(crate) async fn an_end_after_the_lease_ran_out_counts_while_it_is_the_newest(bench: Bench) {
    let (lease, _) = bench.hold(1).await;
    bench.clock.pass(100 * LEASE_MS);
    let completed = bench.end(lease, 1, keep("slow")).await;
    assert!(matches!(completed, Completed::Recorded { .. }));
    assert_eq!(bench.output(1).await.as_deref(), Some("slow"));
}

pub(crate) async fn a_recording_is_written_with_the_end_or_not_at_all(bench: Bench) {
    let (late, newest) = taken_over(&bench, 1).await;
    for (lease, call, written) in [(late, 7, false), (newest, 8, true)] {
        let noted = recording(call, START_MS, Some(codes::ERR_TIMEOUT));
        let completion = Completion {
            lease,
            attempts: 1,
            end: keep("1"),
            without_effect: false,
            recording: Some(Box::new(noted.clone())),
        };
        bench.store.complete(completion).await.unwrap();
        let found = bench.store.find(Uuid::from_u128(call)).await.unwrap();
        assert_eq!(found, written.then_some(noted));
    }
    assert_eq!(bench.recent(9, false).await, [8]);
}

pub(crate) async fn a_held_key_never_expires(bench: Bench) {
    bench.hold(1).await;
    bench.clock.pass(1000 * DAY_MS.max(KEEP_MS));
    assert_eq!(bench.sweep().await.keys, 0);
    assert_eq!(bench.claim(1, 2).await, Claimed::Reused);
    assert_eq!(bench.reopen(1).await, Reopened::NothingKept);
    assert!(matches!(bench.before(1).await, Before::Abandoned { .. }));
}

pub(crate) async fn a_free_key_is_forgotten_after_a_day(bench: Bench) {
    bench.release(1, 2).await;
    bench.release(2, 2).await;
    bench.clock.pass(DAY_MS - 1);
    assert_eq!(bench.before(1).await, released(2));
    bench.clock.pass(1);
    assert_eq!(bench.before(2).await, Before::Nothing);
}
