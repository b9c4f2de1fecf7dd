//! Servers over HTTP, played by a scripted socket.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use panpan_failure::Effect;
use panpan_redact::Secret;
use panpan_upstream::mcp::{McpAddress, McpTransport, McpUpstream, RESPONSE_BYTES_LIMIT};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::fixture::{at, call, gateway, run};

/// A request as received.
#[derive(Debug)]
struct Received {
    method: String,
    /// In lower case, with line breaks.
    head: String,
    message: Value,
}

/// The bytes to send back; an endless body continues until the client stops reading.
#[derive(Clone, Debug, Default)]
struct Reply {
    bytes: Vec<u8>,
    endless: bool,
}

impl Reply {
    fn status(status: u16, headers: &str, body: &str) -> Self {
        let length = body.len();
        let text =
            format!("HTTP/1.1 {status} x\r\ncontent-length: {length}\r\n{headers}\r\n{body}");
        Self {
            bytes: text.into(),
            endless: false,
        }
    }

    fn json(message: &Value) -> Self {
        Self::status(
            200,
            "content-type: application/json\r\n",
            &message.to_string(),
        )
    }
}

type Script = dyn Fn(&Received) -> Reply + Send + Sync;

/// Listens on a free port and answers by the script.
async fn listening(script: Arc<Script>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, script.clone()));
        }
    });
    format!("http://{address}/mcp")
}

async fn serve(stream: TcpStream, script: Arc<Script>) -> Option<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if stream.read_line(&mut head).await.ok()? == 0 {
                return None;
            }
        }
        let method = head.split(' ').next()?.to_owned();
        let head = head.to_ascii_lowercase();
        let length = head.split("content-length: ").nth(1);
        let length = length.and_then(|rest| rest.lines().next()?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        stream.read_exact(&mut body).await.ok()?;
        let message = serde_json::from_slice(&body).unwrap_or_default();
        let reply = script(&Received {
            method,
            head,
            message,
        });
        stream.write_all(&reply.bytes).await.ok()?;
        if reply.endless {
            loop {
                stream.write_all(&[b' '; 65_536]).await.ok()?;
            }
        }
        if reply.bytes.is_empty() || reply.bytes.windows(15).any(|it| it == b"connection: clo") {
            return None;
        }
    }
}

/// The responses of a well-behaved server.
fn well_behaved(request: &Received) -> Reply {
    let id = &request.message["id"];
    let answer =
        |result: Value| Reply::json(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    match request.message["method"].as_str().unwrap_or_default() {
        "initialize" => {
            let result = json!({
                "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "web", "version": "1"},
            });
            let body = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
            Reply::status(
                200,
                "content-type: application/json\r\nmcp-session-id: s\r\n",
                &body,
            )
        }
        "tools/list" => {
            let schema = json!({"type": "object"});
            answer(json!({"tools": [
                {"name": "change", "inputSchema": schema},
                {"name": "read", "inputSchema": schema, "annotations": {"readOnlyHint": true}},
            ]}))
        }
        "tools/call" => answer(json!({"content": [{"type": "text", "text": "done"}]})),
        "server/discover" => {
            let error = json!({"code": -32601, "message": "Method not found"});
            Reply::json(&json!({"jsonrpc": "2.0", "id": id, "error": error}))
        }
        "" => Reply::status(405, "", ""),
        _ => Reply::status(202, "", ""),
    }
}

fn is_call(request: &Received) -> bool {
    request.message["method"] == "tools/call"
}

async fn answering(script: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> McpUpstream {
    let url = listening(Arc::new(script)).await;
    at(McpTransport::Http(McpAddress::new(url)))
}

/// A server with its own response to calls.
async fn calling(reply: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> McpUpstream {
    answering(move |request| {
        if is_call(request) {
            reply(request)
        } else {
            well_behaved(request)
        }
    })
    .await
}

pub(crate) fn http_statuses_are_classified() {
    let page = "<html>sk-live-abcdefghijklmnopqrstuvwxyz012345</html>";
    let broken = r#"{"jsonrpc": "2.0", "id": 9, "error": {"code": -32603, "message": "no"}}"#;
    let json = "content-type: application/json\r\n";
    run(async move {
        for (status, headers, body, code, effect) in [
            (401, "", "", "ERR_HTTP_401_UNAUTHORIZED", Effect::None),
            (403, "", "", "ERR_HTTP_403_FORBIDDEN", Effect::None),
            (
                429,
                "retry-after: 99\r\n",
                broken,
                "ERR_HTTP_429_RATE_LIMITED",
                Effect::None,
            ),
            (500, "", page, "ERR_HTTP_500_SERVER_ERROR", Effect::Unknown),
            (500, json, broken, "TOOL_FAILED", Effect::Unknown),
            (
                503,
                "retry-after: 99\r\n",
                "",
                "ERR_HTTP_503_UNAVAILABLE",
                Effect::None,
            ),
            (
                200,
                "content-type: text/html\r\n",
                page,
                "ERR_HTTP_502_BAD_GATEWAY",
                Effect::Unknown,
            ),
            (
                302,
                "location: http://127.0.0.1:1/\r\n",
                "",
                "ERR_HTTP_502_BAD_GATEWAY",
                Effect::Unknown,
            ),
        ] {
            let reply = Reply::status(status, headers, body);
            let upstream = calling(move |_| reply.clone()).await;
            let gateway = gateway(&upstream).await;
            let failure = call(&gateway, "change", json!({})).await.unwrap_err();
            let found = (failure.code().as_str(), failure.effect());
            assert_eq!(found, (code, effect), "{status}");
            let hinted = headers.starts_with("retry");
            assert_eq!(failure.stated_retry_after_ms(), hinted.then_some(99_000));
            let written = serde_json::to_string(&failure).unwrap();
            assert!(!written.contains("sk-live"), "{written}");
        }
    });
}

pub(crate) fn a_refused_connection_is_classified() {
    run(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let upstream = at(McpTransport::Http(McpAddress::new(format!(
            "http://{address}/mcp"
        ))));
        let error = upstream.operations().await.unwrap_err();
        let failure = upstream.failure(error, jiff::Timestamp::UNIX_EPOCH);
        let found = (failure.code().as_str(), failure.effect());
        assert_eq!(found, ("ERR_CONNECTION_REFUSED", Effect::None));
    });
}

/// A 400 response with a JSON-RPC error with this message.
fn rejecting(message: &str) -> Reply {
    let error = json!({"code": -32000, "message": message});
    let body = json!({"jsonrpc": "2.0", "id": null, "error": error}).to_string();
    Reply::status(400, "content-type: application/json\r\n", &body)
}

/// The messages of an error and its sources.
fn chained(error: &dyn std::error::Error) -> Vec<String> {
    std::iter::successors(Some(error), |error| error.source())
        .map(ToString::to_string)
        .collect()
}

pub(crate) fn a_wrong_address_is_explained() {
    run(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let free = listener.local_addr().unwrap();
        drop(listener);
        let page = "content-type: text/html\r\n";
        let plain = listening(Arc::new(move |_| Reply::status(200, page, "<html>"))).await;
        let moved = "location: /mcp/?token=secret\r\n";
        let moved = listening(Arc::new(move |_| Reply::status(307, moved, ""))).await;
        let there = format!("{moved}/");
        let talking = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let secure = format!("https://{}/mcp", talking.local_addr().unwrap());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = talking.accept().await {
                stream.write_all(b"HTTP/1.1 400 x\r\n\r\n").await.unwrap();
                // Kept open until the client closes the connection.
                let _ = stream.read_to_end(&mut Vec::new()).await;
            }
        });
        for (url, expected, is_network) in [
            (
                format!("http://{free}/mcp"),
                format!("no server answers at http://{free}/mcp"),
                true,
            ),
            (
                secure.clone(),
                format!("the server at {secure} does not speak TLS"),
                true,
            ),
            (
                plain,
                "it answered HTTP 200 with text/html, which is not an MCP message".to_owned(),
                false,
            ),
            (
                moved,
                format!("it answered HTTP 307, a redirect to {there}, which is not followed"),
                false,
            ),
        ] {
            let upstream = at(McpTransport::Http(McpAddress::new(&url)));
            let messages = chained(&upstream.operations().await.unwrap_err());
            assert_eq!(messages[0], expected);
            // A network error has more than two sources.
            assert_eq!(messages.len() > 2, is_network, "{messages:?}");
        }
    });
}

pub(crate) fn an_expired_session_is_renewed_and_the_call_runs_once() {
    run(async {
        for expired in [
            Reply::status(404, "", ""),
            rejecting("Bad Request: No valid session ID provided"),
            rejecting("Bad Request: Server not initialized"),
            rejecting("Bad Request: Mcp-Session-Id header is required"),
            rejecting("Bad Request: Missing session ID"),
            rejecting("Session not found"),
            Reply::status(400, "", "Bad Request: No valid session ID provided\n"),
        ] {
            renewed(expired).await;
        }
    });
}

pub(crate) fn an_error_that_mentions_sessions_belongs_to_the_call() {
    run(async {
        for (message, of_status) in [
            (
                "the card was charged, but the checkout session could not be closed",
                Effect::Unknown,
            ),
            ("Session not found: 7", Effect::None),
            ("session not found", Effect::None),
        ] {
            for (reply, effect) in [
                (rejecting(message), Effect::Unknown),
                (Reply::status(400, "", message), of_status),
            ] {
                let calls = Arc::new(AtomicUsize::new(0));
                let ran = calls.clone();
                let upstream = calling(move |_| {
                    ran.fetch_add(1, Ordering::SeqCst);
                    reply.clone()
                })
                .await;
                let gateway = gateway(&upstream).await;
                let failure = call(&gateway, "change", json!({})).await.unwrap_err();
                let found = (failure.retryable(), failure.effect());
                assert_eq!(found, (false, effect), "{message}");
                assert_eq!(calls.load(Ordering::SeqCst), 1, "{message}");
            }
        }
    });
}

async fn renewed(expired: Reply) {
    let sessions = Arc::new(AtomicUsize::new(0));
    let calls = Arc::new(AtomicUsize::new(0));
    let (opened, ran) = (sessions.clone(), calls.clone());
    let upstream = answering(move |request| {
        if request.message["method"] == "initialize" {
            opened.fetch_add(1, Ordering::SeqCst);
        }
        // The first session expires with the first call.
        if is_call(request) && opened.load(Ordering::SeqCst) == 1 {
            return expired.clone();
        }
        ran.fetch_add(usize::from(is_call(request)), Ordering::SeqCst);
        well_behaved(request)
    })
    .await;
    let gateway = gateway(&upstream).await;
    let done = call(&gateway, "change", json!({})).await;
    assert_eq!(done.unwrap(), json!("done"));
    let counted = (
        sessions.load(Ordering::SeqCst),
        calls.load(Ordering::SeqCst),
    );
    assert_eq!(counted, (2, 1));
}

pub(crate) fn a_response_that_is_cut_off_leaves_the_outcome_unknown() {
    let head = "HTTP/1.1 200 x\r\nconnection: close\r\ncontent-type";
    let cut = format!("{head}: application/json\r\ncontent-length: 900\r\n\r\n{{\"jsonrpc\"");
    let stream = format!("{head}: text/event-stream\r\n\r\ndata: {{\"jsonrpc\"");
    run(async move {
        for bytes in [Vec::new(), cut.into_bytes(), stream.into_bytes()] {
            let reply = Reply {
                bytes,
                endless: false,
            };
            let upstream = calling(move |_| reply.clone()).await;
            let gateway = gateway(&upstream).await;
            for (name, code) in [
                ("change", "ERR_OUTCOME_UNKNOWN"),
                ("read", "ERR_SOCKET_ERROR"),
            ] {
                let failure = call(&gateway, name, json!({})).await.unwrap_err();
                assert_eq!(failure.code().as_str(), code);
            }
        }
    });
}

pub(crate) fn an_endless_response_is_not_read() {
    let head = "HTTP/1.1 200 x\r\ncontent-type";
    let body = format!(
        "{head}: application/json\r\ncontent-length: {}\r\n\r\n",
        usize::MAX / 2
    );
    let event = format!("{head}: text/event-stream\r\n\r\ndata: ");
    run(async move {
        for (text, code) in [
            (body, "ERR_HTTP_502_BAD_GATEWAY"),
            (event, "ERR_OUTCOME_UNKNOWN"),
        ] {
            let reply = Reply {
                bytes: text.into(),
                endless: true,
            };
            let upstream = calling(move |_| reply.clone()).await;
            let gateway = gateway(&upstream).await;
            let failure = call(&gateway, "change", json!({})).await.unwrap_err();
            assert_eq!(failure.code().as_str(), code);
        }
        // A response of the maximum length is read.
        let text = "a".repeat(RESPONSE_BYTES_LIMIT - 1_000);
        let upstream = calling(move |request| {
            let result = json!({"content": [{"type": "text", "text": text}]});
            Reply::json(&json!({"jsonrpc": "2.0", "id": request.message["id"], "result": result}))
        })
        .await;
        let gateway = gateway(&upstream).await;
        let long = call(&gateway, "change", json!({})).await.unwrap();
        assert_eq!(long.as_str().unwrap().len(), RESPONSE_BYTES_LIMIT - 1_000);
    });
}

pub(crate) fn responses_in_event_streams_are_read_and_headers_are_sent() {
    run(async {
        let heads = Arc::new(Mutex::new(Vec::new()));
        let recorded = heads.clone();
        let script = move |request: &Received| {
            let head = (request.method.clone(), request.head.clone());
            recorded.lock().unwrap().push(head);
            if !is_call(request) {
                return well_behaved(request);
            }
            let result = json!({
                "isError": true, "content": [{"type": "text", "text": "no"}],
                "recovery": {"error_code": "AUTH_TOKEN_EXPIRED", "retry": false},
            });
            let message = json!({"jsonrpc": "2.0", "id": request.message["id"], "result": result});
            let event = format!("event: message\ndata: {message}\n\n");
            Reply::status(200, "content-type: text/event-stream\r\n", &event)
        };
        let url = listening(Arc::new(script)).await;
        let mut address = McpAddress::new(url);
        let token = Secret::new("Bearer token-of-tests".to_owned());
        address.headers.push(("Authorization".to_owned(), token));
        let upstream = at(McpTransport::Http(address));
        let gateway = gateway(&upstream).await;
        let failure = call(&gateway, "read", json!({})).await.unwrap_err();
        assert_eq!(failure.code().as_str(), "NOT_AUTHORIZED");
        let heads = heads.lock().unwrap();
        let presents = |(_, head): &(String, String)| head.contains("bearer token-of-tests");
        assert!(heads.iter().all(presents), "{heads:?}");
        assert!(heads.iter().any(|(method, _)| method == "GET"), "{heads:?}");
    });
}

/// A server that elicits in the stream of every call and never responds; returns the replies to it.
pub(crate) async fn eliciting(question: Value) -> (McpUpstream, mpsc::UnboundedReceiver<Value>) {
    let (sender, replies) = mpsc::unbounded_channel();
    let script = move |request: &Received| {
        let message = &request.message;
        if message["method"] == "tools/call" {
            let who = message["params"]["arguments"]["who"].as_str().unwrap();
            let asked = json!({
                "jsonrpc": "2.0", "id": format!("for {who}"), "method": "elicitation/create",
                "params": question,
            });
            let head = "HTTP/1.1 200 x\r\ncontent-type: text/event-stream\r\n\r\n";
            return Reply {
                bytes: format!("{head}data: {asked}\n\n").into(),
                endless: false,
            };
        }
        if message.get("result").is_some() || message.get("error").is_some() {
            sender.send(message.clone()).unwrap();
            return Reply::status(202, "", "");
        }
        well_behaved(request)
    };
    let url = listening(Arc::new(script)).await;
    (at(McpTransport::Http(McpAddress::new(&url))), replies)
}

/// A server that elicits outside of the streams of its calls, once there are two; returns the
/// replies to it.
pub(crate) async fn eliciting_aside(
    question: Value,
) -> (McpUpstream, mpsc::UnboundedReceiver<Value>) {
    let (sender, replies) = mpsc::unbounded_channel();
    let calls = AtomicUsize::new(0);
    let head = "HTTP/1.1 200 x\r\ncontent-type: text/event-stream\r\n";
    let script = move |request: &Received| {
        let message = &request.message;
        if is_call(request) {
            calls.fetch_add(1, Ordering::SeqCst);
            return Reply {
                bytes: format!("{head}\r\n").into(),
                endless: false,
            };
        }
        if message.get("result").is_some() || message.get("error").is_some() {
            // Later replies are ignored.
            let _ = sender.send(message.clone());
            return Reply::status(202, "", "");
        }
        if request.method != "GET" {
            return well_behaved(request);
        }
        // Before that, the client is told to reconnect at once.
        let asked = json!({
            "jsonrpc": "2.0", "id": "aside", "method": "elicitation/create", "params": question,
        });
        let event = match calls.load(Ordering::SeqCst) {
            2 => format!("data: {asked}\n\n"),
            _ => "id: 1\nretry: 5\ndata:\n\n".to_owned(),
        };
        Reply::status(200, "content-type: text/event-stream\r\n", &event)
    };
    let url = listening(Arc::new(script)).await;
    (at(McpTransport::Http(McpAddress::new(&url))), replies)
}
