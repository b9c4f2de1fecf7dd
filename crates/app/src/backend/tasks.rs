//! The worker that runs tasks in this process, and the clients that they ask.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use panpan_flow::{
    EndedCall, TaskCallLog, TaskClients, TaskId, TaskOwners, Worker, WorkerSettings,
};
use panpan_runtime::{AskClient, BoxFuture, Ports};
use panpan_surfaces::identity::Tokens;
use panpan_surfaces::mcp::TaskInputs;
use panpan_surfaces::{Gateway, TaskCall};
use serde_json::{Map, Value};

use tokio::sync::Mutex;
use tokio::time::Instant;

use super::Backend;

/// How long the list of callers with a valid token is used: each task asks for it.
const OWNERS_KNOWN: Duration = Duration::from_secs(1);

/// The MCP clients that created tasks.
#[derive(Debug)]
struct McpClients(Arc<TaskInputs>);

impl TaskClients for McpClients {
    fn client(
        &self,
        task: TaskId,
        owner: Option<&str>,
        params: &Map<String, Value>,
    ) -> Option<Arc<dyn AskClient>> {
        self.0.client(&task.to_string(), owner, params)
    }
}

/// The callers with a valid token, and when they were listed.
#[derive(Debug)]
struct TokenOwners {
    tokens: Tokens,
    listed: Mutex<Option<(Instant, BTreeSet<String>)>>,
}

impl TaskOwners for TokenOwners {
    fn has_token<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let mut listed = self.listed.lock().await;
            if let Some((at, owners)) = &*listed
                && at.elapsed() < OWNERS_KNOWN
            {
                return owners.contains(owner);
            }
            let at = Instant::now();
            let Ok(owners) = self.tokens.valid_principals().await else {
                return true;
            };
            let has_token = owners.contains(owner);
            *listed = Some((at, owners));
            has_token
        })
    }
}

/// The metrics and the log of the gateway.
#[derive(Debug)]
struct GatewayLog(Gateway);

impl TaskCallLog for GatewayLog {
    fn ended(&self, call: EndedCall<'_>) {
        self.0.task_ended(TaskCall {
            task: call.task,
            owner: call.owner,
            operation: call.operation,
            retries: call.retries,
            failure: call.failure,
        });
    }
}

/// What one caller gets of the places for tasks: half, so that others do not wait for its long tasks.
fn part_of_owner(concurrency: usize) -> Option<NonZeroUsize> {
    NonZeroUsize::new(concurrency.div_ceil(2))
}

impl Backend {
    /// Whether tasks can be created and run: the operations `tasks/*` are selected.
    pub(crate) fn has_tasks(&self) -> bool {
        self.sources().described.built_in.has_tasks()
    }

    /// The worker that runs tasks, if this command serves them. Their calls are counted and logged by the gateway.
    pub(super) fn worker(&self, gateway: Option<&Gateway>) -> Option<Worker> {
        let settings = self.tasks.as_ref().filter(|_| self.has_tasks())?;
        let mut settings = settings.worker.clone();
        let part = part_of_owner(settings.concurrency);
        settings.limits.per_owner = settings.limits.per_owner.or(part);
        let worker = self.new_worker(settings);
        Some(match gateway {
            Some(gateway) => worker.logging(Arc::new(GatewayLog(gateway.clone()))),
            None => worker,
        })
    }

    /// A worker for one flow: tasks of other flows may call operations that only their server has.
    pub(crate) fn worker_of(&self, root: TaskId) -> Worker {
        let settings = self.tasks.as_ref().map(|it| it.worker.clone());
        self.new_worker(WorkerSettings {
            only_flow: Some(root),
            ..settings.unwrap_or_default()
        })
    }

    fn new_worker(&self, settings: WorkerSettings) -> Worker {
        let flows = self.store.flows.clone();
        let ports = Ports::system(self.store.outcomes.clone());
        Worker::new(flows, self.dispatcher.clone(), ports, settings)
            .asking(Arc::new(McpClients(self.task_inputs.clone())))
            .checking(Arc::new(TokenOwners {
                tokens: self.tokens(),
                listed: Mutex::default(),
            }))
    }
}
