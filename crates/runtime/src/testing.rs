//! A ports for tests: paused time that moves by itself when nothing else can happen, ids that count, a
//! log that can be read, and a store that keeps recordings and nothing else.
//!
//! Time is that of tokio. With paused time (`#[tokio::test(start_paused = true)]`) a sleep takes no
//! time, and two runs of the same test see the same times and ids.

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

/// A ports whose time is tokio's and begins at the epoch of Unix.
#[derive(Clone, Debug)]
pub struct TestPorts {
    /// The ports.
    pub ports: Ports,
    /// What was written to the private log.
    pub notes: Arc<Notes>,
}

impl TestPorts {
    /// A ports around a store.
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

/// Tokio's time, beginning at the epoch of Unix when the clock is made.
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

/// Ids that count from 1.
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

/// A log that can be read.
#[derive(Debug, Default)]
pub struct Notes(Mutex<Vec<(Uuid, String)>>);

impl Notes {
    /// Every cause so far, with the id of its failure.
    pub fn all(&self) -> Vec<(Uuid, String)> {
        let notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        notes.clone()
    }

    /// Every cause so far.
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

/// A store that is always away, except that it takes recordings and counts.
#[derive(Debug, Default)]
pub struct Forgetful {
    recordings: Mutex<Vec<Recording>>,
    counts: Mutex<Vec<Count>>,
}

impl Forgetful {
    /// Every recording so far, oldest first.
    pub fn recordings(&self) -> Vec<Recording> {
        let recordings = self.recordings.lock();
        recordings.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What it answers to everything it does not do.
fn away<T: Send + 'static>() -> BoxFuture<'static, Result<T, StoreError>> {
    Box::pin(std::future::ready(Err(StoreError::Unreachable)))
}

impl Outcomes for Forgetful {
    fn claim(&self, _: Claim) -> BoxFuture<'_, Result<Claimed, StoreError>> {
        away()
    }

    fn extend(&self, _: Lease, _: u64) -> BoxFuture<'_, Result<bool, StoreError>> {
        away()
    }

    fn complete(&self, _: Completion) -> BoxFuture<'_, Result<Completed, StoreError>> {
        away()
    }

    fn kept(&self, _: Scope) -> BoxFuture<'_, Result<Option<Kept>, StoreError>> {
        away()
    }

    fn reopen(&self, _: Reopening) -> BoxFuture<'_, Result<Reopened, StoreError>> {
        away()
    }

    fn earlier(&self, _: Scope) -> BoxFuture<'_, Result<Vec<Earlier>, StoreError>> {
        away()
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
