//! Test fixtures: operations, a gateway in front of them, and handlers whose end can be observed.

use std::sync::Arc;

use panpan_contract::operation::{OperationSpec, OperationType};
use panpan_failure::Failure;
use panpan_runtime::{Builder, CancellationToken, Context, Handler};
use serde_json::{Value, json};
use tokio::io::{DuplexStream, duplex, split};
use tokio::sync::{Notify, mpsc, oneshot};

use crate::caller::Caller;
use crate::gateway::Gateway;
use crate::limits::Limits;
use crate::mcp::server::{Server, Shared};
use crate::mcp::stdio::StdioTransport;
use crate::mcp::{ToolForm, serve};
use crate::testing;

/// A gateway in front of some operations.
pub(super) fn gateway(operations: Builder) -> Gateway {
    gateway_within(Limits::default(), operations)
}

/// A gateway with these limits.
pub(super) fn gateway_within(limits: Limits, operations: Builder) -> Gateway {
    testing::gateway(operations, limits).0
}

/// The client end of a pipe to a server.
pub(super) fn served(gateway: Gateway) -> DuplexStream {
    let shutdown = CancellationToken::new();
    let shared = Shared::new(gateway, ToolForm::Auto, shutdown.clone(), shutdown);
    let server = Server::new(shared, Some(Caller::anonymous(None)));
    let (near, far) = duplex(64 * 1024);
    let (input, output) = split(far);
    let (transport, _) = StdioTransport::new(input, output);
    tokio::spawn(serve(server, transport));
    near
}

pub(super) fn query(name: &str) -> OperationSpec {
    OperationSpec::new(name.parse().unwrap(), OperationType::Query)
}

pub(super) fn mutation(name: &str) -> OperationSpec {
    OperationSpec::new(name.parse().unwrap(), OperationType::Mutation)
}

/// Returns its input.
pub(super) async fn echo(_: Context, input: Arc<Value>) -> Result<Value, Failure> {
    Ok(Value::clone(&input))
}

/// Sends a message when it is dropped.
struct Dropped(Option<oneshot::Sender<()>>);

impl Drop for Dropped {
    fn drop(&mut self) {
        if let Some(sender) = self.0.take() {
            let _ = sender.send(());
        }
    }
}

/// The observer of a handler.
pub(super) struct Watched {
    /// Receives, for each start of the handler, a receiver that resolves when its work is dropped.
    pub(super) begins: mpsc::UnboundedReceiver<oneshot::Receiver<()>>,
    /// Lets the work end.
    pub(super) finish: Arc<Notify>,
}

/// A handler that runs until it is told to finish.
pub(super) fn watched() -> (impl Handler, Watched) {
    let (began, begins) = mpsc::unbounded_channel();
    let finish = Arc::new(Notify::new());
    let finished = finish.clone();
    let handler = move |_: Context, _: Arc<Value>| {
        let (began, finished) = (began.clone(), finished.clone());
        async move {
            let (sender, was_dropped) = oneshot::channel();
            let _guard = Dropped(Some(sender));
            began.send(was_dropped).unwrap();
            finished.notified().await;
            Ok::<_, Failure>(json!({"done": true}))
        }
    };
    (handler, Watched { begins, finish })
}
