//! Clients that disconnect, and clients that stop answering.

use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use super::super::keepalive::{KEEPALIVE, KeepaliveSettings};
use super::client::{requested, requested_with, responded};
use super::server::{Server, Setup};

#[tokio::test]
async fn a_disconnect_stops_the_calls_without_a_key_only() {
    for sends_close in [true, false] {
        let mut server = Server::start().await;
        let mut client = server.client().await;
        client
            .send(&requested("wait", "/test/wait", json!({})))
            .await;
        let wait_was_dropped = server.started.recv().await.unwrap();
        client
            .send(&requested("work", "/test/work", json!({})))
            .await;
        let work_was_dropped = server.started.recv().await.unwrap();
        client
            .send(&requested("still", "/test/still", json!({})))
            .await;
        let still_was_dropped = server.started.recv().await.unwrap();
        assert_eq!(client.next().await, responded("still", json!("first")));
        let keyed = json!({"operationId": "/test/work", "idempotency_key": "k"});
        client.send(&requested_with("keyed", keyed)).await;
        let keyed_ended = server.started.recv().await.unwrap();
        if sends_close {
            client.0.close(None).await.unwrap();
        } else {
            drop(client);
        }
        for was_dropped in [wait_was_dropped, work_was_dropped, still_was_dropped] {
            was_dropped.await.unwrap();
        }
        server.ended.recv().await.unwrap();
        assert_eq!(server.finished.load(Ordering::SeqCst), 0);
        server.finish.notify_one();
        keyed_ended.await.unwrap();
        assert_eq!(server.finished.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test]
async fn a_close_frame_is_answered() {
    let mut server = Server::start().await;
    let mut client = server.client().await;
    client.0.close(None).await.unwrap();
    assert!(matches!(client.message().await, Some(Message::Close(_))));
    assert!(client.message().await.is_none());
    server.ended.recv().await.unwrap();
}

#[tokio::test]
async fn an_idle_client_that_answers_pings_stays_connected() {
    let keepalive = KeepaliveSettings {
        interval: Duration::from_millis(5),
        timeout: Duration::from_secs(60),
    };
    let server = Server::with(Setup {
        keepalive: Some(keepalive),
        ..Setup::default()
    })
    .await;
    let mut client = server.client().await;
    for _ in 0..3 {
        assert!(matches!(client.0.next().await, Some(Ok(Message::Ping(_)))));
    }
    let event = client.ask(&requested("a", "/test/echo", json!({}))).await;
    assert_eq!(event, responded("a", json!({})));
}

#[tokio::test]
async fn a_client_that_answers_no_pings_is_disconnected_and_its_calls_stopped() {
    let keepalive = KeepaliveSettings {
        interval: Duration::from_millis(50),
        timeout: Duration::from_millis(100),
    };
    let mut server = Server::with(Setup {
        keepalive: Some(keepalive),
        ..Setup::default()
    })
    .await;
    let mut client = server.client().await;
    client.send(&requested("a", "/test/wait", json!({}))).await;
    // The test client does not read, so it answers no pings.
    let was_dropped = server.started.recv().await.unwrap();
    was_dropped.await.unwrap();
    server.ended.recv().await.unwrap();
}

#[test]
fn a_client_may_miss_two_pings() {
    assert_eq!(KEEPALIVE.timeout, 3 * KEEPALIVE.interval);
}
