//! The server in one process with a real client, where a pipe and a second process add nothing.

use std::sync::Arc;

use jiff::Timestamp;
use panpan_contract::operation::{OperationSpec, OperationType};
use panpan_contract::{Failure, Redacted};
use panpan_runtime::ports::{Clock, Ids, Outcomes, PrivateLog};
use panpan_runtime::{BoxFuture, Context, Handler, Registry};
use rmcp::RoleClient;
use rmcp::ServiceError;
use rmcp::model::{CallToolRequest, ClientRequest};
use rmcp::service::{PeerRequestOptions, RunningService};
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

use super::*;

/// Time never passes, and nobody watches.
#[derive(Debug)]
struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn sleep(&self, _: u64) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }
}

impl Ids for Still {
    fn new_id(&self) -> Uuid {
        Uuid::nil()
    }
}

impl Outcomes for Still {
    fn record(&self, _: &Redacted) {}

    fn recent(&self, _: usize) -> BoxFuture<'_, Vec<Redacted>> {
        Box::pin(std::future::ready(Vec::new()))
    }
}

impl PrivateLog for Still {
    fn note(&self, _: Uuid, _: &str, _: &str) {}
}

async fn client_of(spec: OperationSpec, handler: impl Handler) -> RunningService<RoleClient, ()> {
    let registry = Registry::builder().register(spec, handler).build().unwrap();
    let still = Arc::new(Still);
    let dispatcher = Dispatcher::new(
        Arc::new(registry),
        still.clone(),
        still.clone(),
        still.clone(),
        still,
    );
    let (near, far) = tokio::io::duplex(64 * 1024);
    tokio::spawn(async move {
        let running = Server::new(dispatcher).serve(far).await.unwrap();
        running.waiting().await.unwrap();
    });
    ().serve(near).await.unwrap()
}

/// Sends when it is dropped.
struct Dropped(Option<oneshot::Sender<()>>);

impl Drop for Dropped {
    fn drop(&mut self) {
        if let Some(sender) = self.0.take() {
            let _ = sender.send(());
        }
    }
}

#[tokio::test]
async fn a_cancelled_call_stops_the_work() {
    let (began, mut has_begun) = mpsc::unbounded_channel();
    let handler = move |_: Context, _: Arc<Value>| {
        let began = began.clone();
        async move {
            let (sender, was_dropped) = oneshot::channel();
            let _guard = Dropped(Some(sender));
            began.send(was_dropped).unwrap();
            std::future::pending::<Result<Value, Failure>>().await
        }
    };
    let spec = OperationSpec::new("test/wait".parse().unwrap(), OperationType::Query);
    let client = client_of(spec, handler).await;
    let request = CallToolRequest::new(CallToolRequestParams::new("test__wait"));
    let call = client
        .send_cancellable_request(
            ClientRequest::CallToolRequest(request),
            PeerRequestOptions::no_options(),
        )
        .await
        .unwrap();
    let was_dropped = has_begun.recv().await.unwrap();
    call.cancel(Some("changed my mind".to_owned()))
        .await
        .unwrap();
    was_dropped.await.unwrap();
}

#[tokio::test]
async fn a_call_without_arguments_has_an_empty_object_as_input() {
    let echo =
        |_: Context, input: Arc<Value>| std::future::ready(Ok::<_, Failure>(Value::clone(&input)));
    let spec = OperationSpec::new("test/echo".parse().unwrap(), OperationType::Query);
    let client = client_of(spec, echo).await;
    let result = client
        .call_tool(CallToolRequestParams::new("test__echo"))
        .await
        .unwrap();
    assert_eq!(result.structured_content, Some(json!({})));
}

/// What a request is answered with that no well-behaved client would send.
async fn answered(method: &str, params: Value) -> Result<Value, i32> {
    let echo =
        |_: Context, input: Arc<Value>| std::future::ready(Ok::<_, Failure>(Value::clone(&input)));
    let mut spec = OperationSpec::new("test/echo".parse().unwrap(), OperationType::Query);
    spec.input_schema = json!({"type": "object"});
    let client = client_of(spec, echo).await;
    let request = ClientRequest::CustomRequest(CustomRequest::new(method, Some(params)));
    match client.send_request(request).await {
        Ok(result) => Ok(serde_json::to_value(result).unwrap()),
        Err(ServiceError::McpError(error)) => Err(error.code.0),
        Err(other) => panic!("{other}"),
    }
}

#[tokio::test]
async fn arguments_that_are_no_object_are_refused_by_the_tool_not_the_protocol() {
    let params = json!({"name": "test__echo", "arguments": [1]});
    let result = answered("tools/call", params).await.unwrap();
    assert_eq!(result["isError"], json!(true));
    let failure = &result["_meta"]["dev.panpan/failure"];
    assert_eq!(failure["code"], json!("INVALID_INPUT"));
    assert_eq!(failure["violations"][0]["expected"], json!("object"));
}

#[tokio::test]
async fn requests_without_sense_are_errors_of_the_protocol() {
    for (method, params, code) in [
        ("tools/call", json!({"arguments": {}}), -32602),
        ("tools/call", json!({"name": 7}), -32602),
        (
            "tools/call",
            json!({"name": "nope", "arguments": 1}),
            -32602,
        ),
        ("tools/nope", json!({}), -32601),
    ] {
        assert_eq!(
            answered(method, params.clone()).await,
            Err(code),
            "{method} {params}"
        );
    }
}
