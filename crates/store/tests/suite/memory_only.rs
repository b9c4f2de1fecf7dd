//! Limits of the store in memory.

use panpan_store::{MEMORY_OUTCOMES_BYTES_LIMIT, MEMORY_RECORDINGS_LIMIT};

use crate::shared::memory;
use crate::support::{Fixture, START_MS, recording};

#[tokio::test]
async fn the_oldest_recordings_are_deleted_and_do_not_count_as_dropped() {
    let limit = MEMORY_RECORDINGS_LIMIT as u128;
    for (noted, oldest) in [(limit, 1), (limit + 1, 2)] {
        let fixture = Fixture::new(memory);
        fixture
            .note((1..=noted).map(|call| recording(call, START_MS, None)))
            .await;
        let recent = fixture.recent(usize::MAX, false).await;
        assert_eq!(recent.len(), MEMORY_RECORDINGS_LIMIT);
        assert_eq!(recent.last(), Some(&oldest));
        assert_eq!(fixture.store.dropped(), 0);
    }
}

#[tokio::test]
async fn every_future_is_ready_at_once() {
    let fixture = Fixture::new(memory);
    let mut claim = fixture.store.claim(crate::support::claim_request(1, 1));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(claim.as_mut().poll(&mut context).is_ready());
}

#[tokio::test]
async fn outcomes_beyond_the_limit_are_deleted_in_order_of_expiry() {
    let fixture = Fixture::new(memory);
    let megabyte = format!("\"{}\"", "x".repeat(1 << 20));
    let fitting = MEMORY_OUTCOMES_BYTES_LIMIT / megabyte.len();
    let last = u8::try_from(fitting).unwrap();
    for key in 0..=last {
        fixture.finish(key, &megabyte).await;
        fixture.clock.advance(1);
    }
    let is_kept = async |key: u8| fixture.kept(key).await.is_some();
    assert!(!is_kept(0).await);
    assert!(is_kept(2).await && is_kept(last).await);
}
