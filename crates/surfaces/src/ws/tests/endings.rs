//! Clients that leave, and clients that fall silent.

use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use super::super::pulse::{PACE, Pace};
use super::client::{requested, requested_with, responded};
use super::server::{Server, Setup};

#[tokio::test]
async fn a_client_that_leaves_stops_what_has_no_key_and_nothing_else() {
    for says_so in [true, false] {
        let mut server = Server::start().await;
        let mut client = server.client().await;
        client
            .send(&requested("wait", "/test/wait", json!({})))
            .await;
        let wait_was_dropped = server.begun.recv().await.unwrap();
        client
            .send(&requested("work", "/test/work", json!({})))
            .await;
        let work_was_dropped = server.begun.recv().await.unwrap();
        client
            .send(&requested("still", "/test/still", json!({})))
            .await;
        let still_was_dropped = server.begun.recv().await.unwrap();
        assert_eq!(client.next().await, responded("still", json!("first")));
        let keyed = json!({"operationId": "/test/work", "idempotency_key": "k"});
        client.send(&requested_with("keyed", keyed)).await;
        let keyed_ended = server.begun.recv().await.unwrap();
        if says_so {
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
async fn a_client_that_says_good_bye_is_answered() {
    let mut server = Server::start().await;
    let mut client = server.client().await;
    client.0.close(None).await.unwrap();
    assert!(matches!(client.message().await, Some(Message::Close(_))));
    assert!(client.message().await.is_none());
    server.ended.recv().await.unwrap();
}

#[tokio::test]
async fn a_quiet_client_is_pinged_and_stays_as_long_as_it_answers() {
    let pace = Pace {
        ping: Duration::from_millis(5),
        silence: Duration::from_secs(60),
    };
    let server = Server::with(Setup {
        pace: Some(pace),
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
async fn a_client_that_answers_no_ping_is_left_and_its_work_stopped() {
    let pace = Pace {
        ping: Duration::from_millis(50),
        silence: Duration::from_millis(100),
    };
    let mut server = Server::with(Setup {
        pace: Some(pace),
        ..Setup::default()
    })
    .await;
    let mut client = server.client().await;
    client.send(&requested("a", "/test/wait", json!({}))).await;
    // Pings are answered only by a client that reads.
    let was_dropped = server.begun.recv().await.unwrap();
    was_dropped.await.unwrap();
    server.ended.recv().await.unwrap();
}

#[test]
fn an_idle_client_has_three_pings_to_answer() {
    assert_eq!(PACE.silence, 3 * PACE.ping);
}
