//! A lane: one connection, and the loop that takes work from the queue and does it. Another loop writes notes.
//!
//! A lane connects when it has work, and again after its connection was lost. Everything has a time limit.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use panpan_runtime::ports::{Scope, StoreError};
use tokio::task::{JoinSet, LocalSet, spawn_local};
use tokio::time::timeout;

use super::errors::QueryError;
use super::job::Job;
use super::lookup::KeyRow;
use super::queue::{Queue, Waiting, Work};
use super::session::{ConnectError, Connector, Session};
use super::space::Gauge;
use super::{keys, lookup, recordings};
use crate::notes::NotesBatch;

/// How long one statement or transaction may take, and how long a request may wait for a lane.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// How often a transaction is run that was rolled back because of a concurrent one.
const TRIES: usize = 4;

/// How long no lane connects after a connection failed; requests fail at once meanwhile.
const CONNECT_PAUSE: Duration = Duration::from_millis(250);

/// State shared by the lanes and the store.
pub(super) struct Shared {
    pub(super) connector: Connector,
    pub(super) queue: Queue,
    pub(super) gauge: Arc<Gauge>,
    /// When a lane last failed to connect, and why.
    refused: Mutex<Option<(Instant, StoreError)>>,
}

impl Shared {
    pub(super) fn new(connector: Connector, gauge: Arc<Gauge>) -> Self {
        Self {
            connector,
            queue: Queue::default(),
            gauge,
            refused: Mutex::default(),
        }
    }

    fn recent_refusal(&self) -> Option<StoreError> {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let is_recent = |at: &Instant| at.elapsed() < CONNECT_PAUSE;
        let recent = refused.as_ref().filter(|(at, _)| is_recent(at));
        recent.map(|(_, error)| error.clone())
    }

    fn set_refusal(&self, error: &StoreError) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        *refused = Some((Instant::now(), error.clone()));
    }
}

/// A connection that is made when it is needed.
pub(super) struct Lane {
    shared: Arc<Shared>,
    session: Option<Session>,
}

/// Why work failed.
struct Failed {
    error: StoreError,
    /// Whether only one row is the reason.
    concerns_one_row: bool,
}

impl Failed {
    fn of(error: StoreError) -> Self {
        Self {
            error,
            concerns_one_row: false,
        }
    }
}

/// Runs work of a store on a thread of its own runtime. When it ends, even by a panic, everything that waits fails.
pub(super) fn run_on_thread(shared: &Shared, work: impl Future<Output = ()>) -> io::Result<()> {
    let _guard = AbandonOnExit(shared);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    LocalSet::new().block_on(&runtime, work);
    Ok(())
}

/// Fails everything that waits when the thread ends.
struct AbandonOnExit<'a>(&'a Shared);

impl Drop for AbandonOnExit<'_> {
    fn drop(&mut self) {
        self.0.queue.abandon();
    }
}

/// Starts lanes, the first of them with this connection. One that panics is started again.
pub(super) fn start(
    shared: &Arc<Shared>,
    lanes: usize,
    mut session: Option<Session>,
) -> JoinSet<()> {
    let mut running = JoinSet::new();
    for _ in 0..lanes {
        let (shared, mut session) = (shared.clone(), session.take());
        running.spawn_local(async move {
            while spawn_local(serve(shared.clone(), session.take()))
                .await
                .is_err()
            {}
        });
    }
    running
}

/// Takes work from the queue until it is closed and empty.
async fn serve(shared: Arc<Shared>, session: Option<Session>) {
    let mut lane = Lane {
        shared: shared.clone(),
        session,
    };
    while let Some(work) = shared.queue.take().await {
        lane.work(work).await;
    }
}

/// Writes notes until the queue is closed and they are written.
pub(super) async fn write_notes(shared: Arc<Shared>) {
    let mut lane = Lane {
        shared: shared.clone(),
        session: None,
    };
    while let Some(batch) = next_notes(&shared.queue).await {
        lane.write(batch).await;
    }
}

/// Waits for notes, then for more notes to write with them; `None` when the queue is closed and there are none.
async fn next_notes(queue: &Queue) -> Option<NotesBatch> {
    let mut since = None;
    loop {
        let left = {
            let mut notes = queue.notes();
            if notes.is_urgent() {
                return Some(notes.take());
            }
            if notes.is_closed() {
                return None;
            }
            let since = (!notes.is_empty()).then(|| *since.get_or_insert_with(Instant::now));
            since.map(|since| notes.delay().saturating_sub(since.elapsed()))
        };
        match left {
            Some(Duration::ZERO) => return Some(queue.notes().take()),
            Some(left) => _ = timeout(left, queue.noted()).await,
            None => queue.noted().await,
        }
    }
}

impl Lane {
    async fn work(&mut self, work: Work) {
        match work {
            Work::Claims(mut batch) => {
                // A key for a caller that has stopped waiting would only block it until the lease ends.
                batch.retain(|it| !it.sender.is_closed());
                self.batch(batch, keys::claim).await;
            }
            Work::Extensions(batch) => self.batch(batch, keys::extend).await,
            Work::Completions(batch) => self.batch(batch, keys::complete).await,
            Work::Lookups(batch) => self.batch(batch, find_all).await,
            Work::Job(since, job) if since.elapsed() >= REQUEST_TIMEOUT => {
                job.finish(Err(StoreError::Slow));
            }
            Work::Job(_, job) => self.job(job).await,
        }
    }

    async fn job(&mut self, mut job: Box<dyn Job>) {
        let mut tries = TRIES;
        let ran = loop {
            tries -= 1;
            let limit = job.limit();
            let run = async |session: &Session| job.run(session).await;
            match self.try_once(run, limit).await {
                Err((_, true)) if tries > 0 => {}
                ended => break ended,
            }
        };
        job.finish(ran.map_err(|(failed, _)| failed.error));
    }

    /// Does the requests in one statement and sends the results. If one row is the reason that all failed, each is
    /// done by itself.
    async fn batch<Q, A>(
        &mut self,
        batch: Vec<Waiting<Q, A>>,
        run: impl AsyncFn(&Session, &[&Q]) -> Result<Vec<A>, QueryError>,
    ) {
        let in_time = |it: &Waiting<Q, A>| it.since.elapsed() < REQUEST_TIMEOUT;
        let (batch, late): (Vec<_>, Vec<_>) = batch.into_iter().partition(in_time);
        for waiting in late {
            let _ = waiting.sender.send(Err(StoreError::Slow));
        }
        if batch.is_empty() {
            return;
        }
        let asked: Vec<&Q> = batch.iter().map(|it| &it.asked).collect();
        let done = self.run(async |session| run(session, &asked).await).await;
        let results: Vec<Result<A, StoreError>> = match done {
            Ok(answers) => answers.into_iter().map(Ok).collect(),
            Err(failed) if failed.concerns_one_row && asked.len() > 1 => {
                let mut results = Vec::with_capacity(asked.len());
                for one in asked {
                    let done = self.run(async |session| run(session, &[one]).await).await;
                    let answer = done.map_err(|failed| failed.error);
                    results.push(
                        answer.and_then(|it| it.into_iter().next().ok_or(StoreError::Damaged)),
                    );
                }
                results
            }
            Err(failed) => asked.iter().map(|_| Err(failed.error.clone())).collect(),
        };
        for (waiting, result) in batch.into_iter().zip(results) {
            // The caller may have stopped waiting.
            let _ = waiting.sender.send(result);
        }
    }

    /// Writes notes and counts; on failure, returns them to the queue.
    async fn write(&mut self, batch: NotesBatch) {
        let NotesBatch {
            notes,
            counts,
            flushes,
        } = batch;
        let write = async |session: &Session| recordings::write(session, &notes, &counts).await;
        let written = self.run(write).await.map_err(|failed| failed.error);
        let shared = self.shared.clone();
        match &written {
            Ok(()) => shared.queue.notes().set_failing(false),
            Err(error) => shared.queue.notes().put_back(notes, &counts, error),
        }
        for sender in flushes {
            let _ = sender.send(written.clone());
        }
    }

    /// Runs work on the connection, again if a concurrent transaction made the database roll it back.
    async fn run<T>(
        &mut self,
        work: impl AsyncFn(&Session) -> Result<T, QueryError>,
    ) -> Result<T, Failed> {
        let mut tries = TRIES;
        loop {
            tries -= 1;
            match self.try_once(&work, REQUEST_TIMEOUT).await {
                Err((_, true)) if tries > 0 => {}
                ended => return ended.map_err(|(failed, _)| failed),
            }
        }
    }

    /// Runs work on the connection once. The error says whether it can be repeated.
    async fn try_once<T>(
        &mut self,
        work: impl AsyncFnOnce(&Session) -> Result<T, QueryError>,
        limit: Duration,
    ) -> Result<T, (Failed, bool)> {
        let session = match self.connected().await {
            Ok(session) => session,
            Err(error) => return Err((Failed::of(error), false)),
        };
        let worked = timeout(limit, work(&session)).await;
        let error = match worked {
            Ok(Ok(done)) => {
                self.shared.gauge.set_full(false);
                self.session = Some(session);
                return Ok(done);
            }
            Ok(Err(error)) => error,
            Err(_) => {
                session.cancel().await;
                return Err((Failed::of(StoreError::Slow), false));
            }
        };
        if error.leaves_connection() {
            self.session = Some(session);
        }
        let failed = Failed {
            error: StoreError::from(&error),
            concerns_one_row: error.concerns_one_row(),
        };
        if failed.error == StoreError::Full {
            self.shared.gauge.set_full(true);
        }
        Err((failed, error.can_be_repeated()))
    }

    /// The connection, taken out of the lane while it is in use: work that panics or is dropped loses it.
    async fn connected(&mut self) -> Result<Session, StoreError> {
        if let Some(session) = self.session.take().filter(|it| !it.is_closed()) {
            return Ok(session);
        }
        if let Some(error) = self.shared.recent_refusal() {
            return Err(error);
        }
        let error = match self.shared.connector.connect().await {
            Ok(session) => return Ok(session),
            Err(ConnectError::Slow) => StoreError::Slow,
            Err(ConnectError::Refused(error)) => StoreError::from(&error),
        };
        self.shared.set_refusal(&error);
        Err(error)
    }
}

/// The rows of keys, in the order of the scopes.
async fn find_all(session: &Session, asked: &[&Scope]) -> Result<Vec<Option<KeyRow>>, QueryError> {
    let scopes: Vec<Scope> = asked.iter().map(|scope| **scope).collect();
    let found = lookup::find(session, &scopes).await?;
    let rows = scopes.iter().map(|scope| found.get(scope).cloned());
    Ok(rows.collect())
}
