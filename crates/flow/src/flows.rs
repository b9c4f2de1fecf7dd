//! The flows of a store: what callers can do with tasks, and which tasks run in this process.

mod read;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, PoisonError};

use panpan_runtime::ports::Ids;
use panpan_runtime::ports::StoreError;
use panpan_runtime::{BoxFuture, CancellationToken};
use serde_json::Value;

use crate::engine::{
    self, Caller, Cancel, Copied, Copy, Created, Execute, Executed, Lease, Release, Update,
};
use crate::error::TaskError;
use crate::plan::{PlanError, Problems, check_schemas};
use crate::ports::{self, Key, Row, Rows, Tasks};
use crate::task::{ReadTask, TaskId, read_as_far, read_webhook, refused_webhook, stored_webhook};
use crate::webhooks::{Webhook, WebhookKey};

/// The scope that gives access to the tasks of all callers.
pub const TASKS_SCOPE: &str = "panpan:tasks";

/// The flows of a store. Clones share their state.
#[derive(Clone)]
pub struct Flows {
    inner: Arc<Inner>,
    webhook_key: Option<WebhookKey>,
}

struct Inner {
    tasks: Arc<dyn Tasks>,
    ids: Arc<dyn Ids>,
    /// The tasks that run in this process, so that a caller can stop them at once.
    running: Mutex<BTreeMap<TaskId, (Lease, CancellationToken)>>,
}

impl fmt::Debug for Flows {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Flows")
            .field("tasks", &self.inner.tasks)
            .finish_non_exhaustive()
    }
}

/// Adds the problems of the schemas of tasks, which are checked on a blocking thread if there are any.
async fn with_schemas_checked(
    read: Vec<ReadTask>,
    mut problems: Problems,
) -> Result<(Vec<ReadTask>, Problems), TaskError> {
    let mut schemas = read
        .iter()
        .filter_map(|it| it.task.definition.schemas.as_ref());
    let has_schemas = schemas.any(|it| it.input_schema().is_some());
    let check = move || {
        check_schemas(&read, &mut problems);
        (read, problems)
    };
    if !has_schemas {
        return Ok(check());
    }
    match tokio::task::spawn_blocking(check).await {
        Ok(checked) => Ok(checked),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The process ends.
            Err(_) => Err(StoreError::Closed.into()),
        },
    }
}

impl Flows {
    /// The flows of this store.
    pub fn new(tasks: Arc<dyn Tasks>, ids: Arc<dyn Ids>) -> Self {
        let running = Mutex::default();
        Self {
            inner: Arc::new(Inner {
                tasks,
                ids,
                running,
            }),
            webhook_key: None,
        }
    }

    /// The same flows, with webhooks that are signed with a key. Without one they are refused.
    pub fn with_webhooks(self, key: Option<WebhookKey>) -> Self {
        Self {
            webhook_key: key,
            ..self
        }
    }

    pub(crate) fn webhook_key(&self) -> Option<&WebhookKey> {
        self.webhook_key.as_ref()
    }

    pub(crate) fn tasks(&self) -> &dyn Tasks {
        &*self.inner.tasks
    }

    pub(crate) fn shared_tasks(&self) -> Arc<dyn Tasks> {
        self.inner.tasks.clone()
    }

    /// Adds the tasks that the parameters describe, all or none.
    pub(crate) async fn create(
        &self,
        params: &Value,
        caller: &Caller,
        release: Release,
    ) -> Result<Created, TaskError> {
        let ids = &*self.inner.ids;
        let new_id = &mut || TaskId::from_random(ids.new_id());
        let (mut read, mut problems) = read_as_far(params, new_id);
        if let Err(error) = self.add_webhook(params, &mut read) {
            problems.add(error);
        }
        let generated = read.iter().filter(|it| !it.id_is_given);
        let generated: BTreeSet<TaskId> = generated.map(|it| it.task.id).collect();
        let added = self.add(read, problems, caller, release).await;
        added.map_err(|error| match error {
            TaskError::Plan(error) => error.without_ids(|id| generated.contains(id)).into(),
            other => other,
        })
    }

    /// Adds the webhook that a request describes to the root of its tasks.
    fn add_webhook(&self, params: &Value, read: &mut [ReadTask]) -> Result<(), PlanError> {
        let Some(webhook) = self.webhook(params)? else {
            return Ok(());
        };
        let root = read.iter_mut().find(|it| it.task.parent.is_none());
        let action = "Leave out webhook_config, and call tasks/execute with the id of the root and webhook_config";
        let joins = || refused_webhook("the tasks join a flow that exists already", action);
        root.ok_or_else(joins)?.task.definition.webhook = Some(webhook);
        Ok(())
    }

    /// The webhook that a request describes.
    pub(crate) fn webhook(&self, params: &Value) -> Result<Option<Webhook>, PlanError> {
        let webhook = read_webhook(params)?;
        if webhook.is_some() && self.webhook_key().is_none() {
            let reason = "this server has no webhooks";
            let action = "Leave out webhook_config and follow the flow with tasks/events or tasks/get, or ask the \
                          operator of this server to set tasks.webhook_secret";
            return Err(refused_webhook(reason, action));
        }
        Ok(webhook)
    }

    /// The webhook of the flow with this root, if both still exist.
    pub(crate) async fn webhook_of(&self, root: TaskId) -> Result<Option<Webhook>, TaskError> {
        self.read(move |rows| {
            Box::pin(async move {
                let found = rows.find(&[root]).await?;
                let keys: Vec<Key> = found.iter().map(|row| row.key).collect();
                let stored = rows.definitions(&keys).await?.pop();
                Ok(stored.and_then(|it| stored_webhook(&it.text)))
            })
        })
        .await
    }

    async fn add(
        &self,
        read: Vec<ReadTask>,
        problems: Problems,
        caller: &Caller,
        release: Release,
    ) -> Result<Created, TaskError> {
        // Compiling schemas takes long, and other callers may wait for the transaction.
        let checked = with_schemas_checked(read, problems).await?;
        let (checked, caller) = (Arc::new(checked), caller.clone());
        self.write(move |rows| {
            let (checked, caller) = (checked.clone(), caller.clone());
            Box::pin(async move {
                let (read, problems) = (checked.0.clone(), checked.1.clone());
                engine::create(rows, &caller, read, problems, release).await
            })
        })
        .await
    }

    /// Copies a task into a new flow.
    pub(crate) async fn copy(&self, caller: &Caller, command: Copy) -> Result<Copied, TaskError> {
        let (ids, caller) = (self.inner.ids.clone(), caller.clone());
        self.write(move |rows| {
            let (ids, caller) = (ids.clone(), caller.clone());
            Box::pin(async move { engine::copy(rows, &caller, command, &*ids).await })
        })
        .await
    }

    /// Changes a task, and stops its handler if that cancels it.
    pub(crate) async fn update(&self, caller: &Caller, command: Update) -> Result<Row, TaskError> {
        let (caller, command) = (caller.clone(), Arc::new(command));
        let updated = self.write(move |rows| {
            let (caller, command) = (caller.clone(), command.clone());
            Box::pin(async move { engine::update(rows, &caller, &command).await })
        });
        let (row, stopped) = updated.await?;
        self.stop(&stopped);
        Ok(row)
    }

    /// Deletes flows that rest and have not changed for this long: no task of theirs can run without another command.
    /// Returns how many. [`FLOWS_KEPT_MS`](crate::FLOWS_KEPT_MS) is a good time.
    pub async fn sweep(&self, keep_ms: u64) -> Result<u64, StoreError> {
        let mut flows = 0;
        loop {
            let swept = ports::write(self.tasks(), move |rows| {
                Box::pin(async move { engine::sweep(rows, keep_ms).await })
            });
            let swept = swept.await?;
            flows += swept.flows;
            if !swept.may_have_more {
                return Ok(flows);
            }
        }
    }

    pub(crate) async fn execute(
        &self,
        caller: &Caller,
        command: Execute,
    ) -> Result<Executed, TaskError> {
        let caller = caller.clone();
        self.write(move |rows| {
            let (caller, command) = (caller.clone(), command.clone());
            Box::pin(async move { engine::execute(rows, &caller, &command).await })
        })
        .await
    }

    /// Cancels a task, and stops its handler if it runs in this process.
    pub(crate) async fn cancel(&self, caller: &Caller, command: Cancel) -> Result<Row, TaskError> {
        let visible = caller.visible.clone();
        let cancelled = self.write(move |rows| {
            let (visible, command) = (visible.clone(), command.clone());
            Box::pin(async move { engine::cancel(rows, &visible, &command).await })
        });
        let (row, stopped) = cancelled.await?;
        self.stop(&stopped);
        Ok(row)
    }

    /// Stops the handlers of these tasks, if they run in this process.
    fn stop(&self, ids: &[TaskId]) {
        let running = self.running();
        for (_, stop) in ids.iter().filter_map(|id| running.get(id)) {
            stop.cancel();
        }
    }

    pub(crate) async fn delete(&self, caller: &Caller, id: TaskId) -> Result<(), TaskError> {
        let visible = caller.visible.clone();
        self.write(move |rows| {
            let visible = visible.clone();
            Box::pin(async move { engine::delete(rows, &visible, id).await })
        })
        .await
    }

    pub(crate) fn remember_running(&self, id: TaskId, lease: Lease, stop: CancellationToken) {
        self.running().insert(id, (lease, stop));
    }

    /// Forgets a task that has ended, unless it was claimed again meanwhile.
    pub(crate) fn forget_running(&self, id: TaskId, lease: Lease) {
        let mut running = self.running();
        if running.get(&id).is_some_and(|(held, _)| *held == lease) {
            running.remove(&id);
        }
    }

    fn running(&self) -> std::sync::MutexGuard<'_, BTreeMap<TaskId, (Lease, CancellationToken)>> {
        self.inner
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    async fn write<T, F>(&self, mut work: F) -> Result<T, TaskError>
    where
        T: Send + 'static,
        F: for<'a> FnMut(&'a mut dyn Rows) -> BoxFuture<'a, Result<T, TaskError>> + Send + 'static,
    {
        let done = ports::write(self.tasks(), move |rows| refused(work(rows)));
        done.await?
    }

    async fn read<T, F>(&self, mut work: F) -> Result<T, TaskError>
    where
        T: Send + 'static,
        F: for<'a> FnMut(&'a mut dyn Rows) -> BoxFuture<'a, Result<T, TaskError>> + Send + 'static,
    {
        let done = ports::read(self.tasks(), move |rows| refused(work(rows)));
        done.await?
    }
}

/// A refusal does not undo the transaction of a store; an error of the store does.
fn refused<'a, T: Send + 'a>(
    done: BoxFuture<'a, Result<T, TaskError>>,
) -> BoxFuture<'a, Result<Result<T, TaskError>, StoreError>> {
    Box::pin(async move {
        match done.await {
            Err(TaskError::Store(error)) => Err(error),
            done => Ok(done),
        }
    })
}
