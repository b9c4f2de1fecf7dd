//! Limits, flushing and closing of the waiting notes.

use jiff::Timestamp;
use panpan_contract::recording::RecordedOutcome;
use panpan_contract::retry::{Terms, Waiting as CallerWait};
use uuid::Uuid;

use super::*;

pub(crate) fn note() -> Recording {
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

#[test]
fn a_flush_waits_for_earlier_notes_only() {
    let mut waiting = Notes::default();
    let (sender, _receiver) = oneshot::channel();
    (0..=BATCH_LIMIT).for_each(|_| _ = waiting.note(note()));
    waiting.flush(sender).unwrap();
    (0..BATCH_LIMIT).for_each(|_| _ = waiting.note(note()));
    for (notes, flushes) in [(BATCH_LIMIT, 0), (BATCH_LIMIT, 1), (1, 0)] {
        let batch = waiting.take();
        assert_eq!((batch.notes.len(), batch.flushes.len()), (notes, flushes));
    }
}

#[test]
fn new_counts_are_limited_and_known_counts_are_not() {
    let mut waiting = Notes::default();
    let count = |operation: usize| Count {
        operation: operation.to_string(),
        code: None,
        hour: Timestamp::UNIX_EPOCH,
        calls: 1,
        retried: 0,
        replayed: 0,
    };
    waiting.count(&(0..=COUNTS_LIMIT).map(count).collect::<Vec<_>>());
    waiting.count(&[count(0)]);
    let counts = waiting.take().counts;
    assert_eq!(counts.len(), COUNTS_LIMIT);
    assert_eq!(counts[0].calls, 2);
}

#[test]
fn notes_of_a_failed_batch_return_to_the_front() {
    let mut waiting = Notes::default();
    let calls = |from: u128, to| (from..to).map(Uuid::from_u128);
    let noted = |id| Recording { id, ..note() };
    calls(0, 3).for_each(|call| _ = waiting.note(noted(call)));
    let batch = waiting.take();
    calls(3, 5).for_each(|call| _ = waiting.note(noted(call)));
    waiting.put_back(batch.notes, &batch.counts, &StoreError::Full);
    let notes = waiting.take().notes;
    let found: Vec<Uuid> = notes.iter().map(|note| note.id).collect();
    assert_eq!(found, calls(0, 5).collect::<Vec<_>>());
    assert_eq!(waiting.dropped(), 0);
}
