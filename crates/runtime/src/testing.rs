//! Ports for tests: tokio's clock, sequential ids, a readable log, and a store that keeps only recordings and
//! counts.
//!
//! With paused time (`#[tokio::test(start_paused = true)]`) a sleep takes no real time, and two runs of a
//! test see the same times and ids.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use panpan_contract::recording::Recording;
use tokio::time::Instant;
use uuid::Uuid;

use crate::handler::BoxFuture;
use crate::ports::Ports;
use crate::ports::{
    Claim, Claimed, Clock, Completed, Completion, Count, Earlier, Ids, Kept, Lease, Outcomes,
    PrivateLog, Reopened, Reopening, Scope, StoreError, Swept,
};
use crate::system::TokioTasks;

/// Ports for tests.
#[derive(Clone, Debug)]
pub struct TestPorts {
    /// The ports.
    pub ports: Ports,
    /// The private log.
    pub notes: Arc<Notes>,
}

impl TestPorts {
    /// Ports with this store and clock.
    pub fn around(outcomes: Arc<dyn Outcomes>, clock: Arc<dyn Clock>) -> Self {
        let notes = Arc::new(Notes::default());
        let ports = Ports {
            clock,
            ids: Arc::new(CountedIds::default()),
            spawn: Arc::new(TokioTasks),
            outcomes,
            log: notes.clone(),
        };
        Self { ports, notes }
    }
}

/// Tokio's clock, starting at the Unix epoch.
#[derive(Clone, Copy, Debug)]
pub struct TestClock {
    start: Instant,
}

impl TestClock {
    /// A clock that starts now.
    pub fn start() -> Self {
        let start = Instant::now();
        Self { start }
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        let passed = self.start.elapsed().as_millis();
        let passed = i64::try_from(passed).map_or(SignedDuration::MAX, SignedDuration::from_millis);
        let now = Timestamp::UNIX_EPOCH.saturating_add(passed);
        now.unwrap_or(Timestamp::MAX)
    }

    fn sleep(&self, duration_ms: u64) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(Duration::from_millis(duration_ms)))
    }
}

/// Sequential ids, starting at 1.
#[derive(Debug, Default)]
pub struct CountedIds(AtomicU64);

impl Ids for CountedIds {
    fn new_id(&self) -> Uuid {
        Uuid::from_u64_pair(0, self.0.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn new_seed(&self) -> i64 {
        42
    }
}

/// A private log that tests can read.
#[derive(Debug, Default)]
pub struct Notes(Mutex<Vec<(Uuid, String)>>);

impl Notes {
    /// All causes so far, with the ids of their failures.
    pub fn all(&self) -> Vec<(Uuid, String)> {
        let notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        notes.clone()
    }

    /// All causes so far.
    pub fn causes(&self) -> Vec<String> {
        self.all().into_iter().map(|(_, cause)| cause).collect()
    }
}

impl PrivateLog for Notes {
    fn note(&self, id: Uuid, _: &str, cause: &str) {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        notes.push((id, cause.to_owned()));
    }
}

/// A store that keeps recordings and counts; all other requests fail.
#[derive(Debug, Default)]
pub struct RecordingStore {
    recordings: Mutex<Vec<Recording>>,
    counts: Mutex<Vec<Count>>,
}

impl RecordingStore {
    /// All recordings so far, oldest first.
    pub fn recordings(&self) -> Vec<Recording> {
        let recordings = self.recordings.lock();
        recordings.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The answer to all unsupported requests.
fn unreachable<T: Send + 'static>() -> BoxFuture<'static, Result<T, StoreError>> {
    Box::pin(std::future::ready(Err(StoreError::Unreachable)))
}

impl Outcomes for RecordingStore {
    fn claim(&self, _: Claim) -> BoxFuture<'_, Result<Claimed, StoreError>> {
        unreachable()
    }

    fn extend(&self, _: Lease, _: u64) -> BoxFuture<'_, Result<bool, StoreError>> {
        unreachable()
    }

    fn complete(&self, _: Completion) -> BoxFuture<'_, Result<Completed, StoreError>> {
        unreachable()
    }

    fn kept(&self, _: Scope) -> BoxFuture<'_, Result<Option<Kept>, StoreError>> {
        unreachable()
    }

    fn reopen(&self, _: Reopening) -> BoxFuture<'_, Result<Reopened, StoreError>> {
        unreachable()
    }

    fn earlier(&self, _: Scope) -> BoxFuture<'_, Result<Vec<Earlier>, StoreError>> {
        unreachable()
    }

    fn note(&self, recording: Recording) {
        let recordings = self.recordings.lock();
        recordings
            .unwrap_or_else(PoisonError::into_inner)
            .push(recording);
    }

    fn count(&self, counts: Vec<Count>) {
        let kept = self.counts.lock();
        kept.unwrap_or_else(PoisonError::into_inner).extend(counts);
    }

    fn dropped(&self) -> u64 {
        0
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn find(&self, call: Uuid) -> BoxFuture<'_, Result<Option<Recording>, StoreError>> {
        let found = self.recordings().into_iter().find(|it| it.id == call);
        Box::pin(std::future::ready(Ok(found)))
    }

    fn recent(
        &self,
        limit: usize,
        failed_only: bool,
    ) -> BoxFuture<'_, Result<Vec<Recording>, StoreError>> {
        let newest = self.recordings().into_iter().rev();
        let wanted = newest.filter(|it| !failed_only || it.code().is_some());
        Box::pin(std::future::ready(Ok(wanted.take(limit).collect())))
    }

    fn counts(&self, since: Timestamp) -> BoxFuture<'_, Result<Vec<Count>, StoreError>> {
        let counts = self.counts.lock();
        let counts = counts.unwrap_or_else(PoisonError::into_inner);
        let wanted = counts.iter().filter(|it| it.hour >= since).cloned();
        Box::pin(std::future::ready(Ok(wanted.collect())))
    }

    fn sweep(&self, _: Timestamp) -> BoxFuture<'_, Result<Swept, StoreError>> {
        Box::pin(std::future::ready(Ok(Swept::default())))
    }
}
