//! The HTTP surface: bodies, dialects, statuses, headers, pages.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod shared;

use panpan_failure::dialect::Dialect;
use panpan_runtime::Registry;
use serde_json::json;
use shared::Server;

#[tokio::test]
async fn a_response_has_the_dialect_of_its_path_unless_another_is_requested() {
    let server = Server::start().await;
    let body = r#"{"operation": "/test/echo", "input": {"a": 1}}"#;
    let answer = server.post("/call", &[], body).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.json()["result"], json!("ok"));
    assert_eq!(answer.json()["output"], json!({"a": 1}));
    assert_eq!(
        answer.json()["request_id"].as_str(),
        answer.header("x-request-id")
    );
    for (path, headers, expected) in [
        (
            "/call?dialect=flat",
            &[][..],
            json!({"success": true, "a": 1}),
        ),
        ("/call?dialect=bot", &[], json!({"a": 1})),
        (
            "/call",
            &[("accept", "application/problem+json")],
            json!({"a": 1}),
        ),
    ] {
        assert_eq!(
            server.post(path, headers, body).await.json(),
            expected,
            "{path}"
        );
    }
    let answer = server
        .post("/operations/test/echo", &[], r#"{"a": 1}"#)
        .await;
    assert_eq!((answer.status, answer.json()), (200, json!({"a": 1})));
    let answer = server.post("/operations/test/echo", &[], "").await;
    assert_eq!(answer.json(), json!({}));
}

#[tokio::test]
async fn a_failure_has_its_status_and_headers() {
    let server = Server::start().await;
    for (operation, input, status, code) in [
        ("test/nope", json!({}), 404, "NOT_FOUND"),
        ("test/hidden", json!({}), 404, "NOT_FOUND"),
        ("test/scoped", json!({}), 401, "FORBIDDEN"),
        ("test/typed", json!({"n": "x"}), 422, "INVALID_INPUT"),
        ("test/endless", json!({}), 400, "INVALID_OPERATION_TYPE"),
        (
            "test/fail",
            json!({"code": "ERR_HTTP_404_NOT_FOUND"}),
            404,
            "ERR_HTTP_404_NOT_FOUND",
        ),
        ("test/fail", json!({"code": "panic"}), 500, "INTERNAL"),
    ] {
        let body = json!({"operation": operation, "input": input}).to_string();
        let by_call = server.post("/call", &[], &body).await;
        assert_eq!(
            (by_call.status, by_call.code().as_str()),
            (status, code),
            "{operation}"
        );
        assert_eq!(by_call.header("content-type"), Some("application/json"));
        let id = by_call.json()["panpan"]["id"].clone();
        assert_eq!(id.as_str(), by_call.header("panpan-error-id"));
        let path = format!("/operations/{operation}");
        let by_path = server.post(&path, &[], &input.to_string()).await;
        assert_eq!(
            (by_path.status, by_path.code().as_str()),
            (status, code),
            "{operation}"
        );
        assert_eq!(
            by_path.header("content-type"),
            Some("application/problem+json")
        );
        let page = server
            .get(by_path.json()["type"].as_str().unwrap(), &[])
            .await;
        assert_eq!(page.status, 200, "the type of a problem links to a page");
        assert!(page.text().contains(code));
    }
    let body = r#"{"operation": "test/fail", "input": {"code": "ERR_HTTP_429_RATE_LIMITED"}, "timeout_ms": 500}"#;
    let limited = server.post("/call", &[], body).await;
    assert_eq!(
        (limited.status, limited.header("retry-after")),
        (429, Some("91"))
    );
}

#[tokio::test]
async fn secrets_are_redacted() {
    let server = Server::start().await;
    let body = r#"{"operation": "test/fail", "input": {"code": "ERR_HTTP_404_NOT_FOUND", "password": "hunter2hunter2"}}"#;
    let answer = server.post("/call", &[], body).await.text();
    assert!(
        !answer.contains("sk-live") && !answer.contains("hunter2"),
        "{answer}"
    );
}

#[tokio::test]
async fn every_violation_of_the_input_is_reported() {
    let server = Server::start().await;
    let answer = server
        .post("/operations/test/typed", &[], r#"{"n": "x"}"#)
        .await;
    let violations = answer.json()["errors"].clone();
    let violations = violations
        .as_array()
        .unwrap_or_else(|| panic!("{}", answer.text()));
    let pointers: Vec<&str> = violations
        .iter()
        .filter_map(|it| it["pointer"].as_str())
        .collect();
    assert!(
        pointers.iter().any(|it| it.ends_with("/n"))
            && pointers.iter().any(|it| it.ends_with("/m")),
        "{pointers:?}"
    );
}

#[tokio::test]
async fn invalid_requests_get_a_status_and_a_code() {
    let server = Server::start().await;
    for (path, body, status, code) in [
        ("/call", "", 400, "PARSE_ERROR"),
        ("/call", "{", 400, "PARSE_ERROR"),
        ("/call", "[]", 400, "INVALID_REQUEST"),
        (
            "/call",
            r#"{"operation": "test/echo", "idempotency-key": "k"}"#,
            400,
            "INVALID_REQUEST",
        ),
        ("/call?dialect=nope", "{}", 400, "INVALID_REQUEST"),
        ("/batch", "{}", 400, "INVALID_REQUEST"),
        ("/nowhere", "{}", 404, "NOT_FOUND"),
        ("/healthz", "{}", 405, "INVALID_REQUEST"),
        ("/operations/%ff", "{}", 400, "INVALID_REQUEST"),
    ] {
        let answer = server.post(path, &[], body).await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (status, code),
            "{path} {body}"
        );
    }
    for path in ["/errors/%ff", "/ws"] {
        let answer = server.get(path, &[]).await;
        assert_eq!(answer.code(), "INVALID_REQUEST", "{path}");
        assert_eq!(answer.status, 400, "{path}");
    }
}

#[tokio::test]
async fn a_repeated_key_replays_the_outcome_with_a_header() {
    let server = Server::start().await;
    let body = r#"{"operation": "test/change"}"#;
    server.probe.open_gate();
    let first = server
        .post("/call", &[("idempotency-key", "\"k1\"")], body)
        .await;
    assert_eq!(
        (first.status, first.header("idempotent-replayed")),
        (200, None)
    );
    let again = server
        .post(
            "/call",
            &[],
            r#"{"operation": "test/change", "idempotency_key": "k1"}"#,
        )
        .await;
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(again.json()["output"], first.json()["output"]);
    let other = r#"{"operation": "test/change", "input": {"a": 2}, "idempotency_key": "k1"}"#;
    let reused = server.post("/call", &[], other).await;
    assert_eq!(
        (reused.status, reused.code().as_str()),
        (422, "ERR_IDEMPOTENCY_KEY_REUSED")
    );
    let two = server
        .post("/call", &[("idempotency-key", "k2")], other)
        .await;
    assert_eq!(two.code(), "INVALID_INPUT");
}

#[tokio::test]
async fn batch_results_have_the_order_of_the_calls_and_fail_separately() {
    let server = Server::start().await;
    let body = json!([
        {"operation": "test/echo", "input": {"a": 1}},
        {"operation": "test/nope"},
        7,
        {"operation": "test/echo", "input": {"a": 2}},
    ]);
    let answer = server.post("/batch", &[], &body.to_string()).await;
    let results = answer.json()["results"].clone();
    assert_eq!(answer.status, 200);
    assert_eq!(results[0]["output"], json!({"a": 1}));
    assert_eq!(results[1]["error"]["code"], json!("NOT_FOUND"));
    assert_eq!(results[2]["error"]["code"], json!("INVALID_REQUEST"));
    assert_eq!(results[3]["output"], json!({"a": 2}));
    assert_eq!(
        server.post("/batch", &[], "[]").await.json(),
        json!({"results": []})
    );
}

#[tokio::test]
async fn trace_and_request_id_are_passed_on() {
    let server = Server::start().await;
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let headers = [("traceparent", trace), ("x-request-id", "mine-1")];
    let answer = server
        .post("/call", &headers, r#"{"operation": "test/see"}"#)
        .await;
    assert_eq!(answer.json()["output"]["trace"], json!(trace));
    assert_eq!(answer.header("x-request-id"), Some("mine-1"));
}

#[tokio::test]
async fn foreign_hosts_and_origins_are_refused() {
    let server = Server::start().await;
    let port = server.address.port();
    for (host, origin, status) in [
        ("localhost", None, 200),
        (&*format!("LocalHost:{port}"), None, 200),
        ("127.0.0.1", None, 200),
        ("[::1]:7077", None, 200),
        ("evil.example", None, 403),
        ("localhost.evil.example", None, 403),
        ("127.0.0.1.evil.example:80", None, 403),
        ("localhost", Some("http://localhost"), 200),
        ("localhost", Some("https://localhost"), 403),
        ("localhost", Some("ftp://localhost"), 403),
        ("localhost", Some("http://evil.example"), 403),
        ("localhost", Some("null"), 403),
    ] {
        let mut headers = vec![("host", host)];
        headers.extend(origin.map(|origin| ("origin", origin)));
        let answer = server.request("GET", "/search", &headers, b"").await;
        assert_eq!(answer.status, status, "{host} {origin:?}");
    }
    let without_host = server
        .exchange(b"GET /search HTTP/1.0\r\n\r\n".into())
        .await;
    assert_eq!(without_host.status, 403);
}

#[tokio::test]
async fn an_integer_that_would_be_rounded_is_refused() {
    let server = Server::start().await;
    for (number, is_taken) in [
        ("18446744073709551615", true),
        ("-9223372036854775808", true),
        ("1e300", true),
        ("0.12345678901234567890123", true),
        ("\"18446744073709551617 \\\" 18446744073709551617\"", true),
        ("100000000000000000000", true),
        ("18446744073709551616", true),
        ("18446744073709551617", false),
        ("-9223372036854775809", false),
        ("[1, {\"a\": 123456789012345678901234567890}]", false),
    ] {
        let body = format!(r#"{{"operation": "test/see", "input": {{"number": {number}}}}}"#);
        let answer = server.post("/call", &[], &body).await;
        assert_eq!(
            answer.json()["code"] == json!("INVALID_INPUT"),
            !is_taken,
            "{number}"
        );
        let body = format!(
            r#"{{"jsonrpc": "2.0", "id": 1, "method": "test/see", "params": {{"number": {number}}}}}"#
        );
        let answer = server.post("/rpc", &[], &body).await;
        assert_eq!(
            answer.json()["error"]["code"] == json!(-32602),
            !is_taken,
            "{number}"
        );
    }
}

#[tokio::test]
async fn an_invalid_head_gets_a_problem_response() {
    let server = Server::start().await;
    for head in [
        "GET /search HTTP/9.9\r\n\r\n",
        "GET /search HTTP/1.1\r\nhost localhost\r\n\r\n",
        "\u{1}\u{2}\u{3} nonsense\r\n\r\n",
        "POST /call HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5x\r\n\r\n",
    ] {
        let answer = server.exchange(head.into()).await;
        assert_eq!(answer.status, 400, "{head}");
        assert_eq!(
            answer.json()["type"],
            json!("/errors/INVALID_REQUEST"),
            "{head}"
        );
        assert_eq!(
            answer.header("content-type"),
            Some("application/problem+json")
        );
    }
}

#[tokio::test]
async fn ambiguous_hosts_and_duplicate_headers_are_refused() {
    let server = Server::start().await;
    for (path, headers, status) in [
        ("/healthz", &[("host", "localhost")][..], 200),
        ("http://localhost/healthz", &[("host", "LocalHost")], 200),
        ("http://evil.example/healthz", &[("host", "localhost")], 400),
        ("http://a@localhost/healthz", &[("host", "localhost")], 400),
        (
            "/healthz",
            &[("host", "localhost"), ("host", "localhost")],
            400,
        ),
        ("/healthz", &[("origin", "null"), ("origin", "null")], 400),
        (
            "/healthz",
            &[("authorization", "Bearer a"), ("authorization", "Bearer b")],
            400,
        ),
        (
            "/healthz",
            &[("idempotency-key", "a"), ("idempotency-key", "b")],
            400,
        ),
    ] {
        let answer = server.get(path, headers).await;
        assert_eq!(answer.status, status, "{path} {headers:?}");
        if status != 200 {
            assert_eq!(answer.code(), "INVALID_REQUEST", "{path} {headers:?}");
        }
    }
}

#[tokio::test]
async fn every_response_has_nosniff() {
    let server = Server::start().await;
    for (path, host) in [
        ("/healthz", "localhost"),
        ("/errors/TIMEOUT", "localhost"),
        ("/nowhere", "localhost"),
        ("/search", "evil.example"),
    ] {
        let answer = server.get(path, &[("host", host)]).await;
        let header = answer.header("x-content-type-options");
        assert_eq!(header, Some("nosniff"), "{path} {host}");
    }
}

#[tokio::test]
async fn health_readiness_and_metrics_are_served() {
    let server = Server::start().await;
    assert_eq!(server.get("/healthz", &[]).await.text(), "ok");
    assert_eq!(server.get("/readyz", &[]).await.text(), "ready");
    server
        .post("/call", &[], r#"{"operation": "test/echo"}"#)
        .await;
    server
        .post("/call", &[], r#"{"operation": "made/up"}"#)
        .await;
    let metrics = server.get("/metrics", &[]).await.text();
    for line in [
        r#"panpan_calls_total{surface="http",operation="test/echo",code="OK"} 1"#,
        r#"panpan_calls_total{surface="http",operation="(unknown)",code="NOT_FOUND"} 1"#,
        r#"panpan_call_duration_seconds_count{operation="test/echo"} 1"#,
        "panpan_calls_in_flight 0",
    ] {
        assert!(metrics.contains(line), "{line} is not in\n{metrics}");
    }
    assert!(!metrics.contains("made/up"));
}

#[tokio::test]
async fn operations_are_found_described_and_exported() {
    let server = Server::start().await;
    let found = server.get("/search?query=echo", &[]).await.json();
    assert_eq!(found["operations"][0]["name"], json!("test/echo"));
    let page = server.get("/search?limit=1", &[]).await.json();
    let next = format!("/search?limit=1&after={}", page["next"].as_str().unwrap());
    assert_ne!(server.get(&next, &[]).await.json(), page);
    assert_eq!(
        server.get("/search?q=echo", &[]).await.code(),
        "INVALID_INPUT"
    );
    assert_eq!(
        server.get("/search?limit=0", &[]).await.code(),
        "INVALID_INPUT"
    );
    let contract = server.get("/schema?name=test%2Ftyped", &[]).await.json();
    assert_eq!(contract["input_schema"]["required"], json!(["n", "m"]));
    assert_eq!(server.get("/schema", &[]).await.code(), "INVALID_INPUT");
    assert_eq!(
        server.get("/schema?name=nope", &[]).await.code(),
        "NOT_FOUND"
    );
    let openapi = server.get("/openapi.json", &[]).await.json();
    assert!(openapi["paths"]["/operations/test/echo"].is_object());
    let file = server.get("/contract.json", &[]).await;
    panpan_contract::contract_file::check(&file.body).unwrap();
}

#[tokio::test]
async fn error_pages_have_html_markdown_and_json() {
    let server = Server::start().await;
    let all = server.get("/errors", &[]).await.json();
    assert!(all["errors"].as_array().unwrap().len() > 80);
    let page = |accept| {
        let server = &server;
        async move {
            server
                .get("/errors/ERR_OVERLOADED", &[("accept", accept)])
                .await
        }
    };
    assert_eq!(
        page("application/json").await.json()["http_status"],
        json!(503)
    );
    assert!(page("*/*").await.text().starts_with("# ERR_OVERLOADED"));
    let html = page("text/html").await;
    assert!(html.text().contains("<h1>ERR_OVERLOADED") && html.text().contains("<ol>\n<li>"));
    let unknown = server.get("/errors/ERR_OVERLODED", &[]).await;
    assert_eq!(unknown.status, 404);
    assert_eq!(
        unknown.json()["details"]["nearest"],
        json!(["ERR_OVERLOADED"])
    );
}

#[tokio::test]
async fn a_response_without_reading_the_body_closes_the_connection() {
    let server = Server::start().await;
    let sent = |path: &str| {
        let head =
            format!("POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer x\r\n");
        format!("{head}content-length: 100000\r\n\r\n{{")
    };
    for path in ["/nowhere", "/healthz", "/mcp", "/call?dialect=nope"] {
        let answer = server.exchange(sent(path).into()).await;
        assert_eq!(answer.header("connection"), Some("close"), "{path}");
    }
}

#[tokio::test]
async fn the_status_in_a_problem_equals_the_http_status() {
    let server = Server::start().await;
    for (path, headers, status) in [
        ("/operations/test/scoped", &[][..], 401),
        ("/operations/test/nope", &[], 404),
        ("/healthz", &[], 405),
        ("/nowhere", &[], 404),
        ("/nowhere", &[("host", "evil.example")], 403),
    ] {
        let answer = server.post(path, headers, "{}").await;
        assert_eq!(answer.status, status, "{path}");
        assert_eq!(answer.json()["status"], json!(status), "{path}");
    }
}

#[tokio::test]
async fn a_websocket_request_that_cannot_be_upgraded_says_what_is_allowed() {
    let server = Server::start().await;
    let old = [
        ("connection", "upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "8"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    for answer in [
        server.post("/ws", &[], "{}").await,
        server.get("/ws", &old).await,
    ] {
        assert!(answer.status >= 400, "{answer:?}");
        assert_eq!(answer.header("allow"), Some("GET"), "{answer:?}");
        assert_eq!(
            answer.header("sec-websocket-version"),
            Some("13"),
            "{answer:?}"
        );
    }
}

#[tokio::test]
async fn a_failure_can_be_parsed_from_every_dialect() {
    let server = Server::start().await;
    let body = json!({"operation": "test/typed", "input": {"n": "x"}}).to_string();
    for dialect in Dialect::ALL {
        let path = format!("/call?dialect={dialect}");
        let answer = server.post(&path, &[], &body).await;
        assert_eq!(answer.status, 422, "{dialect}");
        let read = dialect.parse(&answer.body).unwrap().outcome.unwrap_err();
        assert_eq!(read.code().as_str(), "INVALID_INPUT", "{dialect}");
        assert_eq!(read.violations().len(), 2, "{dialect}");
        assert_eq!(read.operation(), Some("test/typed"), "{dialect}");
        let id = read.id().map(|id| id.to_string());
        assert_eq!(id.as_deref(), answer.header("panpan-error-id"), "{dialect}");
    }
}

#[tokio::test]
async fn a_document_is_sent_again_only_after_it_has_changed() {
    let server = Server::start().await;
    let token = server.token("ann", &["tests:run"], &[]).await;
    let bearer = format!("Bearer {token}");
    for path in ["/openapi.json", "/contract.json"] {
        let first = server.get(path, &[]).await;
        let tag = first.header("etag").unwrap().to_owned();
        assert_eq!(first.header("cache-control"), Some("private, no-cache"));
        let again = server.get(path, &[("if-none-match", &tag)]).await;
        assert_eq!((again.status, again.text().as_str()), (304, ""), "{path}");
        assert_eq!(again.header("etag"), Some(tag.as_str()));
        // A caller that may call more operations gets another document.
        let known = [("if-none-match", tag.as_str()), ("authorization", &bearer)];
        assert_eq!(server.get(path, &known).await.status, 200, "{path}");
        server
            .gateway
            .dispatcher()
            .replace(Registry::builder().build().unwrap());
        let other = server.get(path, &[("if-none-match", &tag)]).await;
        assert_eq!(other.status, 200, "{path}");
        assert!(!other.text().contains("test/echo"), "{path}");
        let restored = shared::operations::registry(&server.probe);
        server.gateway.dispatcher().replace(restored);
    }
}
