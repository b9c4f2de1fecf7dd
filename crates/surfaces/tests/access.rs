//! The access matrix: which caller may call and see which operation, on every surface.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod shared;

use std::sync::Arc;
use std::time::Duration;

use panpan_contract::operation::{OperationSpec, OperationType};
use panpan_contract::retry::RetryRule;
use panpan_failure::dialect::Dialect;
use panpan_failure::{Failure, codes};
use panpan_runtime::retry::{BudgetSettings, CircuitRule, CircuitSettings, UpstreamHealth};
use panpan_runtime::{Context, Registration, Registry, ServiceNotification};
use serde_json::{Value, json};
use shared::library::TestLibrary;
use shared::{Response, Server, TIMEOUT};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The credentials of a caller.
struct Credentials {
    name: &'static str,
    token: Option<String>,
    valid: bool,
}

/// The result of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Served,
    /// NOT_FOUND, as if it did not exist.
    Absent,
    /// FORBIDDEN to an unidentified caller.
    Unknown,
    /// FORBIDDEN to an identified caller.
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

async fn all_credentials(server: &Server) -> Vec<Credentials> {
    let revoked = server.token("rev", &["tests:run"], &["file:read"]).await;
    server.tokens.revoke("rev").await.unwrap();
    let scoped = server.token("ann", &["tests:run"], &[]).await;
    let other_scope = server.token("bob", &["tests:watch"], &["file:write"]).await;
    let granted = server.token("cid", &[], &["file:read"]).await;
    let mut wrong = scoped.clone();
    let last = wrong.pop().unwrap();
    wrong.push(if last == 'a' { 'b' } else { 'a' });
    let of = |name, token, valid| Credentials { name, token, valid };
    vec![
        of("no token", None, true),
        of("wrong token", Some(wrong), false),
        of("malformed token", Some("hello".to_owned()), false),
        of("revoked token", Some(revoked), false),
        of("scope", Some(scoped), true),
        of("other scope, other action", Some(other_scope), true),
        of("grant", Some(granted), true),
    ]
}

/// The expected result for each of the operations.
fn expected(credentials: &Credentials) -> [Verdict; 5] {
    match credentials.name {
        "no token" => [Served, Unknown, Unknown, Absent, Absent],
        "scope" => [Served, Served, Denied, Absent, Absent],
        "grant" => [Served, Denied, Served, Absent, Absent],
        "other scope, other action" => [Served, Denied, Denied, Absent, Absent],
        _ => [Unknown; 5],
    }
}

fn bearer(credentials: &Credentials) -> Vec<(&'static str, String)> {
    let value = credentials
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
    credentials: &Credentials,
    path: &str,
    more: &[(&str, &str)],
    body: &Value,
) -> Response {
    let bearer = bearer(credentials);
    let mut headers: Vec<(&str, &str)> = bearer
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    headers.extend(more);
    server.post(path, &headers, &body.to_string()).await
}

async fn get(server: &Server, credentials: &Credentials, path: &str) -> Response {
    let bearer = bearer(credentials);
    let headers: Vec<(&str, &str)> = bearer
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    server.get(path, &headers).await
}

/// The verdict of a failure in the dialect `call`.
fn verdict_of(failure: &Value) -> Verdict {
    match failure["code"].as_str() {
        Some("NOT_FOUND") => Absent,
        Some("FORBIDDEN") if failure["details"]["authenticated"] == json!(true) => Denied,
        Some("FORBIDDEN") => Unknown,
        other => panic!("{other:?} in {failure}"),
    }
}

async fn by_http(server: &Server, credentials: &Credentials, operation: &str) -> Verdict {
    let body = json!({"operation": operation, "input": {}});
    let answer = post(server, credentials, "/call", &[], &body).await;
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

async fn by_path(server: &Server, credentials: &Credentials, operation: &str) -> Verdict {
    let path = format!("/operations/{operation}?dialect=call");
    let answer = post(server, credentials, &path, &[], &json!({})).await;
    match answer.status {
        200 => Served,
        _ => verdict_of(&answer.json()),
    }
}

async fn by_batch(server: &Server, credentials: &Credentials, operation: &str) -> Verdict {
    let body = json!([{"operation": operation}]);
    let answer = post(server, credentials, "/batch", &[], &body).await.json();
    match (&answer["results"][0], answer.get("code")) {
        (_, Some(_)) => verdict_of(&answer),
        (item, None) if item["result"] == "ok" => Served,
        (item, None) => verdict_of(&item["error"]),
    }
}

async fn by_jsonrpc(server: &Server, credentials: &Credentials, operation: &str) -> Verdict {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": operation});
    let answer = post(server, credentials, "/rpc", &[], &body).await;
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

/// Sends a request of the stateless MCP version.
async fn mcp(
    server: &Server,
    credentials: &Credentials,
    method: &str,
    mut params: Value,
) -> Response {
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
    post(server, credentials, "/mcp", &headers, &body).await
}

async fn by_mcp(server: &Server, credentials: &Credentials, operation: &str) -> Verdict {
    let params = json!({"name": operation.replace('/', "__"), "arguments": {}});
    let answer = mcp(server, credentials, "tools/call", params).await;
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

async fn by_websocket(server: &Server, credentials: &Credentials, operation: &str) -> Verdict {
    let opened = server.socket(credentials.token.as_deref()).await;
    let mut socket = match opened {
        Ok(socket) => socket,
        Err(401) => return Unknown,
        Err(status) => panic!("{status}"),
    };
    let payload = json!({"operationId": format!("/{operation}"), "input": {}});
    socket.request("1", payload).await;
    let answer = socket.next().await;
    match answer["type"].as_str() {
        Some("call.responded") => Served,
        Some("call.error") => verdict_of(&answer["payload"]),
        _ => panic!("{answer}"),
    }
}

#[tokio::test]
async fn a_call_has_the_same_result_on_every_surface() {
    let server = Server::start().await;
    for credentials in all_credentials(&server).await {
        let expected = expected(&credentials);
        for (operation, verdict) in OPERATIONS.into_iter().zip(expected) {
            let context = format!("{} calls {operation}", credentials.name);
            assert_eq!(
                by_http(&server, &credentials, operation).await,
                verdict,
                "/call: {context}"
            );
            assert_eq!(
                by_path(&server, &credentials, operation).await,
                verdict,
                "/operations: {context}"
            );
            assert_eq!(
                by_batch(&server, &credentials, operation).await,
                verdict,
                "/batch: {context}"
            );
            assert_eq!(
                by_jsonrpc(&server, &credentials, operation).await,
                verdict,
                "/rpc: {context}"
            );
            assert_eq!(
                by_websocket(&server, &credentials, operation).await,
                verdict,
                "/ws: {context}"
            );
            assert_eq!(
                by_mcp(&server, &credentials, operation).await,
                verdict,
                "/mcp: {context}"
            );
        }
    }
}

/// The operations that a text names, also as tool names.
fn named(text: &str) -> Vec<&'static str> {
    let names = OPERATIONS.into_iter();
    names
        .filter(|name| text.contains(name) || text.contains(&name.replace('/', "__")))
        .collect()
}

#[tokio::test]
async fn every_listing_has_only_the_operations_that_the_caller_may_call() {
    let server = Server::start().await;
    for credentials in all_credentials(&server).await {
        let verdicts = OPERATIONS.into_iter().zip(expected(&credentials));
        let callable: Vec<&str> = verdicts
            .filter(|(_, it)| *it == Served)
            .map(|(name, _)| name)
            .collect();
        let rpc = json!({"jsonrpc": "2.0", "id": 1, "method": "services/list"});
        let answers = [
            get(&server, &credentials, "/search").await,
            get(&server, &credentials, "/search?query=test").await,
            get(&server, &credentials, "/openapi.json").await,
            get(&server, &credentials, "/contract.json").await,
            post(&server, &credentials, "/rpc", &[], &rpc).await,
            post(
                &server,
                &credentials,
                "/operations/services/list",
                &[],
                &json!({}),
            )
            .await,
            mcp(&server, &credentials, "tools/list", json!({})).await,
        ];
        for (at, answer) in answers.into_iter().enumerate() {
            assert_eq!(
                named(&answer.text()),
                callable,
                "{}: answer {at}",
                credentials.name
            );
        }
        for name in OPERATIONS {
            let schema = get(&server, &credentials, &format!("/schema?name={name}")).await;
            let status = match (credentials.valid, callable.contains(&name)) {
                (false, _) => 401,
                (true, true) => 200,
                (true, false) => 404,
            };
            assert_eq!(
                schema.status, status,
                "{} asks for {name}",
                credentials.name
            );
        }
    }
}

/// The result of a request for a resource, prompt or completion.
async fn by_library(
    server: &Server,
    credentials: &Credentials,
    method: &str,
    params: Value,
) -> Verdict {
    let answer = mcp(server, credentials, method, params).await;
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
async fn resources_and_prompts_are_visible_with_their_scope_only() {
    let server = Server::start().await;
    server.gateway.set_library(Arc::new(TestLibrary::default()));
    for credentials in all_credentials(&server).await {
        let [open, scoped, ..] = match expected(&credentials) {
            // Entries that the caller may not see are absent.
            [open, Unknown | Denied, ..] if credentials.valid => [open, Absent],
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
                let found = by_library(&server, &credentials, method, params).await;
                assert_eq!(found, verdict, "{}: {method} {name}", credentials.name);
            }
            for method in ["resources/list", "resources/templates/list", "prompts/list"] {
                let listed = mcp(&server, &credentials, method, json!({})).await.text();
                let is_listed = listed.contains(name);
                assert_eq!(
                    is_listed,
                    verdict == Served,
                    "{}: {method}",
                    credentials.name
                );
            }
        }
    }
}

#[tokio::test]
async fn metrics_cover_callable_operations_and_all_with_the_watch_scope() {
    let server = Server::start().await;
    let with = |name: &'static str, token| Credentials {
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
    for (credentials, is_shown) in [
        (&scoped, true),
        (&with("no token", None), false),
        (&with("watching", Some(watching)), true),
    ] {
        let metrics = get(&server, credentials, "/metrics").await.text();
        assert!(metrics.contains("operation=\"test/echo\""), "{metrics}");
        let found = metrics.contains("test/scoped");
        assert_eq!(found, is_shown, "{}: {metrics}", credentials.name);
        assert!(metrics.ends_with("# EOF\n"), "{metrics}");
    }
}

/// Operations of two services whose circuits open after the first failure.
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
        spec.retry = Some(RetryRule::OFF);
        spec.access_control.required_scopes = scope.into_iter().map(str::to_owned).collect();
        let fail = move |_: Context, _: Arc<Value>| {
            std::future::ready(Err::<Value, _>(Failure::new(entry)))
        };
        let upstream = Arc::new(UpstreamHealth::new(
            upstream,
            eager,
            BudgetSettings::default(),
        ));
        builder = builder.add(Registration::new(spec, fail).behind(upstream));
    }
    builder.build().unwrap()
}

#[tokio::test]
async fn open_circuits_are_shown_for_callable_operations_and_all_with_the_watch_scope() {
    let server = Server::start().await;
    server.gateway.dispatcher().replace(failing_operations());
    let with = |name: &'static str, token| Credentials {
        name,
        token,
        valid: true,
    };
    let scoped = Some(server.token("ann", &["tests:run"], &[]).await);
    let watching = Some(server.token("bob", &["panpan:watch"], &[]).await);
    let (anonymous, scoped) = (with("no token", None), with("scope", scoped));
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
    for (credentials, sees_all) in [(&anonymous, false), (&scoped, true), (&watching, true)] {
        let metrics = get(&server, credentials, "/metrics").await.text();
        for (line, is_shown) in [(&broken, true), (&guarded, sees_all), (&away, sees_all)] {
            let name = credentials.name;
            assert_eq!(metrics.contains(line), is_shown, "{name}: {metrics}");
        }
        assert_eq!(metrics.matches("# EOF\n").count(), 1, "{metrics}");
        assert!(metrics.ends_with("# EOF\n"), "{metrics}");
    }
}

const ANONYMOUS: Credentials = Credentials {
    name: "no token",
    token: None,
    valid: true,
};

/// A response without ids, times and the requested name.
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

/// The responses to an anonymous call of an operation, over every path.
async fn called(server: &Server, name: &str, input: Value) -> Vec<Response> {
    let path = format!("/operations/{name}");
    let call = json!({"operation": name, "input": input});
    let rpc = json!({"jsonrpc": "2.0", "id": 1, "method": name, "params": input});
    let tool = json!({"name": name.replace('/', "__"), "arguments": input});
    let events = [("accept", "text/event-stream")];
    vec![
        post(server, &ANONYMOUS, "/call", &[], &call).await,
        post(server, &ANONYMOUS, &path, &[], &input).await,
        post(server, &ANONYMOUS, &path, &events, &input).await,
        post(server, &ANONYMOUS, "/subscribe", &[], &call).await,
        post(server, &ANONYMOUS, "/batch", &[], &json!([call])).await,
        post(server, &ANONYMOUS, "/rpc", &[], &rpc).await,
        mcp(server, &ANONYMOUS, "tools/call", tool).await,
    ]
}

#[tokio::test]
async fn internal_operations_cannot_be_distinguished_from_absent_ones() {
    let server = Server::start().await;
    let responses = async |name: &str| {
        let mut answers = called(&server, name, json!({})).await;
        answers.push(get(&server, &ANONYMOUS, &format!("/schema?name={name}")).await);
        let answers = answers.iter().map(|answer| masked(answer, name));
        answers.collect::<Vec<_>>()
    };
    // Names of the same length, as far from every other name as the internal ones.
    assert_eq!(
        responses("test/hidden").await,
        responses("test/hiddex").await
    );
    assert_eq!(
        responses("test/hushed").await,
        responses("test/hushex").await
    );
    let metrics = get(&server, &ANONYMOUS, "/metrics").await.text();
    assert!(!metrics.contains("test/hid"), "{metrics}");
}

/// A caller that names a restricted operation learns that it exists and what it requires, nothing else.
#[tokio::test]
async fn restricted_operations_are_forbidden_on_every_path_and_never_described() {
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
        let schema = get(&server, &ANONYMOUS, &format!("/schema?name={name}")).await;
        let absent = get(&server, &ANONYMOUS, "/schema?name=test/zzzzzz").await;
        assert_eq!(masked(&schema, name), masked(&absent, "test/zzzzzz"));
        // A similar name does not suggest it.
        let near = &name[..name.len() - 1];
        for answer in called(&server, near, json!({})).await {
            let text = answer.text().replace("__", "/");
            assert!(!text.contains(name), "{text}");
        }
    }
}

#[tokio::test]
async fn where_tokens_are_required_anonymous_callers_see_nothing() {
    let server = Server::with(shared::Settings {
        anonymous: panpan_surfaces::Anonymous::Refused,
        ..shared::Settings::default()
    })
    .await;
    let anonymous = Credentials {
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
        assert_eq!(get(&server, &anonymous, path).await.status, 401, "{path}");
    }
    for operation in OPERATIONS {
        assert_eq!(by_http(&server, &anonymous, operation).await, Unknown);
        assert_eq!(by_jsonrpc(&server, &anonymous, operation).await, Unknown);
        assert_eq!(by_mcp(&server, &anonymous, operation).await, Unknown);
        assert_eq!(by_websocket(&server, &anonymous, operation).await, Unknown);
    }
    for path in ["/healthz", "/readyz", "/errors/FORBIDDEN"] {
        assert_eq!(get(&server, &anonymous, path).await.status, 200, "{path}");
    }
    let known = Credentials {
        name: "scope",
        token: Some(server.token("ann", &[], &[]).await),
        valid: true,
    };
    assert_eq!(by_http(&server, &known, "test/echo").await, Served);
}

#[tokio::test]
async fn a_revoked_token_is_refused_on_an_open_connection() {
    let server = Server::start().await;
    let token = server.token("ann", &["tests:run"], &[]).await;
    let mut socket = server
        .socket(Some(&token))
        .await
        .unwrap_or_else(|it| panic!("{it}"));
    let payload = json!({"operationId": "/test/scoped", "input": {}});
    socket.request("1", payload.clone()).await;
    assert_eq!(socket.next().await["type"], json!("call.responded"));
    server.tokens.revoke("ann").await.unwrap();
    socket.request("2", payload).await;
    let refused = socket.next().await;
    assert_eq!(verdict_of(&refused["payload"]), Unknown);
}

#[tokio::test]
async fn a_session_with_a_revoked_token_gets_no_more_notifications() {
    let server = Server::start().await;
    let library = TestLibrary::default();
    let listeners = library.1.clone();
    server.gateway.set_library(Arc::new(library));
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
    let send = async |session: &str, message: Value| {
        let headers = headers(session);
        let headers: Vec<_> = headers
            .iter()
            .map(|(name, it)| (*name, it.as_str()))
            .collect();
        server.post("/mcp", &headers, &message.to_string()).await
    };
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}});
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let initialized = send("", initialize).await;
    let session = initialized.header("mcp-session-id").unwrap().to_owned();
    send(
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
    let mut received = String::new();
    let mut receives = async |text: &str, timeout: Duration| {
        let reading = async {
            while !received.contains(text) {
                let mut bytes = [0; 4096];
                let length = stream.read(&mut bytes).await.unwrap();
                assert!(length > 0, "the stream ended: {received}");
                received += &String::from_utf8_lossy(&bytes[..length]);
            }
        };
        tokio::time::timeout(timeout, reading).await.is_ok()
    };
    assert!(receives("200 OK", TIMEOUT).await);
    let log = async |text: &str| {
        let line = ServiceNotification::Log(json!({"level": "error", "data": text}));
        // The client is registered once its initialized notification was handled.
        while listeners.lock().unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        listeners.lock().unwrap()[0].notify(line);
    };
    log("before it is revoked").await;
    assert!(receives("before it is revoked", TIMEOUT).await);
    server.tokens.revoke("ann").await.unwrap();
    log("after it was revoked").await;
    assert!(!receives("after it was revoked", Duration::from_millis(300)).await);
}

#[tokio::test]
async fn a_valid_token_in_a_call_applies_to_that_call_only() {
    let server = Server::start().await;
    let token = server.token("ann", &["tests:run"], &[]).await;
    let mut socket = server
        .socket(None)
        .await
        .unwrap_or_else(|it| panic!("{it}"));
    for (operation, token, verdict) in [
        ("test/scoped", Some(token.as_str()), Served),
        ("test/scoped", None, Unknown),
        ("test/scoped", Some("panpan_nobody"), Unknown),
        ("test/echo", Some("panpan_nobody"), Served),
    ] {
        let mut payload = json!({"operationId": operation, "input": {}});
        if let Some(token) = token {
            payload["auth_token"] = json!(token);
        }
        socket.request("1", payload).await;
        let answer = socket.next().await;
        let found = match answer["type"].as_str() {
            Some("call.responded") => Served,
            _ => verdict_of(&answer["payload"]),
        };
        assert_eq!(found, verdict, "{operation} {token:?}");
    }
}
