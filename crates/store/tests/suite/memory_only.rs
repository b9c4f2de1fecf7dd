//! What only memory does: it forgets.

use panpan_store::{MEMORY_OUTCOMES_BYTES_LIMIT, MEMORY_RECORDINGS_LIMIT};

use crate::shared::memory;
use crate::support::{Bench, START_MS, recording};

#[tokio::test]
async fn the_oldest_recordings_are_forgotten_and_not_dropped() {
    let limit = MEMORY_RECORDINGS_LIMIT as u128;
    for (noted, oldest) in [(limit, 1), (limit + 1, 2)] {
        let bench = Bench::new(memory);
        bench
            .note((1..=noted).map(|call| recording(call, START_MS, None)))
            .await;
        let recent = bench.recent(usize::MAX, false).await;
        assert_eq!(recent.len(), MEMORY_RECORDINGS_LIMIT);
        assert_eq!(recent.last(), Some(&oldest));
        assert_eq!(bench.store.dropped(), 0);
    }
}

#[tokio::test]
async fn every_future_is_ready_at_once() {
    let bench = Bench::new(memory);
    let mut claim = bench.store.claim(crate::support::wish(1, 1));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(claim.as_mut().poll(&mut context).is_ready());
}

#[tokio::test]
async fn the_outcomes_that_would_go_next_are_forgotten_when_there_are_too_many() {
    let bench = Bench::new(memory);
    let megabyte = format!("\"{}\"", "x".repeat(1 << 20));
    let fitting = MEMORY_OUTCOMES_BYTES_LIMIT / megabyte.len();
    let last = u8::try_from(fitting).unwrap();
    for key in 0..=last {
        bench.finish(key, &megabyte).await;
        bench.clock.pass(1);
    }
    let is_kept = async |key: u8| bench.kept(key).await.is_some();
    assert!(!is_kept(0).await);
    assert!(is_kept(2).await && is_kept(last).await);
}
