//! A gateway in front of one server, and calls through it.

use std::sync::Mutex;
use std::time::Duration;

use panpan_contract::operation::OperationSpec;
use panpan_failure::Redacted;
use panpan_runtime::{CallRequest, Dispatcher, Progress, Registry, ReportProgress, StateOwner};
use panpan_store::memory_ports;
use panpan_upstream::mcp::{McpCommand, McpPatience, McpPlace, McpSettings, McpUpstream};
use serde_json::Value;

use crate::server::SERVE;

/// Runs a fact to its end.
pub(crate) fn run(fact: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let bounded = async { tokio::time::timeout(Duration::from_secs(60), fact).await };
    runtime.block_on(bounded).unwrap();
}

/// How this program is started as a server.
pub(crate) fn command(way: &str) -> McpCommand {
    let program = std::env::current_exe().unwrap();
    McpCommand {
        arguments: vec![SERVE.to_owned(), way.to_owned()],
        ..McpCommand::new(program.to_str().unwrap())
    }
}

/// The server in a process.
pub(crate) fn child(way: &str) -> McpUpstream {
    at(McpPlace::Stdio(command(way)))
}

/// A server at a place, waited for as long as tests wait.
pub(crate) fn at(place: McpPlace) -> McpUpstream {
    let patience = McpPatience {
        start: Duration::from_secs(5),
        list: Duration::from_secs(5),
        call: Some(Duration::from_secs(30)),
    };
    let settings = McpSettings {
        patience,
        ..McpSettings::new("test", place)
    };
    McpUpstream::new(settings).unwrap()
}

/// A gateway with the operations a server has now.
pub(crate) async fn gateway(upstream: &McpUpstream) -> Dispatcher {
    gateway_with(upstream, |_| {}).await
}

/// The same, with something set for all operations.
pub(crate) async fn gateway_with(
    upstream: &McpUpstream,
    set: fn(&mut OperationSpec),
) -> Dispatcher {
    let operations = upstream.operations().await.unwrap();
    assert_eq!(operations.warnings, []);
    let registrations = operations.registrations.into_iter().map(|it| it.with(set));
    let registry = registrations
        .fold(Registry::builder(), |builder, it| builder.add(it))
        .build()
        .unwrap();
    Dispatcher::new(registry, memory_ports())
}

pub(crate) async fn call(
    gateway: &Dispatcher,
    name: &str,
    input: Value,
) -> Result<Value, Redacted> {
    let request = CallRequest::from_wire(format!("test/{name}"), input);
    gateway.dispatch(request).await.into_value()
}

/// A call whose caller owns what it leaves at the server.
pub(crate) async fn call_as(
    gateway: &Dispatcher,
    owner: &StateOwner,
    name: &str,
    input: Value,
) -> Result<Value, Redacted> {
    let mut request = CallRequest::from_wire(format!("test/{name}"), input);
    request.owner = owner.clone();
    gateway.dispatch(request).await.into_value()
}

/// Keeps what is said about progress.
#[derive(Debug, Default)]
pub(crate) struct Words(pub(crate) Mutex<Vec<Progress>>);

impl ReportProgress for Words {
    fn report(&self, progress: Progress) {
        self.0.lock().unwrap().push(progress);
    }

    fn note(&self, _: String) {}
}
