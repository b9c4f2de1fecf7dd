//! The queue between callers and lanes. Requests of one kind that wait at the same time leave it as one batch.
//!
//! A caller waits for each request, so callers limit their number. Recordings and counts wait in `notes`.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use panpan_runtime::ports::{Claim, Claimed, Completed, Completion, End, KeptOutcome, Lease};
use panpan_runtime::ports::{Scope, StoreError};
use tokio::sync::{Notify, oneshot};

use super::job::Job;
use super::lookup::KeyRow;
use crate::notes::Notes;

/// The most requests in one batch.
const BATCH_LIMIT: usize = 64;

/// A batch of completions is full at this size, so that large outcomes do not make a huge statement.
const BATCH_BYTES: usize = 1024 * 1024;

/// A request and the channel of its result.
pub(super) struct Waiting<Q, A> {
    pub(super) asked: Q,
    pub(super) since: Instant,
    pub(super) sender: oneshot::Sender<Result<A, StoreError>>,
}

pub(super) type WaitingClaim = Waiting<Claim, Claimed>;
pub(super) type WaitingExtension = Waiting<(Lease, u64), bool>;
pub(super) type WaitingCompletion = Waiting<Completion, Completed>;
pub(super) type WaitingLookup = Waiting<Scope, Option<KeyRow>>;

/// Work for one lane.
pub(super) enum Work {
    Claims(Vec<WaitingClaim>),
    Extensions(Vec<WaitingExtension>),
    Completions(Vec<WaitingCompletion>),
    Lookups(Vec<WaitingLookup>),
    Job(Instant, Box<dyn Job>),
}

/// The queue.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pending: Mutex<Pending>,
    arrived: Notify,
    notes: Mutex<Notes>,
    noted: Notify,
}

#[derive(Default)]
pub(super) struct Pending {
    pub(super) claims: VecDeque<WaitingClaim>,
    pub(super) extensions: VecDeque<WaitingExtension>,
    pub(super) completions: VecDeque<WaitingCompletion>,
    pub(super) lookups: VecDeque<WaitingLookup>,
    jobs: VecDeque<(Instant, Box<dyn Job>)>,
    /// The kind of work that is taken next, so that no kind waits for ever.
    turn: usize,
    closed: bool,
}

impl fmt::Debug for Pending {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Pending")
            .field("claims", &self.claims.len())
            .field("completions", &self.completions.len())
            .field("jobs", &self.jobs.len())
            .finish_non_exhaustive()
    }
}

impl Queue {
    /// Adds a request to one line of the queue and returns the receiver of its result.
    pub(super) fn push<Q, A>(
        &self,
        line: impl FnOnce(&mut Pending) -> &mut VecDeque<Waiting<Q, A>>,
        asked: Q,
    ) -> Result<oneshot::Receiver<Result<A, StoreError>>, StoreError> {
        let (sender, receiver) = oneshot::channel();
        let since = Instant::now();
        let waiting = Waiting {
            asked,
            since,
            sender,
        };
        let mut pending = self.lock();
        if pending.closed {
            return Err(StoreError::Closed);
        }
        line(&mut pending).push_back(waiting);
        drop(pending);
        self.arrived.notify_one();
        Ok(receiver)
    }

    pub(super) fn push_job(&self, job: Box<dyn Job>) -> Result<(), StoreError> {
        let mut pending = self.lock();
        if pending.closed {
            return Err(StoreError::Closed);
        }
        pending.jobs.push_back((Instant::now(), job));
        drop(pending);
        self.arrived.notify_one();
        Ok(())
    }

    /// Waits for work; `None` when everything is done and the queue is closed.
    pub(super) async fn take(&self) -> Option<Work> {
        loop {
            let arrived = self.arrived.notified();
            {
                let mut pending = self.lock();
                if let Some(work) = pending.take() {
                    if !pending.is_empty() {
                        self.arrived.notify_one();
                    }
                    return Some(work);
                }
                if pending.closed {
                    return None;
                }
            }
            arrived.await;
        }
    }

    /// Changes the waiting notes and wakes their writer.
    pub(super) fn note<T>(&self, change: impl FnOnce(&mut Notes) -> T) -> T {
        let changed = change(&mut self.notes());
        self.noted.notify_one();
        changed
    }

    /// The waiting notes.
    pub(super) fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ready after the next change of the waiting notes.
    pub(super) async fn noted(&self) {
        self.noted.notified().await;
    }

    /// Accepts no more work; pending work is still done.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.arrived.notify_waiters();
        self.note(Notes::close);
    }

    /// Drops everything that waits, because the thread of the store has ended; closing the channels tells the
    /// callers.
    pub(super) fn abandon(&self) {
        let abandoned = Pending {
            closed: true,
            ..Pending::default()
        };
        drop(std::mem::replace(&mut *self.lock(), abandoned));
        self.notes().abandon();
    }

    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pending {
    fn is_empty(&self) -> bool {
        self.claims.is_empty()
            && self.extensions.is_empty()
            && self.completions.is_empty()
            && self.lookups.is_empty()
            && self.jobs.is_empty()
    }

    /// Takes the work of the next kind that has any.
    fn take(&mut self) -> Option<Work> {
        const KINDS: [fn(&mut Pending) -> Option<Work>; 5] = [
            |it| {
                it.jobs
                    .pop_front()
                    .map(|(since, job)| Work::Job(since, job))
            },
            |it| some(take_batch(&mut it.lookups, |_| (), |_| 0, false)).map(Work::Lookups),
            |it| some(take_batch(&mut it.claims, |_| (), |_| 0, false)).map(Work::Claims),
            |it| some(take_batch(&mut it.extensions, lease, |_| 0, true)).map(Work::Extensions),
            |it| {
                some(take_batch(
                    &mut it.completions,
                    completed_lease,
                    bytes,
                    true,
                ))
                .map(Work::Completions)
            },
        ];
        for kind in 0..KINDS.len() {
            let turn = (self.turn + kind) % KINDS.len();
            if let Some(work) = KINDS[turn](self) {
                self.turn = turn + 1;
                return Some(work);
            }
        }
        None
    }
}

fn some<T>(batch: Vec<T>) -> Option<Vec<T>> {
    Some(batch).filter(|batch| !batch.is_empty())
}

fn lease(asked: &(Lease, u64)) -> (Scope, u64) {
    (asked.0.scope, asked.0.epoch)
}

fn completed_lease(asked: &Completion) -> (Scope, u64) {
    (asked.lease.scope, asked.lease.epoch)
}

/// The approximate size of a completion.
fn bytes(asked: &Completion) -> usize {
    match &asked.end {
        End::Keep {
            outcome: KeptOutcome::Output(text) | KeptOutcome::Failure(text),
            ..
        } => text.len(),
        End::Keep { .. } | End::Release | End::Abandon => 0,
    }
}

/// Takes requests from the front up to the limits. If they have to be different, a request like an earlier one
/// stays for the next batch.
fn take_batch<Q, A, K: Hash + Eq>(
    line: &mut VecDeque<Waiting<Q, A>>,
    key: impl Fn(&Q) -> K,
    size: impl Fn(&Q) -> usize,
    different: bool,
) -> Vec<Waiting<Q, A>> {
    let (mut batch, mut bytes) = (Vec::new(), 0);
    let (mut keys, mut repeated) = (HashSet::new(), Vec::new());
    while batch.len() < BATCH_LIMIT && bytes < BATCH_BYTES {
        let Some(next) = line.pop_front() else { break };
        if different && !keys.insert(key(&next.asked)) {
            repeated.push(next);
            continue;
        }
        bytes += size(&next.asked);
        batch.push(next);
    }
    for next in repeated.into_iter().rev() {
        line.push_front(next);
    }
    batch
}

#[cfg(test)]
mod tests;
