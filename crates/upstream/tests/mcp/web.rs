//! Servers that listen, played by a socket that answers as it is told.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use panpan_failure::Effect;
use panpan_redact::Secret;
use panpan_upstream::mcp::{ANSWER_BYTES_LIMIT, McpAddress, McpPlace, McpUpstream};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::fixture::{at, call, gateway, run};

/// A request as it came.
#[derive(Debug)]
struct Heard {
    method: String,
    /// In lower case, one per line.
    head: String,
    message: Value,
}

/// What is sent back, byte by byte; an endless body is repeated until nobody reads on.
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

type Script = dyn Fn(&Heard) -> Reply + Send + Sync;

/// Listens on a port of its own and answers by the script.
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
        let reply = script(&Heard {
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

/// What a server that is well answers to everything but calls.
fn well(heard: &Heard) -> Reply {
    let id = &heard.message["id"];
    let answer =
        |result: Value| Reply::json(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    match heard.message["method"].as_str().unwrap_or_default() {
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

fn is_call(heard: &Heard) -> bool {
    heard.message["method"] == "tools/call"
}

async fn answering(script: impl Fn(&Heard) -> Reply + Send + Sync + 'static) -> McpUpstream {
    let url = listening(Arc::new(script)).await;
    at(McpPlace::Http(McpAddress::new(url)))
}

/// A server that answers calls in its own way.
async fn calling(reply: impl Fn(&Heard) -> Reply + Send + Sync + 'static) -> McpUpstream {
    answering(move |heard| {
        if is_call(heard) {
            reply(heard)
        } else {
            well(heard)
        }
    })
    .await
}

pub(crate) fn statuses_are_told_apart() {
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

pub(crate) fn nobody_listens_there() {
    run(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let upstream = at(McpPlace::Http(McpAddress::new(format!(
            "http://{address}/mcp"
        ))));
        let error = upstream.operations().await.unwrap_err();
        let failure = upstream.failure(error, jiff::Timestamp::UNIX_EPOCH);
        let found = (failure.code().as_str(), failure.effect());
        assert_eq!(found, ("ERR_CONNECTION_REFUSED", Effect::None));
    });
}

/// A refusal with a 400 that says these words.
fn refusing(words: &str) -> Reply {
    let error = json!({"code": -32000, "message": words});
    let body = json!({"jsonrpc": "2.0", "id": null, "error": error}).to_string();
    Reply::status(400, "content-type: application/json\r\n", &body)
}

/// An error and what led to it.
fn chained(error: &dyn std::error::Error) -> Vec<String> {
    std::iter::successors(Some(error), |error| error.source())
        .map(ToString::to_string)
        .collect()
}

pub(crate) fn what_is_wrong_with_an_address_is_told() {
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
                // Kept until the client goes, which has not said all it has to say.
                let _ = stream.read_to_end(&mut Vec::new()).await;
            }
        });
        for (url, told, is_network) in [
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
                "it answered HTTP 200 with text/html, which is no message of MCP".to_owned(),
                false,
            ),
            (
                moved,
                format!("it answered HTTP 307, which leads to {there} and is not followed"),
                false,
            ),
        ] {
            let upstream = at(McpPlace::Http(McpAddress::new(&url)));
            let said = chained(&upstream.operations().await.unwrap_err());
            assert_eq!(said[0], told);
            // What the network itself said is the end of the chain, behind that there was no answer.
            assert_eq!(said.len() > 2, is_network, "{said:?}");
        }
    });
}

pub(crate) fn an_expired_session_is_renewed_and_the_call_runs_once() {
    run(async {
        for over in [
            Reply::status(404, "", ""),
            refusing("Bad Request: No valid session ID provided"),
            refusing("Bad Request: Server not initialized"),
            refusing("Bad Request: Mcp-Session-Id header is required"),
            refusing("Bad Request: Missing session ID"),
            refusing("Session not found"),
            Reply::status(400, "", "Bad Request: No valid session ID provided\n"),
        ] {
            renewed(over).await;
        }
    });
}

pub(crate) fn a_refusal_that_speaks_of_sessions_is_one_of_the_call() {
    run(async {
        for (words, of_status) in [
            (
                "the card was charged, but the checkout session could not be closed",
                Effect::Unknown,
            ),
            ("Session not found: 7", Effect::None),
            ("session not found", Effect::None),
        ] {
            for (reply, effect) in [
                (refusing(words), Effect::Unknown),
                (Reply::status(400, "", words), of_status),
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
                assert_eq!(found, (false, effect), "{words}");
                assert_eq!(calls.load(Ordering::SeqCst), 1, "{words}");
            }
        }
    });
}

async fn renewed(over: Reply) {
    let sessions = Arc::new(AtomicUsize::new(0));
    let calls = Arc::new(AtomicUsize::new(0));
    let (opened, ran) = (sessions.clone(), calls.clone());
    let upstream = answering(move |heard| {
        if heard.message["method"] == "initialize" {
            opened.fetch_add(1, Ordering::SeqCst);
        }
        // The first session is over as soon as something is called.
        if is_call(heard) && opened.load(Ordering::SeqCst) == 1 {
            return over.clone();
        }
        ran.fetch_add(usize::from(is_call(heard)), Ordering::SeqCst);
        well(heard)
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

pub(crate) fn an_answer_that_breaks_off_leaves_the_outcome_unknown() {
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

pub(crate) fn an_answer_without_end_is_not_read() {
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
        // One that is as long as it may be is.
        let text = "a".repeat(ANSWER_BYTES_LIMIT - 1_000);
        let upstream = calling(move |heard| {
            let result = json!({"content": [{"type": "text", "text": text}]});
            Reply::json(&json!({"jsonrpc": "2.0", "id": heard.message["id"], "result": result}))
        })
        .await;
        let gateway = gateway(&upstream).await;
        let long = call(&gateway, "change", json!({})).await.unwrap();
        assert_eq!(long.as_str().unwrap().len(), ANSWER_BYTES_LIMIT - 1_000);
    });
}

pub(crate) fn answers_in_streams_are_read_and_headers_are_sent() {
    run(async {
        let heads = Arc::new(Mutex::new(Vec::new()));
        let heard_heads = heads.clone();
        let script = move |heard: &Heard| {
            let told = (heard.method.clone(), heard.head.clone());
            heard_heads.lock().unwrap().push(told);
            if !is_call(heard) {
                return well(heard);
            }
            let result = json!({
                "isError": true, "content": [{"type": "text", "text": "no"}],
                "recovery": {"error_code": "AUTH_TOKEN_EXPIRED", "retry": false},
            });
            let message = json!({"jsonrpc": "2.0", "id": heard.message["id"], "result": result});
            let event = format!("event: message\ndata: {message}\n\n");
            Reply::status(200, "content-type: text/event-stream\r\n", &event)
        };
        let url = listening(Arc::new(script)).await;
        let mut address = McpAddress::new(url);
        let token = Secret::new("Bearer token-of-tests".to_owned());
        address.headers.push(("Authorization".to_owned(), token));
        let upstream = at(McpPlace::Http(address));
        let gateway = gateway(&upstream).await;
        let failure = call(&gateway, "read", json!({})).await.unwrap_err();
        assert_eq!(failure.code().as_str(), "NOT_AUTHORIZED");
        let heads = heads.lock().unwrap();
        let presents = |(_, head): &(String, String)| head.contains("bearer token-of-tests");
        assert!(heads.iter().all(presents), "{heads:?}");
        assert!(heads.iter().any(|(method, _)| method == "GET"), "{heads:?}");
    });
}

/// A server that asks in the stream of every call and waits; what it is replied comes out.
pub(crate) async fn asking(question: Value) -> (McpUpstream, mpsc::UnboundedReceiver<Value>) {
    let (heard_reply, replies) = mpsc::unbounded_channel();
    let script = move |heard: &Heard| {
        let message = &heard.message;
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
            heard_reply.send(message.clone()).unwrap();
            return Reply::status(202, "", "");
        }
        well(heard)
    };
    let url = listening(Arc::new(script)).await;
    (at(McpPlace::Http(McpAddress::new(&url))), replies)
}

/// A server that asks beside the streams of its calls, once there are two, and answers none.
pub(crate) async fn asking_aside(question: Value) -> (McpUpstream, mpsc::UnboundedReceiver<Value>) {
    let (heard_reply, replies) = mpsc::unbounded_channel();
    let calls = AtomicUsize::new(0);
    let head = "HTTP/1.1 200 x\r\ncontent-type: text/event-stream\r\n";
    let script = move |heard: &Heard| {
        let message = &heard.message;
        if is_call(heard) {
            calls.fetch_add(1, Ordering::SeqCst);
            return Reply {
                bytes: format!("{head}\r\n").into(),
                endless: false,
            };
        }
        if message.get("result").is_some() || message.get("error").is_some() {
            // Nobody listens any more to what is asked again.
            let _ = heard_reply.send(message.clone());
            return Reply::status(202, "", "");
        }
        if heard.method != "GET" {
            return well(heard);
        }
        // Until then the client is sent away to come back at once.
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
    (at(McpPlace::Http(McpAddress::new(&url))), replies)
}
