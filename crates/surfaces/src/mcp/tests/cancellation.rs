//! What cancels work over HTTP, and what does not.

use panpan_failure::{Effect, Redacted};
use panpan_runtime::{CallRequest, CancellationToken, IdempotencyKey, Output, Trace};
use tokio::task::JoinHandle;

use super::http_client::{CAPABILITIES, HttpClient, HttpResponse, request};
use super::*;
use crate::gateway::Gateway;
use crate::mcp::{HttpSettings, tool_name};
use panpan_mcp::names::IDEMPOTENCY_META_KEY;

fn params(tool: &str) -> Value {
    json!({"name": tool, "arguments": {}})
}

/// Sends a call in a session over its own connection.
fn send(session: &HttpClient, id: u32, tool: &str) -> JoinHandle<HttpResponse> {
    let mut message = request("tools/call", params(tool));
    message["id"] = json!(id);
    message["params"]["arguments"] = json!({"idempotency_key": format!("k{id}")});
    let session = session.clone();
    tokio::spawn(async move { session.post(&message).await })
}

/// The outcome under the key `k`, once the call has ended.
async fn outcome_of_key(gateway: &Gateway) -> Result<Output, Redacted> {
    gateway.dispatcher().drain().await;
    let key = IdempotencyKey::new("k").unwrap();
    let request = CallRequest::from_wire("test/write", json!({})).keyed(key);
    let answer = gateway.dispatcher().dispatch(request).await;
    assert!(answer.replayed);
    answer.outcome
}

#[tokio::test]
async fn a_closed_response_cancels_a_stateless_call_even_with_a_key() {
    // Clients that support elicitation take another path.
    let specs = [query("test/read"), mutation("test/write")];
    let clients = [json!({}), json!({"elicitation": {}})];
    for (spec, client) in specs
        .iter()
        .zip(&clients)
        .chain(specs.iter().zip(clients.iter().rev()))
    {
        let spec = spec.clone();
        let tool = tool_name(spec.name.as_str());
        let changes = spec.op_type == OperationType::Mutation;
        let (handler, mut work) = watched();
        let gateway = gateway(Registry::builder().register(spec, handler));
        let http = HttpClient::to(gateway.clone(), HttpSettings::default()).await;
        let mut meta = json!({CAPABILITIES: client});
        if changes {
            meta[IDEMPOTENCY_META_KEY] = json!("k");
        }
        let sending = async move { http.modern_with("tools/call", params(&tool), meta).await };
        let connection = tokio::spawn(sending);
        let was_dropped = work.begins.recv().await.unwrap();
        connection.abort();
        was_dropped.await.unwrap();
        if changes {
            let failure = outcome_of_key(&gateway).await.unwrap_err();
            assert_eq!(failure.code().as_str(), "ERR_CANCELLED");
            assert_eq!(failure.effect(), Effect::Unknown);
        }
    }
}

#[tokio::test]
async fn a_cancellation_stops_a_call_in_a_session_even_with_a_key() {
    for spec in [query("test/read"), mutation("test/write")] {
        let tool = tool_name(spec.name.as_str());
        let (handler, mut work) = watched();
        let gateway = gateway(Registry::builder().register(spec, handler));
        let http = HttpClient::to(gateway, HttpSettings::default()).await;
        let session = http.session().await;
        let _connection = send(&session, 7, &tool);
        let was_dropped = work.begins.recv().await.unwrap();
        let cancellation = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
        assert_eq!(session.post(&cancellation).await.status, 202);
        was_dropped.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_immediate_cancellation_finds_its_call() {
    let (handler, _work) = watched();
    let gateway = gateway(Registry::builder().register(mutation("test/write"), handler));
    let http = HttpClient::to(gateway.clone(), HttpSettings::default()).await;
    let session = http.session().await;
    let sent: Vec<_> = (0..50)
        .map(|id| send(&session, id, "test__write"))
        .collect();
    for connection in sent {
        // The response head means that the request was accepted, not that the work has begun.
        connection.await.unwrap();
    }
    for id in 0..50 {
        let cancellation = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
        assert_eq!(session.post(&cancellation).await.status, 202);
    }
    gateway.dispatcher().drain().await;
    for id in 0..50 {
        let key = IdempotencyKey::new(&format!("k{id}")).unwrap();
        let mut request = CallRequest::from_wire("test/write", json!({})).keyed(key);
        // A call that was cancelled before it began is not started now.
        let aborted = CancellationToken::new();
        aborted.cancel();
        request.abort = Some(aborted);
        let answer = gateway.dispatcher().dispatch(request).await;
        let failure = answer.outcome.unwrap_err();
        assert_eq!(failure.code().as_str(), "ERR_CANCELLED", "{id}");
    }
}

#[tokio::test]
async fn a_dropped_connection_stops_no_call_of_a_session_and_its_end_only_calls_without_a_key() {
    let (reading, mut read) = watched();
    let (writing, mut write) = watched();
    let operations = Registry::builder()
        .register(query("test/read"), reading)
        .register(mutation("test/write"), writing);
    let gateway = gateway(operations);
    let http = HttpClient::to(gateway.clone(), HttpSettings::default()).await;
    let session = http.session().await;
    let connections = [
        send(&session, 7, "test__read"),
        send(&session, 8, "test__write"),
    ];
    let mut read_dropped = read.begins.recv().await.unwrap();
    let mut write_dropped = write.begins.recv().await.unwrap();
    for connection in connections {
        connection.abort();
    }
    let ping = session.post(&request("ping", json!({}))).await;
    assert_eq!(ping.message().await["result"], json!({}));
    assert!(read_dropped.try_recv().is_err() && write_dropped.try_recv().is_err());
    assert_eq!(session.send("DELETE", b"").await.status, 204);
    read_dropped.await.unwrap();
    assert!(write_dropped.try_recv().is_err());
    write.finish.notify_one();
    gateway.dispatcher().drain().await;
    write_dropped.await.unwrap();
}

#[tokio::test]
async fn shutdown_does_not_stop_a_call_with_a_key() {
    let (handler, mut work) = watched();
    let gateway = gateway(Registry::builder().register(mutation("test/write"), handler));
    let http = HttpClient::to(gateway.clone(), HttpSettings::default()).await;
    let shutdown = http.shutdown.clone();
    // Requests with a progress token are served by rmcp, which ends with the server.
    let meta = json!({IDEMPOTENCY_META_KEY: "k", "progressToken": "p"});
    let sending = async move {
        http.modern_with("tools/call", params("test__write"), meta)
            .await
    };
    let sending = tokio::spawn(sending);
    let mut was_dropped = work.begins.recv().await.unwrap();
    shutdown.cancel();
    assert_eq!(sending.await.unwrap().status, 500);
    assert!(was_dropped.try_recv().is_err());
    work.finish.notify_one();
    let output = outcome_of_key(&gateway).await.unwrap();
    assert_eq!(output.into_value().unwrap(), json!({"done": true}));
}

#[tokio::test]
async fn the_trace_comes_from_the_request() {
    let handler = |context: Context, _: Arc<Value>| {
        let trace = context.trace().map(|it| it.to_string());
        std::future::ready(Ok::<_, Failure>(json!({"trace": trace})))
    };
    let gateway = gateway(Registry::builder().register(query("test/trace"), handler));
    let http = HttpClient::to(gateway, HttpSettings::default()).await;
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    assert!(Trace::parse(parent).is_some());
    for (meta, expected) in [
        (json!({"traceparent": parent}), json!(parent)),
        (json!({"traceparent": "nonsense"}), json!(null)),
        (json!({}), json!(null)),
    ] {
        let answered = http
            .modern_with("tools/call", params("test__trace"), meta)
            .await;
        let answer = answered.message().await;
        assert_eq!(answer["result"]["structuredContent"]["trace"], expected);
    }
}
