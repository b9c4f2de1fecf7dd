//! Who may call what, the same on every surface: a matrix of callers and operations, for calls and for
//! everything that tells what there is.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

mod shared;

use std::sync::Arc;
use std::time::Duration;

use panpan_contract::operation::{OperationSpec, OperationType};
use panpan_contract::retry::RetryPolicy;
use panpan_failure::dialect::Dialect;
use panpan_failure::{Failure, codes};
use panpan_runtime::retry::{BudgetSettings, CircuitRule, CircuitSettings, Upstream};
use panpan_runtime::{Context, Notice, Registration, Registry};
use serde_json::{Value, json};
use shared::library::Shelf;
use shared::{PATIENCE, Response, Server, Socket};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// What somebody presents.
struct Presented {
    name: &'static str,
    token: Option<String>,
    valid: bool,
}

/// What a call came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Served,
    /// As if it did not exist.
    Absent,
    /// FORBIDDEN to somebody nobody knows.
    Unknown,
    /// FORBIDDEN to somebody who is known.
    Denied,
}

use Verdict::{Absent, Denied, Served, Unknown};

const OPERATIONS: [&str; 5] = [
    "test/echo",
    "test/scoped",
    "test/granted",
    "test/hidden",
    "test/nope",
];

async fn presented(server: &Server) -> Vec<Presented> {
    let revoked = server.token("rev", &["tests:run"], &["file:read"]).await;
    server.tokens.revoke("rev").await.unwrap();
    let scoped = server.token("ann", &["tests:run"], &[]).await;
    let other_scope = server.token("bob", &["tests:watch"], &["file:write"]).await;
    let granted = server.token("cid", &[], &["file:read"]).await;
    let mut wrong = scoped.clone();
    let last = wrong.pop().unwrap();
    wrong.push(if last == 'a' { 'b' } else { 'a' });
    let of = |name, token, valid| Presented { name, token, valid };
    vec![
        of("no token", None, true),
        of("wrong token", Some(wrong), false),
        of("no token at all", Some("hello".to_owned()), false),
        of("revoked token", Some(revoked), false),
        of("scope", Some(scoped), true),
        of("other scope, other action", Some(other_scope), true),
        of("grant", Some(granted), true),
    ]
}

/// What each of the operations has to come to, in their order.
fn expected(presented: &Presented) -> [Verdict; 5] {
    match presented.name {
        "no token" => [Served, Unknown, Unknown, Absent, Absent],
        "scope" => [Served, Served, Denied, Absent, Absent],
        "grant" => [Served, Denied, Served, Absent, Absent],
        "other scope, other action" => [Served, Denied, Denied, Absent, Absent],
        _ => [Unknown; 5],
    }
}

fn bearer(presented: &Presented) -> Vec<(&'static str, String)> {
    let value = presented
        .token
        .as_ref()
        .map(|token| format!("Bearer {token}"));
    value
        .map(|value| ("authorization", value))
        .into_iter()
        .collect()
}

async fn post(
    server: &Server,
    presented: &Presented,
    path: &str,
    more: &[(&str, &str)],
    body: &Value,
) -> Response {
    let bearer = bearer(presented);
    let mut headers: Vec<(&str, &str)> = bearer
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    headers.extend(more);
    server.post(path, &headers, &body.to_string()).await
}

async fn get(server: &Server, presented: &Presented, path: &str) -> Response {
    let bearer = bearer(presented);
    let headers: Vec<(&str, &str)> = bearer
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    server.get(path, &headers).await
}

/// What a failure in the dialect `call` means.
fn verdict_of(failure: &Value) -> Verdict {
    match failure["code"].as_str() {
        Some("NOT_FOUND") => Absent,
        Some("FORBIDDEN") if failure["details"]["authenticated"] == json!(true) => Denied,
        Some("FORBIDDEN") => Unknown,
        other => panic!("{other:?} in {failure}"),
    }
}

async fn by_http(server: &Server, presented: &Presented, operation: &str) -> Verdict {
    let body = json!({"operation": operation, "input": {}});
    let answer = post(server, presented, "/call", &[], &body).await;
    let verdict = match answer.status {
        200 => Served,
        _ => verdict_of(&answer.json()),
    };
    let statuses = [(Served, 200), (Absent, 404), (Unknown, 401), (Denied, 403)];
    assert!(
        statuses.contains(&(verdict, answer.status)),
        "{verdict:?} {}",
        answer.status
    );
    let challenged = answer.header("www-authenticate").is_some();
    assert_eq!(challenged, matches!(verdict, Unknown | Denied));
    verdict
}

async fn by_path(server: &Server, presented: &Presented, operation: &str) -> Verdict {
    let path = format!("/operations/{operation}?dialect=call");
    let answer = post(server, presented, &path, &[], &json!({})).await;
    match answer.status {
        200 => Served,
        _ => verdict_of(&answer.json()),
    }
}

async fn by_batch(server: &Server, presented: &Presented, operation: &str) -> Verdict {
    let body = json!([{"operation": operation}]);
    let answer = post(server, presented, "/batch", &[], &body).await.json();
    match (&answer["results"][0], answer.get("code")) {
        (_, Some(_)) => verdict_of(&answer),
        (item, None) if item["result"] == "ok" => Served,
        (item, None) => verdict_of(&item["error"]),
    }
}

async fn by_jsonrpc(server: &Server, presented: &Presented, operation: &str) -> Verdict {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": operation});
    let answer = post(server, presented, "/rpc", &[], &body).await;
    assert_eq!(answer.status, 200);
    let answer = answer.json();
    match answer["error"]["code"].as_i64() {
        None => Served,
        Some(-32601) => Absent,
        Some(-32004) if answer["error"]["data"]["authenticated"] == json!(true) => Denied,
        Some(-32004) => Unknown,
        Some(other) => panic!("{other} in {answer}"),
    }
}

/// One request of the version without sessions.
async fn mcp(server: &Server, presented: &Presented, method: &str, mut params: Value) -> Response {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
    });
    let name = params["name"].as_str().or(params["uri"].as_str());
    let name = name.unwrap_or_default().to_owned();
    let mut headers = vec![
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", method),
    ];
    if !name.is_empty() {
        headers.push(("mcp-name", &name));
    }
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    post(server, presented, "/mcp", &headers, &body).await
}

async fn by_mcp(server: &Server, presented: &Presented, operation: &str) -> Verdict {
    let params = json!({"name": operation.replace('/', "__"), "arguments": {}});
    let answer = mcp(server, presented, "tools/call", params).await;
    if answer.status == 401 {
        assert!(answer.header("www-authenticate").is_some());
        return Unknown;
    }
    let answer = answer.json();
    let result = &answer["result"];
    match (answer["error"]["code"].as_i64(), &result["isError"]) {
        (Some(-32602), _) => Absent,
        (Some(other), _) => panic!("{other} in {answer}"),
        (None, Value::Bool(true)) => verdict_of(&result["_meta"]["dev.panpan/failure"]),
        (None, _) => Served,
    }
}

async fn by_websocket(server: &Server, presented: &Presented, operation: &str) -> Verdict {
    let opened = Socket::open(server, presented.token.as_deref()).await;
    let mut socket = match opened {
        Ok(socket) => socket,
        Err(401) => return Unknown,
        Err(status) => panic!("{status}"),
    };
    let payload = json!({"operationId": format!("/{operation}"), "input": {}});
    socket.ask("1", payload).await;
    let answer = socket.next().await;
    match answer["type"].as_str() {
        Some("call.responded") => Served,
        Some("call.error") => verdict_of(&answer["payload"]),
        _ => panic!("{answer}"),
    }
}

#[tokio::test]
async fn a_call_comes_to_the_same_on_every_surface() {
    let server = Server::start().await;
    for presented in presented(&server).await {
        let expected = expected(&presented);
        for (operation, verdict) in OPERATIONS.into_iter().zip(expected) {
            let context = format!("{} calls {operation}", presented.name);
            assert_eq!(
                by_http(&server, &presented, operation).await,
                verdict,
                "/call: {context}"
            );
            assert_eq!(
                by_path(&server, &presented, operation).await,
                verdict,
                "/operations: {context}"
            );
            assert_eq!(
                by_batch(&server, &presented, operation).await,
                verdict,
                "/batch: {context}"
            );
            assert_eq!(
                by_jsonrpc(&server, &presented, operation).await,
                verdict,
                "/rpc: {context}"
            );
            assert_eq!(
                by_websocket(&server, &presented, operation).await,
                verdict,
                "/ws: {context}"
            );
            assert_eq!(
                by_mcp(&server, &presented, operation).await,
                verdict,
                "/mcp: {context}"
            );
        }
    }
}

/// The names of the test's operations in a text, however they are written there.
fn named(text: &str) -> Vec<&'static str> {
    let names = OPERATIONS.into_iter();
    names
        .filter(|name| text.contains(name) || text.contains(&name.replace('/', "__")))
        .collect()
}

#[tokio::test]
async fn everything_that_tells_what_there_is_tells_only_what_one_may_call() {
    let server = Server::start().await;
    for presented in presented(&server).await {
        let verdicts = OPERATIONS.into_iter().zip(expected(&presented));
        let callable: Vec<&str> = verdicts
            .filter(|(_, it)| *it == Served)
            .map(|(name, _)| name)
            .collect();
        let rpc = json!({"jsonrpc": "2.0", "id": 1, "method": "services/list"});
        let answers = [
            get(&server, &presented, "/search").await,
            get(&server, &presented, "/search?query=test").await,
            get(&server, &presented, "/openapi.json").await,
            get(&server, &presented, "/contract.json").await,
            post(&server, &presented, "/rpc", &[], &rpc).await,
            post(
                &server,
                &presented,
                "/operations/services/list",
                &[],
                &json!({}),
            )
            .await,
            mcp(&server, &presented, "tools/list", json!({})).await,
        ];
        for (at, answer) in answers.into_iter().enumerate() {
            assert_eq!(
                named(&answer.text()),
                callable,
                "{}: answer {at}",
                presented.name
            );
        }
        for name in OPERATIONS {
            let schema = get(&server, &presented, &format!("/schema?name={name}")).await;
            let status = match (presented.valid, callable.contains(&name)) {
                (false, _) => 401,
                (true, true) => 200,
                (true, false) => 404,
            };
            assert_eq!(schema.status, status, "{} asks for {name}", presented.name);
        }
    }
}

/// What a request for something beside operations came to.
async fn by_library(
    server: &Server,
    presented: &Presented,
    method: &str,
    params: Value,
) -> Verdict {
    let answer = mcp(server, presented, method, params).await;
    if answer.status == 401 {
        return Unknown;
    }
    let reply = Dialect::JsonRpc.read(answer.json()).unwrap();
    match reply.outcome {
        Ok(_) => Served,
        Err(failure) if failure.code().as_str() == "ARTIFACT_NOT_FOUND" => Absent,
        Err(failure) => panic!("{failure}"),
    }
}

#[tokio::test]
async fn resources_and_prompts_are_there_for_whoever_may_see_them() {
    let server = Server::start().await;
    server.gateway.lend(Arc::new(Shelf::default()));
    for presented in presented(&server).await {
        let [open, scoped, ..] = match expected(&presented) {
            // Nothing here says that there is more: what one may not see is absent.
            [open, Unknown | Denied, ..] if presented.valid => [open, Absent],
            [open, scoped, ..] => [open, scoped],
        };
        for (name, verdict) in [("open", open), ("scoped", scoped)] {
            let reference = json!({"type": "ref/prompt", "name": format!("test__{name}")});
            let argument = json!({"name": "a", "value": ""});
            for (method, params) in [
                ("resources/read", json!({"uri": format!("test://{name}")})),
                ("prompts/get", json!({"name": format!("test__{name}")})),
                (
                    "completion/complete",
                    json!({"ref": reference, "argument": argument}),
                ),
            ] {
                let found = by_library(&server, &presented, method, params).await;
                assert_eq!(found, verdict, "{}: {method} {name}", presented.name);
            }
            for method in ["resources/list", "resources/templates/list", "prompts/list"] {
                let listed = mcp(&server, &presented, method, json!({})).await.text();
                let is_listed = listed.contains(name);
                assert_eq!(is_listed, verdict == Served, "{}: {method}", presented.name);
            }
        }
    }
}

#[tokio::test]
async fn counts_are_told_of_what_one_may_call_and_of_all_to_those_who_watch() {
    let server = Server::start().await;
    let with = |name: &'static str, token| Presented {
        name,
        token,
        valid: true,
    };
    let scoped = with(
        "scope",
        Some(server.token("ann", &["tests:run"], &[]).await),
    );
    for operation in ["test/echo", "test/scoped"] {
        assert_eq!(by_http(&server, &scoped, operation).await, Served);
    }
    let watching = server.token("bob", &["panpan:watch"], &[]).await;
    for (presented, is_told) in [
        (&scoped, true),
        (&with("no token", None), false),
        (&with("watching", Some(watching)), true),
    ] {
        let metrics = get(&server, presented, "/metrics").await.text();
        assert!(metrics.contains("operation=\"test/echo\""), "{metrics}");
        let found = metrics.contains("test/scoped");
        assert_eq!(found, is_told, "{}: {metrics}", presented.name);
        assert!(metrics.ends_with("# EOF\n"), "{metrics}");
    }
}

/// Operations of two services that are refused after their first failure.
fn failing_operations() -> Registry {
    let eager = CircuitRule::On(CircuitSettings {
        row: 1,
        row_ms: 0,
        ..CircuitSettings::default()
    });
    let mut builder = Registry::builder();
    for (name, upstream, entry, scope) in [
        ("test/broken", "svc", codes::ERR_HTTP_500_SERVER_ERROR, None),
        (
            "test/guarded",
            "svc",
            codes::ERR_HTTP_500_SERVER_ERROR,
            Some("tests:run"),
        ),
        (
            "test/away",
            "away",
            codes::ERR_CONNECTION_REFUSED,
            Some("tests:run"),
        ),
    ] {
        let mut spec = OperationSpec::new(name.parse().unwrap(), OperationType::Query);
        spec.circuit = Some(eager);
        spec.retry = Some(RetryPolicy::NEVER);
        spec.access_control.required_scopes = scope.into_iter().map(str::to_owned).collect();
        let fail = move |_: Context, _: Arc<Value>| {
            std::future::ready(Err::<Value, _>(Failure::new(entry)))
        };
        let upstream = Arc::new(Upstream::new(upstream, eager, BudgetSettings::default()));
        builder = builder.add(Registration::new(spec, fail).behind(upstream));
    }
    builder.build().unwrap()
}

#[tokio::test]
async fn open_circuits_are_told_of_what_one_may_call_and_of_all_to_those_who_watch() {
    let server = Server::start().await;
    server.gateway.dispatcher().replace(failing_operations());
    let with = |name: &'static str, token| Presented {
        name,
        token,
        valid: true,
    };
    let scoped = Some(server.token("ann", &["tests:run"], &[]).await);
    let watching = Some(server.token("bob", &["panpan:watch"], &[]).await);
    let (nobody, scoped) = (with("no token", None), with("scope", scoped));
    let watching = with("watching", watching);
    let open = |circuit: &str, upstream: &str, operation: &str| {
        format!(
            "panpan_circuit_open{{circuit=\"{circuit}\",upstream=\"{upstream}\",\
             operation=\"{operation}\",state=\"open\"}} 1\n"
        )
    };
    let broken = open("operation", "svc", "test/broken");
    let guarded = open("operation", "svc", "test/guarded");
    let away = open("host", "away", "");
    let before = get(&server, &watching, "/metrics").await.text();
    assert!(!before.contains("panpan_circuit_open{"), "{before}");
    for operation in ["test/broken", "test/guarded", "test/away"] {
        let body = json!({"operation": operation, "input": {}});
        post(&server, &scoped, "/call", &[], &body).await;
    }
    for (presented, sees_all) in [(&nobody, false), (&scoped, true), (&watching, true)] {
        let metrics = get(&server, presented, "/metrics").await.text();
        for (line, is_told) in [(&broken, true), (&guarded, sees_all), (&away, sees_all)] {
            let name = presented.name;
            assert_eq!(metrics.contains(line), is_told, "{name}: {metrics}");
        }
        assert_eq!(metrics.matches("# EOF\n").count(), 1, "{metrics}");
        assert!(metrics.ends_with("# EOF\n"), "{metrics}");
    }
}

const ANYONE: Presented = Presented {
    name: "no token",
    token: None,
    valid: true,
};

/// An answer without ids, times and the name that was asked for.
fn masked(answer: &Response, name: &str) -> (u16, String) {
    let text = answer
        .text()
        .replace(name, "NAME")
        .replace(&name.replace('/', "__"), "NAME");
    let hex = |it: char| it.is_ascii_hexdigit() || it == '-';
    let text = text.replace("urn:uuid:", "\"");
    let words = text.split('"').map(|word| match word.len() {
        36 if word.chars().all(hex) => "ID",
        20..=24 if word.ends_with('Z') => "TIME",
        _ => word,
    });
    (answer.status, words.collect::<Vec<_>>().join("\""))
}

/// What everyone is answered who calls a name, in every way that one answer comes back.
async fn called(server: &Server, name: &str, input: Value) -> Vec<Response> {
    let path = format!("/operations/{name}");
    let call = json!({"operation": name, "input": input});
    let rpc = json!({"jsonrpc": "2.0", "id": 1, "method": name, "params": input});
    let tool = json!({"name": name.replace('/', "__"), "arguments": input});
    let events = [("accept", "text/event-stream")];
    vec![
        post(server, &ANYONE, "/call", &[], &call).await,
        post(server, &ANYONE, &path, &[], &input).await,
        post(server, &ANYONE, &path, &events, &input).await,
        post(server, &ANYONE, "/subscribe", &[], &call).await,
        post(server, &ANYONE, "/batch", &[], &json!([call])).await,
        post(server, &ANYONE, "/rpc", &[], &rpc).await,
        mcp(server, &ANYONE, "tools/call", tool).await,
    ]
}

#[tokio::test]
async fn what_is_internal_cannot_be_told_from_what_is_absent() {
    let server = Server::start().await;
    let told = async |name: &str| {
        let mut answers = called(&server, name, json!({})).await;
        answers.push(get(&server, &ANYONE, &format!("/schema?name={name}")).await);
        let answers = answers.iter().map(|answer| masked(answer, name));
        answers.collect::<Vec<_>>()
    };
    // As long as the internal one, and as far from every other name.
    assert_eq!(told("test/hidden").await, told("test/hiddex").await);
    assert_eq!(told("test/hushed").await, told("test/hushex").await);
    let metrics = get(&server, &ANYONE, "/metrics").await.text();
    assert!(!metrics.contains("test/hid"), "{metrics}");
}

/// That it is there is said to whoever names it, with what is needed to call it; nothing else about it is.
#[tokio::test]
async fn what_may_not_be_called_is_forbidden_in_every_way_and_described_in_none() {
    let server = Server::start().await;
    for name in ["test/scoped", "test/granted"] {
        for input in [json!({}), json!({"text": {"not": "a text"}, "more": 1})] {
            for (at, answer) in called(&server, name, input).await.iter().enumerate() {
                let text = answer.text();
                assert!(text.contains("FORBIDDEN"), "{name}, answer {at}: {text}");
                let is_described = text.contains("schema") || text.contains("violations");
                assert!(!is_described, "{name}, answer {at}: {text}");
            }
        }
        let schema = get(&server, &ANYONE, &format!("/schema?name={name}")).await;
        let absent = get(&server, &ANYONE, "/schema?name=test/zzzzzz").await;
        assert_eq!(masked(&schema, name), masked(&absent, "test/zzzzzz"));
        // A name that is nearly this one does not lead to it.
        let near = &name[..name.len() - 1];
        for answer in called(&server, near, json!({})).await {
            let text = answer.text().replace("__", "/");
            assert!(!text.contains(name), "{text}");
        }
    }
}

#[tokio::test]
async fn where_everyone_has_to_be_known_nothing_is_told_to_others() {
    let server = Server::with(shared::Setting {
        anonymous: panpan_surfaces::Anonymous::Refused,
        ..shared::Setting::default()
    })
    .await;
    let nobody = Presented {
        name: "no token",
        token: None,
        valid: false,
    };
    for path in [
        "/search",
        "/schema?name=test/echo",
        "/openapi.json",
        "/contract.json",
        "/metrics",
    ] {
        assert_eq!(get(&server, &nobody, path).await.status, 401, "{path}");
    }
    for operation in OPERATIONS {
        assert_eq!(by_http(&server, &nobody, operation).await, Unknown);
        assert_eq!(by_jsonrpc(&server, &nobody, operation).await, Unknown);
        assert_eq!(by_mcp(&server, &nobody, operation).await, Unknown);
        assert_eq!(by_websocket(&server, &nobody, operation).await, Unknown);
    }
    for path in ["/healthz", "/readyz", "/errors/FORBIDDEN"] {
        assert_eq!(get(&server, &nobody, path).await.status, 200, "{path}");
    }
    let known = Presented {
        name: "scope",
        token: Some(server.token("ann", &[], &[]).await),
        valid: true,
    };
    assert_eq!(by_http(&server, &known, "test/echo").await, Served);
}

#[tokio::test]
async fn a_token_that_is_revoked_stops_to_count_on_a_connection_that_is_open() {
    let server = Server::start().await;
    let token = server.token("ann", &["tests:run"], &[]).await;
    let mut socket = Socket::open(&server, Some(&token))
        .await
        .unwrap_or_else(|it| panic!("{it}"));
    let payload = json!({"operationId": "/test/scoped", "input": {}});
    socket.ask("1", payload.clone()).await;
    assert_eq!(socket.next().await["type"], json!("call.responded"));
    server.tokens.revoke("ann").await.unwrap();
    socket.ask("2", payload).await;
    let refused = socket.next().await;
    assert_eq!(verdict_of(&refused["payload"]), Unknown);
}

#[tokio::test]
async fn a_session_whose_token_is_revoked_hears_nothing_more() {
    let server = Server::start().await;
    let shelf = Shelf::default();
    let listeners = shelf.1.clone();
    server.gateway.lend(Arc::new(shelf));
    let token = server.token("ann", &[], &[]).await;
    let bearer = format!("Bearer {token}");
    let headers = |session: &str| {
        let own = [
            ("authorization", bearer.clone()),
            ("accept", "application/json, text/event-stream".to_owned()),
            ("content-type", "application/json".to_owned()),
        ];
        let session = (!session.is_empty()).then(|| ("mcp-session-id", session.to_owned()));
        own.into_iter().chain(session).collect::<Vec<_>>()
    };
    let sent = async |session: &str, message: Value| {
        let headers = headers(session);
        let headers: Vec<_> = headers
            .iter()
            .map(|(name, it)| (*name, it.as_str()))
            .collect();
        server.post("/mcp", &headers, &message.to_string()).await
    };
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}});
    let begun = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let begun = sent("", begun).await;
    let session = begun.header("mcp-session-id").unwrap().to_owned();
    sent(
        &session,
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    )
    .await;
    let mut head = "GET /mcp HTTP/1.1\r\nhost: localhost\r\n".to_owned();
    for (name, value) in headers(&session) {
        head += &format!("{name}: {value}\r\n");
    }
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream
        .write_all(format!("{head}\r\n").as_bytes())
        .await
        .unwrap();
    let mut heard = String::new();
    let mut hears = async |word: &str, patience: Duration| {
        let reading = async {
            while !heard.contains(word) {
                let mut bytes = [0; 4096];
                let length = stream.read(&mut bytes).await.unwrap();
                assert!(length > 0, "the stream ended: {heard}");
                heard += &String::from_utf8_lossy(&bytes[..length]);
            }
        };
        tokio::time::timeout(patience, reading).await.is_ok()
    };
    assert!(hears("200 OK", PATIENCE).await);
    let say = async |word: &str| {
        let line = Notice::Logged(json!({"level": "error", "data": word}));
        // A client attends once its notice that it is ready was taken in.
        while listeners.lock().unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        listeners.lock().unwrap()[0].hear(line);
    };
    say("before it is revoked").await;
    assert!(hears("before it is revoked", PATIENCE).await);
    server.tokens.revoke("ann").await.unwrap();
    say("after it was revoked").await;
    assert!(!hears("after it was revoked", Duration::from_millis(300)).await);
}

#[tokio::test]
async fn a_token_within_a_call_counts_for_that_call_alone_and_only_if_it_is_valid() {
    let server = Server::start().await;
    let token = server.token("ann", &["tests:run"], &[]).await;
    let mut socket = Socket::open(&server, None)
        .await
        .unwrap_or_else(|it| panic!("{it}"));
    for (operation, presented, verdict) in [
        ("test/scoped", Some(token.as_str()), Served),
        ("test/scoped", None, Unknown),
        ("test/scoped", Some("panpan_nobody"), Unknown),
        ("test/echo", Some("panpan_nobody"), Served),
    ] {
        let mut payload = json!({"operationId": operation, "input": {}});
        if let Some(presented) = presented {
            payload["auth_token"] = json!(presented);
        }
        socket.ask("1", payload).await;
        let answer = socket.next().await;
        let found = match answer["type"].as_str() {
            Some("call.responded") => Served,
            _ => verdict_of(&answer["payload"]),
        };
        assert_eq!(found, verdict, "{operation} {presented:?}");
    }
}
