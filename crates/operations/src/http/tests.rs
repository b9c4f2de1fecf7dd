//! `http/call`, called through a dispatcher, against scripted servers.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use panpan_contract::{digest, hex};
use panpan_failure::{Effect, Redacted};
use panpan_runtime::{CallRequest, Dispatcher, IdempotencyKey, Registry};
use panpan_testkit::{TestDispatcher, Then, http_response};
use panpan_upstream::{Allowed, Client, ClientSettings, Lookup, LookupFuture};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Resolves no name.
struct NoNames;

impl Lookup for NoNames {
    fn lookup(&self, _: String) -> LookupFuture {
        let unknown = Err(io::ErrorKind::NotFound.into());
        Box::pin(std::future::ready(unknown))
    }
}

fn dispatcher() -> TestDispatcher {
    let client = Client::new(ClientSettings {
        allowed: Allowed::parse(["127.0.0.1"]).unwrap(),
        lookup: Arc::new(NoNames),
        ..ClientSettings::default()
    });
    panpan_testkit::dispatcher(super::http_call(Registry::builder(), client.unwrap()))
}

async fn call(input: Value) -> Result<Value, Redacted> {
    let TestDispatcher {
        dispatcher, notes, ..
    } = dispatcher();
    let answer = dispatch(&dispatcher, input).await;
    assert_eq!(notes.causes(), [""; 0]);
    answer
}

async fn dispatch(dispatcher: &Dispatcher, input: Value) -> Result<Value, Redacted> {
    let request = CallRequest::from_wire("http/call", input);
    dispatcher.dispatch(request).await.into_value()
}

/// A server that sends each of these responses on its own connection, then closes; returns the requests.
async fn server<R>(responses: Vec<R>) -> (String, JoinHandle<Vec<String>>)
where
    R: AsRef<[u8]> + Send + Sync + 'static,
{
    let responses = responses.into_iter().map(|it| (it, Then::Closes));
    let (url, requests) = panpan_testkit::server(responses.collect()).await;
    (format!("{url}/a"), requests)
}

fn http(status: u16, headers: &str, body: &str) -> String {
    http_response(&format!("{status} Said"), headers, body)
}

/// A response whose body is not UTF-8.
fn encoded(status: u16, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = format!("{headers}content-length: {}\r\n", body.len());
    let head = http(status, &length, "").replace("content-length: 0\r\n", "");
    [head.as_bytes(), body].concat()
}

/// A call without retries.
fn once(method: &str, url: &str) -> Value {
    json!({"method": method, "url": url, "retry": {"max_retries": 0}})
}

#[tokio::test]
async fn a_call_without_a_method_is_a_get_and_needs_no_key() {
    let (url, served) = server(vec![http(200, "", "")]).await;
    let output = call(json!({"url": url})).await.unwrap();
    assert_eq!(output["status_code"], 200);
    let request = served.await.unwrap().remove(0);
    assert!(request.starts_with("GET /a HTTP/1.1\r\n"), "{request}");
}

#[tokio::test]
async fn the_output_describes_the_whole_response() {
    let response = http(
        201,
        "content-type: application/json\r\nx-a: 1\r\nx-a: 2\r\n",
        r#"{"a": 1}"#,
    );
    let (url, served) = server(vec![response]).await;
    let output = call(json!({
        "method": "PUT",
        "url": url,
        "query": {"q": "x y"},
        "headers": {"X-Mine": "1"},
        "body": {"b": 2},
    }))
    .await
    .unwrap();
    assert_eq!(output["status_code"], 201);
    assert_eq!(output["body"], json!({"a": 1}));
    assert_eq!(output["body_type"], "json");
    assert_eq!(output["headers"]["x-a"], "1, 2");
    // The SHA-256 of the eight bytes of the body.
    let hash = "f9d86028c6e0d64e225186f96acb69338b2c59764df79162107f5c4bb34d1310";
    assert_eq!(output["body_hash"], hash);
    let hash = hex(&digest(&output["headers"]));
    assert_eq!(output["headers_hash"], hash);
    assert_eq!(output["retries"], 0);
    assert!(output["latency_ms"].is_u64());
    let request = served.await.unwrap().remove(0);
    assert!(
        request.starts_with("PUT /a?q=x+y HTTP/1.1\r\n"),
        "{request}"
    );
    assert!(request.contains("x-mine: 1\r\n") && request.ends_with("{\"b\":2}"));
}

#[tokio::test]
async fn a_body_that_is_not_json_is_returned_as_text() {
    for (headers, body, body_type, expected) in [
        (
            "content-type: application/problem+json\r\n",
            "[1]",
            "json",
            json!([1]),
        ),
        (
            "content-type: application/json\r\n",
            "{oops",
            "text",
            json!("{oops"),
        ),
        ("content-type: text/html\r\n", "{}", "text", json!("{}")),
        ("", "", "none", Value::Null),
    ] {
        let (url, _) = server(vec![http(200, headers, body)]).await;
        let output = call(once("GET", &url)).await.unwrap();
        assert_eq!(output["body_type"], body_type, "{body}");
        assert_eq!(output["body"], expected);
    }
}

#[tokio::test]
async fn every_status_has_its_code() {
    for (status, code) in [
        (400, "ERR_HTTP_400_BAD_REQUEST"),
        (401, "ERR_HTTP_401_UNAUTHORIZED"),
        (403, "ERR_HTTP_403_FORBIDDEN"),
        (404, "ERR_HTTP_404_NOT_FOUND"),
        (408, "ERR_HTTP_408_TIMEOUT"),
        (409, "ERR_HTTP_409_CONFLICT"),
        (418, "ERR_HTTP_418"),
        (422, "ERR_HTTP_422_UNPROCESSABLE"),
        (429, "ERR_HTTP_429_RATE_LIMITED"),
        (500, "ERR_HTTP_500_SERVER_ERROR"),
        (502, "ERR_HTTP_502_BAD_GATEWAY"),
        (503, "ERR_HTTP_503_UNAVAILABLE"),
        (504, "ERR_HTTP_504_GATEWAY_TIMEOUT"),
        (599, "ERR_HTTP_599"),
    ] {
        // A 4xx response with Retry-After has another code.
        let is_final = (400..429).contains(&status) && status != 408;
        let headers = if is_final { "" } else { "retry-after: 7\r\n" };
        let (url, _) = server(vec![http(status, headers, "said")]).await;
        let failure = call(once("GET", &format!("{url}?token=hunter2"))).await;
        let failure = failure.unwrap_err();
        assert_eq!(failure.code().as_str(), code);
        let upstream = failure.upstream().unwrap();
        assert_eq!(upstream.status, Some(status));
        assert_eq!(upstream.excerpt.as_deref(), Some("said"));
        let details = failure.details().unwrap();
        assert_eq!(details["url"], url);
        assert_eq!(details["upstream_status"], status);
        assert_eq!(details["upstream_body"], "said");
        if failure.retryable() {
            assert_eq!(failure.recovery().retry_after_ms, Some(7000), "{status}");
        }
    }
}

#[tokio::test]
async fn a_failed_safe_request_has_no_effect() {
    for (method, effect) in [
        ("GET", Effect::None),
        ("OPTIONS", Effect::None),
        ("PUT", Effect::Unknown),
    ] {
        let (url, _) = server(vec![http(500, "", "said")]).await;
        let failure = call(once(method, &url)).await.unwrap_err();
        assert_eq!(failure.effect(), effect, "{method}");
    }
}

#[tokio::test]
async fn every_transport_failure_has_its_code() {
    let refusing = panpan_testkit::refusing_url();
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent_url = format!("http://{}/", silent.local_addr().unwrap());
    let (cut, _) = server(vec![String::new()]).await;
    let (plain, _) = server(vec![http(200, "", "")]).await;
    for (url, code) in [
        (refusing, "ERR_CONNECTION_REFUSED"),
        (silent_url, "ERR_TIMEOUT"),
        ("http://nowhere.example/".to_owned(), "ERR_DNS_FAILURE"),
        (plain.replace("http:", "https:"), "ERR_SSL_ERROR"),
        (cut, "ERR_SOCKET_ERROR"),
    ] {
        let mut input = once("GET", &url);
        if code == "ERR_TIMEOUT" {
            input["timeout_ms"] = json!(200);
        }
        let failure = call(input).await.unwrap_err();
        assert_eq!(failure.code().as_str(), code, "{failure:?}");
        assert_eq!(failure.effect(), Effect::None, "{code}");
        let timeout_ms = failure.details().unwrap().get("timeout_ms");
        assert_eq!(timeout_ms.is_some(), code == "ERR_TIMEOUT", "{code}");
        for cause in failure.causes() {
            let message = cause.message.to_lowercase();
            let internals = [
                "hyper",
                "rustls",
                "tokio",
                "os error",
                "client error (",
                "tcp",
                "error trying",
            ];
            assert!(
                internals.iter().all(|it| !message.contains(it)),
                "{code}: {message}"
            );
        }
    }
}

#[tokio::test]
async fn the_excerpt_of_a_body_is_limited_and_ends_before_a_truncated_token() {
    let quoted = async |body: String| {
        let (url, _) = server(vec![http(404, "", &body)]).await;
        let failure = call(once("GET", &url)).await.unwrap_err();
        failure.details().unwrap()["upstream_body"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(quoted("é ".repeat(500)).await.chars().count(), 999);
    let items: Vec<String> = (0..500).map(|it| format!("item-{it}")).collect();
    for minified in [
        json!({"error": {"message": "quota", "items": items}}).to_string(),
        format!(
            "<items><item>{}</item></items>",
            items.join("</item><item>")
        ),
        items.join(","),
    ] {
        let kept = quoted(minified).await.chars().count();
        assert!((980..=1001).contains(&kept), "{kept}");
    }
    let run = quoted("z".repeat(1001)).await;
    assert!(run.len() > 700, "{run}");
    let cut = quoted(format!("{} sk-live-abcdefghijklmnop", "a ".repeat(495))).await;
    assert!(!cut.contains("sk-live"), "{cut}");
    let secret = quoted("password=hunter2secret".to_owned()).await;
    assert!(!secret.contains("hunter2secret"), "{secret}");
}

#[tokio::test]
async fn a_body_is_decoded_by_its_charset() {
    let utf16 =
        |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    let wide = "content-type: application/json; charset=utf-16le\r\n";
    let narrow = "content-type: text/plain; charset=iso-8859-1\r\n";
    for (headers, body, body_type, expected) in [
        (wide, utf16(r#"{"a": 1}"#), "json", json!({"a": 1})),
        (wide, utf16("a"), "text", json!("a")),
        (narrow, b"caf\xe9".to_vec(), "text", json!("café")),
        ("", b"caf\xe9".to_vec(), "base64", json!("Y2Fm6Q==")),
    ] {
        let (url, _) = server(vec![encoded(200, headers, &body)]).await;
        let output = call(once("GET", &url)).await.unwrap();
        assert_eq!(
            (&output["body_type"], &output["body"]),
            (&json!(body_type), &expected)
        );
    }
    let body = utf16("the password=hunter2secret is wrong");
    let (url, _) = server(vec![encoded(404, wide, &body)]).await;
    let failure = call(once("GET", &url)).await.unwrap_err();
    let excerpt = failure.details().unwrap()["upstream_body"].to_string();
    let is_readable = excerpt.contains("password") && !excerpt.contains("\\u0000");
    assert!(
        is_readable && !excerpt.contains("hunter2secret"),
        "{excerpt}"
    );
    let gzip = "content-encoding: gzip\r\n";
    let (url, _) = server(vec![encoded(404, gzip, &[0x1f, 0x8b, 8, 0])]).await;
    let failure = call(once("GET", &url)).await.unwrap_err();
    assert_eq!(failure.details().unwrap().get("upstream_body"), None);
}

#[tokio::test]
async fn forbidden_addresses_are_blocked() {
    let forbidden = include_str!("../../../upstream/tests/data/blocked-urls.json");
    let forbidden: BTreeMap<String, String> = serde_json::from_str(forbidden).unwrap();
    let TestDispatcher { dispatcher, .. } = dispatcher();
    for (form, reason) in forbidden {
        if reason == "loopback" || form.contains("@127.0.0.1") {
            continue; // The test client allows loopback.
        }
        let failure = dispatch(&dispatcher, once("PUT", &form)).await.unwrap_err();
        assert_eq!(failure.code().as_str(), "ERR_BLOCKED_HOST", "{form}");
        assert_eq!(failure.details().unwrap()["reason"], reason, "{form}");
    }
}

#[tokio::test]
async fn methods_that_are_not_idempotent_need_a_key() {
    for (method, needs) in [
        ("GET", false),
        ("HEAD", false),
        ("OPTIONS", false),
        ("PUT", false),
        ("POST", true),
        ("PATCH", true),
        ("DELETE", true),
    ] {
        let (url, served) = server(vec![http(200, "", "")]).await;
        let answer = call(once(method, &url)).await;
        if needs {
            let code = answer.unwrap_err().code().to_string();
            assert_eq!(code, "ERR_MISSING_IDEMPOTENCY_KEY", "{method}");
            assert!(!served.is_finished());
        } else {
            assert_eq!(answer.unwrap()["status_code"], 200, "{method}");
        }
    }
}

#[tokio::test]
async fn a_key_of_the_call_and_a_key_in_the_input_are_the_same() {
    let TestDispatcher { dispatcher, .. } = dispatcher();
    let (url, served) = server(vec![http(200, "", "done")]).await;
    let with_key = |key: &str| {
        let mut input = once("POST", &url);
        input["idempotency_key"] = json!(key);
        input
    };
    let key = || IdempotencyKey::new("order-7").unwrap();
    for request in [
        CallRequest::from_wire("http/call", with_key("order-7")),
        CallRequest::from_wire("/http/call", with_key("order-7")),
        CallRequest::from_wire("http/call", with_key("order-7")).keyed(key()),
        CallRequest::from_wire("http/call", once("POST", &url)).keyed(key()),
    ] {
        let output = dispatcher.dispatch(request).await.into_value().unwrap();
        assert_eq!(output["body"], "done");
    }
    let requests = served.await.unwrap();
    assert_eq!(requests.len(), 1);
    let sent = requests[0].split("idempotency-key: ").nth(1).unwrap();
    assert!(
        !sent.starts_with("order-7"),
        "the key of the caller is not sent"
    );
    for (input, reason) in [
        (
            with_key("order-8"),
            "the call already has a different idempotency key",
        ),
        (
            with_key(""),
            "the idempotency key is empty; omit it, or give it a value",
        ),
    ] {
        let request = CallRequest::from_wire("http/call", input).keyed(key());
        let failure = dispatcher.dispatch(request).await.into_value().unwrap_err();
        assert_eq!(failure.code().as_str(), "INVALID_INPUT", "{reason}");
        assert_eq!(failure.violations()[0].pointer, "/idempotency_key");
        assert_eq!(failure.violations()[0].reason, reason);
    }
}

#[tokio::test]
async fn a_key_header_in_the_input_has_to_match_the_key_of_the_call() {
    for (header, key, is_refused) in [
        ("zz", Some("h3"), true),
        ("\"zz\"", Some("h3"), true),
        ("h3", Some("h3"), false),
        ("\"h3\"", Some("h3"), false),
        ("h3", None, false),
    ] {
        let (url, served) = server(vec![http(200, "", "done")]).await;
        let mut input = once("POST", &url);
        input["headers"] = json!({"Idempotency-Key": header});
        match key {
            Some(key) => input["idempotency_key"] = json!(key),
            None => drop(input.as_object_mut().unwrap().remove("idempotency_key")),
        }
        match call(input).await {
            Ok(_) => assert!(!is_refused, "{header}"),
            Err(failure) => {
                assert!(is_refused && !served.is_finished(), "{header}: {failure:?}");
                assert_eq!(failure.code().as_str(), "INVALID_INPUT");
                assert_eq!(failure.violations()[0].pointer, "/headers/Idempotency-Key");
                assert_eq!(failure.effect(), Effect::None);
            }
        }
    }
}

/// A connection that is closed without a response.
fn lost() -> String {
    String::new()
}

#[tokio::test]
async fn a_keyed_write_is_retried_with_the_same_key() {
    for first in [lost(), http(500, "", "")] {
        let (url, served) = server(vec![first, http(200, "", "done")]).await;
        let mut input = json!({"method": "POST", "url": url, "body": "x", "idempotency_key": "k"});
        input["retry"] = json!({"max_retries": 5, "initial_delay_ms": 0});
        let output = call(input).await.unwrap();
        assert_eq!(output["body"], "done");
        let requests = served.await.unwrap();
        let key = |it: &String| it.split("idempotency-key: ").nth(1).map(str::to_owned);
        let keys: Vec<_> = requests.iter().map(key).collect();
        assert!(keys[0].is_some() && keys[0] == keys[1], "{requests:?}");
    }
}

#[tokio::test]
async fn a_keyed_write_without_a_response_may_be_repeated_with_its_key() {
    let (url, served) = server(vec![lost(), lost()]).await;
    let mut input = json!({"method": "POST", "url": url, "body": "x", "idempotency_key": "k"});
    input["retry"] = json!({"max_retries": 1, "initial_delay_ms": 0});
    let failure = call(input).await.unwrap_err();
    assert_eq!(failure.code().as_str(), "ERR_SOCKET_ERROR");
    assert_eq!(failure.effect(), Effect::Unknown);
    assert!(failure.may_repeat());
    assert_eq!(served.await.unwrap().len(), 2);
}

#[tokio::test]
async fn retries_follow_the_settings_of_the_call() {
    let busy = || http(503, "", "");
    let answers = vec![busy(), busy(), http(200, "", "at last")];
    let retry = json!({"max_retries": 2, "initial_delay_ms": 1, "max_delay_ms": 2, "seed": 7});
    let (url, _) = server(answers).await;
    let output = call(json!({"method": "GET", "url": url, "retry": retry}));
    let output = output.await.unwrap();
    assert_eq!(
        (&output["retries"], &output["body"]),
        (&json!(2), &json!("at last"))
    );
    let (url, served) = server(vec![busy(), busy(), busy()]).await;
    let failure = call(json!({"method": "GET", "url": url, "retry": retry})).await;
    let failure = failure.unwrap_err();
    assert_eq!(failure.code().as_str(), "ERR_HTTP_503_UNAVAILABLE");
    assert_eq!(failure.attempts(), Some(3));
    assert_eq!(served.await.unwrap().len(), 3);
}

#[tokio::test]
async fn a_server_that_forbids_retries_is_not_retried() {
    let (url, served) = server(vec![http(503, "x-should-retry: false\r\n", "")]).await;
    let failure = call(json!({"method": "GET", "url": url}))
        .await
        .unwrap_err();
    assert_eq!(failure.code().as_str(), "ERR_HTTP_503_UNAVAILABLE");
    assert!(failure.retryable() && !failure.may_repeat());
    assert_eq!(served.await.unwrap().len(), 1);
}

fn long_url(length: usize) -> Value {
    let url = "http://10.0.0.1/";
    format!("{url}{}", "a".repeat(length - url.len())).into()
}

fn many_headers(count: usize) -> Value {
    let headers = (0..count).map(|index| (format!("x-{index}"), json!("a")));
    Value::Object(headers.collect())
}

#[tokio::test]
async fn values_beyond_their_limits_are_refused() {
    let invalid = async |member: &str, value: Value| {
        let mut input = once("GET", "http://10.0.0.1/");
        input[member] = value;
        let failure = call(input).await.unwrap_err();
        match failure.code().as_str() {
            "INVALID_INPUT" => true,
            // The input was valid; the guard refused the host.
            "ERR_BLOCKED_HOST" => false,
            other => panic!("{other}"),
        }
    };
    for (member, valid, beyond) in [
        ("url", long_url(8192), long_url(8193)),
        ("headers", many_headers(100), many_headers(101)),
        ("timeout_ms", json!(100), json!(99)),
        ("timeout_ms", json!(300_000), json!(300_001)),
        ("max_redirects", json!(10), json!(11)),
        (
            "retry",
            json!({"max_retries": 10}),
            json!({"max_retries": 11}),
        ),
        (
            "retry",
            json!({"max_delay_ms": 60_000}),
            json!({"max_delay_ms": 60_001}),
        ),
        (
            "retry",
            json!({"initial_delay_ms": 5, "max_delay_ms": 5}),
            json!({"initial_delay_ms": 6, "max_delay_ms": 5}),
        ),
        ("retry", json!({"seed": -1}), json!({"seed": "a"})),
        ("method", json!("OPTIONS"), json!("TRACE")),
        ("query", json!({"a": [1]}), json!({"a": {}})),
    ] {
        assert!(!invalid(member, valid.clone()).await, "{member}: {valid}");
        assert!(invalid(member, beyond.clone()).await, "{member}: {beyond}");
    }
}

#[tokio::test]
async fn protocol_codes_and_unknown_codes_of_an_upstream_are_replaced() {
    let body = r#"{"code": "NOT_FOUND", "message": "no such operation", "retryable": false, "panpan": {}}"#;
    let own = r#"{"code": "OUT_OF_STOCK", "message": "none left", "retryable": false, "panpan": {"category": "CLIENT_ERROR"}}"#;
    let known =
        r#"{"code": "ERR_RESOURCE_BUSY", "message": "held", "retryable": true, "panpan": {}}"#;
    for (status, body, code, original) in [
        (404, body, "ERR_HTTP_404_NOT_FOUND", Some("NOT_FOUND")),
        (409, own, "ERR_HTTP_409_CONFLICT", Some("OUT_OF_STOCK")),
        (503, known, "ERR_RESOURCE_BUSY", None),
    ] {
        let (url, _) = server(vec![http(status, "", body)]).await;
        let failure = call(once("GET", &url)).await.unwrap_err();
        assert_eq!(failure.code().as_str(), code);
        let upstream = failure.upstream().and_then(|it| it.code.as_deref());
        assert_eq!(upstream, original);
    }
}

#[tokio::test]
async fn secrets_of_the_input_are_redacted_in_a_failure() {
    let (url, _) = server(vec![http(500, "", "you sent Bearer hunter2hunter2")]).await;
    let mut input = once("GET", &format!("{url}?api_key=hunter2hunter2"));
    input["headers"] = json!({"Authorization": "Bearer hunter2hunter2"});
    let failure = call(input).await.unwrap_err();
    let all = format!("{failure:?}");
    assert!(!all.contains("hunter2"), "{all}");
}
