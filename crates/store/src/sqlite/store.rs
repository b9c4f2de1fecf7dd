//! The store itself: which method is answered by a reader, and which goes to the writer.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use jiff::Timestamp;
use panpan_contract::recording::Recording;
use panpan_runtime::BoxFuture;
use panpan_runtime::ports::{
    Applied, Change, Claim, Claimed, Clock, Completed, Completion, Count, Document, Documents,
    Earlier, Kept, Lease, Outcomes, Reopened, Reopening, Scope, StoreError, StoreState, Swept,
};
use rusqlite::Connection;
use tokio::sync::oneshot;
use uuid::Uuid;

use super::errors::{OpenError, Trouble};
use super::foresight::Foresight;
use super::job::Asked;
use super::open::{Place, SqliteOptions};
use super::readers::Readers;
use super::writer::{self, Shared};
use super::{documents, found, keys, recordings, room};
use crate::time::now_ms;

/// Keeps everything in one file.
///
/// Another process may use the same file at the same time. What fails because the disk is full, the
/// file locked, damaged or away works again when that is over. Dropping the store writes what was
/// noted and counted, and waits for that.
#[derive(Debug)]
pub struct SqliteStore {
    shared: Arc<Shared>,
    readers: Readers,
    foresight: Foresight,
    writer: Option<JoinHandle<()>>,
}

impl SqliteStore {
    /// Opens the file, or begins it; its folder is made if it is missing.
    pub fn open(path: impl Into<PathBuf>, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        Self::open_with(path, clock, SqliteOptions::default())
    }

    /// The same with other than the usual options.
    pub fn open_with(
        path: impl Into<PathBuf>,
        clock: Arc<dyn Clock>,
        options: SqliteOptions,
    ) -> Result<Self, OpenError> {
        let path = path.into();
        let place = Place::new(path, options);
        let connection = place.open_writer(true)?;
        let shared = Arc::new(Shared::new(clock, place));
        let writer = thread::Builder::new().name("panpan-store".to_owned());
        let for_writer = Arc::clone(&shared);
        let writer = writer.spawn(move || writer::run(&for_writer, connection));
        let writer = writer.map_err(|error| OpenError::Unreachable {
            path: shared.place.path.clone(),
            reason: error.to_string(),
        })?;
        Ok(Self {
            shared,
            readers: Readers::default(),
            foresight: Foresight::default(),
            writer: Some(writer),
        })
    }

    /// Lets the file grow by so many bytes and no further, to see what a full disk does; without a number, on
    /// and on.
    #[doc(hidden)]
    pub async fn limit_growth(&self, bytes: Option<u64>) -> Result<(), StoreError> {
        let shared = self.shared.clone();
        let limit = move |connection: &Connection, _| {
            let size_bytes = match bytes {
                Some(bytes) => room::file_bytes(connection)? + bytes,
                None => u64::MAX,
            };
            shared.place.set_size_bytes(size_bytes);
            Ok(room::limit(connection, size_bytes)?)
        };
        self.ask(limit).await
    }

    /// Has the writer do this, and waits until it is durable.
    async fn ask<T: Send + 'static>(
        &self,
        work: impl FnMut(&Connection, i64) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (asked, answer) = Asked::new(work);
        self.shared.queue.push(Box::new(asked))?;
        answer.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Reads on this thread.
    fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Trouble>,
    ) -> Result<T, StoreError> {
        self.readers.read(&self.shared, work)
    }

    /// What a claim can be told without the writer. A reader that fails says nothing about the key: the
    /// writer finds out.
    fn foreseen(&self, claim: &Claim) -> Option<Claimed> {
        if !self.foresight.should_look() {
            return None;
        }
        let now_ms = self.now_ms();
        let answered = self.read(|connection| found::answered(connection, claim, now_ms));
        let answered = answered.ok().flatten()?;
        self.foresight.was_known();
        Some(answered)
    }

    fn now_ms(&self) -> i64 {
        now_ms(&*self.shared.clock)
    }
}

impl Drop for SqliteStore {
    /// The writer's connection is the last to close, and so writes the log into the file.
    fn drop(&mut self) {
        self.readers.close();
        self.shared.queue.close();
        if let Some(writer) = self.writer.take() {
            // It has caught its panics; there is nothing to tell.
            let _ = writer.join();
        }
    }
}

impl Outcomes for SqliteStore {
    fn claim(&self, claim: Claim) -> BoxFuture<'_, Result<Claimed, StoreError>> {
        Box::pin(async move {
            if let Some(answered) = self.foreseen(&claim) {
                return Ok(answered);
            }
            // What is left is for the outcomes of keys that are held.
            if self.shared.gauge.is_full() {
                let now_ms = self.now_ms();
                let told = self.read(|connection| found::told(connection, &claim, now_ms));
                return told?.ok_or(StoreError::Full);
            }
            let ask = self.ask(move |connection, now_ms| keys::claim(connection, &claim, now_ms));
            let claimed = ask.await?;
            if let Claimed::Replay(_) = claimed {
                self.foresight.was_known();
            }
            Ok(claimed)
        })
    }

    fn extend(&self, lease: Lease, lease_ms: u64) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(
            self.ask(move |connection, now_ms| keys::extend(connection, lease, lease_ms, now_ms)),
        )
    }

    fn complete(&self, completion: Completion) -> BoxFuture<'_, Result<Completed, StoreError>> {
        Box::pin(
            self.ask(move |connection, now_ms| keys::complete(connection, &completion, now_ms)),
        )
    }

    fn kept(&self, scope: Scope) -> BoxFuture<'_, Result<Option<Kept>, StoreError>> {
        Box::pin(async move {
            let now_ms = self.now_ms();
            self.read(|connection| found::kept(connection, scope, now_ms))
        })
    }

    fn reopen(&self, reopening: Reopening) -> BoxFuture<'_, Result<Reopened, StoreError>> {
        Box::pin(self.ask(move |connection, now_ms| keys::reopen(connection, &reopening, now_ms)))
    }

    fn earlier(&self, scope: Scope) -> BoxFuture<'_, Result<Vec<Earlier>, StoreError>> {
        Box::pin(async move {
            let now_ms = self.now_ms();
            self.read(|connection| found::earlier(connection, scope, now_ms))
        })
    }

    fn note(&self, recording: Recording) {
        self.shared.queue.note(recording);
    }

    fn count(&self, counts: Vec<Count>) {
        self.shared.queue.count(counts);
    }

    fn dropped(&self) -> u64 {
        self.shared.queue.dropped()
    }

    fn state(&self) -> StoreState {
        self.shared.gauge.state(self.shared.place.size_bytes())
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            let (reply, answer) = oneshot::channel();
            self.shared.queue.flush(reply)?;
            answer.await.unwrap_or(Err(StoreError::Closed))
        })
    }

    fn find(&self, call: Uuid) -> BoxFuture<'_, Result<Option<Recording>, StoreError>> {
        Box::pin(async move { self.read(|connection| recordings::find(connection, call)) })
    }

    fn recent(
        &self,
        limit: usize,
        failed_only: bool,
    ) -> BoxFuture<'_, Result<Vec<Recording>, StoreError>> {
        Box::pin(async move {
            self.read(|connection| recordings::recent(connection, limit, failed_only))
        })
    }

    fn counts(&self, since: Timestamp) -> BoxFuture<'_, Result<Vec<Count>, StoreError>> {
        Box::pin(async move { self.read(|connection| recordings::counts(connection, since)) })
    }

    fn sweep(&self, recordings_before: Timestamp) -> BoxFuture<'_, Result<Swept, StoreError>> {
        Box::pin(self.ask(move |connection, now_ms| {
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
        Box::pin(async move { self.read(|connection| documents::get(connection, collection, id)) })
    }

    fn list<'a>(
        &'a self,
        collection: &'a str,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Document>, StoreError>> {
        Box::pin(async move {
            self.read(|connection| documents::list(connection, collection, after, limit))
        })
    }

    fn apply(&self, changes: Vec<Change>) -> BoxFuture<'_, Result<Applied, StoreError>> {
        Box::pin(self.ask(move |connection, _| documents::apply(connection, &changes)))
    }
}
