//! The worker: claims tasks, runs them through the dispatcher, and writes how they ended.
//!
//! One transaction ends a batch of attempts and claims the next tasks, so that many tasks share a commit. `attempt` runs
//! one task, and `held` looks after those that run.

mod advice;
mod attempt;
mod calls;
mod clients;
mod held;
mod refused;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use panpan_runtime::ports::{Ports, StoreError};
use panpan_runtime::{CancellationToken, Dispatcher};
use tokio::sync::{mpsc, watch};

use crate::engine::{self, Claimed, ClaimedTask, Finished, Lease, later};
use crate::flows::Flows;
use crate::limits::{OPERATION_MISSING_MS, Offered, Room, TaskLimits};
use crate::ports;
use crate::task::TaskId;
pub use attempt::RESULT_BYTES_LIMIT;
use attempt::{TaskProgress, run_attempt};
use calls::TaskCalls;
pub use clients::{EndedCall, TaskCallLog, TaskClients, TaskOwners};
use held::{HeldTask, HeldTasks, Keeper, until};
use refused::refused_to_owner;

/// The settings of a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerSettings {
    /// How many tasks run at once in this process.
    pub concurrency: usize,
    /// How many of them may belong to one caller or one flow, or call one operation.
    pub limits: TaskLimits,
    /// How long a task is held before another process may take it over. It is extended while the task runs.
    pub lease_ms: u64,
    /// How often the store is asked for tasks although nothing is known to have changed.
    pub poll_ms: u64,
    /// The root of the only flow whose tasks are run; `None` for all flows.
    pub only_flow: Option<TaskId>,
}

impl Default for WorkerSettings {
    fn default() -> Self {
        Self {
            concurrency: 128,
            limits: TaskLimits::default(),
            lease_ms: 30_000,
            poll_ms: 1000,
            only_flow: None,
        }
    }
}

/// The most attempts that one transaction ends, and the most tasks that it claims.
const BATCH_LIMIT: usize = 256;

/// How long to wait after the store failed.
const STORE_RETRY_MS: u64 = 500;

/// How long a group is skipped whose tasks were recalled for nothing.
const SKIPPED_MS: u64 = 60_000;

/// Runs tasks of a store.
#[derive(Debug)]
pub struct Worker {
    flows: Flows,
    dispatcher: Dispatcher,
    ports: Ports,
    settings: WorkerSettings,
    /// Reaches the clients that created tasks.
    clients: Option<Arc<dyn TaskClients>>,
    /// Knows whose tokens are valid; without it, every task runs.
    owners: Option<Arc<dyn TaskOwners>>,
    /// Counts and logs the calls.
    log: Option<Arc<dyn TaskCallLog>>,
    held: Arc<HeldTasks>,
    sender: mpsc::UnboundedSender<Finished>,
    finished: mpsc::UnboundedReceiver<Finished>,
    /// Attempts that ended and are not written yet.
    unwritten: Vec<Finished>,
    /// Whether tasks may be ready.
    may_be_ready: bool,
    /// Groups whose tasks call operations that this process does not offer, until they are recalled again.
    not_offered: BTreeMap<Arc<str>, Timestamp>,
    /// When tasks whose operation no process offers begin to fail here: sources of this process may be slow to start.
    gives_up_at: Timestamp,
}

/// Why the worker wakes up.
enum Wake {
    Finished(Finished),
    MayBeReady,
    OperationsChanged,
    Stop,
}

impl Worker {
    /// A worker that runs tasks of these flows through this dispatcher.
    pub fn new(
        flows: Flows,
        dispatcher: Dispatcher,
        ports: Ports,
        settings: WorkerSettings,
    ) -> Self {
        let (sender, finished) = mpsc::unbounded_channel();
        let gives_up_at = later(ports.clock.now(), OPERATION_MISSING_MS);
        Self {
            flows,
            dispatcher,
            ports,
            settings,
            clients: None,
            owners: None,
            log: None,
            held: Arc::default(),
            sender,
            finished,
            unwritten: Vec::new(),
            may_be_ready: true,
            not_offered: BTreeMap::new(),
            gives_up_at,
        }
    }

    /// The same worker; its tasks can ask their clients for input.
    #[must_use]
    pub fn asking(mut self, clients: Arc<dyn TaskClients>) -> Self {
        self.clients = Some(clients);
        self
    }

    /// The same worker; a task of a caller without a valid token fails instead of being run.
    #[must_use]
    pub fn checking(mut self, owners: Arc<dyn TaskOwners>) -> Self {
        self.owners = Some(owners);
        self
    }

    /// The same worker; its calls are counted and logged.
    #[must_use]
    pub fn logging(mut self, log: Arc<dyn TaskCallLog>) -> Self {
        self.log = Some(log);
        self
    }

    /// Runs tasks until it is stopped; then waits until running tasks have ended.
    pub async fn run(self, stop: CancellationToken) {
        let keeper = Keeper {
            held: self.held.clone(),
            tasks: self.flows.shared_tasks(),
            clock: self.ports.clock.clone(),
            lease_ms: self.settings.lease_ms,
        };
        let dispatcher = self.dispatcher.clone();
        let runs_every_flow = self.settings.only_flow.is_none();
        let offered = move || Offered::In(dispatcher.registry());
        tokio::select! {
            () = self.work(stop) => {}
            () = keeper.keep_leases() => {}
            () = keeper.write_progress() => {}
            // A worker of one flow would not run the others.
            () = keeper.keep_offered(offered), if runs_every_flow => {}
        }
    }

    async fn work(mut self, stop: CancellationToken) {
        let mut changes = self.flows.tasks().changes();
        let mut operations = self.dispatcher.changes();
        loop {
            self.take_finished();
            let is_stopping = stop.is_cancelled();
            let running = self.held.running();
            if is_stopping && running == 0 && self.unwritten.is_empty() {
                return;
            }
            let free = match is_stopping || self.held.is_full() {
                true => 0,
                false => self.settings.concurrency.saturating_sub(running),
            };
            let may_claim = self.may_be_ready && free > 0;
            if !may_claim && self.unwritten.is_empty() {
                self.wait(free, &mut changes, &mut operations, &stop).await;
                continue;
            }
            let before = *changes.borrow_and_update();
            if self.transact(free).await.is_err() {
                self.ports.clock.sleep(STORE_RETRY_MS).await;
                continue;
            }
            // One change is this transaction itself, after which another one would find nothing new.
            let after = *changes.borrow_and_update();
            self.may_be_ready |= after.wrapping_sub(before) > 1;
        }
    }

    /// Takes the attempts that have ended meanwhile.
    fn take_finished(&mut self) {
        while self.unwritten.len() < BATCH_LIMIT {
            let Ok(finished) = self.finished.try_recv() else {
                return;
            };
            self.ended(finished);
        }
    }

    fn ended(&mut self, finished: Finished) {
        if let Some(task) = self.held.end(finished.lease) {
            self.flows.forget_running(task, finished.lease);
        }
        self.unwritten.push(finished);
    }

    /// The room for more tasks in this process.
    fn room(&mut self) -> Room {
        let now = self.ports.clock.now();
        self.not_offered.retain(|_, until| *until > now);
        let room = self.held.room(self.settings.limits.clone().into());
        let mut room = room
            .offering(Offered::In(self.dispatcher.registry()))
            .giving_up(now >= self.gives_up_at);
        for group in self.not_offered.keys() {
            room.skip(group.clone());
        }
        room
    }

    /// One transaction: ends attempts, claims tasks, and notes which flows rest.
    async fn transact(&mut self, free: usize) -> Result<(), StoreError> {
        let limit = free.min(BATCH_LIMIT);
        let finished = Arc::new(std::mem::take(&mut self.unwritten));
        let (lease_ms, only_flow) = (self.settings.lease_ms, self.settings.only_flow);
        let room = self.room();
        let for_store = finished.clone();
        let done = ports::write(self.flows.tasks(), move |rows| {
            let (finished, room) = (for_store.clone(), room.clone());
            Box::pin(async move {
                let flows = engine::finish(rows, &finished).await?;
                let mut claimed = match limit {
                    0 => Claimed::default(),
                    limit => engine::claim(rows, limit, lease_ms, room, only_flow).await?,
                };
                // Messages are added after the claim.
                claimed.may_have_more |= engine::rest(rows, &flows).await?;
                Ok(claimed)
            })
        });
        let claimed = match done.await {
            Ok(claimed) => claimed,
            Err(error) => {
                self.unwritten.splice(..0, Arc::unwrap_or_clone(finished));
                tracing::warn!(%error, "tasks cannot be written; trying again");
                return Err(error);
            }
        };
        self.held.remove(finished.iter().map(|it| it.lease));
        self.may_be_ready = claimed.may_have_more || limit == 0;
        let until = later(self.ports.clock.now(), SKIPPED_MS);
        let not_offered = claimed.not_offered.into_iter();
        self.not_offered.extend(not_offered.map(|it| (it, until)));
        for task in claimed.tasks {
            self.start(task);
        }
        Ok(())
    }

    fn start(&mut self, task: ClaimedTask) {
        let (row, lease) = (task.row.clone(), task.lease);
        let stop = CancellationToken::new();
        let progress = Arc::new(TaskProgress::default());
        self.flows.remember_running(row.id, lease, stop.clone());
        self.held.add(HeldTask {
            row,
            lease,
            bytes: task.contents.bytes(),
            stop: stop.clone(),
            progress: progress.clone(),
            stored_progress: None,
            has_ended: false,
        });
        let calls = TaskCalls::new(
            self.dispatcher.clone(),
            self.log.clone(),
            stop.clone(),
            &task,
        );
        let (clients, owners) = (self.clients.clone(), self.owners.clone());
        let ends = EndOnDrop::new(self.sender.clone(), lease);
        self.ports.spawn.spawn(Box::pin(async move {
            let refused = refused_to_owner(&calls, owners.as_deref(), &task).await;
            let ended = match refused {
                Some(ended) => ended,
                None => run_attempt(&calls, clients.as_deref(), task, stop, progress).await,
            };
            ends.end(ended);
        }));
    }

    /// Waits until there is something to do.
    async fn wait(
        &mut self,
        free: usize,
        changes: &mut watch::Receiver<u64>,
        operations: &mut watch::Receiver<()>,
        stop: &CancellationToken,
    ) {
        let mut idle_ms = self.settings.poll_ms;
        // Without a free place, a task whose time has come waits for the end of another one.
        if free > 0 {
            idle_ms = idle_ms.min(self.next_due_ms().await);
        }
        let sleep = self.ports.clock.sleep(idle_ms);
        let woken = tokio::select! {
            Some(finished) = self.finished.recv() => Wake::Finished(finished),
            Ok(()) = changes.changed() => Wake::MayBeReady,
            Ok(()) = operations.changed() => Wake::OperationsChanged,
            () = sleep => Wake::MayBeReady,
            () = stop.cancelled(), if !stop.is_cancelled() => Wake::Stop,
        };
        match woken {
            Wake::Finished(finished) => self.ended(finished),
            Wake::MayBeReady => self.may_be_ready = true,
            Wake::OperationsChanged => {
                self.not_offered.clear();
                self.may_be_ready = true;
            }
            Wake::Stop => {}
        }
    }
}

impl Worker {
    /// The time until a waiting task can be claimed, if that is soon.
    async fn next_due_ms(&self) -> u64 {
        let due = ports::read(self.flows.tasks(), |rows| {
            Box::pin(async move {
                let (now, due) = (rows.now(), rows.next_due().await?);
                Ok(due.map(|due| until(now, due)))
            })
        });
        // A store that fails is asked again soon.
        due.await.unwrap_or(None).unwrap_or(u64::MAX)
    }
}

/// Reports the end of an attempt, even if its future is dropped or panics: then the task stays held until its lease
/// ends, and another attempt decides what became of it.
struct EndOnDrop {
    sender: mpsc::UnboundedSender<Finished>,
    lease: Lease,
    ended: Option<engine::Ended>,
}

impl EndOnDrop {
    fn new(sender: mpsc::UnboundedSender<Finished>, lease: Lease) -> Self {
        Self {
            sender,
            lease,
            ended: None,
        }
    }

    fn end(mut self, ended: engine::Ended) {
        self.ended = Some(ended);
    }
}

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        let lease = self.lease;
        let ended = self.ended.take().unwrap_or(engine::Ended::Lost);
        // The worker may have ended.
        let _ = self.sender.send(Finished { lease, ended });
    }
}
