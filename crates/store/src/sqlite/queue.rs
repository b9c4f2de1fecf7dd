//! What waits for the writer: jobs somebody waits for, and notes and counts nobody waits for.
//!
//! Jobs are as many as there are callers. Notes and counts are bounded, since nobody waits for them
//! and so nobody slows down.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use panpan_contract::recording::Recording;
use panpan_runtime::ports::{Count, StoreError};
use tokio::sync::oneshot;

use super::job::Job;
use crate::counts::Counts;

/// How many recordings wait at most; more are dropped.
pub const NOTES_LIMIT: usize = 2048;

/// How many different counts wait at most; of others the newest are not counted.
const COUNTS_LIMIT: usize = 4096;

/// How many jobs, and how many notes, are committed together.
const BATCH_LIMIT: usize = 512;

/// Which part of the last commit's time a batch waits at most for callers that were just answered.
const PART_OF_COMMIT: u32 = 2;

/// But never longer than this: other processes wait for the file meanwhile.
const COMPANY_WAIT_MAX: Duration = Duration::from_millis(5);

/// With how many jobs it pays to wake the writer while it waits for more.
const HANDFUL: usize = 16;

/// How long notes wait for company, so that each does not cost a write of its own.
const LINGER: Duration = Duration::from_millis(20);

/// How long notes that could not be written wait before they are tried again by themselves.
pub(super) const PAUSE: Duration = Duration::from_secs(1);

/// What waits.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    arrived: Condvar,
}

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Box<dyn Job>>,
    notes: VecDeque<Recording>,
    counts: Counts,
    flushes: Vec<Flush>,
    /// With how many jobs the writer wants to be woken; `None` while it is awake.
    wanted: Option<usize>,
    company: Company,
    dropped: u64,
    failing: bool,
    closed: bool,
}

/// Who may come again, as far as the last batch tells.
#[derive(Clone, Copy, Default)]
struct Company {
    /// Callers that were answered, and those that waited meanwhile.
    callers: usize,
    /// How long it pays to wait for them: a commit costs much the same with any number of jobs.
    patience: Duration,
}

/// Somebody waits until so many of the waiting notes, and all counts, are written.
struct Flush {
    notes: usize,
    reply: Reply,
}

type Reply = oneshot::Sender<Result<(), StoreError>>;

/// What is committed together.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) jobs: Vec<Box<dyn Job>>,
    pub(super) notes: Vec<Recording>,
    pub(super) counts: Vec<Count>,
    pub(super) flushes: Vec<Reply>,
    /// Why its notes and counts are not written, if they are not.
    pub(super) not_noted: Option<StoreError>,
    /// How long it has waited for company.
    waited: Duration,
}

impl std::fmt::Debug for Waiting {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Waiting")
            .field("jobs", &self.jobs.len())
            .field("notes", &self.notes.len())
            .finish_non_exhaustive()
    }
}

impl Queue {
    pub(super) fn push(&self, job: Box<dyn Job>) -> Result<(), StoreError> {
        let mut waiting = self.lock();
        if waiting.closed {
            return Err(StoreError::Closed);
        }
        waiting.jobs.push_back(job);
        if waiting
            .wanted
            .is_some_and(|wanted| wanted <= waiting.jobs.len())
        {
            self.arrived.notify_one();
        }
        Ok(())
    }

    pub(super) fn note(&self, recording: Recording) {
        let mut waiting = self.lock();
        if waiting.closed || waiting.notes.len() >= NOTES_LIMIT {
            waiting.dropped += 1;
            return;
        }
        // The first begins the time notes wait for company; a full batch ends it.
        let first = !waiting.has_notes();
        waiting.notes.push_back(recording);
        if first || waiting.notes.len() == BATCH_LIMIT {
            self.arrived.notify_one();
        }
    }

    pub(super) fn count(&self, counts: Vec<Count>) {
        let mut waiting = self.lock();
        waiting.add(counts);
        self.arrived.notify_one();
    }

    pub(super) fn flush(&self, reply: Reply) -> Result<(), StoreError> {
        let mut waiting = self.lock();
        if waiting.closed {
            return Err(StoreError::Closed);
        }
        let notes = waiting.notes.len();
        waiting.flushes.push(Flush { notes, reply });
        self.arrived.notify_one();
        Ok(())
    }

    pub(super) fn dropped(&self) -> u64 {
        self.lock().dropped
    }

    /// Takes nothing any more; what waits is still written.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.arrived.notify_one();
    }

    /// There is no writer any more: whoever waits is told by the end of their channel.
    pub(super) fn abandon(&self) {
        let mut waiting = self.lock();
        waiting.closed = true;
        waiting.jobs.clear();
        waiting.flushes.clear();
    }

    /// Waits for work; `None` when everything is done and the queue is closed.
    pub(super) fn take(&self) -> Option<Batch> {
        let mut waiting = self.lock();
        let mut behind_since = None;
        loop {
            if waiting.is_urgent() {
                return Some(waiting.take());
            }
            if waiting.closed {
                return None;
            }
            if !waiting.has_notes() {
                waiting = self.wait(waiting, 1, None);
                continue;
            }
            let begun = *behind_since.get_or_insert_with(Instant::now);
            let left = waiting.patience().saturating_sub(begun.elapsed());
            if left.is_zero() {
                return Some(waiting.take());
            }
            waiting = self.wait(waiting, 1, Some(left));
        }
    }

    /// Adds jobs that came while those of the batch were being done, so that one commit serves them
    /// all. Callers that were answered a moment ago are waited for; the time their jobs take to be done
    /// is no waiting.
    pub(super) fn join(&self, batch: &mut Batch) {
        let mut waiting = self.lock();
        let taken = batch.jobs.len();
        let Company { callers, patience } = waiting.company;
        let missing = callers.min(BATCH_LIMIT).saturating_sub(taken).min(HANDFUL);
        let left = patience.saturating_sub(batch.waited);
        if waiting.jobs.len() < missing && !left.is_zero() && !waiting.closed {
            let begun = Instant::now();
            waiting = self.wait(waiting, missing, Some(left));
            batch.waited += begun.elapsed();
        }
        let more = waiting.jobs.len().min(BATCH_LIMIT.saturating_sub(taken));
        batch.jobs.extend(waiting.jobs.drain(..more));
    }

    /// Keeps notes and counts of a batch that could not be written, and tells those who wait for them.
    pub(super) fn put_back(&self, notes: Vec<Recording>, counts: Vec<Count>, error: &StoreError) {
        let mut waiting = self.lock();
        waiting.failing = true;
        for flush in mem::take(&mut waiting.flushes) {
            let _ = flush.reply.send(Err(error.clone()));
        }
        // What cannot be written while the store is being closed cannot be kept either.
        if !waiting.closed {
            waiting.add(counts);
        }
        for note in notes.into_iter().rev() {
            if waiting.closed || waiting.notes.len() >= NOTES_LIMIT {
                waiting.dropped += 1;
            } else {
                waiting.notes.push_front(note);
            }
        }
    }

    pub(super) fn count_dropped(&self, notes: u64) {
        self.lock().dropped += notes;
    }

    /// Takes note of a batch that was written, before its callers know.
    pub(super) fn written(&self, batch: &Batch, commit: Duration) {
        let mut waiting = self.lock();
        waiting.failing = batch.not_noted.is_some();
        waiting.company = Company {
            callers: batch.jobs.len() + waiting.jobs.len(),
            patience: (commit / PART_OF_COMMIT).min(COMPANY_WAIT_MAX),
        };
    }

    fn wait<'a>(
        &self,
        mut waiting: MutexGuard<'a, Waiting>,
        jobs: usize,
        longest: Option<Duration>,
    ) -> MutexGuard<'a, Waiting> {
        waiting.wanted = Some(jobs);
        let mut waiting = match longest {
            None => self
                .arrived
                .wait(waiting)
                .unwrap_or_else(PoisonError::into_inner),
            Some(longest) => {
                let woken = self.arrived.wait_timeout(waiting, longest);
                woken.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        waiting.wanted = None;
        waiting
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn has_notes(&self) -> bool {
        !self.notes.is_empty() || self.counts.len() > 0
    }

    /// Whether there is something that should not wait for company.
    fn is_urgent(&self) -> bool {
        let many = self.notes.len() >= BATCH_LIMIT && !self.failing;
        let asked = !self.jobs.is_empty() || !self.flushes.is_empty();
        asked || many || (self.closed && self.has_notes())
    }

    fn patience(&self) -> Duration {
        if self.failing { PAUSE } else { LINGER }
    }

    fn add(&mut self, counts: Vec<Count>) {
        for count in counts {
            if self.counts.len() < COUNTS_LIMIT || self.counts.knows(&count) {
                self.counts.add(count);
            }
        }
    }

    fn take(&mut self) -> Batch {
        let jobs = self.jobs.len().min(BATCH_LIMIT);
        let notes = self.notes.len().min(BATCH_LIMIT);
        let (done, left) = mem::take(&mut self.flushes)
            .into_iter()
            .partition::<Vec<_>, _>(|flush| flush.notes <= notes);
        let less = |flush: Flush| Flush {
            notes: flush.notes - notes,
            ..flush
        };
        self.flushes = left.into_iter().map(less).collect();
        Batch {
            jobs: self.jobs.drain(..jobs).collect(),
            notes: self.notes.drain(..notes).collect(),
            counts: mem::take(&mut self.counts).since(Timestamp::MIN),
            flushes: done.into_iter().map(|flush| flush.reply).collect(),
            not_noted: None,
            waited: Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests;
