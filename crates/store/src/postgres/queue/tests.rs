//! Batching and closing of the queue.

use panpan_runtime::ports::Fingerprint;
use uuid::Uuid;

use super::*;

fn scope(number: u8) -> Scope {
    Scope([number; 32])
}

fn push_claim(queue: &Queue, number: u8) {
    let claim = Claim {
        scope: scope(number),
        fingerprint: Fingerprint([0; 32]),
        call: Uuid::nil(),
        lease_ms: 1,
    };
    drop(queue.push(|it| &mut it.claims, claim).unwrap());
}

fn push_completion(queue: &Queue, number: u8, bytes: usize) {
    let outcome = KeptOutcome::Output("x".repeat(bytes).into());
    let completion = Completion {
        lease: Lease {
            scope: scope(number),
            epoch: 1,
        },
        attempts: 1,
        end: End::Keep {
            outcome,
            keep_ms: 1,
        },
        without_effect: false,
        recording: None,
    };
    drop(queue.push(|it| &mut it.completions, completion).unwrap());
}

/// The number of requests in the next batch; 0 if there is none.
fn taken(queue: &Queue) -> usize {
    match queue.lock().take() {
        Some(Work::Claims(batch)) => batch.len(),
        Some(Work::Completions(batch)) => batch.len(),
        Some(Work::Extensions(batch)) => batch.len(),
        Some(Work::Lookups(batch)) => batch.len(),
        Some(Work::Job(..)) => 1,
        None => 0,
    }
}

#[test]
fn a_batch_takes_requests_up_to_its_limit() {
    let queue = Queue::default();
    (0..=BATCH_LIMIT).for_each(|_| push_claim(&queue, 1));
    assert_eq!([taken(&queue), taken(&queue), taken(&queue)], [64, 1, 0]);
}

#[test]
fn a_batch_of_large_outcomes_is_smaller() {
    let queue = Queue::default();
    for (number, bytes) in [(1, BATCH_BYTES - 1), (2, 1), (3, 2 * BATCH_BYTES), (4, 1)] {
        push_completion(&queue, number, bytes);
    }
    assert_eq!(
        [taken(&queue), taken(&queue), taken(&queue), taken(&queue)],
        [2, 1, 1, 0]
    );
}

#[test]
fn a_lease_is_completed_once_per_batch_and_in_order() {
    let queue = Queue::default();
    for (number, bytes) in [(1, 1), (1, 2), (2, 3), (1, 4)] {
        push_completion(&queue, number, bytes);
    }
    let mut sizes = Vec::new();
    while let Some(Work::Completions(batch)) = queue.lock().take() {
        let batch: Vec<usize> = batch.iter().map(|it| bytes(&it.asked)).collect();
        sizes.push(batch);
    }
    assert_eq!(sizes, [vec![1, 3], vec![2], vec![4]]);
}

#[test]
fn kinds_take_turns() {
    let queue = Queue::default();
    (0..=BATCH_LIMIT).for_each(|_| push_claim(&queue, 1));
    push_completion(&queue, 1, 1);
    assert_eq!([taken(&queue), taken(&queue), taken(&queue)], [64, 1, 1]);
}

#[test]
fn an_abandoned_queue_reports_that_the_store_is_closed() {
    let queue = Queue::default();
    let mut found = queue.push(|it| &mut it.lookups, scope(1)).unwrap();
    queue.abandon();
    assert_eq!(
        found.try_recv().unwrap_err(),
        oneshot::error::TryRecvError::Closed
    );
    let refused = queue.push(|it| &mut it.lookups, scope(1));
    assert_eq!(refused.map(drop), Err(StoreError::Closed));
    let flushed = queue.note(|notes| notes.flush(oneshot::channel().0));
    assert_eq!(flushed, Err(StoreError::Closed));
}
