//! Batching and closing of the queue.

use tokio::sync::oneshot;

use super::super::job::Request;
use super::*;
use crate::notes::tests::note;

fn job() -> Box<dyn Job> {
    Box::new(Request::new(|_, _| Ok(())).0)
}

#[test]
fn a_batch_takes_jobs_up_to_its_limit() {
    let queue = Queue::default();
    for _ in 0..=BATCH_LIMIT {
        queue.push(job()).unwrap();
    }
    for expected in [BATCH_LIMIT, 1] {
        assert_eq!(queue.take().unwrap().jobs.len(), expected);
    }
}

#[test]
fn later_jobs_join_a_batch_up_to_its_limit() {
    let queue = Queue::default();
    for (waiting, expected, left) in [(0, 1, 0), (3, 4, 0), (BATCH_LIMIT, BATCH_LIMIT, 1)] {
        queue.push(job()).unwrap();
        let mut batch = queue.take().unwrap();
        (0..waiting).for_each(|_| queue.push(job()).unwrap());
        queue.join(&mut batch);
        assert_eq!(batch.jobs.len(), expected);
        assert_eq!(queue.lock().jobs.drain(..).count(), left);
    }
}

#[test]
fn a_batch_waits_for_the_callers_of_the_last_batch_only() {
    let queue = Queue::default();
    for (expected, early) in [(0, 1), (1, 1), (1, 2), (2, 1), (5, 1)] {
        queue.lock().expected_callers = ExpectedCallers {
            count: expected,
            wait_max: Duration::from_secs(600),
        };
        (0..early).for_each(|_| queue.push(job()).unwrap());
        let mut batch = queue.take().unwrap();
        std::thread::scope(|scope| {
            let missing = early..expected;
            scope.spawn(|| missing.for_each(|_| queue.push(job()).unwrap()));
            queue.join(&mut batch);
        });
        assert_eq!(batch.jobs.len(), expected.max(early), "{expected}");
    }
}

#[test]
fn the_wait_for_callers_is_half_a_commit_up_to_its_limit() {
    let queue = Queue::default();
    queue.push(job()).unwrap();
    let mut batch = queue.take().unwrap();
    queue.push(job()).unwrap();
    for (commit_ms, wait_ms) in [(0, 0), (2, 1), (10, 5), (11, 5), (100_000, 5)] {
        queue.written(&batch, Duration::from_millis(commit_ms));
        let ExpectedCallers { count, wait_max } = queue.lock().expected_callers;
        assert_eq!((count, wait_max.as_millis()), (2, wait_ms));
    }
    queue.lock().jobs.clear();
    queue.join(&mut batch);
    assert_eq!(batch.jobs.len(), 1);
}

#[test]
fn an_abandoned_queue_reports_that_the_store_is_closed() {
    let queue = Queue::default();
    let (request, mut result) = Request::new(|_, _| Ok(()));
    queue.push(Box::new(request)).unwrap();
    queue.abandon();
    assert_eq!(result.try_recv(), Err(oneshot::error::TryRecvError::Closed));
    assert_eq!(queue.push(job()), Err(StoreError::Closed));
    assert_eq!(queue.flush(oneshot::channel().0), Err(StoreError::Closed));
    queue.note(note());
    assert_eq!(queue.dropped(), 1);
    assert!(queue.take().is_none());
}
