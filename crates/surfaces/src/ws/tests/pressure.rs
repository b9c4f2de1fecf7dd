//! Clients that read slowly or not at all.

use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use panpan_testkit::Socket;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::super::transport::QUEUE_LIMIT;
use super::client::{aborted, completed, failed, requested, responded};
use super::server::{Server, Setup};
use crate::limits::Limits;

/// More messages than a connection and its queue can buffer, and far fewer than could be produced before a client
/// counts as lost.
const FEW: usize = QUEUE_LIMIT + 32;

/// A server with a short write timeout.
async fn impatient() -> Server {
    let limits = Limits {
        write_timeout: Duration::from_millis(500),
        ..Limits::default()
    };
    let setup = Setup {
        limits,
        ..Setup::default()
    };
    Server::with(setup).await
}

#[tokio::test]
async fn a_client_that_reads_nothing_is_disconnected_after_few_items() {
    let mut server = impatient().await;
    let mut client = server.client().await;
    client.send(&requested("s", "/test/large", json!({}))).await;
    let was_dropped = server.started.recv().await.unwrap();
    was_dropped.await.unwrap();
    server.ended.recv().await.unwrap();
    let produced = server.produced.load(Ordering::SeqCst);
    assert!((1..FEW).contains(&produced), "{produced}");
}

#[tokio::test]
async fn no_call_starts_for_a_client_with_many_unread_responses() {
    let mut server = impatient().await;
    let mut client = server.client().await;
    for number in 0..10 * FEW {
        let request = requested(&number.to_string(), "/test/fat", json!({}));
        client.send(&request).await;
    }
    server.ended.recv().await.unwrap();
    let produced = server.produced.load(Ordering::SeqCst);
    assert!((1..FEW).contains(&produced), "{produced}");
}

/// Repeats a call until it has the expected result; false if it never does.
async fn eventually(client: &mut Socket, expected: &str) -> bool {
    for _ in 0..1000 {
        client.send(&requested("a", "/test/echo", json!({}))).await;
        let event = client.next().await;
        let is_failure = event["type"] == json!("call.error");
        let code = is_failure.then(|| failed(&event).1);
        if code.as_deref().unwrap_or("answered") == expected {
            return true;
        }
        tokio::task::yield_now().await;
    }
    false
}

#[tokio::test]
async fn unread_responses_on_one_connection_block_calls_on_all_others() {
    let limits = Limits {
        unread_bytes_per_caller: 256 * 1024,
        ..Limits::default()
    };
    let setup = Setup {
        limits,
        ..Setup::default()
    };
    let server = Server::with(setup).await;
    let mut idle = server.client().await;
    for number in 0..FEW {
        let request = requested(&number.to_string(), "/test/fat", json!({}));
        idle.send(&request).await;
    }
    let mut other = server.client().await;
    assert!(eventually(&mut other, "ERR_RATE_LIMITED").await);
    drop(idle);
    assert!(eventually(&mut other, "answered").await);
}

#[tokio::test]
async fn a_slow_client_loses_no_items() {
    const COUNT: u64 = 100;
    let mut server = Server::start().await;
    let mut client = server.client().await;
    client
        .send(&requested("s", "/test/large", json!({"count": COUNT})))
        .await;
    server.started.recv().await.unwrap();
    // A later call is answered although large items are queued.
    client.send(&requested("a", "/test/echo", json!({}))).await;
    let (mut expected, mut answered, mut ended) = (0, false, false);
    while !(answered && ended) {
        let event = client.next().await;
        if event["id"] == json!("a") {
            assert_eq!(event, responded("a", json!({})));
            answered = true;
        } else if expected == COUNT {
            assert_eq!(event, completed("s"));
            ended = true;
        } else {
            assert_eq!(event["payload"]["output"]["number"], json!(expected));
            expected += 1;
        }
    }
}

#[tokio::test]
async fn a_client_that_sends_faster_than_it_reads_gets_every_response() {
    const COUNT: usize = 200;
    let server = Server::start().await;
    let (mut writer, mut reader) = server.client().await.0.split();
    let text = "x".repeat(16 * 1024);
    let writing = tokio::spawn(async move {
        for number in 0..COUNT {
            let request = requested(&number.to_string(), "/test/echo", json!({"text": text}));
            writer
                .send(Message::text(request.to_string()))
                .await
                .unwrap();
        }
        writer
    });
    let mut answered = [false; COUNT];
    for _ in 0..COUNT {
        let Some(Ok(Message::Text(text))) = reader.next().await else {
            panic!("a response is missing");
        };
        let event: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(event["type"], json!("call.responded"), "{}", &text[..200]);
        let id: usize = event["id"].as_str().unwrap().parse().unwrap();
        assert!(!std::mem::replace(&mut answered[id], true));
    }
    drop(writing.await.unwrap());
}

#[tokio::test]
async fn a_client_that_sends_without_end_and_reads_nothing_is_disconnected() {
    let mut server = impatient().await;
    let mut client = server.client().await;
    client.send(&requested("s", "/test/large", json!({}))).await;
    server.started.recv().await.unwrap();
    let ignored = Message::text(aborted("nothing").to_string());
    while client.0.send(ignored.clone()).await.is_ok() {}
    server.ended.recv().await.unwrap();
}

#[tokio::test]
async fn a_client_that_pings_without_end_and_reads_no_pongs_is_disconnected() {
    let mut server = impatient().await;
    let mut client = server.client().await;
    let ping = Message::Ping(vec![0; 125].into());
    let pinging = async {
        while client.0.send(ping.clone()).await.is_ok() {}
        // The system may report a closed peer late to a client with a full socket.
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = pinging => {}
        ended = server.ended.recv() => ended.unwrap(),
    }
}

#[tokio::test]
async fn every_ping_of_a_client_that_reads_its_pongs_is_accepted() {
    let server = Server::start().await;
    let mut client = server.client().await;
    for _ in 0..10 * QUEUE_LIMIT {
        let ping = Message::Ping(vec![0; 125].into());
        client.0.send(ping).await.unwrap();
    }
    client.send(&requested("a", "/test/echo", json!({}))).await;
    let answered = client.message().await;
    assert!(matches!(answered, Some(Message::Text(_))), "{answered:?}");
}
