//! A store in memory, for tests and for gateways that need no durability: dropping it loses everything.
//!
//! Every future is ready at once and every listing is ordered, so two runs with the same clock give the
//! same results.

mod documents;
mod keys;
mod recordings;
mod tasks;

use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt as _;
use jiff::Timestamp;
use panpan_contract::recording::Recording;
use panpan_flow::ports::{Tasks, Work};
use panpan_runtime::BoxFuture;
use panpan_runtime::ports::{
    Applied, Change, Claim, Claimed, Clock, Completed, Completion, Count, Counts, Document,
    Documents, Earlier, Kept, Lease, Outcomes, Reopened, Reopening, Scope, StoreError, Swept,
};
use tokio::sync::watch;
use uuid::Uuid;

use crate::SWEEP_LIMIT;
use crate::time::now_ms;

pub use keys::MEMORY_OUTCOMES_BYTES_LIMIT;
pub use recordings::MEMORY_RECORDINGS_LIMIT;
pub use tasks::MEMORY_TASKS_BYTES_LIMIT;
use tasks::MemoryRows;

/// A store that keeps everything in memory.
///
/// It keeps the newest [`MEMORY_RECORDINGS_LIMIT`] recordings and [`MEMORY_OUTCOMES_BYTES_LIMIT`] of
/// outcomes. Older recordings are deleted and do not count as dropped. A key whose outcome was deleted
/// can be claimed like a new key; use a file where keys must be reliable.
#[derive(Debug)]
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    /// Changes with the tasks.
    tasks_changed: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    keys: keys::Keys,
    recordings: recordings::Recordings,
    counts: Counts,
    documents: documents::Collections,
    tasks: tasks::Tasks,
}

impl MemoryStore {
    /// Creates an empty store with this clock.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            state: Mutex::default(),
            tasks_changed: watch::Sender::new(0),
        }
    }

    /// The state is consistent even after a panic in another thread: panics happen before any change.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_ms(&self) -> i64 {
        now_ms(&*self.clock)
    }
}

fn done<'a, T: Send + 'a>(result: T) -> BoxFuture<'a, Result<T, StoreError>> {
    Box::pin(ready(Ok(result)))
}

impl Outcomes for MemoryStore {
    fn claim(&self, claim: Claim) -> BoxFuture<'_, Result<Claimed, StoreError>> {
        done(self.state().keys.claim(&claim, self.now_ms()))
    }

    fn extend(&self, lease: Lease, lease_ms: u64) -> BoxFuture<'_, Result<bool, StoreError>> {
        done(self.state().keys.extend(lease, lease_ms, self.now_ms()))
    }

    fn complete(&self, mut completion: Completion) -> BoxFuture<'_, Result<Completed, StoreError>> {
        let mut state = self.state();
        let recording = completion.recording.take();
        let completed = state.keys.complete(completion, self.now_ms());
        if let (Completed::Recorded { .. }, Some(recording)) = (&completed, recording) {
            state.recordings.note(*recording);
        }
        done(completed)
    }

    fn kept(&self, scope: Scope) -> BoxFuture<'_, Result<Option<Kept>, StoreError>> {
        done(self.state().keys.kept(scope, self.now_ms()))
    }

    fn reopen(&self, reopening: Reopening) -> BoxFuture<'_, Result<Reopened, StoreError>> {
        done(self.state().keys.reopen(reopening, self.now_ms()))
    }

    fn earlier(&self, scope: Scope) -> BoxFuture<'_, Result<Vec<Earlier>, StoreError>> {
        done(self.state().keys.earlier(scope, self.now_ms()))
    }

    fn note(&self, recording: Recording) {
        self.state().recordings.note(recording);
    }

    fn count(&self, counts: Vec<Count>) {
        let mut state = self.state();
        for count in &counts {
            state.counts.add_count(count, usize::MAX);
        }
    }

    fn dropped(&self) -> u64 {
        0
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        done(())
    }

    fn find(&self, call: Uuid) -> BoxFuture<'_, Result<Option<Recording>, StoreError>> {
        done(self.state().recordings.find(call))
    }

    fn recent(
        &self,
        limit: usize,
        failed_only: bool,
    ) -> BoxFuture<'_, Result<Vec<Recording>, StoreError>> {
        done(self.state().recordings.recent(limit, failed_only))
    }

    fn counts(&self, since: Timestamp) -> BoxFuture<'_, Result<Vec<Count>, StoreError>> {
        done(self.state().counts.since(since))
    }

    fn sweep(&self, recordings_before: Timestamp) -> BoxFuture<'_, Result<Swept, StoreError>> {
        let mut state = self.state();
        done(Swept {
            keys: state.keys.sweep(self.now_ms()),
            recordings: state.recordings.sweep(recordings_before),
            counts: state.counts.sweep(recordings_before, SWEEP_LIMIT),
        })
    }
}

impl Documents for MemoryStore {
    fn get<'a>(
        &'a self,
        collection: &'a str,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<Document>, StoreError>> {
        done(self.state().documents.get(collection, id))
    }

    fn list<'a>(
        &'a self,
        collection: &'a str,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Document>, StoreError>> {
        done(self.state().documents.list(collection, after, limit))
    }

    fn apply(&self, changes: Vec<Change>) -> BoxFuture<'_, Result<Applied, StoreError>> {
        done(self.state().documents.apply(changes))
    }
}

impl MemoryStore {
    fn run(&self, work: &mut dyn Work) -> Result<(), StoreError> {
        let mut state = self.state();
        let mut rows = MemoryRows::new(&mut state.tasks, self.clock.now());
        let done = work.run(&mut rows).now_or_never();
        let done = done.expect("rows in memory are read and written without waiting");
        debug_assert!(
            done.is_ok() || !rows.has_changed(),
            "what this store has changed, it cannot undo"
        );
        done
    }
}

impl Tasks for MemoryStore {
    fn write(&self, mut work: Box<dyn Work>) -> BoxFuture<'_, Result<(), StoreError>> {
        let done = self.run(&mut *work);
        self.tasks_changed
            .send_modify(|it| *it = it.wrapping_add(1));
        Box::pin(ready(done))
    }

    fn read(&self, mut work: Box<dyn Work>) -> BoxFuture<'_, Result<(), StoreError>> {
        let done = self.run(&mut *work);
        Box::pin(ready(done))
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.tasks_changed.subscribe()
    }
}
