//! The one thread that writes: takes what waits, commits it together, then answers.
//!
//! It holds the only connection that writes in this process. When that is of no use any more, because
//! the file is damaged, gone or another one, the next batch opens a new one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use panpan_runtime::ports::{Clock, StoreError};
use rusqlite::Connection;

use super::errors::Trouble;
use super::open::Place;
use super::queue::{Batch, Queue};
use super::recordings;
use crate::time::now_ms;

/// What the writer, the readers and the store itself share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) place: Place,
    pub(super) queue: Queue,
    /// Rises when connections opened before are of no use.
    incarnation: AtomicU64,
}

impl Shared {
    pub(super) fn new(clock: Arc<dyn Clock>, place: Place) -> Self {
        Self {
            clock,
            place,
            queue: Queue::default(),
            incarnation: AtomicU64::new(0),
        }
    }

    pub(super) fn incarnation(&self) -> u64 {
        self.incarnation.load(Ordering::Acquire)
    }

    /// Takes note of an error: some mean that every connection has to be opened anew.
    pub(super) fn heed(&self, error: &StoreError) {
        if matches!(error, StoreError::Damaged | StoreError::Unreachable) {
            self.incarnation.fetch_add(1, Ordering::AcqRel);
        }
    }
}

/// The thread's own.
struct Writer<'a> {
    shared: &'a Shared,
    open: Option<Open>,
    /// The last error was that the file is damaged: then people are told to move it away, and a new
    /// one may be begun.
    may_create: bool,
}

struct Open {
    connection: Connection,
    incarnation: u64,
    identity: Option<(u64, u64)>,
}

/// Writes until the queue is closed and empty.
pub(super) fn run(shared: &Shared, connection: Connection) {
    let _ending = Ending(&shared.queue);
    let open = Open {
        connection,
        incarnation: shared.incarnation(),
        identity: shared.place.identity(),
    };
    let mut writer = Writer {
        shared,
        open: Some(open),
        may_create: false,
    };
    while let Some(batch) = shared.queue.take() {
        writer.write(batch);
    }
}

/// However the thread ends, nobody waits for it for ever.
struct Ending<'a>(&'a Queue);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

impl Writer<'_> {
    fn write(&mut self, mut batch: Batch) {
        let mut committed = self.try_to_commit(&mut batch);
        // Nobody waits for notes: where there is no room for them, there may be some for what is
        // waited for.
        if committed == Err(StoreError::Full) && !batch.jobs.is_empty() {
            committed = self.try_to_commit(&mut batch);
        }
        let committed = committed.map(|took| self.shared.queue.written(&batch, took));
        for job in batch.jobs {
            job.answer(committed.clone());
        }
        for reply in batch.flushes {
            let _ = reply.send(committed.clone());
        }
    }

    /// Commits a batch; when that fails, its notes and counts are put back.
    fn try_to_commit(&mut self, batch: &mut Batch) -> Result<Duration, StoreError> {
        let committed = catch_unwind(AssertUnwindSafe(|| self.commit(batch)));
        let committed = committed.unwrap_or_else(|_| Err(self.after_panic(batch)));
        if let Err(error) = &committed {
            self.after_error(error, batch);
        }
        committed
    }

    /// How long the disk took for it.
    fn commit(&mut self, batch: &mut Batch) -> Result<Duration, StoreError> {
        let shared = self.shared;
        let connection = self.connection()?;
        let written = write_all(connection, batch, shared);
        if written.is_err() && !connection.is_autocommit() {
            // What cannot be rolled back goes with its connection.
            if connection.execute_batch("ROLLBACK").is_err() {
                self.open = None;
            }
        }
        Ok(written?)
    }

    /// The connection, opened again if it has to be.
    fn connection(&mut self) -> Result<&Connection, StoreError> {
        let place = &self.shared.place;
        let (incarnation, identity) = (self.shared.incarnation(), place.identity());
        let same = |open: &Open| {
            open.incarnation == incarnation
                && open.identity == identity
                && (identity.is_some() || !cfg!(unix))
        };
        if !self.open.as_ref().is_some_and(same) {
            self.open = None;
            let connection = place.open_writer(self.may_create);
            let connection = connection.map_err(|error| error.as_store_error())?;
            // Readers must not go on with a file that was exchanged.
            let incarnation = self.shared.incarnation.fetch_add(1, Ordering::AcqRel) + 1;
            self.open = Some(Open {
                connection,
                incarnation,
                identity: place.identity(),
            });
        }
        let open = self.open.as_ref().ok_or(StoreError::Unreachable)?;
        Ok(&open.connection)
    }

    fn after_error(&mut self, error: &StoreError, batch: &mut Batch) {
        self.shared.heed(error);
        if matches!(error, StoreError::Damaged | StoreError::Unreachable) {
            self.open = None;
        }
        self.may_create = *error == StoreError::Damaged;
        let notes = std::mem::take(&mut batch.notes);
        let counts = std::mem::take(&mut batch.counts);
        self.shared.queue.put_back(notes, counts, error);
    }

    /// A note that makes the writer panic would do so again: it is not kept.
    fn after_panic(&mut self, batch: &mut Batch) -> StoreError {
        self.open = None;
        let notes = std::mem::take(&mut batch.notes);
        self.shared.queue.count_dropped(notes.len() as u64);
        batch.counts.clear();
        StoreError::Unreachable
    }
}

/// Runs everything in one transaction, and what comes meanwhile; how long the commit took.
fn write_all(
    connection: &Connection,
    batch: &mut Batch,
    shared: &Shared,
) -> Result<Duration, Trouble> {
    let run = |sql: &str| connection.prepare_cached(sql)?.execute([]);
    run("BEGIN IMMEDIATE")?;
    run_jobs(connection, batch, shared)?;
    for note in &batch.notes {
        recordings::write(connection, note)?;
    }
    for count in &batch.counts {
        recordings::add(connection, count)?;
    }
    let begun = Instant::now();
    run("COMMIT")?;
    Ok(begun.elapsed())
}

/// Time is read when the lock is held: waiting for it may take long, and leases are compared with the
/// time.
fn run_jobs(connection: &Connection, batch: &mut Batch, shared: &Shared) -> Result<(), Trouble> {
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
