//! Calls, subscriptions and aborts.

use std::sync::atomic::Ordering;

use futures_util::SinkExt as _;
use panpan_failure::Effect;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use super::client::{
    aborted, completed, failed, failure, requested, requested_with, responded, said,
};
use super::server::{Server, Setup};
use crate::limits::Limits;

#[tokio::test]
async fn a_call_is_answered_in_the_kind_it_was_made() {
    let mut client = Server::start().await.client().await;
    let request = requested("a", "/test/echo", json!({"x": 1})).to_string();
    let answer = responded("a", json!({"x": 1}));
    client
        .0
        .send(Message::binary(request.clone()))
        .await
        .unwrap();
    match client.message().await {
        Some(Message::Binary(bytes)) => {
            assert_eq!(
                serde_json::from_slice::<serde_json::Value>(&bytes).unwrap(),
                answer
            );
        }
        other => panic!("{other:?}"),
    }
    client.send_text(&request).await;
    assert_eq!(client.next().await, answer);
}

#[tokio::test]
async fn operations_are_found_with_and_without_a_slash_and_input_may_be_left_out() {
    let mut client = Server::start().await.client().await;
    for (name, found) in [
        ("/test/echo", true),
        ("test/echo", true),
        ("/test/none", false),
    ] {
        let event = client
            .ask(&requested_with("a", json!({"operationId": name})))
            .await;
        match found {
            true => assert_eq!(event, responded("a", json!({}))),
            false => assert_eq!(failed(&event), said("a", "NOT_FOUND")),
        }
    }
}

#[tokio::test]
async fn a_subscription_gives_its_items_and_says_when_it_is_complete() {
    let mut client = Server::start().await.client().await;
    client
        .send(&requested("s", "/test/count", json!({"count": 3})))
        .await;
    for number in 0..3 {
        assert_eq!(client.next().await, responded("s", json!(number)));
    }
    assert_eq!(client.next().await, completed("s"));
    let empty = requested("s", "/test/count", json!({"count": 0}));
    assert_eq!(
        client.ask(&empty).await,
        completed("s"),
        "an id that has ended may be used again"
    );
}

#[tokio::test]
async fn a_failure_ends_a_subscription() {
    let mut client = Server::start().await.client().await;
    client
        .send(&requested("s", "/test/broken", json!({})))
        .await;
    assert_eq!(client.next().await, responded("s", json!(1)));
    assert_eq!(
        failed(&client.next().await),
        said("s", "ERR_HTTP_429_RATE_LIMITED")
    );
    let hidden = client.ask(&requested("h", "/test/hidden", json!({}))).await;
    assert_eq!(failed(&hidden), said("h", "NOT_FOUND"));
}

#[tokio::test]
async fn a_subscription_there_is_no_room_for_is_refused() {
    let limits = Limits {
        streams_per_caller: 1,
        ..Limits::default()
    };
    let server = Server::with(Setup {
        limits,
        ..Setup::default()
    })
    .await;
    let mut client = server.client().await;
    let still = |id: &str| requested(id, "/test/still", json!({}));
    assert_eq!(
        client.ask(&still("a")).await,
        responded("a", json!("first"))
    );
    assert_eq!(
        failed(&client.ask(&still("b")).await),
        said("b", "ERR_RATE_LIMITED")
    );
}

#[tokio::test]
async fn calls_of_one_connection_run_together() {
    let mut server = Server::start().await;
    let mut client = server.client().await;
    client
        .send(&requested("slow", "/test/work", json!({})))
        .await;
    server.begun.recv().await.unwrap();
    let quick = client
        .ask(&requested("quick", "/test/echo", json!({})))
        .await;
    assert_eq!(quick, responded("quick", json!({})));
    server.finish.notify_one();
    assert_eq!(client.next().await, responded("slow", json!("done")));
}

#[tokio::test]
async fn an_abort_stops_the_work_and_is_confirmed() {
    let mut server = Server::start().await;
    let mut client = server.client().await;
    for payload in [
        json!({"operationId": "/test/wait"}),
        json!({"operationId": "/test/work"}),
        json!({"operationId": "/test/work", "idempotency_key": "k"}),
    ] {
        client.send(&requested_with("a", payload)).await;
        let was_dropped = server.begun.recv().await.unwrap();
        assert_eq!(client.ask(&aborted("a")).await, aborted("a"));
        was_dropped.await.unwrap();
    }
    client.send(&requested("s", "/test/still", json!({}))).await;
    let was_dropped = server.begun.recv().await.unwrap();
    assert_eq!(client.next().await, responded("s", json!("first")));
    assert_eq!(client.ask(&aborted("s")).await, aborted("s"));
    was_dropped.await.unwrap();
    assert_eq!(server.finished.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn an_abort_of_what_does_not_run_is_ignored() {
    let mut client = Server::start().await.client().await;
    client.send(&aborted("nothing")).await;
    let request = requested("a", "/test/echo", json!({}));
    assert_eq!(client.ask(&request).await, responded("a", json!({})));
    client.send(&aborted("a")).await;
    assert_eq!(client.ask(&request).await, responded("a", json!({})));
}

#[tokio::test]
async fn an_id_that_is_in_use_is_refused_and_the_first_goes_on() {
    let mut server = Server::start().await;
    let mut client = server.client().await;
    client.send(&requested("a", "/test/work", json!({}))).await;
    server.begun.recv().await.unwrap();
    let second = client.ask(&requested("a", "/test/echo", json!({}))).await;
    assert_eq!(failed(&second), said("a", "INVALID_REQUEST"));
    server.finish.notify_one();
    assert_eq!(client.next().await, responded("a", json!("done")));
}

#[tokio::test]
async fn a_key_gives_the_same_outcome_again() {
    let mut server = Server::start().await;
    let mut client = server.client().await;
    let keyed = |id: &str| {
        let payload = json!({
            "operationId": "/test/work", "input": {"a": 1}, "idempotency_key": "k", "retry_seed": 7,
            "timeout_ms": 60_000, "traceparent": "none", "forwarded_for": {"id": "somebody"},
        });
        requested_with(id, payload)
    };
    client.send(&keyed("first")).await;
    server.begun.recv().await.unwrap();
    server.finish.notify_one();
    assert_eq!(client.next().await, responded("first", json!("done")));
    assert_eq!(
        client.ask(&keyed("again")).await,
        responded("again", json!("done"))
    );
    assert_eq!(server.finished.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_call_waits_as_long_as_it_was_told_to() {
    let mut client = Server::start().await.client().await;
    let payload = json!({"operationId": "/test/wait", "timeout_ms": 1});
    let event = client.ask(&requested_with("a", payload)).await;
    assert_eq!(failed(&event), said("a", "TIMEOUT"));
}

#[tokio::test]
async fn a_shutdown_lets_calls_end_and_begins_nothing_new() {
    let mut server = Server::start().await;
    let mut client = server.client().await;
    client.send(&requested("s", "/test/still", json!({}))).await;
    assert_eq!(client.next().await, responded("s", json!("first")));
    server.begun.recv().await.unwrap();
    client.send(&requested("a", "/test/work", json!({}))).await;
    server.begun.recv().await.unwrap();
    server.shutdown.cancel();
    let event = client.next().await;
    assert_eq!(
        failed(&event),
        said("s", "ERR_OVERLOADED"),
        "a stream has no end to wait for"
    );
    assert_eq!(failure(&event).1.effect(), Effect::Unknown);
    let late = client
        .ask(&requested("late", "/test/echo", json!({})))
        .await;
    let (id, late) = failure(&late);
    assert_eq!((id, late.code().as_str()), ("late", "ERR_OVERLOADED"));
    assert!(late.recovery().retry_after_ms.is_some());
    server.finish.notify_one();
    assert_eq!(client.next().await, responded("a", json!("done")));
    match client.message().await {
        Some(Message::Close(Some(frame))) => assert_eq!(u16::from(frame.code), 1001),
        other => panic!("{other:?}"),
    }
    assert!(client.message().await.is_none());
    server.ended.recv().await.unwrap();
}
