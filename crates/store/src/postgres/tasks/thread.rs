//! The thread that runs the transactions of tasks, each on a connection of its own.
//!
//! It is not the thread of calls: the rules of a large plan are computed here, and calls do not wait for that.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use panpan_flow::ports::Work;
use panpan_runtime::BoxFuture;
use panpan_runtime::ports::StoreError;
use tokio::sync::{oneshot, watch};
use tokio::task::spawn_local;
use tokio::time::timeout;
use tokio_postgres::error::SqlState;

use super::super::errors::QueryError;
use super::super::job::{Job, Running};
use super::super::lane::{self, Shared};
use super::super::session::{Connector, Session};
use super::super::space::Gauge;
use super::rows;
use super::signals::{Signals, exchange};
use super::transaction::Access;

/// The number of connections.
const LANES: usize = 4;

/// How long a transaction may take. One adds up to 200,000 tasks.
const TRANSACTION_TIMEOUT: Duration = Duration::from_secs(120);

/// How long closing may wait until other processes have been told of the last change.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// The thread. Dropping it ends the transactions that wait, and waits for that.
pub(in super::super) struct TaskThread {
    shared: Arc<Shared>,
    signals: Arc<Signals>,
    thread: Option<JoinHandle<()>>,
}

impl TaskThread {
    /// Starts the thread. It connects when it has work.
    pub(in super::super) fn start(connector: Connector, gauge: Arc<Gauge>) -> io::Result<Self> {
        let shared = Arc::new(Shared::new(connector, gauge));
        let signals = Arc::new(Signals::new());
        let (for_thread, for_exchange) = (shared.clone(), signals.clone());
        let thread = thread::Builder::new().name("panpan-tasks".to_owned());
        let thread = thread.spawn(move || {
            // Without a runtime, everything that is asked of the thread fails.
            let _ = lane::run_on_thread(&for_thread, serve(&for_thread, for_exchange));
        })?;
        Ok(Self {
            shared,
            signals,
            thread: Some(thread),
        })
    }

    /// Runs work in a transaction.
    pub(super) fn run(
        &self,
        work: Box<dyn Work>,
        access: Access,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        let (sender, result) = oneshot::channel();
        let pushed = self.shared.queue.push_job(Box::new(TaskJob {
            work,
            access,
            signals: self.signals.clone(),
            done: None,
            sender,
        }));
        Box::pin(async move {
            pushed?;
            result.await.unwrap_or(Err(StoreError::Closed))
        })
    }

    /// Changes with the tasks.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.signals.watch()
    }
}

impl Drop for TaskThread {
    fn drop(&mut self) {
        self.shared.queue.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn serve(shared: &Arc<Shared>, signals: Arc<Signals>) {
    let exchange = spawn_local(exchange(shared.connector.clone(), signals.clone()));
    let mut running = lane::start(shared, LANES, None);
    while running.join_next().await.is_some() {}
    signals.close();
    // Others look by themselves later.
    let _ = timeout(CLOSE_TIMEOUT, exchange).await;
}

/// Work in a transaction.
struct TaskJob {
    work: Box<dyn Work>,
    access: Access,
    signals: Arc<Signals>,
    done: Option<Result<(), StoreError>>,
    sender: oneshot::Sender<Result<(), StoreError>>,
}

impl Job for TaskJob {
    fn run<'a>(&'a mut self, session: &'a Session) -> Running<'a, ()> {
        Box::pin(async move {
            let ran = rows::run(session, &mut *self.work, self.access).await;
            let (done, has_changed) = ran.map_err(overtaken)?;
            if has_changed {
                self.signals.change();
            }
            self.done = Some(done);
            Ok(())
        })
    }

    fn limit(&self) -> Duration {
        TRANSACTION_TIMEOUT
    }

    fn finish(self: Box<Self>, ran: Result<(), StoreError>) {
        let Self { done, sender, .. } = *self;
        let result = ran.and_then(|()| done.unwrap_or(Err(StoreError::Closed)));
        // The caller may have stopped waiting.
        let _ = sender.send(result);
    }
}

/// A task whose id is taken although it was free when the transaction looked: running the work again finds it.
fn overtaken(error: QueryError) -> QueryError {
    match error {
        QueryError::Postgres(error) if error.code() == Some(&SqlState::UNIQUE_VIOLATION) => {
            QueryError::Overtaken
        }
        error => error,
    }
}
