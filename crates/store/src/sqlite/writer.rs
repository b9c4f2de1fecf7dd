//! The writer thread: takes a batch from the queue, commits it, then reports the results.
//!
//! It owns the only connection of this process that writes. When the file is damaged, missing or
//! replaced, the next batch opens a new connection.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use panpan_runtime::ports::{Clock, StoreError};
use rusqlite::Connection;

use super::errors::QueryError;
use super::open::DatabaseFile;
use super::queue::{Batch, Queue};
use super::recordings;
use super::space::{self, Gauge};
use crate::notes::RETRY_DELAY;
use crate::time::now_ms;

/// How often the use of space is checked, and after how many recordings it is checked sooner.
const SPACE_CHECK_INTERVAL: Duration = Duration::from_millis(250);
const SPACE_CHECK_NOTES: usize = 256;

/// State shared by the writer, the readers and the store.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) file: DatabaseFile,
    pub(super) queue: Queue,
    pub(super) gauge: Gauge,
    /// Incremented when all open connections have to be replaced.
    incarnation: AtomicU64,
}

impl Shared {
    pub(super) fn new(clock: Arc<dyn Clock>, file: DatabaseFile) -> Self {
        Self {
            clock,
            file,
            queue: Queue::default(),
            gauge: Gauge::default(),
            incarnation: AtomicU64::new(0),
        }
    }

    pub(super) fn incarnation(&self) -> u64 {
        self.incarnation.load(Ordering::Acquire)
    }

    /// Makes every connection reopen the file after an error that requires it.
    pub(super) fn observe_error(&self, error: &StoreError) {
        if matches!(error, StoreError::Damaged | StoreError::Unreachable) {
            self.incarnation.fetch_add(1, Ordering::AcqRel);
        }
    }
}

/// State of the writer thread.
struct Writer<'a> {
    shared: &'a Shared,
    open: Option<Open>,
    /// Whether a missing file may be created: only after it was damaged, because the operator is then
    /// advised to move it away.
    may_create: bool,
    /// When restoring the reserve was last tried.
    restore_tried_at: Option<Instant>,
    /// When the use of space was last checked, and how many recordings were written since.
    space_checked_at: Instant,
    notes_since_check: usize,
}

struct Open {
    connection: Connection,
    incarnation: u64,
    identity: Option<(u64, u64)>,
}

/// Writes until the queue is closed and empty.
pub(super) fn run(shared: &Shared, connection: Connection) {
    let _guard = AbandonOnExit(&shared.queue);
    let open = Open {
        connection,
        incarnation: shared.incarnation(),
        identity: shared.file.identity(),
    };
    let mut writer = Writer {
        shared,
        open: Some(open),
        may_create: false,
        restore_tried_at: None,
        space_checked_at: Instant::now(),
        notes_since_check: 0,
    };
    writer.restore_reserve();
    writer.check_space();
    while let Some(batch) = shared.queue.take() {
        writer.write(batch);
        writer.maintain_space();
    }
}

/// Fails all pending jobs when the thread ends, even by a panic.
struct AbandonOnExit<'a>(&'a Queue);

impl Drop for AbandonOnExit<'_> {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

impl Writer<'_> {
    fn write(&mut self, mut batch: Batch) {
        // Recordings and counts must not use up the reserve.
        if self.shared.gauge.is_full() {
            self.put_back(&mut batch, &StoreError::Full);
        }
        let mut committed = self.try_to_commit(&mut batch);
        if committed == Err(StoreError::Full) {
            self.release_reserve();
            if !batch.jobs.is_empty() {
                committed = self.try_to_commit(&mut batch);
            }
        }
        self.notes_since_check += batch.notes.len();
        let committed = committed.map(|took| self.shared.queue.written(&batch, took));
        for job in batch.jobs {
            job.finish(committed.clone());
        }
        let flushed = batch.notes_error.map_or(committed, Err);
        for sender in batch.flushes {
            let _ = sender.send(flushed.clone());
        }
    }

    /// Commits a batch; on failure, returns its notes and counts to the queue.
    fn try_to_commit(&mut self, batch: &mut Batch) -> Result<Duration, StoreError> {
        let committed = catch_unwind(AssertUnwindSafe(|| self.commit(batch)));
        let committed = committed.unwrap_or_else(|_| Err(self.after_panic(batch)));
        if let Err(error) = &committed {
            self.after_error(error, batch);
        }
        committed
    }

    /// Commits a batch, and returns how long the commit took.
    fn commit(&mut self, batch: &mut Batch) -> Result<Duration, StoreError> {
        let shared = self.shared;
        let connection = self.connection()?;
        let written = write_all(connection, batch, shared);
        if written.is_err() && !connection.is_autocommit() {
            // Closing the connection ends a transaction that cannot be rolled back.
            if connection.execute_batch("ROLLBACK").is_err() {
                self.open = None;
            }
        }
        Ok(written?)
    }

    /// The connection, reopened if needed.
    fn connection(&mut self) -> Result<&mut Connection, StoreError> {
        let file = &self.shared.file;
        let (incarnation, identity) = (self.shared.incarnation(), file.identity());
        let same = |open: &Open| {
            open.incarnation == incarnation
                && open.identity == identity
                && (identity.is_some() || !cfg!(unix))
        };
        if !self.open.as_ref().is_some_and(same) {
            self.open = None;
            let connection = file.open_writer(self.may_create);
            let connection = connection.map_err(|error| error.as_store_error())?;
            // Readers must not keep using a replaced file.
            let incarnation = self.shared.incarnation.fetch_add(1, Ordering::AcqRel) + 1;
            self.open = Some(Open {
                connection,
                incarnation,
                identity: file.identity(),
            });
        }
        let open = self.open.as_mut().ok_or(StoreError::Unreachable)?;
        Ok(&mut open.connection)
    }

    /// Releases the reserve; from now on, only jobs are written.
    fn release_reserve(&mut self) {
        if !self.shared.gauge.is_full() {
            self.restore_tried_at = None;
        }
        self.shared.gauge.set_released();
        let _ = self.with_connection(space::release_reserve);
    }

    /// Restores a released reserve and checks the use of space, each from time to time.
    fn maintain_space(&mut self) {
        let is_full = self.shared.gauge.is_full();
        let is_due = |at: Instant| at.elapsed() >= RETRY_DELAY;
        if is_full && self.restore_tried_at.is_none_or(is_due) {
            self.restore_tried_at = Some(Instant::now());
            self.restore_reserve();
        }
        let is_due = self.notes_since_check >= SPACE_CHECK_NOTES
            || self.space_checked_at.elapsed() >= SPACE_CHECK_INTERVAL;
        if is_full || is_due {
            self.check_space();
        }
    }

    fn restore_reserve(&mut self) {
        // After an error it is unknown whether there is space.
        if let Ok(is_restored) = self.with_connection(space::restore_reserve) {
            self.shared.gauge.set_full(!is_restored);
        }
    }

    fn check_space(&mut self) {
        (self.space_checked_at, self.notes_since_check) = (Instant::now(), 0);
        let limit = space::recordings_limit(self.shared.file.size_bytes());
        let used = self.with_connection(|it, _| space::trim_recordings(it, limit));
        if let Ok((used, recordings)) = used {
            self.shared.gauge.set_used(used, recordings);
        }
    }

    /// Runs maintenance work on the connection.
    fn with_connection<T>(
        &mut self,
        work: impl FnOnce(&Connection, &DatabaseFile) -> Result<T, QueryError>,
    ) -> Result<T, StoreError> {
        let file = &self.shared.file;
        Ok(work(self.connection()?, file)?)
    }

    fn after_error(&mut self, error: &StoreError, batch: &mut Batch) {
        self.shared.observe_error(error);
        if matches!(error, StoreError::Damaged | StoreError::Unreachable) {
            self.open = None;
        }
        self.may_create = *error == StoreError::Damaged;
        self.put_back(batch, error);
    }

    /// Returns notes and counts to the queue.
    fn put_back(&self, batch: &mut Batch, error: &StoreError) {
        let notes = std::mem::take(&mut batch.notes);
        let counts = std::mem::take(&mut batch.counts);
        batch.notes_error = Some(error.clone());
        self.shared.queue.put_back(notes, &counts, error);
    }

    /// Drops the notes and counts of the batch: they could make the writer panic again.
    fn after_panic(&mut self, batch: &mut Batch) -> StoreError {
        self.open = None;
        let notes = std::mem::take(&mut batch.notes);
        self.shared.queue.count_dropped(notes.len() as u64);
        batch.counts.clear();
        StoreError::Unreachable
    }
}

/// Writes the batch, and jobs that arrive meanwhile, in one transaction. Returns how long the commit took.
fn write_all(
    connection: &mut Connection,
    batch: &mut Batch,
    shared: &Shared,
) -> Result<Duration, QueryError> {
    execute(connection, "BEGIN IMMEDIATE")?;
    run_jobs(connection, batch, shared)?;
    for note in &batch.notes {
        recordings::write(connection, note)?;
    }
    for count in &batch.counts {
        recordings::add(connection, count)?;
    }
    let begun = Instant::now();
    execute(connection, "COMMIT")?;
    Ok(begun.elapsed())
}

fn execute(connection: &Connection, sql: &str) -> rusqlite::Result<usize> {
    connection.prepare_cached(sql)?.execute([])
}

/// Reads the clock after the lock is taken: waiting for the lock can take long, and leases are compared
/// with the time.
fn run_jobs(
    connection: &mut Connection,
    batch: &mut Batch,
    shared: &Shared,
) -> Result<(), QueryError> {
    let mut done = 0;
    while done < batch.jobs.len() {
        let now_ms = now_ms(&*shared.clock);
        for job in &mut batch.jobs[done..] {
            job.run(connection, now_ms)?;
        }
        done = batch.jobs.len();
        shared.queue.join(batch);
    }
    Ok(())
}
