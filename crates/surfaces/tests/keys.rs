//! An idempotency key in a header applies to the single call of a request and is refused for a batch; it is never
//! ignored. And every JSON-RPC error carries the name of its code.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod shared;

use panpan_surfaces::limits::Limits;
use serde_json::{Value, json};
use shared::{Response, Server, Settings};

const KEY: (&str, &str) = ("idempotency-key", "\"order-7\"");

fn rpc(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The ways in which a tool call is served: the fast path, the MCP library for calls with progress
/// notifications, and a task of its own for clients that support elicitation.
#[derive(Clone, Copy)]
enum By {
    FastPath,
    Library,
    Elicitation,
}

const EVERY_WAY: [By; 3] = [By::FastPath, By::Library, By::Elicitation];

/// Sends an MCP message of the stateless version.
async fn mcp(
    server: &Server,
    headers: &[(&str, &str)],
    method: &str,
    mut params: Value,
    by: By,
) -> Response {
    let name = params["name"].as_str().unwrap_or("none").to_owned();
    let mut meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
        CAPABILITIES: {},
    });
    match by {
        By::FastPath => {}
        By::Library => meta["progressToken"] = json!("p"),
        By::Elicitation => meta[CAPABILITIES] = json!({"elicitation": {"form": {}}}),
    }
    if let Some(more) = params["_meta"].as_object() {
        meta.as_object_mut().unwrap().extend(more.clone());
    }
    params["_meta"] = meta;
    let own = [
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", method),
        ("mcp-name", &name),
    ];
    let headers = [&own[..], headers].concat();
    let body = rpc(method, &params).to_string();
    server.post("/mcp", &headers, &body).await
}

/// A server whose MCP tools are `search`, `schema`, `call` and `batch`.
async fn with_gateway_tools() -> Server {
    Server::with(Settings {
        http: panpan_surfaces::http::HttpSettings {
            tools: panpan_surfaces::mcp::ToolForm::Search,
            ..Default::default()
        },
        ..Settings::default()
    })
    .await
}

/// The message in a response, which may be a server-sent event.
fn message(response: &Response) -> Value {
    let text = response.text();
    let data = text
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("data: "));
    serde_json::from_str(data.unwrap_or(&text)).unwrap_or_else(|_| panic!("{text}"))
}

#[tokio::test]
async fn a_key_in_the_header_applies_to_the_single_call() {
    let server = Server::start().await;
    let body = rpc("test/note", &json!({"a": 1})).to_string();
    let first = server.post("/rpc", &[KEY], &body).await.json();
    assert_eq!(first["result"]["input"], json!({"a": 1}), "{first}");
    assert_eq!(server.post("/rpc", &[KEY], &body).await.json(), first);
    assert_eq!(server.probe.seen().len(), 1);
    for by in EVERY_WAY {
        let params = json!({"name": "test__note", "arguments": {"a": 1}});
        let answer = mcp(&server, &[KEY], "tools/call", params, by).await;
        let answer = message(&answer);
        let key = &answer["result"]["_meta"]["dev.panpan/idempotency"]["key"];
        assert_eq!(*key, json!("order-7"), "{answer}");
        // Same principal, operation and key: the outcome of the JSON-RPC call is replayed.
        assert_eq!(server.probe.seen().len(), 1, "{answer}");
    }
}

#[tokio::test]
async fn a_header_key_that_differs_from_the_body_is_refused() {
    let server = Server::start().await;
    let meta = json!({"dev.panpan/idempotency-key": "another"});
    let body = rpc("test/note", &json!({"_meta": meta})).to_string();
    let answer = server.post("/rpc", &[KEY], &body).await.json();
    assert_eq!(answer["error"]["data"]["code"], "INVALID_INPUT", "{answer}");
    for by in EVERY_WAY {
        for params in [
            json!({"name": "test__note", "arguments": {"idempotency_key": "another"}}),
            json!({"name": "test__note", "arguments": {}, "_meta": meta}),
        ] {
            let answer = mcp(&server, &[KEY], "tools/call", params, by).await;
            let answer = message(&answer);
            assert_eq!(answer["result"]["isError"], true, "{answer}");
            assert!(answer.to_string().contains("INVALID_INPUT"), "{answer}");
        }
    }
    assert!(server.probe.seen().is_empty());
}

#[tokio::test]
async fn an_invalid_key_is_refused() {
    let server = Server::start().await;
    let invalid = ("idempotency-key", "a b");
    let body = rpc("test/note", &json!({})).to_string();
    let answer = server.post("/rpc", &[invalid], &body).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.json()["error"]["data"]["code"], "INVALID_INPUT");
    let params = json!({"name": "test__note", "arguments": {}});
    let answer = mcp(&server, &[invalid], "tools/call", params, By::FastPath).await;
    assert_eq!(answer.json()["error"]["data"]["code"], "INVALID_INPUT");
    assert!(server.probe.seen().is_empty());
}

#[tokio::test]
async fn a_batch_with_a_header_key_is_refused_and_not_executed() {
    let server = with_gateway_tools().await;
    let calls = json!([rpc("test/note", &json!({})), rpc("test/note", &json!({}))]);
    for header in [
        KEY,
        ("panpan-timeout-ms", "100"),
        ("panpan-retry-seed", "7"),
    ] {
        let answer = server
            .post("/rpc", &[header], &calls.to_string())
            .await
            .json();
        assert_eq!(
            answer["error"]["data"]["code"], "INVALID_REQUEST",
            "{answer}"
        );
        assert_eq!(answer["error"]["code"], -32600);
        let items = json!([{"operation": "test/note"}, {"operation": "test/note"}]);
        let answer = server.post("/batch", &[header], &items.to_string()).await;
        assert_eq!((answer.status, &*answer.code()), (400, "INVALID_REQUEST"));
        for by in EVERY_WAY {
            let arguments = json!({"calls": items});
            let params = json!({"name": "batch", "arguments": arguments});
            let answer = mcp(&server, &[header], "tools/call", params, by).await;
            let answer = message(&answer);
            assert_eq!(answer["result"]["isError"], true, "{answer}");
            assert!(answer.to_string().contains("INVALID_REQUEST"), "{answer}");
        }
        let answer = server.post("/mcp", &[header], &calls.to_string()).await;
        assert!(answer.status >= 400, "{answer:?}");
        let opening = [
            ("connection", "upgrade"),
            ("upgrade", "websocket"),
            ("sec-websocket-version", "13"),
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
            header,
        ];
        let answer = server.get("/ws", &opening).await;
        assert_eq!((answer.status, &*answer.code()), (400, "INVALID_REQUEST"));
    }
    assert!(server.probe.seen().is_empty());
    // Without the header both calls are executed.
    server.post("/rpc", &[], &calls.to_string()).await;
    assert_eq!(server.probe.seen().len(), 2);
}

#[tokio::test]
async fn a_batch_of_mcp_with_options_in_its_meta_is_refused_and_not_executed() {
    let server = with_gateway_tools().await;
    let items = json!([{"operation": "test/note"}, {"operation": "test/note"}]);
    let batch =
        |meta: Value| json!({"name": "batch", "arguments": {"calls": items}, "_meta": meta});
    for meta in [
        json!({"dev.panpan/idempotency-key": "order-7"}),
        json!({"dev.panpan/idempotency-key": 7}),
        json!({"dev.panpan/retry-seed": 7}),
        json!({"dev.panpan/timeout-ms": 100}),
    ] {
        for by in EVERY_WAY {
            let answer = mcp(&server, &[], "tools/call", batch(meta.clone()), by).await;
            let answer = message(&answer);
            assert_eq!(answer["result"]["isError"], true, "{answer}");
            assert!(answer.to_string().contains("INVALID_REQUEST"), "{answer}");
        }
    }
    assert!(server.probe.seen().is_empty());
    let meta = json!({"dev.panpan/idempotency-key": null});
    mcp(&server, &[], "tools/call", batch(meta), By::FastPath).await;
    assert_eq!(server.probe.seen().len(), 2);
}

#[tokio::test]
async fn a_subscription_with_a_key_is_refused_and_not_started() {
    let server = Server::start().await;
    let call = json!({"operation": "test/endless"});
    let keyed = json!({"operation": "test/endless", "idempotency_key": "k"});
    let stream = ("accept", "text/event-stream");
    for (path, headers, body) in [
        ("/subscribe", vec![KEY], call),
        ("/subscribe", vec![], keyed),
        ("/operations/test/endless", vec![KEY, stream], json!({})),
    ] {
        let answer = server.post(path, &headers, &body.to_string()).await;
        let text = answer.text();
        assert_eq!(answer.status, 400, "{path}: {text}");
        assert!(text.contains("INVALID_REQUEST"), "{path}: {text}");
    }
}

#[tokio::test]
async fn a_timeout_of_zero_is_refused() {
    let server = Server::start().await;
    let call = json!({"operation": "test/note"});
    let timed = json!({"operation": "test/note", "timeout_ms": 0});
    for (headers, body) in [(vec![("panpan-timeout-ms", "0")], call), (vec![], timed)] {
        let answer = server.post("/call", &headers, &body.to_string()).await;
        assert_eq!((answer.status, &*answer.code()), (400, "INVALID_REQUEST"));
        assert!(answer.text().contains("at least 1"), "{}", answer.text());
    }
    let meta = json!({"_meta": {"dev.panpan/timeout-ms": 0}});
    let body = rpc("test/note", &meta).to_string();
    let answer = server.post("/rpc", &[], &body).await.json();
    assert_eq!(answer["error"]["data"]["code"], "INVALID_INPUT", "{answer}");
    assert!(server.probe.seen().is_empty());
}

#[tokio::test]
async fn every_json_rpc_error_has_the_name_of_its_code() {
    let server = Server::with(Settings {
        limits: Limits {
            body_bytes: 2000,
            batch: 2,
            ..Limits::default()
        },
        ..Settings::default()
    })
    .await;
    let echo = rpc("test/echo", &json!({}));
    let wrong = ("authorization", "Bearer wrong");
    for (headers, body, code) in [
        (&[][..], "{".to_owned(), "PARSE_ERROR"),
        (&[], "3".to_owned(), "INVALID_REQUEST"),
        (&[], "[]".to_owned(), "INVALID_REQUEST"),
        (
            &[],
            json!([echo, echo, echo]).to_string(),
            "INVALID_REQUEST",
        ),
        (
            &[],
            json!({"jsonrpc": "2.0", "id": 1}).to_string(),
            "INVALID_REQUEST",
        ),
        (&[], rpc("no/such", &json!({})).to_string(), "NOT_FOUND"),
        (&[], rpc("test/hidden", &json!({})).to_string(), "NOT_FOUND"),
        (
            &[],
            rpc("test/echo", &json!([1])).to_string(),
            "INVALID_INPUT",
        ),
        (
            &[],
            rpc("test/typed", &json!({"n": "x"})).to_string(),
            "INVALID_INPUT",
        ),
        (&[], rpc("test/scoped", &json!({})).to_string(), "FORBIDDEN"),
        (
            &[],
            rpc("test/endless", &json!({})).to_string(),
            "INVALID_OPERATION_TYPE",
        ),
        (
            &[],
            rpc("test/fail", &json!({"code": "ERR_HTTP_404_NOT_FOUND"})).to_string(),
            "ERR_HTTP_404_NOT_FOUND",
        ),
        (
            &[],
            rpc("test/fail", &json!({"code": "panic"})).to_string(),
            "INTERNAL",
        ),
        (
            &[],
            format!("\"{}\"", "x".repeat(3000)),
            "ERR_JSON_SIZE_EXCEEDED",
        ),
        (&[wrong], echo.to_string(), "FORBIDDEN"),
    ] {
        let answer = server.post("/rpc", headers, &body).await.json();
        let found = &answer["error"]["data"]["code"];
        assert_eq!(*found, json!(code), "{body}: {answer}");
    }
    let note = json!({"name": "test__note", "arguments": {}});
    for (headers, method, params, code) in [
        (
            &[][..],
            "tools/call",
            json!({"name": "nope", "arguments": {}}),
            "NOT_FOUND",
        ),
        (&[], "tools/call", json!({"name": 7}), "INVALID_INPUT"),
        (&[], "no/such", json!({}), "NOT_FOUND"),
        (&[], "resources/list", json!({}), "NOT_FOUND"),
        (&[], "tools/list", json!({"cursor": "x"}), "INVALID_INPUT"),
        (&[wrong], "tools/call", note, "FORBIDDEN"),
    ] {
        let answer = mcp(&server, headers, method, params.clone(), By::FastPath).await;
        let answer = message(&answer);
        let found = &answer["error"]["data"]["code"];
        assert_eq!(*found, json!(code), "{method} {params}: {answer}");
    }
    for (body, code) in [("{", "PARSE_ERROR"), ("{\"id\": 1}", "INVALID_REQUEST")] {
        let accept = ("accept", "application/json, text/event-stream");
        let answer = server.post("/mcp", &[accept], body).await.json();
        assert_eq!(answer["error"]["data"]["code"], json!(code), "{answer}");
    }
}
