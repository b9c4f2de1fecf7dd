//! The client over real sockets: everything that goes wrong on the way has its code, its reason, and
//! what is known about effects.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

mod support;

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use panpan_failure::{Effect, Failure};
use panpan_upstream::{Client, EVENT_BYTES_LIMIT, Lookup, Lookups, Method, Outgoing, Stake, Url};
use support::{
    Script, Then, client, client_with, get, http, one, post, reason, request, serve, server,
    tls_server,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const OK: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok";

fn check(failure: &Failure, code: &str, why: &str, effect: Effect) {
    let found = (failure.code().as_str(), reason(failure), failure.effect());
    assert_eq!(found, (code, why, effect), "{failure:?}");
}

/// Sends a read and a write, each to a server of its own, and checks what becomes of each.
async fn both(says: &str, then: Then, code: &str, why: &str) {
    let (url, _) = server(vec![(says.to_owned(), then)]).await;
    let timed = if then == Then::Hangs { quick } else { patient };
    let failure = client().send(timed(get(&url))).await.unwrap_err();
    check(&failure, code, why, Effect::None);
    let (url, _) = server(vec![(says.to_owned(), then)]).await;
    let failure = client().send(timed(post(&url))).await.unwrap_err();
    check(&failure, "ERR_OUTCOME_UNKNOWN", why, Effect::Unknown);
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
async fn an_answer_of_any_status_is_an_answer() {
    for (status, fails) in [
        ("200 OK", false),
        ("404 Not Found", true),
        ("503 Busy", true),
    ] {
        let (url, served) = one(http(status, "x-a: 1\r\nretry-after: 7\r\n", "said")).await;
        let answer = client().send(get(&format!("{url}/a?b=c#d"))).await.unwrap();
        assert_eq!(answer.status, status[..3].parse::<u16>().unwrap());
        assert_eq!(answer.headers["x-a"], "1");
        assert_eq!(answer.body, "said");
        assert_eq!(answer.failure(jiff::Timestamp::UNIX_EPOCH).is_some(), fails);
        let request = &served.await.unwrap()[0];
        assert!(request.starts_with("GET /a?b=c HTTP/1.1\r\n"), "{request}");
    }
}

#[tokio::test]
async fn headers_of_the_connection_cannot_be_set() {
    let (url, served) = one(OK).await;
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
    let request = served.await.unwrap().remove(0).to_ascii_lowercase();
    assert!(request.contains(&format!("host: {}", url.trim_start_matches("http://"))));
    assert!(request.contains("content-length: 2\r\n") && request.contains("x-a: 1\r\n"));
    assert!(
        !request.contains("evil") && !request.contains("chunked"),
        "{request}"
    );
}

#[tokio::test]
async fn what_breaks_before_the_answer_is_told_apart() {
    both("", Then::Closes, "ERR_SOCKET_ERROR", "cut").await;
    both(
        "HTTP/1.1 200 OK\r\nconte",
        Then::Closes,
        "ERR_SOCKET_ERROR",
        "cut",
    )
    .await;
    both("", Then::Resets, "ERR_SOCKET_ERROR", "reset").await;
    both(
        "SSH-2.0-OpenSSH_9.9\r\n",
        Then::Closes,
        "ERR_SOCKET_ERROR",
        "not_http",
    )
    .await;
    both("", Then::Hangs, "ERR_TIMEOUT", "head_timeout").await;
    both(
        "HTTP/1.1 200 OK\r\nconte",
        Then::Hangs,
        "ERR_TIMEOUT",
        "head_timeout",
    )
    .await;
}

#[tokio::test]
async fn what_breaks_within_the_answer_is_told_apart() {
    let begun = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{";
    both(begun, Then::Closes, "ERR_SOCKET_ERROR", "cut").await;
    both(begun, Then::Hangs, "ERR_TIMEOUT", "body_timeout").await;
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab";
    both(chunked, Then::Closes, "ERR_SOCKET_ERROR", "cut").await;
}

#[tokio::test]
async fn a_failing_answer_counts_even_if_its_body_breaks() {
    let begun = "HTTP/1.1 429 Slow\r\nretry-after: 7\r\ncontent-length: 9\r\n\r\n{";
    for then in [Then::Closes, Then::Hangs] {
        let (url, _) = server(vec![(begun.to_owned(), then)]).await;
        let answer = client().send(quick(post(&url))).await.unwrap();
        assert_eq!((answer.status, answer.is_cut), (429, true));
        let failure = answer.failure(jiff::Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(failure.recovery().retry_after_ms, Some(7000));
    }
}

#[tokio::test]
async fn what_never_left_had_no_effect() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nobody = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    for outgoing in [get(&nobody), post(&nobody)] {
        let failure = client().send(outgoing).await.unwrap_err();
        check(&failure, "ERR_CONNECTION_REFUSED", "refused", Effect::None);
    }
    for script in [Script::of(&[&[]]), unknown_name()] {
        let client = client_with(|settings| settings.lookup = script);
        let failure = client.send(post("http://example.com/")).await.unwrap_err();
        check(&failure, "ERR_DNS_FAILURE", "dns", Effect::None);
    }
}

fn unknown_name() -> Arc<Script> {
    Arc::new(Script {
        answers: vec![Err(io::ErrorKind::NotFound.into())],
        asked: AtomicUsize::new(0),
    })
}

/// A name server that never answers.
struct Never;

impl Lookup for Never {
    fn lookup(&self, _: String) -> Lookups {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn a_connection_that_does_not_come_about_in_time_had_no_effect() {
    let client = |connect_ms| {
        client_with(|settings| {
            settings.lookup = Arc::new(Never);
            settings.connect_timeout = Duration::from_millis(connect_ms);
        })
    };
    // Either time may be the shorter one.
    for (connect_ms, outgoing) in [
        (200, patient(post("http://example.com/"))),
        (20_000, quick(post("http://example.com/"))),
    ] {
        let failure = client(connect_ms).send(outgoing).await.unwrap_err();
        check(&failure, "ERR_TIMEOUT", "connect_timeout", Effect::None);
    }
}

#[tokio::test]
async fn certificates_that_cannot_be_trusted_are_told_apart() {
    let ca = include_bytes!("data/faulty-ca.pem");
    let client = client_with(|settings| settings.ca = Some(ca.to_vec()));
    for (pem, why) in [
        (
            &include_bytes!("data/expired.pem")[..],
            "certificate_expired",
        ),
        (include_bytes!("data/other-name.pem"), "certificate_name"),
        (include_bytes!("data/self-signed.pem"), "certificate_issuer"),
    ] {
        let url = tls_server(pem, OK.to_owned()).await;
        let failure = client.send(post(&url)).await.unwrap_err();
        check(&failure, "ERR_SSL_ERROR", why, Effect::None);
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let _ = stream.read(&mut [0; 4096]).await;
        stream.write_all(OK.as_bytes()).await.unwrap();
    });
    let failure = client.send(post(&url)).await.unwrap_err();
    check(&failure, "ERR_SSL_ERROR", "not_tls", Effect::None);
}

#[tokio::test]
async fn a_handshake_that_hangs_or_ends_had_no_effect() {
    let client = client_with(|settings| settings.connect_timeout = Duration::from_secs(1));
    for (then, code, why) in [
        (Then::Hangs, "ERR_TIMEOUT", "connect_timeout"),
        (Then::Closes, "ERR_SOCKET_ERROR", "cut"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}/", listener.local_addr().unwrap());
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            // What was sent is read first: closing with bytes unread is a reset.
            let mut hello = [0; 4096];
            let _ = stream.read(&mut hello).await;
            if then == Then::Hangs {
                std::future::pending::<()>().await;
            }
        });
        let failure = client.send(patient(post(&url))).await.unwrap_err();
        check(&failure, code, why, Effect::None);
    }
}

/// How many headers of an answer are read.
const HEADERS_LIMIT: usize = 100;

#[tokio::test]
async fn an_answer_with_too_many_headers_is_told_as_one() {
    // Two are there already.
    for (extra, is_read) in [(HEADERS_LIMIT - 2, true), (HEADERS_LIMIT - 1, false)] {
        let (url, _) = one(http("200 OK", &"x: y\r\n".repeat(extra), "")).await;
        let answered = client().send(get(&url)).await;
        assert_eq!(answered.is_ok(), is_read, "{extra}");
        if let Err(failure) = answered {
            check(&failure, "ERR_SOCKET_ERROR", "head_too_large", Effect::None);
        }
    }
}

/// The longest address a request can carry, in bytes.
const ADDRESS_BYTES_LIMIT: usize = 65_534;

#[tokio::test]
async fn an_address_too_long_for_a_request_is_not_sent() {
    for (length, is_sent) in [
        (ADDRESS_BYTES_LIMIT, true),
        (ADDRESS_BYTES_LIMIT + 1, false),
    ] {
        let (url, _) = one(http("200 OK", "", "")).await;
        let url = format!("{url}/{}", "a".repeat(length - url.len() - 1));
        let mut outgoing = post(&url);
        outgoing.body = None;
        let answered = client().send(outgoing).await;
        assert_eq!(answered.is_ok(), is_sent, "{length}");
        if let Err(failure) = answered {
            check(&failure, "ERR_VALIDATION_FAILED", "address", Effect::None);
        }
    }
}

#[tokio::test]
async fn an_answer_has_a_limit_and_both_sides_of_it_are_known() {
    for (length, is_read) in [(1000, true), (1001, false)] {
        let says = http("200 OK", "", &"a".repeat(length));
        let limited = |mut outgoing: Outgoing| {
            outgoing.answer_bytes_limit = 1000;
            outgoing
        };
        let (url, _) = one(says.clone()).await;
        let answer = client().send(limited(get(&url))).await;
        let (url, _) = one(says).await;
        let written = client().send(limited(post(&url))).await;
        if is_read {
            assert_eq!(answer.unwrap().body.len(), 1000);
            continue;
        }
        let why = "answer_bytes_limit";
        check(
            &answer.unwrap_err(),
            "ERR_JSON_SIZE_EXCEEDED",
            why,
            Effect::None,
        );
        check(
            &written.unwrap_err(),
            "ERR_OUTCOME_TOO_LARGE",
            why,
            Effect::Applied,
        );
    }
}

#[tokio::test]
async fn of_a_failing_answer_so_much_is_read() {
    const MIB: usize = 1024 * 1024;
    for (length, limit, read) in [
        (2000, 1000, 1000),
        (MIB, 9 * MIB, MIB),
        (MIB + 1, 9 * MIB, MIB),
    ] {
        let (url, _) = one(http("500 Oh", "", &"a".repeat(length))).await;
        let mut outgoing = get(&url);
        outgoing.answer_bytes_limit = limit;
        let answer = client().send(outgoing).await.unwrap();
        assert_eq!((answer.body.len(), answer.is_cut), (read, read < length));
    }
}

#[tokio::test]
async fn a_time_beyond_all_clocks_is_long_enough() {
    let (url, _) = one(OK).await;
    let mut outgoing = get(&url);
    outgoing.timeout = Duration::MAX;
    assert_eq!(client().send(outgoing).await.unwrap().body, "ok");
}

#[tokio::test]
async fn what_is_at_stake_decides_what_a_lost_answer_means() {
    for (stake, code, effect) in [
        (Stake::Nothing, "ERR_SOCKET_ERROR", Effect::None),
        (Stake::Repeatable, "ERR_SOCKET_ERROR", Effect::Unknown),
        (Stake::Keyed, "ERR_SOCKET_ERROR", Effect::Unknown),
        (Stake::Change, "ERR_OUTCOME_UNKNOWN", Effect::Unknown),
    ] {
        let (url, _) = one("").await;
        let outgoing = Outgoing {
            stake,
            ..post(&url)
        };
        check(
            &client().send(outgoing).await.unwrap_err(),
            code,
            "cut",
            effect,
        );
    }
    for (method, stake) in [
        (Method::GET, Stake::Nothing),
        (Method::HEAD, Stake::Nothing),
        (Method::OPTIONS, Stake::Nothing),
        (Method::PUT, Stake::Repeatable),
        (Method::POST, Stake::Change),
        (Method::PATCH, Stake::Change),
        (Method::DELETE, Stake::Change),
    ] {
        assert_eq!(
            request(method.clone(), "http://a.example").stake,
            stake,
            "{method}"
        );
    }
}

#[tokio::test]
async fn clones_share_their_connections() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let served = tokio::spawn(async move {
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
    served.await.unwrap();
}

const STREAM: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\nconnection: close\r\n\r\n";

async fn events(client: &Client, says: String, then: Then) -> Vec<String> {
    let (url, _) = server(vec![(says, then)]).await;
    let mut stream = client.open(get(&url)).await.unwrap();
    assert!(stream.is_events());
    let mut told = Vec::new();
    loop {
        told.push(match stream.next_event().await {
            Ok(Some(event)) => format!("{}:{}", event.name, String::from_utf8(event.data).unwrap()),
            Ok(None) => break told,
            Err(failure) => break [told, vec![reason(&failure).to_owned()]].concat(),
        });
    }
}

#[tokio::test]
async fn events_come_one_by_one_until_the_end_or_a_cut() {
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
async fn a_refused_stream_is_read_as_an_answer() {
    let (url, _) = one(http("403 No", "content-type: text/event-stream\r\n", "no")).await;
    let stream = client().open(get(&url)).await.unwrap();
    assert!(!stream.is_events());
    assert_eq!(stream.read().await.unwrap().body, "no");
}

#[tokio::test]
async fn nothing_secret_is_shown() {
    let (url, _) = one("").await;
    let mut outgoing = post(&format!("{url}/a?api_key=hunter2"));
    outgoing.body = Some("hunter2".into());
    outgoing
        .headers
        .insert("authorization", "Bearer hunter2".parse().unwrap());
    assert!(!format!("{outgoing:?}").contains("hunter2"));
    let failure = client().send(outgoing).await.unwrap_err();
    assert!(!format!("{failure:?}").contains("hunter2"), "{failure:?}");
    assert_eq!(failure.details().unwrap()["url"], format!("{url}/a"));
    let (url, _) = one(http("200 OK", "set-cookie: hunter2\r\n", "hunter2")).await;
    let answer = client().send(get(&url)).await.unwrap();
    assert!(!format!("{answer:?}").contains("hunter2"));
}

#[tokio::test]
async fn a_body_is_sent_whole() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let served = tokio::spawn(async move {
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
        served
            .await
            .unwrap()
            .contains("content-length: 3000000\r\n")
    );
}

#[test]
fn a_proxy_of_the_environment_is_not_used() {
    let asks = "an_answer_of_any_status_is_an_answer";
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    for name in [
        "HTTP_PROXY",
        "http_proxy",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "all_proxy",
    ] {
        // Nobody listens on the first port.
        again.env(name, "http://127.0.0.1:1");
    }
    let ended = again.args(["--exact", asks]).output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    assert!(
        String::from_utf8_lossy(&ended.stdout).contains("1 passed"),
        "{ended:?}"
    );
}
