//! The PostgreSQL store: sends each method of the ports to the lanes.

use std::fmt;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use jiff::Timestamp;
use panpan_contract::recording::Recording;
use panpan_runtime::BoxFuture;
use panpan_runtime::ports::{
    Applied, Change, Claim, Claimed, Clock, Completed, Completion, Count, Document, Documents,
    Earlier, Kept, Lease, Outcomes, Reopened, Reopening, Scope, StoreError, StoreState, Swept,
};
use tokio::sync::oneshot;
use tokio::task::spawn_local;
use tokio::time::timeout;
use uuid::Uuid;

use super::address::PostgresAddress;
use super::errors::{PostgresOpenError, QueryError};
use super::job::Request;
use super::lane::{self, Shared};
use super::lookup::KeyRow;
use super::session::{ConnectError, Connector, Session};
use super::space::{self, Gauge, POSTGRES_RECORDINGS_LIMIT};
use super::tasks::TaskThreads;
use super::tls::Tls;
use super::{documents, keys, lookup, recordings, schema};
use crate::end_of_thread::wait_for_end;
use crate::fast_path::FastPath;

/// How long opening may take, including migrations and the wait for another process that migrates.
const OPEN_TIMEOUT: Duration = Duration::from_secs(60);

/// The number of connections for calls; one more writes recordings and counts.
const LANES: usize = 4;

/// Options for opening a PostgreSQL store.
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    /// Takes the time from a clock instead of the database; only for tests.
    #[doc(hidden)]
    pub clock: Option<Arc<dyn Clock>>,
    /// How many recordings are kept; only tests change it.
    #[doc(hidden)]
    pub recordings_limit: u64,
    /// The number of connections for calls; only measurements change it.
    #[doc(hidden)]
    pub lanes: usize,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            clock: None,
            recordings_limit: POSTGRES_RECORDINGS_LIMIT,
            lanes: LANES,
        }
    }
}

/// A store in a PostgreSQL database.
///
/// Any number of gateways may use the same database. It opens up to five connections for calls, five for tasks, and one
/// that learns of changed tasks. When the database cannot be reached or is full, methods fail; they work again when
/// the condition is gone. Dropping the store writes all pending recordings and counts, and waits for it.
pub struct PostgresStore {
    shared: Arc<Shared>,
    pub(super) tasks: TaskThreads,
    fast_path: FastPath,
    recordings_limit: u64,
    thread: Option<JoinHandle<()>>,
}

impl PostgresStore {
    /// Connects, and creates the tables if they are missing.
    pub fn open(address: &PostgresAddress) -> Result<Self, PostgresOpenError> {
        Self::open_with(address, PostgresOptions::default())
    }

    /// Connects with these options.
    pub fn open_with(
        address: &PostgresAddress,
        options: PostgresOptions,
    ) -> Result<Self, PostgresOpenError> {
        let shown = address.to_string();
        let tls = Tls::new(&address.trust).map_err(|reason| PostgresOpenError::Tls {
            address: shown.clone(),
            reason,
        })?;
        let connector = Connector {
            address: address.clone(),
            tls,
            clock: options.clock,
        };
        let gauge = Arc::new(Gauge::default());
        let shared = Arc::new(Shared::new(connector.clone(), gauge.clone()));
        let unreachable = |reason: String| PostgresOpenError::Unreachable {
            address: shown.clone(),
            reason,
        };
        let (opened, result) = mpsc::channel();
        let (for_thread, lanes) = (shared.clone(), options.lanes.max(1));
        let thread = thread::Builder::new().name("panpan-store".to_owned());
        let thread = thread
            .spawn(move || run(&for_thread, lanes, &opened))
            .map_err(|error| unreachable(error.to_string()))?;
        let result = result.recv();
        result.map_err(|_| unreachable("the thread of the store has ended".to_owned()))??;
        let tasks = TaskThreads::start(connector, gauge);
        let tasks = tasks.map_err(|error| unreachable(error.to_string()))?;
        Ok(Self {
            shared,
            tasks,
            fast_path: FastPath::default(),
            recordings_limit: options.recordings_limit,
            thread: Some(thread),
        })
    }

    /// Runs work on a connection.
    fn request<T: Send + 'static>(
        &self,
        work: impl AsyncFn(&Session) -> Result<T, QueryError> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, StoreError>> {
        let (request, result) = Request::new(work);
        let pushed = self.shared.queue.push_job(Box::new(request));
        Box::pin(async move {
            pushed?;
            answer(result).await
        })
    }

    /// The row of a key.
    async fn find_key(&self, scope: Scope) -> Result<Option<KeyRow>, StoreError> {
        answer(self.shared.queue.push(|it| &mut it.lookups, scope)?).await
    }

    /// The result of a claim for a finished key.
    async fn claim_finished(&self, claim: &Claim) -> Result<Option<Claimed>, StoreError> {
        let found = self.find_key(claim.scope).await?;
        let claimed = found.map(|row| row.claim_finished(claim)).transpose();
        let claimed = claimed.map_err(|error| StoreError::from(&error))?.flatten();
        if claimed.is_some() {
            self.fast_path.hit();
        }
        Ok(claimed)
    }
}

async fn answer<T>(result: oneshot::Receiver<Result<T, StoreError>>) -> Result<T, StoreError> {
    result.await.unwrap_or(Err(StoreError::Closed))
}

type Opened = mpsc::Sender<Result<(), PostgresOpenError>>;

/// The thread of the store: opens the database, then runs the lanes until the queue is closed and empty.
fn run(shared: &Arc<Shared>, lanes: usize, opened: &Opened) {
    let ran = lane::run_on_thread(shared, async {
        match open(&shared.connector).await {
            Ok(session) => {
                let _ = opened.send(Ok(()));
                serve(shared, lanes, session).await;
            }
            Err(error) => _ = opened.send(Err(error)),
        }
    });
    if let Err(error) = ran {
        let (address, reason) = (shared.connector.address.to_string(), error.to_string());
        let _ = opened.send(Err(PostgresOpenError::Unreachable { address, reason }));
    }
}

async fn open(connector: &Connector) -> Result<Session, PostgresOpenError> {
    let address = connector.address.to_string();
    let opening = async {
        let session = connector.connect().await.map_err(|error| match error {
            ConnectError::Refused(error) => PostgresOpenError::of(address.clone(), &error),
            ConnectError::Slow => PostgresOpenError::Unreachable {
                address: address.clone(),
                reason: "no answer".to_owned(),
            },
        })?;
        schema::open(&session, &address).await?;
        Ok(session)
    };
    let slow = |_| PostgresOpenError::Slow {
        address: address.clone(),
    };
    timeout(OPEN_TIMEOUT, opening).await.map_err(slow)?
}

/// Runs the lanes and the writer of notes. One that panics is started again.
async fn serve(shared: &Arc<Shared>, lanes: usize, session: Session) {
    let mut running = lane::start(shared, lanes, Some(session));
    let shared = shared.clone();
    running.spawn_local(async move {
        while spawn_local(lane::write_notes(shared.clone()))
            .await
            .is_err()
        {}
    });
    while running.join_next().await.is_some() {}
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PostgresStore")
            .field("address", &self.shared.connector.address)
            .field("queue", &self.shared.queue)
            .finish_non_exhaustive()
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        self.shared.queue.close();
        if let Some(thread) = self.thread.take() {
            wait_for_end(thread);
        }
    }
}

impl Outcomes for PostgresStore {
    fn claim(&self, claim: Claim) -> BoxFuture<'_, Result<Claimed, StoreError>> {
        Box::pin(async move {
            if self.fast_path.should_try()
                && let Some(claimed) = self.claim_finished(&claim).await?
            {
                return Ok(claimed);
            }
            let claimed = answer(self.shared.queue.push(|it| &mut it.claims, claim)?).await?;
            if let Claimed::Replay(_) = claimed {
                self.fast_path.hit();
            }
            Ok(claimed)
        })
    }

    fn extend(&self, lease: Lease, lease_ms: u64) -> BoxFuture<'_, Result<bool, StoreError>> {
        let asked = (lease, lease_ms);
        let pushed = self.shared.queue.push(|it| &mut it.extensions, asked);
        Box::pin(async move { answer(pushed?).await })
    }

    fn complete(&self, completion: Completion) -> BoxFuture<'_, Result<Completed, StoreError>> {
        let pushed = self.shared.queue.push(|it| &mut it.completions, completion);
        Box::pin(async move { answer(pushed?).await })
    }

    fn kept(&self, scope: Scope) -> BoxFuture<'_, Result<Option<Kept>, StoreError>> {
        Box::pin(async move {
            let found = self.find_key(scope).await?;
            let kept = found.map(KeyRow::into_kept).transpose();
            kept.map(Option::flatten)
                .map_err(|error| StoreError::from(&error))
        })
    }

    fn reopen(&self, reopening: Reopening) -> BoxFuture<'_, Result<Reopened, StoreError>> {
        self.request(async move |session: &Session| keys::reopen(session, &reopening).await)
    }

    fn earlier(&self, scope: Scope) -> BoxFuture<'_, Result<Vec<Earlier>, StoreError>> {
        self.request(async move |session: &Session| lookup::earlier(session, scope).await)
    }

    fn note(&self, recording: Recording) {
        self.shared.queue.note(|notes| notes.note(recording));
    }

    fn count(&self, counts: Vec<Count>) {
        self.shared.queue.note(|notes| notes.count(&counts));
    }

    fn dropped(&self) -> u64 {
        self.shared.queue.notes().dropped()
    }

    fn state(&self) -> StoreState {
        self.shared.gauge.state()
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        let (sender, written) = oneshot::channel();
        let flushing = self.shared.queue.note(|notes| notes.flush(sender));
        Box::pin(async move {
            flushing?;
            answer(written).await
        })
    }

    fn find(&self, call: Uuid) -> BoxFuture<'_, Result<Option<Recording>, StoreError>> {
        self.request(async move |session: &Session| recordings::find(session, call).await)
    }

    fn recent(
        &self,
        limit: usize,
        failed_only: bool,
    ) -> BoxFuture<'_, Result<Vec<Recording>, StoreError>> {
        self.request(async move |session: &Session| {
            recordings::recent(session, limit, failed_only).await
        })
    }

    fn counts(&self, since: Timestamp) -> BoxFuture<'_, Result<Vec<Count>, StoreError>> {
        self.request(async move |session: &Session| recordings::counts(session, since).await)
    }

    fn sweep(&self, recordings_before: Timestamp) -> BoxFuture<'_, Result<Swept, StoreError>> {
        let (shared, limit) = (self.shared.clone(), self.recordings_limit);
        self.request(async move |session: &Session| {
            let mut swept = recordings::sweep(session, recordings_before).await?;
            swept.recordings += space::trim_recordings(session, limit).await?;
            shared.gauge.set_used(space::sizes(session).await?);
            Ok(swept)
        })
    }
}

impl Documents for PostgresStore {
    fn get<'a>(
        &'a self,
        collection: &'a str,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<Document>, StoreError>> {
        let (collection, id) = (collection.to_owned(), id.to_owned());
        self.request(async move |session: &Session| documents::get(session, &collection, &id).await)
    }

    fn list<'a>(
        &'a self,
        collection: &'a str,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Document>, StoreError>> {
        let (collection, after) = (collection.to_owned(), after.map(str::to_owned));
        self.request(async move |session: &Session| {
            documents::list(session, &collection, after.as_deref(), limit).await
        })
    }

    fn apply(&self, changes: Vec<Change>) -> BoxFuture<'_, Result<Applied, StoreError>> {
        self.request(async move |session: &Session| documents::apply(session, &changes).await)
    }
}
