//! The client over real sockets: the code, the reason and the effect of every transport failure.

#![allow(clippy::unwrap_used, reason = "a failed setup fails the test")]

mod support;

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use panpan_failure::{Effect, Failure};
use panpan_upstream::{
    Client, EVENT_BYTES_LIMIT, Lookup, LookupFuture, Method, Outgoing, RepeatSafety, Url,
};
use support::{
    ScriptedLookup, Then, client, client_with, get, http, post, reason, refusing_url, request,
    serve, server, server_once, tls_server,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const OK: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok";

fn check(failure: &Failure, code: &str, expected_reason: &str, effect: Effect) {
    let found = (failure.code().as_str(), reason(failure), failure.effect());
    assert_eq!(found, (code, expected_reason, effect), "{failure:?}");
}

/// Sends a read and a write, each to a server of its own, and checks both failures.
async fn check_read_and_write(response: &str, then: Then, code: &str, expected_reason: &str) {
    let (url, _) = server(vec![(response.to_owned(), then)]).await;
    let with_timeout = if then == Then::Hangs { quick } else { patient };
    let failure = client().send(with_timeout(get(&url))).await.unwrap_err();
    check(&failure, code, expected_reason, Effect::None);
    let (url, _) = server(vec![(response.to_owned(), then)]).await;
    let failure = client().send(with_timeout(post(&url))).await.unwrap_err();
    check(
        &failure,
        "ERR_OUTCOME_UNKNOWN",
        expected_reason,
        Effect::Unknown,
    );
    assert_eq!(failure.causes()[0].code.as_ref().unwrap().as_str(), code);
}

fn quick(mut outgoing: Outgoing) -> Outgoing {
    outgoing.timeout = Duration::from_secs(1);
    outgoing
}

fn patient(mut outgoing: Outgoing) -> Outgoing {
    outgoing.timeout = Duration::from_secs(20);
    outgoing
}

#[tokio::test]
async fn a_response_of_any_status_is_returned() {
    for (status, is_failure) in [
        ("200 OK", false),
        ("404 Not Found", true),
        ("503 Busy", true),
    ] {
        let (url, requests) =
            server_once(http(status, "x-a: 1\r\nretry-after: 7\r\n", "text")).await;
        let response = client().send(get(&format!("{url}/a?b=c#d"))).await.unwrap();
        assert_eq!(response.status, status[..3].parse::<u16>().unwrap());
        assert_eq!(response.headers["x-a"], "1");
        assert_eq!(response.body, "text");
        assert_eq!(
            response
                .failure(false, jiff::Timestamp::UNIX_EPOCH)
                .is_some(),
            is_failure
        );
        let request = &requests.await.unwrap()[0];
        assert!(request.starts_with("GET /a?b=c HTTP/1.1\r\n"), "{request}");
    }
}

#[tokio::test]
async fn connection_headers_cannot_be_set() {
    let (url, requests) = server_once(OK).await;
    let mut outgoing = post(&url);
    for (name, value) in [
        ("host", "evil.example"),
        ("content-length", "99"),
        ("transfer-encoding", "chunked"),
        ("connection", "x-a"),
        ("x-a", "1"),
    ] {
        outgoing.headers.insert(name, value.parse().unwrap());
    }
    client().send(outgoing).await.unwrap();
    let request = requests.await.unwrap().remove(0).to_ascii_lowercase();
    assert!(request.contains(&format!("host: {}", url.trim_start_matches("http://"))));
    assert!(request.contains("content-length: 2\r\n") && request.contains("x-a: 1\r\n"));
    assert!(
        !request.contains("evil") && !request.contains("chunked"),
        "{request}"
    );
}

#[tokio::test]
async fn failures_before_the_response_are_told_apart() {
    check_read_and_write("", Then::Closes, "ERR_SOCKET_ERROR", "cut").await;
    check_read_and_write(
        "HTTP/1.1 200 OK\r\nconte",
        Then::Closes,
        "ERR_SOCKET_ERROR",
        "cut",
    )
    .await;
    check_read_and_write("", Then::Resets, "ERR_SOCKET_ERROR", "reset").await;
    check_read_and_write(
        "SSH-2.0-OpenSSH_9.9\r\n",
        Then::Closes,
        "ERR_SOCKET_ERROR",
        "not_http",
    )
    .await;
    check_read_and_write("", Then::Hangs, "ERR_TIMEOUT", "head_timeout").await;
    check_read_and_write(
        "HTTP/1.1 200 OK\r\nconte",
        Then::Hangs,
        "ERR_TIMEOUT",
        "head_timeout",
    )
    .await;
}

#[tokio::test]
async fn failures_within_the_response_are_told_apart() {
    let begun = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{";
    check_read_and_write(begun, Then::Closes, "ERR_SOCKET_ERROR", "cut").await;
    check_read_and_write(begun, Then::Hangs, "ERR_TIMEOUT", "body_timeout").await;
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab";
    check_read_and_write(chunked, Then::Closes, "ERR_SOCKET_ERROR", "cut").await;
}

#[tokio::test]
async fn an_error_response_counts_even_if_its_body_is_cut() {
    let begun = "HTTP/1.1 429 Slow\r\nretry-after: 7\r\ncontent-length: 9\r\n\r\n{";
    for then in [Then::Closes, Then::Hangs] {
        let (url, _) = server(vec![(begun.to_owned(), then)]).await;
        let response = client().send(quick(post(&url))).await.unwrap();
        assert_eq!((response.status, response.is_cut), (429, true));
        let failure = response
            .failure(false, jiff::Timestamp::UNIX_EPOCH)
            .unwrap();
        assert_eq!(failure.recovery().retry_after_ms, Some(7000));
    }
}

#[tokio::test]
async fn a_request_that_was_not_sent_had_no_effect() {
    let unused = refusing_url();
    for outgoing in [get(&unused), post(&unused)] {
        let failure = client().send(outgoing).await.unwrap_err();
        check(&failure, "ERR_CONNECTION_REFUSED", "refused", Effect::None);
    }
    for lookup in [ScriptedLookup::of(&[&[]]), failing_lookup()] {
        let client = client_with(|settings| settings.lookup = lookup);
        let failure = client.send(post("http://example.com/")).await.unwrap_err();
        check(&failure, "ERR_DNS_FAILURE", "dns", Effect::None);
    }
}

fn failing_lookup() -> Arc<ScriptedLookup> {
    Arc::new(ScriptedLookup {
        results: vec![Err(io::ErrorKind::NotFound.into())],
        calls: AtomicUsize::new(0),
    })
}

/// A name lookup that never ends.
struct EndlessLookup;

impl Lookup for EndlessLookup {
    fn lookup(&self, _: String) -> LookupFuture {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn a_connect_timeout_had_no_effect() {
    let client = |connect_ms| {
        client_with(|settings| {
            settings.lookup = Arc::new(EndlessLookup);
            settings.connect_timeout = Duration::from_millis(connect_ms);
        })
    };
    // Either timeout may be the shorter one.
    for (connect_ms, outgoing) in [
        (200, patient(post("http://example.com/"))),
        (20_000, quick(post("http://example.com/"))),
    ] {
        let failure = client(connect_ms).send(outgoing).await.unwrap_err();
        check(&failure, "ERR_TIMEOUT", "connect_timeout", Effect::None);
    }
}

#[tokio::test]
async fn certificate_failures_are_told_apart() {
    let ca = include_bytes!("data/faulty-ca.pem");
    let client = client_with(|settings| settings.ca = Some(ca.to_vec()));
    for (pem, reason) in [
        (
            &include_bytes!("data/expired.pem")[..],
            "certificate_expired",
        ),
        (include_bytes!("data/other-name.pem"), "certificate_name"),
        (include_bytes!("data/self-signed.pem"), "certificate_issuer"),
    ] {
        let url = tls_server(pem, OK.to_owned()).await;
        let failure = client.send(post(&url)).await.unwrap_err();
        check(&failure, "ERR_SSL_ERROR", reason, Effect::None);
    }
    let url = server_once(OK).await.0.replace("http:", "https:");
    let failure = client.send(post(&url)).await.unwrap_err();
    check(&failure, "ERR_SSL_ERROR", "not_tls", Effect::None);
}

#[tokio::test]
async fn a_failed_handshake_had_no_effect() {
    let client = client_with(|settings| settings.connect_timeout = Duration::from_secs(1));
    for (then, code, reason) in [
        (Then::Hangs, "ERR_TIMEOUT", "connect_timeout"),
        (Then::Closes, "ERR_SOCKET_ERROR", "cut"),
    ] {
        let (url, _) = server(vec![(String::new(), then)]).await;
        let url = url.replace("http:", "https:");
        let failure = client.send(patient(post(&url))).await.unwrap_err();
        check(&failure, code, reason, Effect::None);
    }
}

/// The maximum number of response headers.
const HEADERS_LIMIT: usize = 100;

#[tokio::test]
async fn too_many_response_headers_are_a_failure() {
    // `http` writes two.
    for (extra, is_read) in [(HEADERS_LIMIT - 2, true), (HEADERS_LIMIT - 1, false)] {
        let (url, _) = server_once(http("200 OK", &"x: y\r\n".repeat(extra), "")).await;
        let response = client().send(get(&url)).await;
        assert_eq!(response.is_ok(), is_read, "{extra}");
        if let Err(failure) = response {
            check(&failure, "ERR_SOCKET_ERROR", "head_too_large", Effect::None);
        }
    }
}

/// The longest URL that a request can carry, in bytes.
const URL_BYTES_LIMIT: usize = 65_534;

#[tokio::test]
async fn a_url_that_is_too_long_is_not_sent() {
    for (length, is_sent) in [(URL_BYTES_LIMIT, true), (URL_BYTES_LIMIT + 1, false)] {
        let (url, _) = server_once(http("200 OK", "", "")).await;
        let url = format!("{url}/{}", "a".repeat(length - url.len() - 1));
        let mut outgoing = post(&url);
        outgoing.body = None;
        let response = client().send(outgoing).await;
        assert_eq!(response.is_ok(), is_sent, "{length}");
        if let Err(failure) = response {
            check(&failure, "ERR_VALIDATION_FAILED", "address", Effect::None);
        }
    }
}

#[tokio::test]
async fn a_response_over_the_limit_is_a_failure() {
    for (length, is_read) in [(1000, true), (1001, false)] {
        let text = http("200 OK", "", &"a".repeat(length));
        let limited = |mut outgoing: Outgoing| {
            outgoing.response_bytes_limit = 1000;
            outgoing
        };
        let (url, _) = server_once(text.clone()).await;
        let read = client().send(limited(get(&url))).await;
        let (url, _) = server_once(text).await;
        let written = client().send(limited(post(&url))).await;
        if is_read {
            assert_eq!(read.unwrap().body.len(), 1000);
            continue;
        }
        let reason = "answer_bytes_limit";
        check(
            &read.unwrap_err(),
            "ERR_JSON_SIZE_EXCEEDED",
            reason,
            Effect::None,
        );
        check(
            &written.unwrap_err(),
            "ERR_OUTCOME_TOO_LARGE",
            reason,
            Effect::Applied,
        );
    }
}

#[tokio::test]
async fn an_error_body_is_read_up_to_its_limit() {
    const MIB: usize = 1024 * 1024;
    for (length, limit, read) in [
        (2000, 1000, 1000),
        (MIB, 9 * MIB, MIB),
        (MIB + 1, 9 * MIB, MIB),
    ] {
        let (url, _) = server_once(http("500 Oh", "", &"a".repeat(length))).await;
        let mut outgoing = get(&url);
        outgoing.response_bytes_limit = limit;
        let response = client().send(outgoing).await.unwrap();
        assert_eq!(
            (response.body.len(), response.is_cut),
            (read, read < length)
        );
    }
}

#[tokio::test]
async fn a_timeout_beyond_the_range_of_the_clock_works() {
    let (url, _) = server_once(OK).await;
    let mut outgoing = get(&url);
    outgoing.timeout = Duration::MAX;
    assert_eq!(client().send(outgoing).await.unwrap().body, "ok");
}

#[tokio::test]
async fn repeat_safety_decides_what_a_lost_response_means() {
    for (repeat_safety, code, effect) in [
        (RepeatSafety::ReadOnly, "ERR_SOCKET_ERROR", Effect::None),
        (
            RepeatSafety::Idempotent,
            "ERR_SOCKET_ERROR",
            Effect::Unknown,
        ),
        (RepeatSafety::Keyed, "ERR_SOCKET_ERROR", Effect::Unknown),
        (
            RepeatSafety::NotRepeatable,
            "ERR_OUTCOME_UNKNOWN",
            Effect::Unknown,
        ),
    ] {
        let (url, _) = server_once("").await;
        let outgoing = Outgoing {
            repeat_safety,
            ..post(&url)
        };
        check(
            &client().send(outgoing).await.unwrap_err(),
            code,
            "cut",
            effect,
        );
    }
    for (method, repeat_safety) in [
        (Method::GET, RepeatSafety::ReadOnly),
        (Method::HEAD, RepeatSafety::ReadOnly),
        (Method::OPTIONS, RepeatSafety::ReadOnly),
        (Method::PUT, RepeatSafety::Idempotent),
        (Method::POST, RepeatSafety::NotRepeatable),
        (Method::PATCH, RepeatSafety::NotRepeatable),
        (Method::DELETE, RepeatSafety::NotRepeatable),
    ] {
        assert_eq!(
            request(method.clone(), "http://a.example").repeat_safety,
            repeat_safety,
            "{method}"
        );
    }
}

#[tokio::test]
async fn clones_share_their_connections() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        for _ in 0..2 {
            serve(
                &mut stream,
                b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
            )
            .await;
        }
    });
    let client = client();
    for client in [client.clone(), client] {
        assert_eq!(client.send(get(&url)).await.unwrap().body, "ok");
    }
    server.await.unwrap();
}

const STREAM: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\nconnection: close\r\n\r\n";

async fn events(client: &Client, response: String, then: Then) -> Vec<String> {
    let (url, _) = server(vec![(response, then)]).await;
    let mut stream = client.open(get(&url)).await.unwrap();
    assert!(stream.is_events());
    let mut events = Vec::new();
    loop {
        events.push(match stream.next_event().await {
            Ok(Some(event)) => format!("{}:{}", event.name, String::from_utf8(event.data).unwrap()),
            Ok(None) => break events,
            Err(failure) => break [events, vec![reason(&failure).to_owned()]].concat(),
        });
    }
}

#[tokio::test]
async fn events_are_returned_until_the_end_or_a_cut() {
    let client = client();
    let two = format!("{STREAM}data: 1\n\nevent: b\ndata: 2\n\n");
    assert_eq!(
        events(&client, two.clone(), Then::Closes).await,
        [":1", "b:2"]
    );
    let cut = format!("{two}data: 3\n");
    assert_eq!(
        events(&client, cut, Then::Closes).await,
        [":1", "b:2", "cut"]
    );
    let long = format!("{STREAM}data: 1\n\ndata: {}", "a".repeat(EVENT_BYTES_LIMIT));
    assert_eq!(
        events(&client, long, Then::Closes).await,
        [":1", "answer_bytes_limit"]
    );
}

#[tokio::test]
async fn an_error_in_place_of_a_stream_is_a_response() {
    let (url, _) = server_once(http("403 No", "content-type: text/event-stream\r\n", "no")).await;
    let stream = client().open(get(&url)).await.unwrap();
    assert!(!stream.is_events());
    assert_eq!(stream.read().await.unwrap().body, "no");
}

#[tokio::test]
async fn no_secret_is_shown() {
    let (url, _) = server_once("").await;
    let mut outgoing = post(&format!("{url}/a?api_key=hunter2"));
    outgoing.body = Some("hunter2".into());
    outgoing
        .headers
        .insert("authorization", "Bearer hunter2".parse().unwrap());
    assert!(!format!("{outgoing:?}").contains("hunter2"));
    let failure = client().send(outgoing).await.unwrap_err();
    assert!(!format!("{failure:?}").contains("hunter2"), "{failure:?}");
    assert_eq!(failure.details().unwrap()["url"], format!("{url}/a"));
    let (url, _) = server_once(http("200 OK", "set-cookie: hunter2\r\n", "hunter2")).await;
    let response = client().send(get(&url)).await.unwrap();
    assert!(!format!("{response:?}").contains("hunter2"));
}

#[tokio::test]
async fn a_large_body_is_sent_completely() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut all = vec![0; 3_000_000];
        stream.read_exact(&mut all).await.unwrap();
        stream.write_all(OK.as_bytes()).await.unwrap();
        String::from_utf8_lossy(&all[..200]).into_owned()
    });
    let mut outgoing = Outgoing::new(Method::PUT, url);
    outgoing.body = Some(vec![b'a'; 3_000_000].into());
    assert_eq!(client().send(outgoing).await.unwrap().status, 200);
    assert!(
        server
            .await
            .unwrap()
            .contains("content-length: 3000000\r\n")
    );
}

#[test]
fn proxy_settings_of_the_environment_are_ignored() {
    let test = "a_response_of_any_status_is_returned";
    let mut run = std::process::Command::new(std::env::current_exe().unwrap());
    for name in [
        "HTTP_PROXY",
        "http_proxy",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "all_proxy",
    ] {
        // Nothing listens on port 1.
        run.env(name, "http://127.0.0.1:1");
    }
    let output = run.args(["--exact", test]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("1 passed"),
        "{output:?}"
    );
}
