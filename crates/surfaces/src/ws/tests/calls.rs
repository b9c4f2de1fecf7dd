//! Calls, subscriptions and aborts.

use std::sync::atomic::Ordering;

use futures_util::SinkExt as _;
use panpan_failure::Effect;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use super::client::{
    aborted, code, completed, failed, failure, requested, requested_with, responded,
};
use super::server::{Server, Setup};
use crate::limits::Limits;

#[tokio::test]
async fn a_response_has_the_message_kind_of_its_request() {
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
async fn operations_are_named_with_or_without_a_slash_and_input_is_optional() {
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
            false => assert_eq!(failed(&event), code("a", "NOT_FOUND")),
        }
    }
}

#[tokio::test]
async fn a_subscription_yields_its_items_and_completes() {
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
        "the id of an ended call can be reused"
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
        code("s", "ERR_HTTP_429_RATE_LIMITED")
    );
    let hidden = client.ask(&requested("h", "/test/hidden", json!({}))).await;
    assert_eq!(failed(&hidden), code("h", "NOT_FOUND"));
}

#[tokio::test]
async fn a_subscription_over_the_limit_is_refused() {
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
        code("b", "ERR_RATE_LIMITED")
    );
}

#[tokio::test]
async fn calls_of_one_connection_run_concurrently() {
    let mut server = Server::start().await;
    let mut client = server.client().await;
    client
        .send(&requested("slow", "/test/work", json!({})))
        .await;
    server.started.recv().await.unwrap();
    let quick = client
        .ask(&requested("quick", "/test/echo", json!({})))
        .await;
    assert_eq!(quick, responded("quick", json!({})));
    server.finish.notify_one();
    assert_eq!(client.next().await, responded("slow", json!("done")));
}

#[tokio::test]
async fn an_abort_stops_the_call_and_is_confirmed() {
    let mut server = Server::start().await;
    let mut client = server.client().await;
    for payload in [
        json!({"operationId": "/test/wait"}),
        json!({"operationId": "/test/work"}),
        json!({"operationId": "/test/work", "idempotency_key": "k"}),
    ] {
        client.send(&requested_with("a", payload)).await;
        let was_dropped = server.started.recv().await.unwrap();
        assert_eq!(client.ask(&aborted("a")).await, aborted("a"));
        was_dropped.await.unwrap();
    }
    client.send(&requested("s", "/test/still", json!({}))).await;
    let was_dropped = server.started.recv().await.unwrap();
    assert_eq!(client.next().await, responded("s", json!("first")));
    assert_eq!(client.ask(&aborted("s")).await, aborted("s"));
    was_dropped.await.unwrap();
    assert_eq!(server.finished.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn an_abort_of_an_unknown_call_is_ignored() {
    let mut client = Server::start().await.client().await;
    client.send(&aborted("nothing")).await;
    let request = requested("a", "/test/echo", json!({}));
    assert_eq!(client.ask(&request).await, responded("a", json!({})));
    client.send(&aborted("a")).await;
    assert_eq!(client.ask(&request).await, responded("a", json!({})));
}

#[tokio::test]
async fn a_second_call_with_a_running_id_is_refused_and_the_first_continues() {
    let mut server = Server::start().await;
    let mut client = server.client().await;
    client.send(&requested("a", "/test/work", json!({}))).await;
    server.started.recv().await.unwrap();
    let second = client.ask(&requested("a", "/test/echo", json!({}))).await;
    assert_eq!(failed(&second), code("a", "INVALID_REQUEST"));
    server.finish.notify_one();
    assert_eq!(client.next().await, responded("a", json!("done")));
}

#[tokio::test]
async fn a_repeated_key_replays_the_outcome() {
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
    server.started.recv().await.unwrap();
    server.finish.notify_one();
    assert_eq!(client.next().await, responded("first", json!("done")));
    assert_eq!(
        client.ask(&keyed("again")).await,
        responded("again", json!("done"))
    );
    assert_eq!(server.finished.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_call_ends_after_its_timeout() {
    let mut client = Server::start().await.client().await;
    let payload = json!({"operationId": "/test/wait", "timeout_ms": 1});
    let event = client.ask(&requested_with("a", payload)).await;
    assert_eq!(failed(&event), code("a", "TIMEOUT"));
}

#[tokio::test]
async fn a_shutdown_waits_for_calls_and_refuses_new_ones() {
    let mut server = Server::start().await;
    let mut client = server.client().await;
    client.send(&requested("s", "/test/still", json!({}))).await;
    assert_eq!(client.next().await, responded("s", json!("first")));
    server.started.recv().await.unwrap();
    client.send(&requested("a", "/test/work", json!({}))).await;
    server.started.recv().await.unwrap();
    server.shutdown.cancel();
    let event = client.next().await;
    assert_eq!(
        failed(&event),
        code("s", "ERR_OVERLOADED"),
        "a stream may never end"
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
