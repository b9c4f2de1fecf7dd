//! A dispatcher in front of one server, and calls through it.

use std::sync::Mutex;
use std::time::Duration;

use panpan_contract::operation::OperationSpec;
use panpan_failure::Redacted;
use panpan_runtime::{CallRequest, Dispatcher, Progress, Registry, ReportProgress, StateOwner};
use panpan_store::memory_ports;
use panpan_upstream::mcp::{McpCommand, McpSettings, McpTimeouts, McpTransport, McpUpstream};
use serde_json::Value;

use crate::server::SERVE;

/// Runs a test to its end.
pub(crate) fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let with_timeout = async { tokio::time::timeout(Duration::from_secs(60), test).await };
    runtime.block_on(with_timeout).unwrap();
}

/// The command that starts this program as a server.
pub(crate) fn command(behaviour: &str) -> McpCommand {
    let program = std::env::current_exe().unwrap();
    McpCommand {
        arguments: vec![SERVE.to_owned(), behaviour.to_owned()],
        ..McpCommand::new(program.to_str().unwrap())
    }
}

/// The server as a child process.
pub(crate) fn child(behaviour: &str) -> McpUpstream {
    at(McpTransport::Stdio(command(behaviour)))
}

/// A server with short timeouts.
pub(crate) fn at(transport: McpTransport) -> McpUpstream {
    let timeouts = McpTimeouts {
        start: Duration::from_secs(5),
        list: Duration::from_secs(5),
        call: Some(Duration::from_secs(30)),
    };
    let settings = McpSettings {
        timeouts,
        ..McpSettings::new("test", transport)
    };
    McpUpstream::new(settings).unwrap()
}

/// A dispatcher with the current operations of a server.
pub(crate) async fn gateway(upstream: &McpUpstream) -> Dispatcher {
    gateway_with(upstream, |_| {}).await
}

/// The same, with changed operations.
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

/// A call of an owner of state.
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

/// Records progress.
#[derive(Debug, Default)]
pub(crate) struct ProgressLog(pub(crate) Mutex<Vec<Progress>>);

impl ReportProgress for ProgressLog {
    fn report(&self, progress: Progress) {
        self.0.lock().unwrap().push(progress);
    }

    fn note(&self, _: String) {}
}
