//! The SQLite store: sends each method of the ports to a reader or to the writer.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use jiff::Timestamp;
use panpan_contract::recording::Recording;
use panpan_flow::ports::{Tasks, Work};
use panpan_runtime::BoxFuture;
use panpan_runtime::ports::{
    Applied, Change, Claim, Claimed, Clock, Completed, Completion, Count, Document, Documents,
    Earlier, Kept, Lease, Outcomes, Reopened, Reopening, Scope, StoreError, StoreState, Swept,
};
use rusqlite::Connection;
use tokio::sync::{oneshot, watch};
use uuid::Uuid;

use super::errors::{OpenError, QueryError};
use super::job::Request;
use super::open::{DatabaseFile, SqliteOptions};
use super::readers::Readers;
use super::writer::{self, Shared};
use super::{documents, keys, lookup, recordings, space, tasks};
use crate::end_of_thread::wait_for_end;
use crate::fast_path::FastPath;
use crate::time::now_ms;

/// A store in one SQLite file.
///
/// Several processes may use the same file. When the disk is full, or the file is locked, damaged or
/// missing, methods fail; they work again when the condition is gone. Dropping the store writes all
/// pending recordings and counts, and waits for it.
#[derive(Debug)]
pub struct SqliteStore {
    shared: Arc<Shared>,
    readers: Readers,
    fast_path: FastPath,
    /// Changes with the tasks.
    tasks_changed: watch::Sender<u64>,
    writer: Option<JoinHandle<()>>,
}

impl SqliteStore {
    /// Opens the file; creates it and its folder if they are missing.
    pub fn open(path: impl Into<PathBuf>, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        Self::open_with(path, clock, SqliteOptions::default())
    }

    /// Opens the file with these options.
    pub fn open_with(
        path: impl Into<PathBuf>,
        clock: Arc<dyn Clock>,
        options: SqliteOptions,
    ) -> Result<Self, OpenError> {
        let path = path.into();
        let file = DatabaseFile::new(path, options);
        let connection = file.open_writer(true)?;
        let shared = Arc::new(Shared::new(clock, file));
        let writer = thread::Builder::new().name("panpan-store".to_owned());
        let for_writer = Arc::clone(&shared);
        let writer = writer.spawn(move || writer::run(&for_writer, connection));
        let unreachable =
            |error: io::Error| OpenError::Unreachable(shared.file.path.clone(), error.to_string());
        let writer = writer.map_err(unreachable)?;
        Ok(Self {
            shared,
            readers: Readers::default(),
            fast_path: FastPath::default(),
            tasks_changed: watch::Sender::new(0),
            writer: Some(writer),
        })
    }

    /// Lets the file grow by at most this many bytes, to simulate a full disk; `None` removes the limit.
    #[doc(hidden)]
    pub async fn limit_growth(&self, bytes: Option<u64>) -> Result<(), StoreError> {
        let shared = self.shared.clone();
        let limit = move |connection: &mut Connection, _| {
            let size_bytes = match bytes {
                Some(bytes) => space::file_bytes(connection)? + bytes,
                None => u64::MAX,
            };
            shared.file.set_size_bytes(size_bytes);
            Ok(space::limit(connection, size_bytes)?)
        };
        self.write(limit).await
    }

    /// Runs the work on the writer thread and waits until it is durable.
    async fn write<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut Connection, i64) -> Result<T, QueryError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (request, result) = Request::new(work);
        self.shared.queue.push(Box::new(request))?;
        result.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Runs the work on a read-only connection, on this thread.
    fn read<T>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, QueryError>,
    ) -> Result<T, StoreError> {
        self.readers.read(&self.shared, work)
    }

    /// Like [`read`](Self::read), with the time, as a future that is ready at once.
    fn reading<'a, T: Send + 'a>(
        &'a self,
        work: impl FnOnce(&Connection, i64) -> Result<T, QueryError> + Send + 'a,
    ) -> BoxFuture<'a, Result<T, StoreError>> {
        Box::pin(async move {
            let now_ms = self.now_ms();
            self.read(|connection| work(connection, now_ms))
        })
    }

    /// The result of a claim that needs no writer. Errors are ignored: the writer repeats the check.
    fn try_fast_path(&self, claim: &Claim) -> Option<Claimed> {
        if !self.fast_path.should_try() {
            return None;
        }
        let now_ms = self.now_ms();
        let claimed = self.read(|connection| lookup::claim_finished(connection, claim, now_ms));
        let claimed = claimed.ok().flatten()?;
        self.fast_path.hit();
        Some(claimed)
    }

    fn now_ms(&self) -> i64 {
        now_ms(&*self.shared.clock)
    }
}

impl Drop for SqliteStore {
    /// Closes the writer's connection last, so that SQLite checkpoints the log into the file.
    fn drop(&mut self) {
        self.readers.close();
        self.shared.queue.close();
        if let Some(writer) = self.writer.take() {
            wait_for_end(writer);
        }
    }
}

impl Outcomes for SqliteStore {
    fn claim(&self, claim: Claim) -> BoxFuture<'_, Result<Claimed, StoreError>> {
        Box::pin(async move {
            if let Some(claimed) = self.try_fast_path(&claim) {
                return Ok(claimed);
            }
            // The remaining space is for the outcomes of held keys.
            if self.shared.gauge.is_full() {
                let now_ms = self.now_ms();
                let claimed = self
                    .read(|connection| lookup::claim_without_writing(connection, &claim, now_ms));
                return claimed?.ok_or(StoreError::Full);
            }
            let claimed = self
                .write(move |connection, now_ms| keys::claim(connection, &claim, now_ms))
                .await?;
            if let Claimed::Replay(_) = claimed {
                self.fast_path.hit();
            }
            Ok(claimed)
        })
    }

    fn extend(&self, lease: Lease, lease_ms: u64) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(
            self.write(move |connection, now_ms| keys::extend(connection, lease, lease_ms, now_ms)),
        )
    }

    fn complete(&self, completion: Completion) -> BoxFuture<'_, Result<Completed, StoreError>> {
        Box::pin(
            self.write(move |connection, now_ms| keys::complete(connection, &completion, now_ms)),
        )
    }

    fn kept(&self, scope: Scope) -> BoxFuture<'_, Result<Option<Kept>, StoreError>> {
        self.reading(move |connection, now_ms| lookup::kept(connection, scope, now_ms))
    }

    fn reopen(&self, reopening: Reopening) -> BoxFuture<'_, Result<Reopened, StoreError>> {
        Box::pin(self.write(move |connection, now_ms| keys::reopen(connection, &reopening, now_ms)))
    }

    fn earlier(&self, scope: Scope) -> BoxFuture<'_, Result<Vec<Earlier>, StoreError>> {
        self.reading(move |connection, now_ms| lookup::earlier(connection, scope, now_ms))
    }

    fn note(&self, recording: Recording) {
        self.shared.queue.note(recording);
    }

    fn count(&self, counts: Vec<Count>) {
        self.shared.queue.count(&counts);
    }

    fn dropped(&self) -> u64 {
        self.shared.queue.dropped()
    }

    fn state(&self) -> StoreState {
        self.shared.gauge.state(self.shared.file.size_bytes())
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            let (sender, written) = oneshot::channel();
            self.shared.queue.flush(sender)?;
            written.await.unwrap_or(Err(StoreError::Closed))
        })
    }

    fn find(&self, call: Uuid) -> BoxFuture<'_, Result<Option<Recording>, StoreError>> {
        self.reading(move |connection, _| recordings::find(connection, call))
    }

    fn recent(
        &self,
        limit: usize,
        failed_only: bool,
    ) -> BoxFuture<'_, Result<Vec<Recording>, StoreError>> {
        self.reading(move |connection, _| recordings::recent(connection, limit, failed_only))
    }

    fn counts(&self, since: Timestamp) -> BoxFuture<'_, Result<Vec<Count>, StoreError>> {
        self.reading(move |connection, _| recordings::counts(connection, since))
    }

    fn sweep(&self, recordings_before: Timestamp) -> BoxFuture<'_, Result<Swept, StoreError>> {
        Box::pin(self.write(move |connection, now_ms| {
            recordings::sweep(connection, recordings_before, now_ms)
        }))
    }
}

impl Documents for SqliteStore {
    fn get<'a>(
        &'a self,
        collection: &'a str,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<Document>, StoreError>> {
        self.reading(move |connection, _| documents::get(connection, collection, id))
    }

    fn list<'a>(
        &'a self,
        collection: &'a str,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Document>, StoreError>> {
        self.reading(move |connection, _| documents::list(connection, collection, after, limit))
    }

    fn apply(&self, changes: Vec<Change>) -> BoxFuture<'_, Result<Applied, StoreError>> {
        Box::pin(self.write(move |connection, _| documents::apply(connection, &changes)))
    }
}

impl Tasks for SqliteStore {
    fn write(&self, mut work: Box<dyn Work>) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            let shared = self.shared.clone();
            let run = move |connection: &mut Connection, now_ms| {
                // The remaining space is for the outcomes of held keys and tasks.
                let size_bytes = shared.file.size_bytes();
                let room = shared.gauge.admits_tasks().then_some(size_bytes);
                tasks::write(connection, &mut *work, now_ms, room)
            };
            SqliteStore::write(self, run).await??;
            self.tasks_changed
                .send_modify(|it| *it = it.wrapping_add(1));
            Ok(())
        })
    }

    fn read(&self, mut work: Box<dyn Work>) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            let now_ms = self.now_ms();
            let run = |connection: &mut Connection| tasks::read(connection, &mut *work, now_ms);
            SqliteStore::read(self, run)?
        })
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.tasks_changed.subscribe()
    }
}
