//! The flows of a store: what callers can do with tasks, and which tasks run in this process.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, PoisonError};

use panpan_runtime::ports::Ids;
use panpan_runtime::ports::StoreError;
use panpan_runtime::{BoxFuture, CancellationToken};
use serde_json::Value;

use crate::engine::{
    self, Caller, Cancel, Copied, Copy, Created, Execute, Executed, Fields, FoundTask, Generations,
    Lease, Listed, Release, Update,
};
use crate::error::{TaskError, refused};
use crate::plan::{Problems, check_schemas};
use crate::ports::{self, Filter, JournalPage, Key, Page, Row, Rows, Tasks};
use crate::task::{ReadTask, TaskId, read_tasks, read_webhook, refused_webhook, stored_webhook};
use crate::webhooks::{Webhook, WebhookKey};

/// The scope that gives access to the tasks of all callers.
pub const TASKS_SCOPE: &str = "panpan:tasks";

/// The flows of a store. Clones share their state.
#[derive(Clone)]
pub struct Flows(Arc<Inner>);

struct Inner {
    tasks: Arc<dyn Tasks>,
    ids: Arc<dyn Ids>,
    webhook_key: Option<WebhookKey>,
    /// The tasks that run in this process, so that a caller can stop them at once.
    running: Mutex<BTreeMap<TaskId, (Lease, CancellationToken)>>,
}

impl fmt::Debug for Flows {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Flows")
            .field("tasks", &self.0.tasks)
            .finish_non_exhaustive()
    }
}

type Refused<T> = Result<T, TaskError>;

/// Checks the schemas of tasks, on a blocking thread if there are any.
async fn with_schemas_checked(read: Vec<ReadTask>) -> Refused<(Vec<ReadTask>, Problems)> {
    let mut schemas = read.iter().filter_map(|it| it.task.definition.schemas.as_ref());
    let has_schemas = schemas.any(|it| it.input_schema().is_some());
    let check = move || {
        let problems = check_schemas(&read);
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
        Self(Arc::new(Inner {
            tasks,
            ids,
            webhook_key: None,
            running: Mutex::default(),
        }))
    }

    /// The same flows, with webhooks that are signed with a key. Without one they are refused.
    pub fn with_webhooks(self, key: Option<WebhookKey>) -> Self {
        Self(Arc::new(Inner {
            tasks: self.0.tasks.clone(),
            ids: self.0.ids.clone(),
            webhook_key: key,
            running: Mutex::default(),
        }))
    }

    pub(crate) fn webhook_key(&self) -> Option<&WebhookKey> {
        self.0.webhook_key.as_ref()
    }

    pub(crate) fn tasks(&self) -> &dyn Tasks {
        &*self.0.tasks
    }

    pub(crate) fn shared_tasks(&self) -> Arc<dyn Tasks> {
        self.0.tasks.clone()
    }

    /// Adds the tasks that the parameters describe, all or none.
    pub(crate) async fn create(
        &self,
        params: &Value,
        caller: &Caller,
        release: Release,
    ) -> Refused<Created> {
        let ids = &*self.0.ids;
        let mut read = read_tasks(params, &mut || TaskId::from_random(ids.new_id()))?;
        if let Some(webhook) = self.webhook(params)? {
            let root = read.iter_mut().find(|it| it.task.parent.is_none());
            let expected = "tasks/execute with the id of the root and webhook_config";
            let joins = || refused_webhook("the tasks join a flow that exists already", expected);
            root.ok_or_else(joins)?.task.definition.webhook = Some(webhook);
        }
        self.add(read, caller, release).await
    }

    /// The webhook that a request describes.
    pub(crate) fn webhook(&self, params: &Value) -> Refused<Option<Webhook>> {
        let webhook = read_webhook(params)?;
        if webhook.is_some() && self.webhook_key().is_none() {
            let reason = "this server has no webhooks";
            let expected = "no webhook, or a server with the setting tasks.webhook_secret";
            return Err(refused_webhook(reason, expected).into());
        }
        Ok(webhook)
    }

    /// The webhook of the flow with this root, if both still exist.
    pub(crate) async fn webhook_of(&self, root: TaskId) -> Refused<Option<Webhook>> {
        self.read(move |rows| {
            Box::pin(async move {
                let found = rows.find(&[root]).await?;
                let keys: Vec<Key> = found.iter().map(|row| row.key).collect();
                let stored = rows.definitions(&keys).await?.pop();
                Ok(Ok(stored.and_then(|it| stored_webhook(&it.text))))
            })
        })
        .await
    }

    async fn add(
        &self,
        read: Vec<ReadTask>,
        caller: &Caller,
        release: Release,
    ) -> Refused<Created> {
        // Compiling schemas takes long, and other callers may wait for the transaction.
        let (checked, caller) = (Arc::new(with_schemas_checked(read).await?), caller.clone());
        self.write(move |rows| {
            let (checked, caller) = (checked.clone(), caller.clone());
            Box::pin(async move {
                let (read, problems) = (checked.0.clone(), checked.1.clone());
                refused(engine::create(rows, &caller, read, problems, release).await)
            })
        })
        .await
    }

    /// Copies a task into a new flow.
    pub(crate) async fn copy(&self, caller: &Caller, command: Copy) -> Refused<Copied> {
        let (ids, caller) = (self.0.ids.clone(), caller.clone());
        self.write(move |rows| {
            let (ids, caller) = (ids.clone(), caller.clone());
            Box::pin(async move { refused(engine::copy(rows, &caller, command, &*ids).await) })
        })
        .await
    }

    /// Changes a task, and stops its handler if that cancels it.
    pub(crate) async fn update(&self, caller: &Caller, command: Update) -> Refused<Row> {
        let (caller, command) = (caller.clone(), Arc::new(command));
        let updated = self.write(move |rows| {
            let (caller, command) = (caller.clone(), command.clone());
            Box::pin(async move { refused(engine::update(rows, &caller, &command).await) })
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

    pub(crate) async fn execute(&self, caller: &Caller, command: Execute) -> Refused<Executed> {
        let caller = caller.clone();
        self.write(move |rows| {
            let (caller, command) = (caller.clone(), command.clone());
            Box::pin(async move { refused(engine::execute(rows, &caller, &command).await) })
        })
        .await
    }

    /// Cancels a task, and stops its handler if it runs in this process.
    pub(crate) async fn cancel(&self, caller: &Caller, command: Cancel) -> Refused<Row> {
        let visible = caller.visible.clone();
        let cancelled = self.write(move |rows| {
            let (visible, command) = (visible.clone(), command.clone());
            Box::pin(async move { refused(engine::cancel(rows, &visible, &command).await) })
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

    pub(crate) async fn delete(&self, caller: &Caller, id: TaskId) -> Refused<()> {
        let visible = caller.visible.clone();
        self.write(move |rows| {
            let visible = visible.clone();
            Box::pin(async move { engine::delete(rows, &visible, id).await })
        })
        .await
    }

    pub(crate) async fn get(&self, caller: &Caller, id: TaskId) -> Refused<FoundTask> {
        let visible = caller.visible.clone();
        self.read(move |rows| {
            let visible = visible.clone();
            Box::pin(async move { engine::find(rows, &visible, id).await })
        })
        .await
    }

    /// The outcomes of a task after a generation.
    pub(crate) async fn generations(
        &self,
        caller: &Caller,
        id: TaskId,
        after: u32,
    ) -> Refused<Generations> {
        let visible = caller.visible.clone();
        self.read(move |rows| {
            let visible = visible.clone();
            Box::pin(async move { engine::generations(rows, &visible, id, after).await })
        })
        .await
    }

    pub(crate) async fn list(
        &self,
        caller: &Caller,
        filter: Filter,
        page: Page,
        fields: Fields,
    ) -> Refused<Listed> {
        let filter = Filter {
            owner: caller.visible.filter().owner,
            ..filter
        };
        self.read(move |rows| {
            let filter = filter.clone();
            Box::pin(async move { engine::list(rows, &filter, page, fields).await.map(Ok) })
        })
        .await
    }

    /// How many tasks are in each state, in the order of [`State::ALL`](crate::State::ALL).
    pub(crate) async fn count(&self, caller: &Caller, filter: Filter) -> Refused<[u64; 5]> {
        let filter = Filter {
            owner: caller.visible.filter().owner,
            ..filter
        };
        self.read(move |rows| {
            let filter = filter.clone();
            Box::pin(async move { rows.count(&filter).await.map(Ok) })
        })
        .await
    }

    pub(crate) async fn children(
        &self,
        caller: &Caller,
        id: TaskId,
        page: Page,
        fields: Fields,
    ) -> Refused<Listed> {
        let visible = caller.visible.clone();
        self.read(move |rows| {
            let visible = visible.clone();
            Box::pin(async move { engine::children(rows, &visible, id, page, fields).await })
        })
        .await
    }

    pub(crate) async fn tree(
        &self,
        caller: &Caller,
        id: TaskId,
        fields: Fields,
    ) -> Refused<Vec<FoundTask>> {
        let visible = caller.visible.clone();
        self.read(move |rows| {
            let visible = visible.clone();
            Box::pin(async move { refused(engine::tree(rows, &visible, id, fields).await) })
        })
        .await
    }

    /// Announcements of the flow with this root after a number.
    pub(crate) async fn announcements(
        &self,
        (flow, root): (Key, TaskId),
        after: u64,
        limit: usize,
    ) -> Refused<JournalPage> {
        self.read(move |rows| {
            Box::pin(async move {
                let entries = rows.announcements(flow, after, limit).await?;
                let is_gone = entries.is_empty() && rows.load(&[flow]).await?.is_empty();
                Ok(match is_gone {
                    true => Err(TaskError::NotFound(root)),
                    false => Ok(entries),
                })
            })
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
        self.0
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    async fn write<T, F>(&self, work: F) -> Refused<T>
    where
        T: Send + 'static,
        F: for<'a> FnMut(&'a mut dyn Rows) -> BoxFuture<'a, Result<Refused<T>, StoreError>>
            + Send
            + 'static,
    {
        ports::write(self.tasks(), work).await?
    }

    async fn read<T, F>(&self, work: F) -> Refused<T>
    where
        T: Send + 'static,
        F: for<'a> FnMut(&'a mut dyn Rows) -> BoxFuture<'a, Result<Refused<T>, StoreError>>
            + Send
            + 'static,
    {
        ports::read(self.tasks(), work).await?
    }
}
