//! Every limit, within and beyond it.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod shared;

use std::num::NonZeroU32;
use std::time::Duration;

use panpan_surfaces::limits::Limits;
use serde_json::{Value, json};
use shared::{Server, Settings, TIMEOUT};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const SHORT: Duration = Duration::from_millis(200);
const ECHO: &str = r#"{"operation": "test/echo"}"#;
const RPC: &str = r#"{"jsonrpc": "2.0", "id": 7, "method": "test/echo"}"#;
const HOLD: &str = r#"{"operation": "test/hold"}"#;

async fn limited(limits: Limits) -> Server {
    Server::with(Settings {
        limits,
        ..Settings::default()
    })
    .await
}

#[tokio::test]
async fn bodies_are_accepted_up_to_the_size_limit() {
    let server = limited(Limits {
        body_bytes: 1000,
        ..Limits::default()
    })
    .await;
    let padded = |size: usize| format!("{ECHO}{}", " ".repeat(size - ECHO.len()));
    for path in ["/call", "/operations/test/echo", "/subscribe", "/batch"] {
        let within = server.post(path, &[], &padded(1000)).await;
        assert_ne!(within.status, 413, "{path}");
        let beyond = server.post(path, &[], &padded(1001)).await;
        assert_eq!(
            (beyond.status, beyond.code().as_str()),
            (413, "ERR_JSON_SIZE_EXCEEDED"),
            "{path}"
        );
    }
    let rpc = r#"{"jsonrpc": "2.0", "id": 1, "method": "test/echo"}"#;
    let padded = |size: usize| format!("{rpc}{}", " ".repeat(size - rpc.len()));
    assert_eq!(
        server.post("/rpc", &[], &padded(1000)).await.json()["result"],
        json!({})
    );
    assert!(server.post("/rpc", &[], &padded(1001)).await.json()["error"].is_object());
}

#[tokio::test]
async fn mcp_bodies_have_the_same_limits() {
    let server = limited(Limits {
        body_bytes: 1000,
        body_timeout: SHORT,
        ..Limits::default()
    })
    .await;
    let within = server.post("/mcp", &[], &" ".repeat(1000)).await;
    assert_ne!(within.status, 413);
    let head = |length| {
        let head = "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
        format!("{head}content-length: {length}\r\n\r\n{{")
    };
    let too_long = format!("{}{}", head(100_000), " ".repeat(2000));
    for (sent, status) in [(too_long, 413), (head(100), 400)] {
        let answer = server.exchange(sent.into()).await;
        assert_eq!(answer.status, status);
        assert_eq!(answer.header("connection"), Some("close"));
        assert!(answer.json()["error"]["data"]["panpan"]["id"].is_string());
        assert_eq!(answer.json()["id"], Value::Null);
    }
}

#[tokio::test]
async fn a_chunked_body_is_limited_too() {
    let server = limited(Limits {
        body_bytes: 1000,
        ..Limits::default()
    })
    .await;
    let chunk = format!("{:x}\r\n{}\r\n", 600, " ".repeat(600));
    let head = "POST /call HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n";
    let answer = server
        .exchange(format!("{head}{chunk}{chunk}0\r\n\r\n").into())
        .await;
    assert_eq!(answer.code(), "ERR_JSON_SIZE_EXCEEDED");
}

#[tokio::test]
async fn input_is_accepted_up_to_the_depth_limit() {
    let server = Server::start().await;
    let nested = |depth: usize| {
        let input = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        format!(r#"{{"operation": "test/echo", "input": {input}}}"#)
    };
    assert_eq!(server.post("/call", &[], &nested(126)).await.status, 200);
    let beyond = server.post("/call", &[], &nested(127)).await;
    assert_eq!(beyond.code(), "ERR_JSON_DEPTH_EXCEEDED");
}

#[tokio::test]
async fn a_batch_is_accepted_up_to_its_limit() {
    let server = limited(Limits {
        batch: 3,
        ..Limits::default()
    })
    .await;
    let batch =
        |count: usize| Value::from(vec![json!({"operation": "test/echo"}); count]).to_string();
    assert_eq!(server.post("/batch", &[], &batch(3)).await.status, 200);
    assert_eq!(
        server.post("/batch", &[], &batch(4)).await.code(),
        "INVALID_REQUEST"
    );
    let rpc = |count: usize| {
        Value::from(vec![
            json!({"jsonrpc": "2.0", "id": 1, "method": "test/echo"});
            count
        ])
        .to_string()
    };
    assert!(server.post("/rpc", &[], &rpc(3)).await.json().is_array());
    assert!(server.post("/rpc", &[], &rpc(4)).await.json()["error"].is_object());
}

#[tokio::test]
async fn a_batch_does_not_exceed_the_concurrency_limit_of_its_caller() {
    let server = limited(Limits {
        calls_in_flight_per_caller: 1,
        ..Limits::default()
    })
    .await;
    let batch = Value::from(vec![json!({"operation": "test/echo"}); 20]).to_string();
    let results = server.post("/batch", &[], &batch).await.json()["results"].clone();
    let mut results = results.as_array().unwrap().iter();
    assert!(results.all(|it| it["result"] == "ok"));
}

#[tokio::test]
async fn the_call_rate_is_limited_per_caller_with_an_exact_delay() {
    let server = limited(Limits {
        calls_per_second: NonZeroU32::new(2),
        burst: NonZeroU32::new(3),
        ..Limits::default()
    })
    .await;
    for _ in 0..3 {
        assert_eq!(server.post("/call", &[], ECHO).await.status, 200);
    }
    let refused = server.post("/call", &[], ECHO).await;
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (429, "ERR_RATE_LIMITED")
    );
    assert_eq!(refused.header("retry-after"), Some("1"));
    let wait_ms = refused.json()["panpan"]["recovery"]["retry_after_ms"].as_u64();
    // Another caller has its own rate.
    let token = server.token("ann", &[], &[]).await;
    let bearer = format!("Bearer {token}");
    assert_eq!(
        server
            .post("/call", &[("authorization", &bearer)], ECHO)
            .await
            .status,
        200
    );
    tokio::time::sleep(Duration::from_millis(wait_ms.unwrap())).await;
    assert_eq!(server.post("/call", &[], ECHO).await.status, 200);
    let batch = format!("[{ECHO}, {ECHO}, {ECHO}, {ECHO}]");
    let results = server.post("/batch", &[], &batch).await.json()["results"].clone();
    let refused = results
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["error"]["code"] == "ERR_RATE_LIMITED");
    assert!(
        refused.count() >= 3,
        "each call of a batch counts: {results}"
    );
}

#[tokio::test]
async fn refused_requests_count_and_requests_beyond_the_rate_are_not_read() {
    let large = format!(
        r#"{{"operation": "test/echo", "unknown": "{}""#,
        "x".repeat(1 << 20)
    );
    for (path, headers, body, first) in [
        ("/call", &[][..], &*large, "PARSE_ERROR"),
        (
            "/call",
            &[("authorization", "Bearer made-up")],
            ECHO,
            "FORBIDDEN",
        ),
        (
            "/rpc",
            &[],
            r#"{"jsonrpc": "2.0", "id": 7, "method": 7}"#,
            "INVALID_REQUEST",
        ),
        (
            "/rpc",
            &[("authorization", "Bearer made-up")],
            RPC,
            "FORBIDDEN",
        ),
        (
            "/mcp",
            &[("authorization", "Bearer made-up")],
            RPC,
            "FORBIDDEN",
        ),
    ] {
        let server = limited(Limits {
            calls_per_second: NonZeroU32::new(2),
            ..Limits::default()
        })
        .await;
        let mut codes = Vec::new();
        for _ in 0..40 {
            let answer = server.post(path, headers, body).await.json();
            let code = [&answer["code"], &answer["error"]["data"]["code"]]
                .into_iter()
                .find_map(serde_json::Value::as_str);
            codes.push(code.unwrap_or_default().to_owned());
        }
        assert_eq!(codes[0], first, "{path}: {codes:?}");
        let limited = codes.iter().filter(|it| *it == "ERR_RATE_LIMITED").count();
        // Four at once and four per second, so a slow machine still sees refusals.
        assert!(limited >= 10, "{path}: {codes:?}");
        assert!(
            codes
                .iter()
                .all(|it| it == first || it == "ERR_RATE_LIMITED"),
            "{codes:?}"
        );
    }
}

#[tokio::test]
async fn search_and_documents_count_as_calls() {
    for path in [
        "/search",
        "/schema?name=test/echo",
        "/openapi.json",
        "/contract.json",
    ] {
        let server = limited(Limits {
            calls_per_second: NonZeroU32::new(1),
            ..Limits::default()
        })
        .await;
        let mut limited = server.get(path, &[]).await;
        assert_eq!(limited.status, 200, "{path}");
        // Several requests, since on a slow machine a second may pass between two of them.
        for _ in 0..20 {
            if limited.status == 200 {
                limited = server.get(path, &[]).await;
            }
        }
        assert_eq!(
            (limited.status, limited.code().as_str()),
            (429, "ERR_RATE_LIMITED"),
            "{path}"
        );
        assert!(limited.header("retry-after").is_some(), "{path}");
    }
}

#[tokio::test]
async fn concurrent_calls_are_limited_per_caller_and_in_total() {
    let server = limited(Limits {
        calls_in_flight: 2,
        calls_in_flight_per_caller: 1,
        ..Limits::default()
    })
    .await;
    let ann = format!("Bearer {}", server.token("ann", &[], &[]).await);
    let bob = format!("Bearer {}", server.token("bob", &[], &[]).await);
    let hold = |bearer: &str| {
        let headers = [("authorization", bearer)];
        tokio::spawn(server.request("POST", "/call", &headers, HOLD.as_bytes()))
    };
    let held = hold(&ann);
    server.probe.until_running(1).await;
    let same = server.post("/call", &[("authorization", &ann)], ECHO).await;
    assert_eq!(
        (same.status, same.code().as_str()),
        (429, "ERR_RATE_LIMITED")
    );
    assert_eq!(
        server
            .post("/call", &[("authorization", &bob)], ECHO)
            .await
            .status,
        200
    );
    let second = hold(&bob);
    server.probe.until_running(2).await;
    let full = server.post("/call", &[], ECHO).await;
    assert_eq!(
        (
            full.status,
            full.code().as_str(),
            full.header("retry-after")
        ),
        (503, "ERR_OVERLOADED", Some("1"))
    );
    server.probe.open_gate();
    server.probe.until_running(1).await;
    server.probe.open_gate();
    assert_eq!(
        (held.await.unwrap().status, second.await.unwrap().status),
        (200, 200)
    );
    assert_eq!(server.post("/call", &[], ECHO).await.status, 200);
}

#[tokio::test]
async fn a_call_that_outlives_its_connection_still_counts() {
    let server = limited(Limits {
        calls_in_flight_per_caller: 1,
        ..Limits::default()
    })
    .await;
    let body = r#"{"operation": "test/change", "idempotency_key": "k"}"#;
    let length = body.len();
    let request =
        format!("POST /call HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n{body}");
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    server.probe.until_running(1).await;
    drop(stream);
    let metrics = async || server.get("/metrics", &[]).await.text();
    // Only the connection of this request is left.
    while !metrics().await.contains("panpan_connections 1\n") {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(metrics().await.contains("panpan_calls_in_flight 1\n"));
    let refused = server.post("/call", &[], ECHO).await;
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (429, "ERR_RATE_LIMITED")
    );
    server.probe.open_gate();
    server.probe.until_running(0).await;
    while server.post("/call", &[], ECHO).await.status != 200 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn open_streams_are_limited() {
    let server = limited(Limits {
        streams_per_caller: 1,
        ..Limits::default()
    })
    .await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(subscription().as_bytes()).await.unwrap();
    server.probe.until_running(1).await;
    let refused = server
        .post("/subscribe", &[], r#"{"operation": "test/endless"}"#)
        .await;
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (429, "ERR_RATE_LIMITED")
    );
    drop(stream);
    server.probe.until_running(0).await;
}

fn subscription() -> String {
    let body = r#"{"operation": "test/endless"}"#;
    format!(
        "POST /subscribe HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[tokio::test]
async fn slow_heads_and_bodies_time_out() {
    let server = limited(Limits {
        head_timeout: SHORT,
        body_timeout: SHORT,
        ..Limits::default()
    })
    .await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream
        .write_all(b"POST /call HTTP/1.1\r\nhost:")
        .await
        .unwrap();
    let mut answer = Vec::new();
    let closed = stream.read_to_end(&mut answer);
    let _ = tokio::time::timeout(TIMEOUT, closed)
        .await
        .expect("the connection was not closed");
    for path in [
        "/call",
        "/batch",
        "/subscribe",
        "/operations/test/echo",
        "/rpc",
        "/mcp",
    ] {
        let body = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\ncontent-length: 100\r\n\
             connection: close\r\n\r\n{{"
        );
        let answer = server.exchange(body.into()).await;
        let text = answer.text();
        assert!(text.contains("did not arrive within"), "{path} {text}");
        if answer.json()["jsonrpc"].is_string() {
            // The body was not read, so the id is unknown.
            assert_eq!(answer.json().get("id"), Some(&Value::Null), "{path}");
        }
    }
}

#[tokio::test]
async fn a_client_that_reads_nothing_slows_the_stream_and_is_disconnected() {
    let server = limited(Limits {
        write_timeout: SHORT,
        ..Limits::default()
    })
    .await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(subscription().as_bytes()).await.unwrap();
    server.probe.until_running(1).await;
    server.probe.until_running(0).await;
    // Only as many items as fit into the buffers of the system.
    let yielded = server.probe.yielded();
    assert!(yielded < 4000, "{yielded} items for no reader");
    drop(stream);
}

/// A request that is being received takes memory, like an unread response.
#[tokio::test]
async fn a_request_counts_as_buffered_while_it_is_received() {
    let limits = Limits {
        unread_bytes_per_caller: 300_000,
        ..Limits::default()
    };
    let server = Server::with(Settings {
        limits,
        ..Settings::default()
    })
    .await;
    let call = format!(r#"{{"operation": "test/echo"{}}}"#, " ".repeat(200_000));
    let begin = async || {
        let mut slow = TcpStream::connect(server.address).await.unwrap();
        let head = "POST /call HTTP/1.1\r\nhost: localhost\r\ncontent-length: 3000000\r\n\r\n";
        slow.write_all(head.as_bytes()).await.unwrap();
        slow.write_all(&vec![b' '; 200_000]).await.unwrap();
        slow
    };
    let within = async |status: u16, time: Duration| {
        let asking = async { while server.post("/call", &[], &call).await.status != status {} };
        tokio::time::timeout(time, asking).await.is_ok()
    };
    let mut slow = begin().await;
    let mut begun = 1;
    // If the server reads the other request first, it refuses the slow one.
    while !within(429, Duration::from_secs(1)).await {
        assert!(begun < 20, "no request was refused");
        slow = begin().await;
        begun += 1;
    }
    drop(slow);
    assert!(within(200, TIMEOUT).await);
}

/// A message counts like a request, also in several frames with pings between them.
#[tokio::test]
async fn a_websocket_message_counts_as_buffered_while_it_is_received() {
    let server = limited(Limits {
        unread_bytes_per_caller: 300_000,
        ..Limits::default()
    })
    .await;
    let call = format!(r#"{{"operation": "test/echo"{}}}"#, " ".repeat(200_000));
    let eventually = async |status: u16| {
        let asking = async { while server.post("/call", &[], &call).await.status != status {} };
        tokio::time::timeout(TIMEOUT, asking).await.is_ok()
    };
    let mut slow = server.socket(None).await.unwrap();
    slow.begin_message(150_000).await;
    slow.ping().await;
    slow.continue_message(50_000).await;
    assert!(eventually(429).await);
    let close = slow.send_until_closed().await;
    assert_eq!(close, 1013);
    drop(slow);
    assert!(eventually(200).await);
}

#[tokio::test]
async fn a_slow_websocket_message_times_out() {
    let server = limited(Limits {
        body_timeout: Duration::from_millis(50),
        ..Limits::default()
    })
    .await;
    let mut slow = server.socket(None).await.unwrap();
    slow.begin_message(50_000).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(slow.send_until_closed().await, 1008);
}

#[tokio::test]
async fn a_head_is_accepted_up_to_the_size_limit() {
    let server = Server::start().await;
    let padding = "x".repeat(70_000);
    let answer = server.get("/healthz", &[("x-padding", &padding)]).await;
    assert_eq!(answer.status, 431);
    assert_eq!(answer.json()["type"], json!("/errors/INVALID_REQUEST"));
    assert_eq!(answer.json()["status"], json!(431));
    assert_eq!(
        server
            .get("/healthz", &[("x-padding", &padding[..30_000])])
            .await
            .status,
        200
    );
}

#[tokio::test]
async fn connections_per_address_are_limited() {
    let server = limited(Limits {
        connections_per_address: 2,
        ..Limits::default()
    })
    .await;
    let ask = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut some = [0; 16];
    let mut open = Vec::new();
    // The connection that read the OpenAPI document may still be closing.
    while open.len() < 2 {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let _ = stream.write_all(ask).await;
        if stream.read_exact(&mut some).await.is_ok() {
            open.push(stream);
        }
    }
    let mut third = TcpStream::connect(server.address).await.unwrap();
    let _ = third.write_all(ask).await;
    assert!(third.read_exact(&mut some).await.is_err());
    drop(open.pop());
    for attempt in 0.. {
        let mut again = TcpStream::connect(server.address).await.unwrap();
        let _ = again.write_all(ask).await;
        if again.read_exact(&mut some).await.is_ok() {
            break;
        }
        assert!(attempt < 100, "a closed connection frees its permit");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn connections_beyond_the_limit_wait_for_one_to_close() {
    let server = limited(Limits {
        connections: 1,
        ..Limits::default()
    })
    .await;
    let mut first = TcpStream::connect(server.address).await.unwrap();
    first
        .write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .await
        .unwrap();
    let mut some = [0; 16];
    first.read_exact(&mut some).await.unwrap();
    let second = tokio::spawn(server.request("GET", "/healthz", &[], b""));
    tokio::time::sleep(SHORT).await;
    assert!(!second.is_finished());
    drop(first);
    assert_eq!(second.await.unwrap().status, 200);
}
