//! The queue of the writer: jobs, notes (recordings) and counts.
//!
//! A caller waits for each job, so callers limit the number of jobs.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use panpan_contract::recording::Recording;
use panpan_runtime::ports::{Count, StoreError};

use super::job::Job;
use crate::notes::{BATCH_LIMIT, FlushSender, Notes, NotesBatch};

/// A batch waits at most this fraction of the last commit's duration for callers to send their next job:
/// half of it.
const COMMIT_TIME_DIVISOR: u32 = 2;

/// The upper bound of that wait: other processes wait for the file meanwhile.
const JOIN_WAIT_MAX: Duration = Duration::from_millis(5);

/// How many jobs wake the writer while it waits for more.
const WAKE_JOBS: usize = 16;

/// The queue between callers and the writer.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pending: Mutex<Pending>,
    arrived: Condvar,
}

#[derive(Default)]
struct Pending {
    jobs: VecDeque<Box<dyn Job>>,
    notes: Notes,
    /// The number of jobs that wakes the writer; `None` while it is awake.
    wake_at_jobs: Option<usize>,
    expected_callers: ExpectedCallers,
}

/// Callers that will probably send another job soon, estimated from the last batch.
#[derive(Clone, Copy, Default)]
struct ExpectedCallers {
    /// Callers whose jobs were in the last batch, and callers that waited meanwhile.
    count: usize,
    /// How long to wait for them: a commit costs about the same with any number of jobs.
    wait_max: Duration,
}

/// Work that is committed in one transaction.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) jobs: Vec<Box<dyn Job>>,
    pub(super) notes: Vec<Recording>,
    pub(super) counts: Vec<Count>,
    pub(super) flushes: Vec<FlushSender>,
    /// The error that kept its notes and counts from being written.
    pub(super) notes_error: Option<StoreError>,
    /// How long the batch has waited for expected callers.
    waited: Duration,
}

impl std::fmt::Debug for Pending {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Pending")
            .field("jobs", &self.jobs.len())
            .field("notes", &self.notes)
            .finish_non_exhaustive()
    }
}

impl Queue {
    pub(super) fn push(&self, job: Box<dyn Job>) -> Result<(), StoreError> {
        let mut pending = self.lock();
        if pending.notes.is_closed() {
            return Err(StoreError::Closed);
        }
        pending.jobs.push_back(job);
        if pending
            .wake_at_jobs
            .is_some_and(|wake_at_jobs| wake_at_jobs <= pending.jobs.len())
        {
            self.arrived.notify_one();
        }
        Ok(())
    }

    pub(super) fn note(&self, recording: Recording) {
        if self.lock().notes.note(recording) {
            self.arrived.notify_one();
        }
    }

    pub(super) fn count(&self, counts: &[Count]) {
        self.lock().notes.count(counts);
        self.arrived.notify_one();
    }

    pub(super) fn flush(&self, sender: FlushSender) -> Result<(), StoreError> {
        self.lock().notes.flush(sender)?;
        self.arrived.notify_one();
        Ok(())
    }

    pub(super) fn dropped(&self) -> u64 {
        self.lock().notes.dropped()
    }

    /// Accepts no more work; pending work is still written.
    pub(super) fn close(&self) {
        self.lock().notes.close();
        self.arrived.notify_one();
    }

    /// Drops all pending jobs because the writer has ended; closing their channels tells the callers.
    pub(super) fn abandon(&self) {
        let mut pending = self.lock();
        pending.notes.abandon();
        pending.jobs.clear();
    }

    /// Waits for work; `None` when everything is done and the queue is closed.
    pub(super) fn take(&self) -> Option<Batch> {
        let mut pending = self.lock();
        let mut notes_since = None;
        loop {
            if pending.is_urgent() {
                return Some(pending.take());
            }
            if pending.notes.is_closed() {
                return None;
            }
            if pending.notes.is_empty() {
                pending = self.wait(pending, 1, None);
                continue;
            }
            let since = *notes_since.get_or_insert_with(Instant::now);
            let left = pending.notes.delay().saturating_sub(since.elapsed());
            if left.is_zero() {
                return Some(pending.take());
            }
            pending = self.wait(pending, 1, Some(left));
        }
    }

    /// Adds jobs that arrived while the batch was running, so that one commit serves them all. Waits for
    /// the expected callers; the time that jobs run does not count as waiting.
    pub(super) fn join(&self, batch: &mut Batch) {
        let mut pending = self.lock();
        let taken = batch.jobs.len();
        let ExpectedCallers { count, wait_max } = pending.expected_callers;
        let missing = count.min(BATCH_LIMIT).saturating_sub(taken).min(WAKE_JOBS);
        let left = wait_max.saturating_sub(batch.waited);
        if pending.jobs.len() < missing && !left.is_zero() && !pending.notes.is_closed() {
            let start = Instant::now();
            pending = self.wait(pending, missing, Some(left));
            batch.waited += start.elapsed();
        }
        let more = pending.jobs.len().min(BATCH_LIMIT.saturating_sub(taken));
        batch.jobs.extend(pending.jobs.drain(..more));
    }

    /// Returns the notes and counts of a failed batch to the queue, and fails pending flushes.
    pub(super) fn put_back(&self, notes: Vec<Recording>, counts: &[Count], error: &StoreError) {
        self.lock().notes.put_back(notes, counts, error);
    }

    pub(super) fn count_dropped(&self, notes: u64) {
        self.lock().notes.count_dropped(notes);
    }

    /// Records that a batch was written, before its callers get their results.
    pub(super) fn written(&self, batch: &Batch, commit: Duration) {
        let mut pending = self.lock();
        pending.notes.set_failing(batch.notes_error.is_some());
        pending.expected_callers = ExpectedCallers {
            count: batch.jobs.len() + pending.jobs.len(),
            wait_max: (commit / COMMIT_TIME_DIVISOR).min(JOIN_WAIT_MAX),
        };
    }

    fn wait<'a>(
        &self,
        mut pending: MutexGuard<'a, Pending>,
        jobs: usize,
        timeout: Option<Duration>,
    ) -> MutexGuard<'a, Pending> {
        pending.wake_at_jobs = Some(jobs);
        let mut pending = match timeout {
            None => self
                .arrived
                .wait(pending)
                .unwrap_or_else(PoisonError::into_inner),
            Some(timeout) => {
                let woken = self.arrived.wait_timeout(pending, timeout);
                woken.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        pending.wake_at_jobs = None;
        pending
    }

    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pending {
    /// Whether a batch should be written now.
    fn is_urgent(&self) -> bool {
        !self.jobs.is_empty() || self.notes.is_urgent()
    }

    fn take(&mut self) -> Batch {
        let jobs = self.jobs.len().min(BATCH_LIMIT);
        let NotesBatch {
            notes,
            counts,
            flushes,
        } = self.notes.take();
        Batch {
            jobs: self.jobs.drain(..jobs).collect(),
            notes,
            counts,
            flushes,
            notes_error: None,
            waited: Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests;
