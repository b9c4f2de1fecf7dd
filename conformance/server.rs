//! Serves the tools that the official MCP conformance suite calls as operations over HTTP. Prints its URL on
//! stdout and runs until it is killed.
//!
//! The tools are in `tools` and `task_tools`; the expected result of each scenario is in `expected.yml`.
#![expect(clippy::print_stdout, reason = "the caller reads its URL from stdout")]

mod task_tools;
mod tools;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use panpan_flow::{FLOWS_KEPT_MS, Flows, TaskClients, TaskId, Worker, WorkerSettings};
use panpan_runtime::system::{RandomIds, SystemClock};
use panpan_runtime::{AskClient, Ports};
use panpan_store::MemoryStore;
use panpan_surfaces::http::{HttpSettings, router};
use panpan_surfaces::identity::Tokens;
use panpan_surfaces::limits::Limits;
use panpan_surfaces::mcp::{McpTasks, TaskInputs};
use panpan_surfaces::{Anonymous, CancellationToken, Gateway, listen};
use serde_json::{Map, Value};

/// The clients of tasks.
#[derive(Debug)]
struct Clients(Arc<TaskInputs>);

impl TaskClients for Clients {
    fn client(
        &self,
        task: TaskId,
        owner: Option<&str>,
        params: &Map<String, Value>,
    ) -> Option<Arc<dyn AskClient>> {
        self.0.client(&task.to_string(), owner, params)
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    let flows = Flows::new(store.clone(), Arc::new(RandomIds));
    let ports = Ports::system(store.clone());
    let dispatcher = tools::dispatcher(ports.clone(), &flows)?;
    let tokens = Tokens::new(store, Arc::new(SystemClock));
    let gateway = Gateway::new(
        dispatcher.clone(),
        tokens,
        Anonymous::Served,
        Limits::default(),
    );
    let inputs = TaskInputs::new();
    gateway.set_mcp_tasks(McpTasks {
        inputs: inputs.clone(),
        kept_ms: FLOWS_KEPT_MS,
    });
    let listener = listen::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
    println!("http://{}/mcp", listener.local_addr()?);
    let never = CancellationToken::new();
    let worker = Worker::new(flows, dispatcher, ports, WorkerSettings::default());
    let worker = worker.asking(Arc::new(Clients(inputs)));
    tokio::spawn(worker.run(never.clone()));
    let router = router(gateway.clone(), HttpSettings::default(), never.clone());
    listen::serve(listener, None, router, &gateway, never, Duration::ZERO).await;
    Ok(())
}
