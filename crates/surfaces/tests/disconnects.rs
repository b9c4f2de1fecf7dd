//! Clients that disconnect, and a server that stops: calls with a key are recorded, all others end.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod shared;

use std::time::Duration;

use serde_json::json;
use shared::{Server, Settings, TIMEOUT};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Sends a request and leaves the connection open.
async fn sent(server: &Server, path: &str, headers: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let length = body.len();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\n{headers}content-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

async fn wait_until_idle(server: &Server) {
    server.probe.until_running(0).await;
    let idle = async {
        loop {
            let metrics = server.get("/metrics", &[]).await.text();
            // The connection of this request.
            if metrics.contains("panpan_connections 1\n")
                && metrics.contains("panpan_calls_in_flight 0\n")
            {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(TIMEOUT, idle)
        .await
        .expect("calls or connections are left");
}

#[tokio::test]
async fn a_call_without_a_key_stops_when_its_caller_disconnects() {
    let server = Server::start().await;
    let rpc = r#"{"jsonrpc": "2.0", "id": 1, "method": "test/hold"}"#;
    for (path, body) in [
        ("/call", r#"{"operation": "test/hold"}"#),
        ("/operations/test/hold", ""),
        ("/batch", r#"[{"operation": "test/hold"}]"#),
        ("/rpc", rpc),
    ] {
        let stream = sent(&server, path, "", body).await;
        server.probe.until_running(1).await;
        drop(stream);
        wait_until_idle(&server).await;
        assert_eq!(server.probe.finished(), 0, "{path}");
    }
}

#[tokio::test]
async fn a_call_with_a_key_is_recorded_after_its_caller_disconnects() {
    let server = Server::start().await;
    let body = r#"{"operation": "test/change"}"#;
    let stream = sent(&server, "/call", "idempotency-key: k\r\n", body).await;
    server.probe.until_running(1).await;
    drop(stream);
    // Long enough for the server to notice the disconnect and stop the call, if it did.
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(server.probe.running(), 1);
    server.probe.open_gate();
    wait_until_idle(&server).await;
    assert_eq!(server.probe.finished(), 1);
    let again = server
        .post("/call", &[("idempotency-key", "k")], body)
        .await;
    assert_eq!(
        (again.status, again.header("idempotent-replayed")),
        (200, Some("true"))
    );
    assert_eq!(server.probe.finished(), 1);
}

#[tokio::test]
async fn a_stream_ends_when_its_client_disconnects() {
    let server = Server::start().await;
    let mut stream = sent(
        &server,
        "/subscribe",
        "",
        r#"{"operation": "test/endless"}"#,
    )
    .await;
    let mut some = vec![0; 100_000];
    stream.read_exact(&mut some).await.unwrap();
    assert_eq!(server.probe.running(), 1);
    drop(stream);
    wait_until_idle(&server).await;
}

#[tokio::test]
async fn an_incomplete_body_leaves_nothing_behind() {
    let server = Server::start().await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let half = b"POST /call HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{\"operation\": \"test/see\"";
    stream.write_all(half).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    drop(stream);
    wait_until_idle(&server).await;
    assert!(server.probe.seen().is_empty());
}

#[tokio::test]
async fn a_stopping_server_answers_calls_in_flight() {
    let server = Server::start().await;
    let mut held = sent(&server, "/call", "", r#"{"operation": "test/hold"}"#).await;
    let mut stream = sent(
        &server,
        "/subscribe",
        "",
        r#"{"operation": "test/endless"}"#,
    )
    .await;
    server.probe.until_running(2).await;
    let drained = tokio::spawn(async move {
        let mut all = Vec::new();
        stream.read_to_end(&mut all).await.map(|_| all)
    });
    server.stopping.cancel();
    let items = String::from_utf8_lossy(&drained.await.unwrap().unwrap()).into_owned();
    let end = items
        .rfind("event: error")
        .expect("the stream ends with an error event");
    assert!(items[end..].contains("ERR_OVERLOADED"), "{}", &items[end..]);
    server.probe.until_running(1).await;
    server.probe.open_gate();
    let mut answer = Vec::new();
    held.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.contains("\"held\":true"),
        "{answer}"
    );
    let address = server.address;
    assert_eq!(server.served.ended.await.unwrap(), 0);
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_stopping_server_does_not_wait_for_ever() {
    let server = Server::with(Settings {
        drain: Duration::from_millis(200),
        ..Settings::default()
    })
    .await;
    let _held = sent(&server, "/call", "", r#"{"operation": "test/hold"}"#).await;
    server.probe.until_running(1).await;
    server.stopping.cancel();
    assert_eq!(server.served.ended.await.unwrap(), 1);
}

#[tokio::test]
async fn a_websocket_disconnect_stops_the_calls_without_a_key_only() {
    let server = Server::start().await;
    let mut socket = server
        .socket(None)
        .await
        .unwrap_or_else(|it| panic!("{it}"));
    for (id, payload) in [
        ("1", json!({"operationId": "/test/hold", "input": {}})),
        ("2", json!({"operationId": "/test/endless", "input": {}})),
        (
            "3",
            json!({"operationId": "/test/change", "input": {}, "idempotency_key": "k"}),
        ),
    ] {
        socket.request(id, payload).await;
    }
    server.probe.until_running(3).await;
    drop(socket);
    server.probe.until_running(1).await;
    server.probe.open_gate();
    wait_until_idle(&server).await;
    assert_eq!(server.probe.finished(), 1);
    let body = r#"{"operation": "test/change"}"#;
    let again = server
        .post("/call", &[("idempotency-key", "k")], body)
        .await;
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
}
