//! Calls as tasks, in both versions of the protocol, over HTTP.

mod keys;
mod owners;
mod questions;
mod results;
mod session;
mod stateless;

use std::time::Duration;

use panpan_contract::operation::TASK_EXTENSION;
use panpan_failure::codes;
use panpan_flow::{Flows, TaskClients, TaskId, Worker, WorkerSettings};
use panpan_mcp::names::TASK_META_KEY;
use panpan_runtime::system::{RandomIds, SystemClock};
use panpan_runtime::{AskClient, CancellationToken, Dispatcher, Ports, Registration};
use panpan_store::MemoryStore;
use serde_json::Map;

use super::elicitation::elicit;
use super::http_client::{CAPABILITIES, HttpClient, request};
use super::*;
use crate::gateway::{Anonymous, Gateway};
use crate::identity::Tokens;
use crate::limits::Limits;
use crate::mcp::{HttpSettings, McpTasks, TaskInputs};

/// How long tasks are kept here.
const KEPT_MS: u64 = 3_600_000;

/// The name of the extension.
const TASKS: &str = "io.modelcontextprotocol/tasks";

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

/// A gateway with the operations of tasks, and a worker that runs them.
fn with_tasks(operations: Builder) -> Gateway {
    with_tasks_as(operations, |task| task)
}

/// The same, with changed operations of tasks.
fn with_tasks_as(operations: Builder, changed: fn(Registration) -> Registration) -> Gateway {
    let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    let flows = Flows::new(store.clone(), Arc::new(RandomIds));
    let tasks = panpan_flow::operations(&flows).into_iter();
    let tasks = tasks.map(changed).map(Registration::not_offered_to_models);
    let registry = tasks.fold(operations, Builder::add).build().unwrap();
    let ports = Ports::system(store.clone());
    let dispatcher = Dispatcher::new(registry, ports.clone());
    let tokens = Tokens::new(store, Arc::new(SystemClock));
    let limits = Limits::default();
    let gateway = Gateway::new(dispatcher.clone(), tokens, Anonymous::Served, limits);
    let inputs = TaskInputs::new();
    gateway.set_mcp_tasks(McpTasks {
        inputs: inputs.clone(),
        kept_ms: KEPT_MS,
    });
    let worker = Worker::new(flows, dispatcher, ports, WorkerSettings::default());
    let worker = worker.asking(Arc::new(Clients(inputs)));
    tokio::spawn(worker.run(CancellationToken::new()));
    gateway
}

/// Waits for a step of a test, with a deadline: a defect fails instead of hanging.
async fn within<T>(step: impl Future<Output = T>) -> T {
    let waited = tokio::time::timeout(Duration::from_secs(60), step).await;
    waited.expect("the step did not end within a minute")
}

/// An operation that declares whether it runs as a task.
fn declaring(name: &str, support: &str) -> OperationSpec {
    let mut spec = query(name);
    spec.extensions
        .insert(TASK_EXTENSION, support.into())
        .unwrap();
    spec
}

async fn fail(_: Context, _: Arc<Value>) -> Result<Value, Failure> {
    let failure = Failure::new(codes::ERR_HTTP_404_NOT_FOUND);
    Err(failure.with_message("there is no such book"))
}

async fn wait(context: Context, input: Arc<Value>) -> Result<Value, Failure> {
    context.sleep(600_000).await;
    Ok(Value::clone(&input))
}

fn operations() -> Builder {
    let mut listing = query("shop/list");
    listing.output_schema = json!({"type": "array"});
    let mut telling = query("shop/tell");
    telling.output_schema = json!({"x-mcp-content": true});
    let mut dividing = query("shop/divide");
    let dividend = json!({"dividend": {"type": "number"}});
    dividing.input_schema = json!({"type": "object", "properties": dividend});
    let mut broken = query("shop/break");
    let declared = json!({"type": "object", "required": ["b"]});
    broken.output_schema = declared;
    Registry::builder()
        .register(query("shop/get"), echo)
        .register(mutation("shop/put"), echo)
        .register(broken, echo)
        .register(dividing, echo)
        .register(listing, async |_: Context, _: Arc<Value>| {
            Ok::<_, Failure>(json!([1, 2]))
        })
        .register(telling, async |_: Context, _: Arc<Value>| {
            Ok::<_, Failure>(json!("told"))
        })
        .register(query("shop/fail"), fail)
        .register(query("shop/wait"), wait)
        .register(query("shop/ask"), elicit)
        .register(declaring("shop/direct", "forbidden"), echo)
        .register(declaring("shop/slow", "preferred"), echo)
        .register(declaring("shop/job", "required"), echo)
}

async fn http() -> HttpClient {
    HttpClient::to(with_tasks(operations()), HttpSettings::default()).await
}

/// The text that agents act on, without the id of the occurrence.
fn agent_view(result: &Value) -> Value {
    let text = result["content"][0]["text"].as_str().unwrap();
    let mut view: Value = serde_json::from_str(text).unwrap();
    view["error"]["id"] = json!(null);
    view
}

/// Waits a moment before the next poll.
async fn pause() {
    tokio::time::sleep(Duration::from_millis(10)).await;
}
