//! Counts of calls.

use panpan_failure::codes;
use panpan_runtime::ports::Count;

use crate::support::{Fixture, at, count};

const HOUR_MS: i64 = 60 * 60 * 1000;
const FIRST: i64 = 500_000 * HOUR_MS;
const SECOND: i64 = FIRST + HOUR_MS;

async fn counts(fixture: &Fixture, since_ms: i64) -> Vec<Count> {
    fixture.store.counts(at(since_ms)).await.unwrap()
}

pub(crate) async fn counts_of_one_hour_add_up(fixture: Fixture) {
    let failed = Some(codes::ERR_TIMEOUT);
    fixture
        .count(vec![count("a", None, FIRST, 6), count("a", None, FIRST, 6)])
        .await;
    fixture
        .count(vec![
            count("a", failed, FIRST, 1),
            count("a", None, SECOND, 1),
        ])
        .await;
    fixture.count(vec![count("a", None, FIRST, 12)]).await;
    fixture.count(Vec::new()).await;
    let expected = [
        count("a", None, FIRST, 24),
        count("a", None, SECOND, 1),
        count("a", failed, FIRST, 1),
    ];
    assert_eq!(counts(&fixture, 0).await, expected);
}

pub(crate) async fn counts_are_ordered_with_success_first(fixture: Fixture) {
    let expected = vec![
        count("a", None, FIRST, 1),
        count("a", None, SECOND, 2),
        count("a", Some(codes::ERR_OUTCOME_UNKNOWN), SECOND, 3),
        count("a", Some(codes::ERR_TIMEOUT), FIRST, 4),
        count("b", None, FIRST, 5),
        count("\u{e9}", None, FIRST, 6),
    ];
    fixture
        .count(expected.iter().rev().cloned().collect())
        .await;
    assert_eq!(counts(&fixture, 0).await, expected);
}

pub(crate) async fn counts_can_be_listed_from_an_hour_on(fixture: Fixture) {
    let (first, second) = (count("a", None, FIRST, 1), count("a", None, SECOND, 2));
    fixture.count(vec![first.clone(), second.clone()]).await;
    for (since_ms, expected) in [
        (FIRST, vec![first, second.clone()]),
        (FIRST + 1, vec![second.clone()]),
        (SECOND, vec![second]),
        (SECOND + 1, vec![]),
    ] {
        assert_eq!(counts(&fixture, since_ms).await, expected);
    }
}

pub(crate) async fn a_count_belongs_to_the_hour_of_its_time(fixture: Fixture) {
    let late = count("a", None, FIRST + HOUR_MS - 1, 6);
    fixture.count(vec![late, count("a", None, FIRST, 6)]).await;
    assert_eq!(counts(&fixture, 0).await, [count("a", None, FIRST, 12)]);
}

pub(crate) async fn counts_stop_at_their_limit(fixture: Fixture) {
    for _ in 0..3 {
        fixture.count(vec![count("a", None, FIRST, u64::MAX)]).await;
    }
    let found = counts(&fixture, 0).await;
    let limit = 1 << 60;
    assert_eq!(found.len(), 1);
    assert_eq!(
        [found[0].calls, found[0].retried, found[0].replayed],
        [limit; 3]
    );
}
