//! The threads that run the transactions of tasks, each on a connection of its own.
//!
//! They are not the thread of calls: the rules of a large plan are computed here, and calls do not wait for that. Work
//! that must not wait for that either, such as extending leases, has a thread and a connection of its own.

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
use super::super::lane::{self, REQUEST_TIMEOUT, Shared};
use super::super::session::{Connector, Session};
use super::super::space::Gauge;
use super::rows;
use super::signals::{Signals, exchange};
use super::transaction::Access;
use crate::end_of_thread::wait_for_end;

/// The number of connections, besides the one for work that does not wait.
const LANES: usize = 4;

/// How long a transaction may take. One adds up to 200,000 tasks.
const TRANSACTION_TIMEOUT: Duration = Duration::from_secs(120);

/// How long closing may wait until other processes have been notified of the last change.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// The threads. Dropping them ends the transactions that wait, and waits for that.
pub(in super::super) struct TaskThreads {
    shared: Arc<Shared>,
    at_once: Arc<Shared>,
    signals: Arc<Signals>,
    threads: Vec<JoinHandle<()>>,
}

impl TaskThreads {
    /// Starts the threads. They connect when they have work.
    pub(in super::super) fn start(connector: Connector, gauge: Arc<Gauge>) -> io::Result<Self> {
        let shared = Arc::new(Shared::new(connector.clone(), gauge.clone()));
        let mut started = Self {
            at_once: Arc::new(Shared::new(connector, gauge)),
            signals: Arc::new(Signals::new()),
            threads: Vec::new(),
            shared,
        };
        let (shared, signals) = (started.shared.clone(), started.signals.clone());
        started.spawn("panpan-tasks", move || {
            // Without a runtime, everything that is asked of the thread fails.
            let _ = lane::run_on_thread(&shared, serve(&shared, signals));
        })?;
        let shared = started.at_once.clone();
        started.spawn("panpan-leases", move || {
            let serve = async {
                let mut running = lane::start(&shared, 1, None);
                while running.join_next().await.is_some() {}
            };
            let _ = lane::run_on_thread(&shared, serve);
        })?;
        Ok(started)
    }

    fn spawn(&mut self, name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let thread = thread::Builder::new().name(name.to_owned());
        self.threads.push(thread.spawn(work)?);
        Ok(())
    }

    /// Runs work in a transaction, and reports its changes.
    pub(super) fn run(
        &self,
        work: Box<dyn Work>,
        access: Access,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        let signals = Some(self.signals.clone());
        send(&self.shared, work, access, signals)
    }

    /// Runs short work in a transaction, without waiting behind other work or reporting changes.
    pub(super) fn run_at_once(
        &self,
        work: Box<dyn Work>,
        access: Access,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        send(&self.at_once, work, access, None)
    }

    /// Changes with the tasks.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.signals.watch()
    }
}

impl Drop for TaskThreads {
    fn drop(&mut self) {
        self.shared.queue.close();
        self.at_once.queue.close();
        for thread in self.threads.drain(..) {
            wait_for_end(thread);
        }
    }
}

fn send<'a>(
    shared: &Shared,
    work: Box<dyn Work>,
    access: Access,
    signals: Option<Arc<Signals>>,
) -> BoxFuture<'a, Result<(), StoreError>> {
    let (sender, result) = oneshot::channel();
    let pushed = shared.queue.push_job(Box::new(TaskJob {
        work,
        access,
        signals,
        done: None,
        sender,
    }));
    Box::pin(async move {
        pushed?;
        result.await.unwrap_or(Err(StoreError::Closed))
    })
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
    /// What is notified of changes; nothing for short work.
    signals: Option<Arc<Signals>>,
    done: Option<Result<(), StoreError>>,
    sender: oneshot::Sender<Result<(), StoreError>>,
}

impl Job for TaskJob {
    fn run<'a>(&'a mut self, session: &'a Session) -> Running<'a, ()> {
        Box::pin(async move {
            let ran = rows::run(session, &mut *self.work, self.access).await;
            let (done, has_changed) = ran.map_err(overtaken)?;
            if let Some(signals) = &self.signals
                && self.access == Access::Write
                && done.is_ok()
            {
                signals.written(has_changed);
            }
            self.done = Some(done);
            Ok(())
        })
    }

    fn limit(&self) -> Duration {
        match self.signals {
            Some(_) => TRANSACTION_TIMEOUT,
            None => REQUEST_TIMEOUT,
        }
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
