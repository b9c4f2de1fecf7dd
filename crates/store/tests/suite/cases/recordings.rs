//! What is recorded of calls, and in which order it is told.

use panpan_failure::codes;
use uuid::Uuid;

use crate::support::{Bench, START_MS, recording};

pub(crate) async fn a_recording_is_found_by_its_call(bench: Bench) {
    let noted = [
        recording(1, START_MS, None),
        recording(2, START_MS + 5, Some(codes::ERR_TIMEOUT)),
    ];
    bench.note(noted.clone()).await;
    for expected in noted {
        let found = bench.store.find(expected.id).await;
        assert_eq!(found, Ok(Some(expected)));
    }
    assert_eq!(bench.store.find(Uuid::from_u128(3)).await, Ok(None));
}

pub(crate) async fn a_call_has_one_recording(bench: Bench) {
    let last = recording(1, START_MS + 9, Some(codes::ERR_TIMEOUT));
    bench.note([recording(1, START_MS, None)]).await;
    bench.note([last.clone()]).await;
    assert_eq!(bench.store.find(last.id).await, Ok(Some(last)));
    assert_eq!(bench.recent(9, false).await, [1]);
}

pub(crate) async fn the_newest_recordings_come_first(bench: Bench) {
    let times = [(1, 30), (2, 10), (3, 40), (4, 20)];
    bench
        .note(times.map(|(call, at_ms)| recording(call, START_MS + at_ms, None)))
        .await;
    for (limit, expected) in [
        (0, &[][..]),
        (1, &[3]),
        (3, &[3, 1, 4]),
        (4, &[3, 1, 4, 2]),
        (usize::MAX, &[3, 1, 4, 2]),
    ] {
        assert_eq!(bench.recent(limit, false).await, expected);
    }
}

pub(crate) async fn at_the_same_time_the_last_noted_is_the_newest(bench: Bench) {
    bench
        .note([5, 3, 4].map(|call| recording(call, START_MS, None)))
        .await;
    assert_eq!(bench.recent(9, false).await, [4, 3, 5]);
}

pub(crate) async fn only_failed_recordings_if_asked_for(bench: Bench) {
    let failed = Some(codes::ERR_TIMEOUT);
    let codes = [(1, failed), (2, None), (3, failed), (4, None), (5, failed)];
    bench
        .note(codes.map(|(call, code)| recording(call, START_MS, code)))
        .await;
    assert_eq!(bench.recent(9, true).await, [5, 3, 1]);
    assert_eq!(bench.recent(2, true).await, [5, 3]);
    assert_eq!(bench.recent(9, false).await, [5, 4, 3, 2, 1]);
}

pub(crate) async fn nothing_is_dropped_in_good_times(bench: Bench) {
    bench
        .note((1..=300).map(|call| recording(call, START_MS, None)))
        .await;
    assert_eq!(bench.recent(usize::MAX, false).await.len(), 300);
    assert_eq!(bench.store.dropped(), 0);
}
