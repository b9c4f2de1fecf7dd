//! Recordings and their order.

use panpan_failure::codes;
use uuid::Uuid;

use crate::support::{Fixture, START_MS, recording};

pub(crate) async fn a_recording_is_found_by_its_call(fixture: Fixture) {
    let noted = [
        recording(1, START_MS, None),
        recording(2, START_MS + 5, Some(codes::ERR_TIMEOUT)),
    ];
    fixture.note(noted.clone()).await;
    for expected in noted {
        let found = fixture.store.find(expected.id).await;
        assert_eq!(found, Ok(Some(expected)));
    }
    assert_eq!(fixture.store.find(Uuid::from_u128(3)).await, Ok(None));
}

pub(crate) async fn a_call_has_one_recording(fixture: Fixture) {
    let last = recording(1, START_MS + 9, Some(codes::ERR_TIMEOUT));
    fixture.note([recording(1, START_MS, None)]).await;
    fixture.note([last.clone()]).await;
    assert_eq!(fixture.store.find(last.id).await, Ok(Some(last)));
    assert_eq!(fixture.recent(9, false).await, [1]);
}

pub(crate) async fn the_newest_recordings_come_first(fixture: Fixture) {
    let times = [(1, 30), (2, 10), (3, 40), (4, 20)];
    fixture
        .note(times.map(|(call, at_ms)| recording(call, START_MS + at_ms, None)))
        .await;
    for (limit, expected) in [
        (0, &[][..]),
        (1, &[3]),
        (3, &[3, 1, 4]),
        (4, &[3, 1, 4, 2]),
        (usize::MAX, &[3, 1, 4, 2]),
    ] {
        assert_eq!(fixture.recent(limit, false).await, expected);
    }
}

pub(crate) async fn recordings_of_the_same_time_are_ordered_by_arrival(fixture: Fixture) {
    fixture
        .note([5, 3, 4].map(|call| recording(call, START_MS, None)))
        .await;
    assert_eq!(fixture.recent(9, false).await, [4, 3, 5]);
}

pub(crate) async fn recent_recordings_can_be_limited_to_failures(fixture: Fixture) {
    let failed = Some(codes::ERR_TIMEOUT);
    let codes = [(1, failed), (2, None), (3, failed), (4, None), (5, failed)];
    fixture
        .note(codes.map(|(call, code)| recording(call, START_MS, code)))
        .await;
    assert_eq!(fixture.recent(9, true).await, [5, 3, 1]);
    assert_eq!(fixture.recent(2, true).await, [5, 3]);
    assert_eq!(fixture.recent(9, false).await, [5, 4, 3, 2, 1]);
}

pub(crate) async fn no_recording_is_dropped_under_normal_load(fixture: Fixture) {
    fixture
        .note((1..=300).map(|call| recording(call, START_MS, None)))
        .await;
    assert_eq!(fixture.recent(usize::MAX, false).await.len(), 300);
    assert_eq!(fixture.store.dropped(), 0);
}
