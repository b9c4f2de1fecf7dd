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
use super::queue::{Batch, PAUSE, Queue};
use super::recordings;
use super::room::{self, Gauge};
use crate::time::now_ms;

/// How often the room in the file is looked at, and after how many recordings sooner.
const LOOK: Duration = Duration::from_millis(250);
const NOTED: usize = 256;

/// What the writer, the readers and the store itself share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) place: Place,
    pub(super) queue: Queue,
    pub(super) gauge: Gauge,
    /// Rises when connections opened before are of no use.
    incarnation: AtomicU64,
}

impl Shared {
    pub(super) fn new(clock: Arc<dyn Clock>, place: Place) -> Self {
        Self {
            clock,
            place,
            queue: Queue::default(),
            gauge: Gauge::default(),
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
    /// When the reserve was last tried to be put back.
    tried_at: Option<Instant>,
    /// When the room in the file was last looked at, and how many recordings were written since.
    looked_at: Instant,
    noted: usize,
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
        tried_at: None,
        looked_at: Instant::now(),
        noted: 0,
    };
    writer.put_reserve_back();
    writer.look_at_room();
    while let Some(batch) = shared.queue.take() {
        writer.write(batch);
        writer.look_after_room();
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
        // What is noted must not use up the reserve.
        if self.shared.gauge.is_full() {
            self.put_back(&mut batch, &StoreError::Full);
        }
        let mut committed = self.try_to_commit(&mut batch);
        if committed == Err(StoreError::Full) {
            self.give_up_reserve();
            if !batch.jobs.is_empty() {
                committed = self.try_to_commit(&mut batch);
            }
        }
        self.noted += batch.notes.len();
        let committed = committed.map(|took| self.shared.queue.written(&batch, took));
        for job in batch.jobs {
            job.answer(committed.clone());
        }
        let noted = batch.not_noted.map_or(committed, Err);
        for reply in batch.flushes {
            let _ = reply.send(noted.clone());
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

    /// From now on there is room for what is waited for, and for nothing else.
    fn give_up_reserve(&mut self) {
        if !self.shared.gauge.is_full() {
            self.shared.gauge.set_full(true);
            self.tried_at = None;
        }
        let _ = self.with_connection(room::give_up);
    }

    /// From time to time: puts a reserve back that was given up, and looks at the room there is.
    fn look_after_room(&mut self) {
        let is_full = self.shared.gauge.is_full();
        if is_full && self.tried_at.is_none_or(|at| at.elapsed() >= PAUSE) {
            self.tried_at = Some(Instant::now());
            self.put_reserve_back();
        }
        if is_full || self.noted >= NOTED || self.looked_at.elapsed() >= LOOK {
            self.look_at_room();
        }
    }

    fn put_reserve_back(&mut self) {
        // An error says nothing about room.
        if let Ok(is_back) = self.with_connection(room::put_back) {
            self.shared.gauge.set_full(!is_back);
        }
    }

    fn look_at_room(&mut self) {
        (self.looked_at, self.noted) = (Instant::now(), 0);
        let limit = room::recordings_limit(self.shared.place.size_bytes());
        if let Ok((used, recordings)) = self.with_connection(|it, _| room::cut_back(it, limit)) {
            self.shared.gauge.set_used(used, recordings);
        }
    }

    /// Does something with the connection that no caller waits for.
    fn with_connection<T>(
        &mut self,
        work: impl FnOnce(&Connection, &Place) -> Result<T, Trouble>,
    ) -> Result<T, StoreError> {
        let place = &self.shared.place;
        Ok(work(self.connection()?, place)?)
    }

    fn after_error(&mut self, error: &StoreError, batch: &mut Batch) {
        self.shared.heed(error);
        if matches!(error, StoreError::Damaged | StoreError::Unreachable) {
            self.open = None;
        }
        self.may_create = *error == StoreError::Damaged;
        self.put_back(batch, error);
    }

    /// Has what was noted and counted wait.
    fn put_back(&self, batch: &mut Batch, error: &StoreError) {
        let notes = std::mem::take(&mut batch.notes);
        let counts = std::mem::take(&mut batch.counts);
        batch.not_noted = Some(error.clone());
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
