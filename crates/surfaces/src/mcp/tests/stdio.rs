//! A client on stdio, within one process.

use rmcp::RoleClient;
use rmcp::ServiceError;
use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, CustomRequest};
use rmcp::service::{PeerRequestOptions, RunningService};

use super::*;
use crate::gateway::Gateway;
use panpan_mcp::names::{IDEMPOTENCY_META_KEY, IDEMPOTENCY_RESULT_META_KEY};

async fn client_of(spec: OperationSpec, handler: impl Handler) -> RunningService<RoleClient, ()> {
    client_at(gateway(Registry::builder().register(spec, handler))).await
}

async fn client_at(gateway: Gateway) -> RunningService<RoleClient, ()> {
    ().serve(served(gateway)).await.unwrap()
}

#[tokio::test]
async fn a_cancelled_call_stops_the_work() {
    let (handler, mut work) = watched();
    let client = client_of(query("test/wait"), handler).await;
    let request = CallToolRequest::new(CallToolRequestParams::new("test__wait"));
    let call = client
        .send_cancellable_request(
            ClientRequest::CallToolRequest(request),
            PeerRequestOptions::no_options(),
        )
        .await
        .unwrap();
    let was_dropped = work.begins.recv().await.unwrap();
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

/// The response to a request that no well-behaved client would send.
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
async fn arguments_that_are_not_an_object_are_refused_by_the_tool_not_the_protocol() {
    let params = json!({"name": "test__echo", "arguments": [1]});
    let result = answered("tools/call", params).await.unwrap();
    assert_eq!(result["isError"], json!(true));
    let failure = &result["_meta"]["dev.panpan/failure"];
    assert_eq!(failure["code"], json!("INVALID_INPUT"));
    assert_eq!(failure["violations"][0]["expected"], json!("object"));
}

#[tokio::test]
async fn malformed_requests_are_json_rpc_errors() {
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

/// A client of an operation that returns its input and its call id.
async fn client_of_a_mutation() -> RunningService<RoleClient, ()> {
    let handler = |context: Context, input: Arc<Value>| {
        let output = json!({"call": context.call_id(), "input": *input});
        std::future::ready(Ok::<_, Failure>(output))
    };
    let mut spec = OperationSpec::new("test/change".parse().unwrap(), OperationType::Mutation);
    spec.input_schema =
        json!({"type": "object", "additionalProperties": false, "properties": {"a": {}}});
    client_of(spec, handler).await
}

async fn change(client: &RunningService<RoleClient, ()>, params: Value) -> Value {
    let request: CallToolRequestParams = serde_json::from_value(params).unwrap();
    let result = client.call_tool(request).await.unwrap();
    serde_json::to_value(result).unwrap()
}

#[tokio::test]
async fn a_key_is_taken_from_meta_or_from_the_arguments() {
    let client = client_of_a_mutation().await;
    let by_argument =
        json!({"name": "test__change", "arguments": {"a": 1, "idempotency_key": "k"}});
    let by_meta = json!({"name": "test__change", "arguments": {"a": 1}, "_meta": {IDEMPOTENCY_META_KEY: "k"}});
    let first = change(&client, by_argument).await;
    assert_eq!(first["structuredContent"]["input"], json!({"a": 1}));
    assert_eq!(
        first["_meta"][IDEMPOTENCY_RESULT_META_KEY]["replayed"],
        json!(false)
    );
    let again = change(&client, by_meta).await;
    assert_eq!(again["structuredContent"], first["structuredContent"]);
    assert_eq!(
        again["_meta"][IDEMPOTENCY_RESULT_META_KEY]["replayed"],
        json!(true)
    );
    let other = json!({"name": "test__change", "arguments": {"a": 2, "idempotency_key": "k"}});
    let reused = change(&client, other).await;
    let failure = &reused["_meta"]["dev.panpan/failure"];
    assert_eq!(failure["code"], json!("ERR_IDEMPOTENCY_KEY_REUSED"));
}

#[tokio::test]
async fn a_mutation_without_a_key_gets_a_generated_one() {
    let client = client_of_a_mutation().await;
    let params = || json!({"name": "test__change", "arguments": {}});
    let first = change(&client, params()).await;
    let second = change(&client, params()).await;
    assert_ne!(
        first["structuredContent"]["call"],
        second["structuredContent"]["call"]
    );
    let key = first["_meta"][IDEMPOTENCY_RESULT_META_KEY]["key"].clone();
    let asked = json!({"name": "test__change", "arguments": {"idempotency_key": key}});
    let again = change(&client, asked).await;
    assert_eq!(again["structuredContent"], first["structuredContent"]);
}

#[tokio::test]
async fn an_invalid_key_is_refused_by_the_tool() {
    let client = client_of_a_mutation().await;
    for (arguments, meta) in [
        (json!({"idempotency_key": ""}), json!({})),
        (json!({"idempotency_key": 7}), json!({})),
        (json!({"idempotency_key": "a b"}), json!({})),
        (
            json!({"idempotency_key": "k"}),
            json!({IDEMPOTENCY_META_KEY: "l"}),
        ),
    ] {
        let params = json!({"name": "test__change", "arguments": arguments, "_meta": meta});
        let result = change(&client, params).await;
        let failure = &result["_meta"]["dev.panpan/failure"];
        assert_eq!(failure["code"], json!("INVALID_INPUT"), "{result}");
        assert_eq!(
            failure["violations"][0]["pointer"],
            json!("/idempotency_key")
        );
    }
}

#[tokio::test]
async fn a_client_that_disconnects_stops_queries_but_not_mutations() {
    for (spec, goes_on) in [(query("test/work"), false), (mutation("test/work"), true)] {
        let (handler, mut work) = watched();
        let gateway = gateway(Registry::builder().register(spec, handler));
        let client = client_at(gateway.clone()).await;
        let arguments = CallToolRequestParams::new("test__work");
        let request = CallToolRequest::new(arguments);
        let _call = client
            .send_cancellable_request(
                ClientRequest::CallToolRequest(request),
                PeerRequestOptions::no_options(),
            )
            .await
            .unwrap();
        let mut was_dropped = work.begins.recv().await.unwrap();
        client.cancel().await.unwrap();
        if goes_on {
            assert!(was_dropped.try_recv().is_err());
            work.finish.notify_one();
            gateway.dispatcher().drain().await;
        }
        was_dropped.await.unwrap();
    }
}
