//! A panpan asked over real sockets: what it answers, and what becomes of everything that goes wrong.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;
use std::time::Duration;

use panpan_failure::{Effect, Failure};
use panpan_redact::Secret;
use panpan_upstream::remote::{
    ANSWER_BYTES_LIMIT, Remote, RemoteAnswer, RemoteCall, RemoteSettings,
};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

const CA: &[u8] = include_bytes!("data/loopback-ca.pem");
const CERTIFICATE: &[u8] = include_bytes!("data/loopback-cert.pem");
const KEY: &[u8] = include_bytes!("data/loopback-key.pem");

/// What a server does when it has said what it had to say.
#[derive(Clone, Copy, PartialEq)]
enum Then {
    Closes,
    Hangs,
}

/// A server that takes one request and says this; gives its address, and the request when it is over.
async fn server(says: impl Into<Vec<u8>>, then: Then) -> (String, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let says = says.into();
    let served = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        serve(&mut stream, &says, then).await
    });
    (url, served)
}

async fn serve(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    says: &[u8],
    then: Then,
) -> String {
    let mut request = Vec::new();
    while !is_whole(&request) {
        if stream.read_buf(&mut request).await.unwrap() == 0 {
            break;
        }
    }
    stream.write_all(says).await.unwrap();
    stream.flush().await.unwrap();
    if then == Then::Hangs {
        std::future::pending::<()>().await;
    }
    let _ = stream.shutdown().await;
    String::from_utf8(request).unwrap()
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        let is_length = name.eq_ignore_ascii_case("content-length");
        is_length.then(|| value.parse::<usize>().unwrap())
    });
    body.len() >= length.unwrap_or(0)
}

fn http(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\r\n{body}")
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

async fn answer(url: &str) -> Result<RemoteAnswer, Failure> {
    Remote::new(&settings(url)).unwrap().call(&call()).await
}

/// Asks, and checks with which failure there is no answer.
async fn no_answer(url: &str, code: &str, effect: Effect) -> Failure {
    let failure = answer(url).await.unwrap_err();
    let found = (failure.code().as_str(), failure.effect());
    assert_eq!(found, (code, effect), "{failure}");
    failure
}

#[tokio::test]
async fn a_call_is_sent_with_everything_it_carries() {
    let (url, served) = server(success(), Then::Closes).await;
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
    let answer = remote.call(&call).await.unwrap();
    assert_eq!(answer.outcome.unwrap(), json!({"quotient": 2}));
    assert!(answer.call.is_some() && !answer.replayed);
    let request = served.await.unwrap();
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
async fn what_is_not_said_is_not_sent() {
    let (url, served) = server(success(), Then::Closes).await;
    answer(&url).await.unwrap();
    let request = served.await.unwrap();
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
    let says = http("422 Unprocessable Content", "", &body.to_string());
    let (url, _) = server(says, Then::Closes).await;
    let failure = answer(&url).await.unwrap().outcome.unwrap_err();
    assert_eq!(failure.code().as_str(), "DIVISION_BY_ZERO");
    assert_eq!(failure.message(), "cannot divide 1 by zero");
}

#[tokio::test]
async fn a_replay_is_told() {
    let says = success().replacen("\r\n", "\r\nIdempotent-Replayed: true\r\n", 1);
    let (url, _) = server(says, Then::Closes).await;
    assert!(answer(&url).await.unwrap().replayed);
}

#[tokio::test]
async fn another_server_at_the_address_is_noticed() {
    for (says, code) in [
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
        let (url, _) = server(says, Then::Closes).await;
        let failure = no_answer(&url, code, Effect::Unknown).await;
        assert!(failure.message().contains(&url), "{failure}");
    }
}

#[tokio::test]
async fn a_port_nobody_listens_on_refuses_and_nothing_happened() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    no_answer(&url, "ERR_CONNECTION_REFUSED", Effect::None).await;
}

#[tokio::test]
async fn a_host_without_an_address_is_a_matter_of_names() {
    // No label of a name is this long, so that no name server is asked about it.
    let url = format!("http://{}.invalid", "a".repeat(64));
    no_answer(&url, "ERR_DNS_FAILURE", Effect::None).await;
}

#[tokio::test]
async fn silence_ends_with_the_time_and_nobody_knows_what_happened() {
    for says in ["", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"] {
        let (url, _) = server(says, Then::Hangs).await;
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
async fn a_lost_answer_to_a_keyed_call_names_the_key_that_finds_it() {
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
async fn a_refused_subscription_whose_reason_does_not_end_is_not_waited_for() {
    let says = "HTTP/1.1 404 Not Found\r\ncontent-length: 9\r\n\r\n{";
    let (url, _) = server(says, Then::Hangs).await;
    let settings = RemoteSettings {
        timeout: Duration::from_millis(300),
        ..settings(&url)
    };
    let items = Remote::new(&settings).unwrap().subscribe(&call()).await;
    assert_eq!(items.unwrap_err().code().as_str(), "ERR_TIMEOUT");
}

#[tokio::test]
async fn an_answer_that_is_cut_off_leaves_the_effect_unknown() {
    let whole = success();
    for length in [0, 10, whole.len() - 1] {
        let (url, _) = server(&whole[..length], Then::Closes).await;
        no_answer(&url, "ERR_OUTCOME_UNKNOWN", Effect::Unknown).await;
    }
}

#[tokio::test]
async fn an_answer_has_a_limit_and_both_sides_of_it_are_known() {
    let body = json!({"request_id": "1", "result": "ok", "output": {}}).to_string();
    for (length, is_read) in [(ANSWER_BYTES_LIMIT, true), (ANSWER_BYTES_LIMIT + 1, false)] {
        let padded = format!("{body}{}", " ".repeat(length - body.len()));
        let (url, _) = server(http("200 OK", "", &padded), Then::Closes).await;
        if is_read {
            assert!(answer(&url).await.unwrap().outcome.is_ok());
        } else {
            no_answer(&url, "ERR_JSON_SIZE_EXCEEDED", Effect::Unknown).await;
        }
    }
}

async fn tls_server() -> String {
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE).unwrap();
    let key = PrivateKeyDer::from_pem_slice(KEY).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        if let Ok(mut stream) = acceptor.accept(stream).await {
            serve(&mut stream, success().as_bytes(), Then::Closes).await;
        }
    });
    url
}

#[tokio::test]
async fn a_certificate_is_trusted_only_when_its_issuer_is() {
    let settings = |url: &str, ca: Option<&[u8]>| RemoteSettings {
        ca: ca.map(<[u8]>::to_vec),
        ..settings(url)
    };
    let asked = async |ca| {
        // An issuer of its own has to be trusted for the client to come about on a system without any.
        let remote = Remote::new(&settings(&tls_server().await, Some(ca))).unwrap();
        remote.call(&call()).await
    };
    assert!(asked(CA).await.unwrap().outcome.is_ok());
    let failure = asked(CERTIFICATE).await.unwrap_err();
    assert_eq!(failure.code().as_str(), "ERR_SSL_ERROR", "{failure:?}");
    assert_eq!(failure.effect(), Effect::None);
}

#[tokio::test]
async fn a_server_without_tls_is_no_secure_server() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut hello = [0];
        stream.read_exact(&mut hello).await.unwrap();
        stream.write_all(success().as_bytes()).await.unwrap();
        std::future::pending::<()>().await;
    });
    let settings = RemoteSettings {
        ca: Some(CA.to_vec()),
        ..settings(&url)
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

/// Every item a server gives that says this, as one word each.
async fn items(says: String) -> Vec<String> {
    let (url, served) = server(says, Then::Closes).await;
    let remote = Remote::new(&settings(&url)).unwrap();
    let mut items = match remote.subscribe(&call()).await {
        Ok(items) => items,
        Err(failure) => return vec![format!("none: {}", failure.code())],
    };
    let mut told = Vec::new();
    loop {
        told.push(match items.next().await {
            Ok(Some(Ok(item))) => item.to_string(),
            Ok(Some(Err(failure))) => format!("failed: {}", failure.code()),
            Err(failure) => format!("broke: {}", failure.code()),
            Ok(None) => break,
        });
    }
    let request = served.await.unwrap();
    assert!(request.starts_with("POST /subscribe HTTP/1.1\r\n"));
    assert!(request.contains("\r\naccept: text/event-stream\r\n"));
    told
}

#[tokio::test]
async fn items_come_one_by_one_until_the_end_a_failure_or_a_cut() {
    let failure = r#"{"code":"TIMEOUT","message":"late","retryable":true,"panpan":{}}"#;
    let first = chunk("data: {\"n\":1}\n\n: still here\n\ndata: ");
    for (says, told) in [
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
        assert_eq!(items(says.clone()).await, told, "{says}");
    }
}
