//! The client for a remote panpan over real sockets: its outcomes, and the failure for everything that goes wrong.

#![allow(clippy::unwrap_used, reason = "a failed setup fails the test")]

mod support;

use std::time::Duration;

use panpan_failure::{Effect, Failure};
use panpan_redact::Secret;
use panpan_upstream::remote::{
    RESPONSE_BYTES_LIMIT, Remote, RemoteCall, RemoteResponse, RemoteSettings,
};
use serde_json::{Value, json};
use support::{Then, http};
use tokio::task::JoinHandle;

const CA: &[u8] = include_bytes!("data/loopback-ca.pem");
const CERTIFICATE: &[u8] = include_bytes!("data/loopback-cert.pem");
const KEY: &[u8] = include_bytes!("data/loopback-key.pem");

/// A server that sends one response; returns its URL, and a task that ends with the requests.
async fn server(response: impl Into<String>, then: Then) -> (String, JoinHandle<Vec<String>>) {
    support::server(vec![(response.into(), then)]).await
}

fn success() -> String {
    let id = "6ba7b810-9dad-41d1-80b4-00c04fd430c8";
    let body = json!({"request_id": id, "result": "ok", "output": {"quotient": 2}});
    http(
        "200 OK",
        "content-type: application/json\r\n",
        &body.to_string(),
    )
}

fn settings(url: &str) -> RemoteSettings {
    RemoteSettings {
        url: url.to_owned(),
        token: None,
        ca: None,
        timeout: Duration::from_secs(30),
    }
}

fn call() -> RemoteCall {
    RemoteCall {
        operation: "demo/divide".to_owned(),
        input: json!({"dividend": 4, "divisor": 2}),
        key: None,
        retry_seed: None,
        timeout_ms: None,
        op_type: None,
    }
}

async fn send(url: &str) -> Result<RemoteResponse, Failure> {
    Remote::new(&settings(url)).unwrap().call(&call()).await
}

/// Calls, and checks the failure that takes the place of a response.
async fn check_failure(url: &str, code: &str, effect: Effect) -> Failure {
    let failure = send(url).await.unwrap_err();
    let found = (failure.code().as_str(), failure.effect());
    assert_eq!(found, (code, effect), "{failure}");
    failure
}

#[tokio::test]
async fn a_call_is_sent_with_all_its_settings() {
    let (url, requests) = server(success(), Then::Closes).await;
    let settings = RemoteSettings {
        token: Some(Secret::new("pp_token".to_owned())),
        ..settings(&format!("{url}/behind/"))
    };
    let call = RemoteCall {
        key: Some("order-7".to_owned()),
        retry_seed: Some(-3),
        timeout_ms: Some(5000),
        ..call()
    };
    let remote = Remote::new(&settings).unwrap();
    assert!(!format!("{remote:?} {settings:?}").contains("pp_token"));
    let response = remote.call(&call).await.unwrap();
    assert_eq!(response.outcome.unwrap(), json!({"quotient": 2}));
    assert!(response.call.is_some() && !response.replayed);
    let request = requests.await.unwrap().remove(0);
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /behind/call HTTP/1.1\r\n"), "{head}");
    for header in [
        "accept: application/json",
        "content-type: application/json",
        "authorization: Bearer pp_token",
    ] {
        assert!(
            head.contains(&format!("\r\n{header}\r\n")),
            "{header}: {head}"
        );
    }
    assert_eq!(
        serde_json::from_str::<Value>(body).unwrap(),
        json!({
            "operation": "demo/divide",
            "input": {"dividend": 4, "divisor": 2},
            "idempotency_key": "order-7",
            "retry_seed": -3,
            "timeout_ms": 5000,
        })
    );
}

#[tokio::test]
async fn absent_settings_are_not_sent() {
    let (url, requests) = server(success(), Then::Closes).await;
    send(&url).await.unwrap();
    let request = requests.await.unwrap().remove(0);
    assert!(!request.to_ascii_lowercase().contains("authorization"));
    let body: Value = serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
    let members: Vec<&String> = body.as_object().unwrap().keys().collect();
    assert_eq!(members, ["input", "operation"]);
}

#[tokio::test]
async fn a_failure_of_the_operation_is_an_outcome() {
    let body = json!({
        "code": "DIVISION_BY_ZERO", "message": "cannot divide 1 by zero", "retryable": false,
        "panpan": {"category": "VALIDATION", "http_status": 422},
    });
    let response = http("422 Unprocessable Content", "", &body.to_string());
    let (url, _) = server(response, Then::Closes).await;
    let failure = send(&url).await.unwrap().outcome.unwrap_err();
    assert_eq!(failure.code().as_str(), "DIVISION_BY_ZERO");
    assert_eq!(failure.message(), "cannot divide 1 by zero");
}

#[tokio::test]
async fn a_replay_is_reported() {
    let response = success().replacen("\r\n", "\r\nIdempotent-Replayed: true\r\n", 1);
    let (url, _) = server(response, Then::Closes).await;
    assert!(send(&url).await.unwrap().replayed);
}

#[tokio::test]
async fn another_server_at_the_address_is_detected() {
    for (response, code) in [
        (http("200 OK", "", "it works"), "ERR_JSON_INVALID"),
        (http("200 OK", "", "[]"), "ERR_JSON_SCHEMA_MISMATCH"),
        (
            http("502 Bad Gateway", "content-type: text/html\r\n", "<html>"),
            "ERR_HTTP_502_BAD_GATEWAY",
        ),
        (
            http("307 Temporary Redirect", "location: /elsewhere\r\n", ""),
            "ERR_JSON_INVALID",
        ),
        ("SSH-2.0-OpenSSH_9.9\r\n".to_owned(), "ERR_OUTCOME_UNKNOWN"),
    ] {
        let (url, _) = server(response, Then::Closes).await;
        let failure = check_failure(&url, code, Effect::Unknown).await;
        assert!(failure.message().contains(&url), "{failure}");
    }
}

#[tokio::test]
async fn a_refused_connection_had_no_effect() {
    check_failure(
        &support::refusing_url(),
        "ERR_CONNECTION_REFUSED",
        Effect::None,
    )
    .await;
}

#[tokio::test]
async fn an_unknown_host_name_is_a_dns_failure() {
    // The label is too long for any name, so no name server is queried.
    let url = format!("http://{}.invalid", "a".repeat(64));
    check_failure(&url, "ERR_DNS_FAILURE", Effect::None).await;
}

#[tokio::test]
async fn after_a_timeout_the_outcome_is_unknown() {
    for response in ["", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"] {
        let (url, _) = server(response, Then::Hangs).await;
        let settings = RemoteSettings {
            timeout: Duration::from_millis(300),
            ..settings(&url)
        };
        let failure = Remote::new(&settings).unwrap().call(&call()).await;
        let failure = failure.unwrap_err();
        assert_eq!(failure.code().as_str(), "ERR_OUTCOME_UNKNOWN");
        assert_eq!(failure.effect(), Effect::Unknown);
        assert!(!failure.may_repeat());
    }
}

#[tokio::test]
async fn a_lost_response_to_a_keyed_call_names_the_key() {
    let (url, _) = server(
        "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{",
        Then::Closes,
    )
    .await;
    let call = RemoteCall {
        key: Some("order-7".to_owned()),
        ..call()
    };
    let failure = Remote::new(&settings(&url)).unwrap().call(&call).await;
    let actions = failure.unwrap_err().recovery().required_actions.clone();
    assert!(
        actions[0].starts_with("Call again with the key order-7"),
        "{actions:?}"
    );
}

#[tokio::test]
async fn a_refused_subscription_ends_at_the_timeout() {
    let response = "HTTP/1.1 404 Not Found\r\ncontent-length: 9\r\n\r\n{";
    let (url, _) = server(response, Then::Hangs).await;
    let settings = RemoteSettings {
        timeout: Duration::from_millis(300),
        ..settings(&url)
    };
    let items = Remote::new(&settings).unwrap().subscribe(&call()).await;
    assert_eq!(items.unwrap_err().code().as_str(), "ERR_TIMEOUT");
}

#[tokio::test]
async fn a_cut_response_leaves_the_effect_unknown() {
    let whole = success();
    for length in [0, 10, whole.len() - 1] {
        let (url, _) = server(&whole[..length], Then::Closes).await;
        check_failure(&url, "ERR_OUTCOME_UNKNOWN", Effect::Unknown).await;
    }
}

#[tokio::test]
async fn a_response_over_the_limit_is_a_failure() {
    let body = json!({"request_id": "1", "result": "ok", "output": {}}).to_string();
    for (length, is_read) in [
        (RESPONSE_BYTES_LIMIT, true),
        (RESPONSE_BYTES_LIMIT + 1, false),
    ] {
        let padded = format!("{body}{}", " ".repeat(length - body.len()));
        let (url, _) = server(http("200 OK", "", &padded), Then::Closes).await;
        if is_read {
            assert!(send(&url).await.unwrap().outcome.is_ok());
        } else {
            check_failure(&url, "ERR_JSON_SIZE_EXCEEDED", Effect::Unknown).await;
        }
    }
}

async fn tls_server() -> String {
    support::tls_server(&[CERTIFICATE, KEY].concat(), success()).await
}

#[tokio::test]
async fn a_certificate_is_trusted_only_if_its_issuer_is() {
    let settings = |url: &str, ca: Option<&[u8]>| RemoteSettings {
        ca: ca.map(<[u8]>::to_vec),
        ..settings(url)
    };
    let call_with = async |ca| {
        // On a system without trusted certificates, the client needs one to start.
        let remote = Remote::new(&settings(&tls_server().await, Some(ca))).unwrap();
        remote.call(&call()).await
    };
    assert!(call_with(CA).await.unwrap().outcome.is_ok());
    let failure = call_with(CERTIFICATE).await.unwrap_err();
    assert_eq!(failure.code().as_str(), "ERR_SSL_ERROR", "{failure:?}");
    assert_eq!(failure.effect(), Effect::None);
}

#[tokio::test]
async fn a_server_without_tls_is_a_tls_failure() {
    let (url, _) = server(success(), Then::Hangs).await;
    let settings = RemoteSettings {
        ca: Some(CA.to_vec()),
        ..settings(&url.replace("http:", "https:"))
    };
    let failure = Remote::new(&settings).unwrap().call(&call()).await;
    let failure = failure.unwrap_err();
    assert_eq!(failure.code().as_str(), "ERR_SSL_ERROR", "{failure:?}");
}

const STREAM: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

/// The items of a subscription to a server with this response, one text each.
async fn items(response: String) -> Vec<String> {
    let (url, requests) = server(response, Then::Closes).await;
    let remote = Remote::new(&settings(&url)).unwrap();
    let mut items = match remote.subscribe(&call()).await {
        Ok(items) => items,
        Err(failure) => return vec![format!("none: {}", failure.code())],
    };
    let mut texts = Vec::new();
    loop {
        texts.push(match items.next().await {
            Ok(Some(Ok(item))) => item.to_string(),
            Ok(Some(Err(failure))) => format!("failed: {}", failure.code()),
            Err(failure) => format!("broke: {}", failure.code()),
            Ok(None) => break,
        });
    }
    let request = requests.await.unwrap().remove(0);
    assert!(request.starts_with("POST /subscribe HTTP/1.1\r\n"));
    assert!(request.contains("\r\naccept: text/event-stream\r\n"));
    texts
}

#[tokio::test]
async fn items_are_returned_until_the_end_a_failure_or_a_cut() {
    let failure = r#"{"code":"TIMEOUT","message":"late","retryable":true,"panpan":{}}"#;
    let first = chunk("data: {\"n\":1}\n\n: still here\n\ndata: ");
    for (response, expected) in [
        (
            format!("{STREAM}{first}{}0\r\n\r\n", chunk("2\n\n")),
            &["{\"n\":1}", "2"][..],
        ),
        (format!("{STREAM}0\r\n\r\n"), &[]),
        (
            format!(
                "{STREAM}{}0\r\n\r\n",
                chunk(&format!(
                    "data: 1\n\nevent: error\ndata: {failure}\n\ndata: 3\n\n"
                ))
            ),
            &["1", "failed: TIMEOUT"],
        ),
        (
            format!("{STREAM}{first}"),
            &["{\"n\":1}", "broke: ERR_SOCKET_ERROR"],
        ),
        (
            format!("{STREAM}{first}0\r\n\r\n"),
            &["{\"n\":1}", "broke: ERR_SOCKET_ERROR"],
        ),
        (
            format!("{STREAM}{}0\r\n\r\n", chunk("data: nonsense\n\n")),
            &["broke: ERR_JSON_INVALID"],
        ),
        (
            format!("{STREAM}{}0\r\n\r\n", chunk("event: later\ndata: 1\n\n")),
            &[],
        ),
        (
            http("504 Gateway Timeout", "", failure),
            &["failed: TIMEOUT"],
        ),
        (success(), &["none: ERR_JSON_SCHEMA_MISMATCH"]),
        (http("200 OK", "", "hello"), &["none: ERR_JSON_INVALID"]),
    ] {
        assert_eq!(items(response.clone()).await, expected, "{response}");
    }
}
