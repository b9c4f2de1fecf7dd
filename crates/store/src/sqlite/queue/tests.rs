//! Batching, flushing and closing of the queue.

use panpan_contract::recording::RecordedOutcome;
use panpan_contract::retry::{Terms, Waiting as CallerWait};
use uuid::Uuid;

use super::super::job::Request;
use jiff::Timestamp;

use super::*;

fn note() -> Recording {
    Recording {
        id: Uuid::nil(),
        at: Timestamp::UNIX_EPOCH,
        operation: "a/b".to_owned(),
        caller: None,
        input: None,
        retry_seed: 0,
        terms: Terms {
            policy: None,
            categories: None,
            repeatable: false,
            deadline: None,
            patient_until: None,
            waiting: CallerWait::Inline,
        },
        earlier: Vec::new(),
        steps: Vec::new(),
        items: None,
        repeats: 0,
        outcome: RecordedOutcome::Succeeded {
            output_digest: String::new(),
        },
    }
}

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
fn a_flush_waits_for_earlier_notes_only() {
    let queue = Queue::default();
    let (sender, _receiver) = oneshot::channel();
    (0..=BATCH_LIMIT).for_each(|_| queue.note(note()));
    queue.flush(sender).unwrap();
    (0..BATCH_LIMIT).for_each(|_| queue.note(note()));
    for (notes, flushes) in [(BATCH_LIMIT, 0), (BATCH_LIMIT, 1), (1, 0)] {
        let batch = queue.take().unwrap();
        assert_eq!((batch.notes.len(), batch.flushes.len()), (notes, flushes));
    }
}

#[test]
fn new_counts_are_limited_and_known_counts_are_not() {
    let queue = Queue::default();
    let count = |operation: usize| Count {
        operation: operation.to_string(),
        code: None,
        hour: Timestamp::UNIX_EPOCH,
        calls: 1,
        retried: 0,
        replayed: 0,
    };
    queue.count((0..=COUNTS_LIMIT).map(count).collect());
    queue.count(vec![count(0)]);
    let counts = queue.take().unwrap().counts;
    assert_eq!(counts.len(), COUNTS_LIMIT);
    assert_eq!(counts[0].calls, 2);
}

#[test]
fn notes_of_a_failed_batch_return_to_the_front() {
    let queue = Queue::default();
    let calls = |from: u128, to| (from..to).map(Uuid::from_u128);
    let noted = |id| Recording { id, ..note() };
    calls(0, 3).for_each(|call| queue.note(noted(call)));
    let batch = queue.take().unwrap();
    calls(3, 5).for_each(|call| queue.note(noted(call)));
    queue.put_back(batch.notes, batch.counts, &StoreError::Full);
    queue.push(job()).unwrap();
    let notes = queue.take().unwrap().notes;
    let found: Vec<Uuid> = notes.iter().map(|note| note.id).collect();
    assert_eq!(found, calls(0, 5).collect::<Vec<_>>());
    assert_eq!(queue.dropped(), 0);
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
