//! The worker that runs tasks in this process, and the clients that they ask.

use std::sync::Arc;

use panpan_flow::{TaskClients, TaskId, Worker, WorkerSettings};
use panpan_runtime::{AskClient, Ports};
use panpan_surfaces::mcp::TaskInputs;
use serde_json::{Map, Value};

use super::Backend;

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

impl Backend {
    /// Whether tasks can be created and run: the operations `tasks/*` are selected.
    pub(crate) fn has_tasks(&self) -> bool {
        self.sources().described.built_in.has_tasks()
    }

    /// The worker that runs tasks, if this command serves them.
    pub(super) fn worker(&self) -> Option<Worker> {
        let settings = self.tasks.as_ref().filter(|_| self.has_tasks())?;
        Some(self.new_worker(settings.worker.clone()))
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
    }
}
