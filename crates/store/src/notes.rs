//! Recordings (notes) and counts that wait to be written behind the calls, for the stores that write in batches.
//!
//! No caller waits for them, so their number is limited. How and when a batch is written is up to the store.

use std::collections::VecDeque;
use std::mem;
use std::time::Duration;

use panpan_contract::recording::Recording;
use panpan_runtime::ports::{Count, Counts, StoreError};
use tokio::sync::oneshot;

/// The most recordings that wait to be written; more are dropped.
pub const NOTES_LIMIT: usize = 2048;

/// The most distinct counts that wait; more are not counted.
const COUNTS_LIMIT: usize = 4096;

/// The most notes in one batch.
pub(crate) const BATCH_LIMIT: usize = 512;

/// How long notes are collected before they are written together.
const DELAY: Duration = Duration::from_millis(20);

/// The delay before notes that could not be written are tried again.
pub(crate) const RETRY_DELAY: Duration = Duration::from_secs(1);

/// Tells a caller that its notes are durable, or why they are not.
pub(crate) type FlushSender = oneshot::Sender<Result<(), StoreError>>;

/// The waiting notes and counts, and the callers that wait for them.
#[derive(Default)]
pub(crate) struct Notes {
    notes: VecDeque<Recording>,
    counts: Counts,
    flushes: Vec<Flush>,
    dropped: u64,
    failing: bool,
    closed: bool,
}

/// A caller that waits until this many of the waiting notes, and all counts, are written.
struct Flush {
    notes: usize,
    sender: FlushSender,
}

/// Notes and counts that are written in one transaction.
#[derive(Default)]
pub(crate) struct NotesBatch {
    pub(crate) notes: Vec<Recording>,
    pub(crate) counts: Vec<Count>,
    /// The callers that wait for this batch.
    pub(crate) flushes: Vec<FlushSender>,
}

impl std::fmt::Debug for Notes {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Notes")
            .field("notes", &self.notes.len())
            .field("dropped", &self.dropped)
            .finish_non_exhaustive()
    }
}

impl Notes {
    /// Adds a recording, or counts it as dropped. Returns whether a writer has to be woken: the first note starts
    /// the delay, and a full batch ends it.
    pub(crate) fn note(&mut self, recording: Recording) -> bool {
        if self.closed || self.notes.len() >= NOTES_LIMIT {
            self.dropped += 1;
            return false;
        }
        let first = self.is_empty();
        self.notes.push_back(recording);
        first || self.notes.len() == BATCH_LIMIT
    }

    pub(crate) fn count(&mut self, counts: &[Count]) {
        for count in counts {
            self.counts.add_count(count, COUNTS_LIMIT);
        }
    }

    pub(crate) fn flush(&mut self, sender: FlushSender) -> Result<(), StoreError> {
        if self.closed {
            return Err(StoreError::Closed);
        }
        let notes = self.notes.len();
        self.flushes.push(Flush { notes, sender });
        Ok(())
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }

    pub(crate) fn count_dropped(&mut self, notes: u64) {
        self.dropped += notes;
    }

    /// Accepts no more notes; those that wait are still written.
    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Fails all flushes because the writer has ended; closing their channels tells the callers.
    pub(crate) fn abandon(&mut self) {
        self.closed = true;
        self.flushes.clear();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.notes.is_empty() && self.counts.is_empty()
    }

    /// Whether a batch should be written without a delay.
    pub(crate) fn is_urgent(&self) -> bool {
        let full = self.notes.len() >= BATCH_LIMIT && !self.failing;
        !self.flushes.is_empty() || full || (self.closed && !self.is_empty())
    }

    /// How long to collect notes before a batch is written.
    pub(crate) fn delay(&self) -> Duration {
        if self.failing { RETRY_DELAY } else { DELAY }
    }

    /// Takes a batch, with the flushes that it completes.
    pub(crate) fn take(&mut self) -> NotesBatch {
        let notes = self.notes.len().min(BATCH_LIMIT);
        let (done, left) = mem::take(&mut self.flushes)
            .into_iter()
            .partition::<Vec<_>, _>(|flush| flush.notes <= notes);
        let less = |flush: Flush| Flush {
            notes: flush.notes - notes,
            ..flush
        };
        self.flushes = left.into_iter().map(less).collect();
        NotesBatch {
            notes: self.notes.drain(..notes).collect(),
            counts: self.counts.take(),
            flushes: done.into_iter().map(|flush| flush.sender).collect(),
        }
    }

    /// Records whether the last batch was written.
    pub(crate) fn set_failing(&mut self, failing: bool) {
        self.failing = failing;
    }

    /// Takes the notes and counts of a failed batch back, and fails all flushes.
    pub(crate) fn put_back(&mut self, notes: Vec<Recording>, counts: &[Count], error: &StoreError) {
        self.failing = true;
        for flush in mem::take(&mut self.flushes) {
            let _ = flush.sender.send(Err(error.clone()));
        }
        // A store that is closing cannot keep them.
        if !self.closed {
            self.count(counts);
        }
        for note in notes.into_iter().rev() {
            if self.closed || self.notes.len() >= NOTES_LIMIT {
                self.dropped += 1;
            } else {
                self.notes.push_front(note);
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
