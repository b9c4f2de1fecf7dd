//! Clients that take little, or nothing, of what they asked for.

use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::super::line::QUEUE_LIMIT;
use super::client::{Client, aborted, completed, failed, requested, responded};
use super::server::{Server, Setup};
use crate::limits::Limits;

/// More than what a connection holds, its queue included, and much less than what could be made
/// before a client counts as gone.
const FEW: usize = QUEUE_LIMIT + 32;

/// A server that gives its clients little time.
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
async fn a_client_that_takes_nothing_is_left_before_much_was_made_for_it() {
    let mut server = impatient().await;
    let mut client = server.client().await;
    client.send(&requested("s", "/test/large", json!({}))).await;
    let was_dropped = server.begun.recv().await.unwrap();
    was_dropped.await.unwrap();
    server.ended.recv().await.unwrap();
    let given = server.given.load(Ordering::SeqCst);
    assert!((1..FEW).contains(&given), "{given}");
}

#[tokio::test]
async fn nothing_is_begun_for_a_client_that_leaves_many_answers_waiting() {
    let mut server = impatient().await;
    let mut client = server.client().await;
    for number in 0..10 * FEW {
        let request = requested(&number.to_string(), "/test/fat", json!({}));
        client.send(&request).await;
    }
    server.ended.recv().await.unwrap();
    let given = server.given.load(Ordering::SeqCst);
    assert!((1..FEW).contains(&given), "{given}");
}

/// Whether a call on a connection becomes the wanted event; asked again until it does.
async fn comes_to(client: &mut Client, wanted: &str) -> bool {
    for _ in 0..1000 {
        client.send(&requested("a", "/test/echo", json!({}))).await;
        let event = client.next().await;
        let is_failure = event["type"] == json!("call.error");
        let code = is_failure.then(|| failed(&event).1);
        if code.as_deref().unwrap_or("answered") == wanted {
            return true;
        }
        tokio::task::yield_now().await;
    }
    false
}

#[tokio::test]
async fn what_waits_on_one_connection_counts_for_its_caller_on_every_other() {
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
    assert!(comes_to(&mut other, "ERR_RATE_LIMITED").await);
    drop(idle);
    assert!(comes_to(&mut other, "answered").await);
}

#[tokio::test]
async fn a_client_that_takes_its_time_loses_nothing() {
    const COUNT: u64 = 100;
    let mut server = Server::start().await;
    let mut client = server.client().await;
    client
        .send(&requested("s", "/test/large", json!({"count": COUNT})))
        .await;
    server.begun.recv().await.unwrap();
    // The calls after it are answered, too, whatever is in the way.
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
async fn a_client_that_asks_faster_than_it_takes_gets_every_answer() {
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
            panic!("an answer is missing");
        };
        let event: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(event["type"], json!("call.responded"), "{}", &text[..200]);
        let id: usize = event["id"].as_str().unwrap().parse().unwrap();
        assert!(!std::mem::replace(&mut answered[id], true));
    }
    drop(writing.await.unwrap());
}

#[tokio::test]
async fn a_client_that_sends_without_end_and_takes_nothing_is_left_too() {
    let mut server = impatient().await;
    let mut client = server.client().await;
    client.send(&requested("s", "/test/large", json!({}))).await;
    server.begun.recv().await.unwrap();
    let ignored = Message::text(aborted("nothing").to_string());
    while client.0.send(ignored.clone()).await.is_ok() {}
    server.ended.recv().await.unwrap();
}

#[tokio::test]
async fn a_client_that_pings_without_end_and_takes_no_pong_is_left_too() {
    let mut server = impatient().await;
    let mut client = server.client().await;
    let ping = Message::Ping(vec![0; 125].into());
    let pinging = async {
        while client.0.send(ping.clone()).await.is_ok() {}
        // It may take the system long to tell a client with a full socket that nobody is there any more.
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = pinging => {}
        ended = server.ended.recv() => ended.unwrap(),
    }
}

#[tokio::test]
async fn every_ping_of_a_client_that_takes_its_pongs_is_taken() {
    let server = Server::start().await;
    let mut client = server.client().await;
    for _ in 0..10 * QUEUE_LIMIT {
        let ping = Message::Ping(vec![0; 125].into());
        client.0.send(ping).await.unwrap();
    }
    client.send(&requested("a", "/test/echo", json!({}))).await;
    let answered = loop {
        match client.message().await {
            Some(Message::Pong(_)) => {}
            other => break other,
        }
    };
    assert!(matches!(answered, Some(Message::Text(_))), "{answered:?}");
}
