//! Invalid messages.

use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use super::super::envelope::ID_LENGTH_LIMIT;
use super::client::{code, failed, failure, requested, responded};
use super::server::{Server, Setup};
use crate::limits::Limits;

#[tokio::test]
async fn an_invalid_message_gets_an_error_and_the_connection_stays_open() {
    let mut client = Server::start().await.client().await;
    let deep = format!(
        r#"{{"payload":{}{},"id":"a"}}"#,
        "[".repeat(200),
        "]".repeat(200)
    );
    for (text, id, expected) in [
        ("", "", "PARSE_ERROR"),
        ("{", "", "PARSE_ERROR"),
        (r#"{"id":"a","type":"call.requested""#, "", "PARSE_ERROR"),
        (&deep, "a", "PARSE_ERROR"),
        ("[]", "", "INVALID_REQUEST"),
        ("1", "", "INVALID_REQUEST"),
        ("{}", "", "INVALID_REQUEST"),
        (r#"{"id":7,"type":"call.aborted"}"#, "", "INVALID_REQUEST"),
        (r#"{"id":"","type":"call.aborted"}"#, "", "INVALID_REQUEST"),
        (
            r#"{"id":"a","id":"b","type":"call.aborted"}"#,
            "",
            "INVALID_REQUEST",
        ),
        (r#"{"id":"a"}"#, "a", "INVALID_REQUEST"),
        (
            r#"{"id":"a","type":"call.responded","payload":{}}"#,
            "a",
            "INVALID_REQUEST",
        ),
        (r#"{"id":"a","type":1}"#, "a", "INVALID_REQUEST"),
        (
            r#"{"id":"a","type":"call.requested"}"#,
            "a",
            "INVALID_REQUEST",
        ),
        (
            r#"{"id":"a","type":"call.requested","payload":[]}"#,
            "a",
            "INVALID_REQUEST",
        ),
        (
            r#"{"id":"a","type":"call.requested","payload":{}}"#,
            "a",
            "INVALID_REQUEST",
        ),
        (
            r#"{"id":"a","type":"call.requested","payload":{"operationId":1}}"#,
            "a",
            "INVALID_REQUEST",
        ),
        (
            r#"{"id":"a","type":"call.requested","payload":{"operationId":"/test/echo","idempotency-key":"k"}}"#,
            "a",
            "INVALID_REQUEST",
        ),
        (
            r#"{"id":"a","type":"call.requested","payload":{"operationId":"/test/echo","auth_token":1}}"#,
            "a",
            "INVALID_REQUEST",
        ),
        (
            r#"{"id":"a","type":"call.requested","payload":{"operationId":"/test/echo","input":{},"input":{}}}"#,
            "a",
            "INVALID_REQUEST",
        ),
        (
            r#"{"id":"a","type":"call.requested","payload":{"operationId":"/test/echo","idempotency_key":1}}"#,
            "a",
            "INVALID_INPUT",
        ),
    ] {
        client.send_text(text).await;
        assert_eq!(failed(&client.next().await), code(id, expected), "{text}");
    }
    let event = client.ask(&requested("a", "/test/echo", json!({}))).await;
    assert_eq!(event, responded("a", json!({})));
}

#[tokio::test]
async fn invalid_members_are_located() {
    let mut client = Server::start().await.client().await;
    let request = |members: &str| {
        format!(
            r#"{{"id":"a","type":"call.requested","payload":{{"operationId":"/test/echo",{members}}}}}"#
        )
    };
    for (members, code, pointer) in [
        (
            r#""input":{"b":[{"c":1,"c":2}]}"#,
            "INVALID_INPUT",
            "/b/0/c",
        ),
        (
            r#""input_x":{"b":1,"b":2}"#,
            "INVALID_REQUEST",
            "/payload/input_x/b",
        ),
        (
            r#""retry_seed":"7""#,
            "INVALID_INPUT",
            "/payload/retry_seed",
        ),
        (r#""timeout_ms":-1"#, "INVALID_INPUT", "/payload/timeout_ms"),
    ] {
        client.send_text(&request(members)).await;
        let event = client.next().await;
        let failure = failure(&event).1;
        assert_eq!(failure.code().as_str(), code, "{members}");
        assert_eq!(failure.violations()[0].pointer, pointer, "{members}");
    }
}

#[tokio::test]
async fn ids_are_accepted_up_to_the_length_limit() {
    let mut client = Server::start().await.client().await;
    let longest = "i".repeat(ID_LENGTH_LIMIT);
    let event = client
        .ask(&requested(&longest, "/test/echo", json!({})))
        .await;
    assert_eq!(event, responded(&longest, json!({})));
    let event = client
        .ask(&requested(&format!("{longest}i"), "/test/echo", json!({})))
        .await;
    assert_eq!(failed(&event), code("", "INVALID_REQUEST"));
}

#[tokio::test]
async fn messages_are_accepted_up_to_the_size_limit() {
    let text = |bytes: usize| {
        let request = requested("a", "/test/echo", json!({"text": ""})).to_string();
        let padding = "x".repeat(bytes - request.len());
        request.replace(r#""text":"""#, &format!(r#""text":"{padding}""#))
    };
    let limits = Limits {
        body_bytes: 1000,
        ..Limits::default()
    };
    let mut server = Server::with(Setup {
        limits,
        ..Setup::default()
    })
    .await;
    let mut client = server.client().await;
    client.send_text(&text(1000)).await;
    assert_eq!(client.next().await["type"], json!("call.responded"));
    client.send_text(&text(1001)).await;
    match client.message().await {
        Some(Message::Close(Some(frame))) => assert_eq!(u16::from(frame.code), 1009),
        other => panic!("{other:?}"),
    }
    assert!(client.message().await.is_none());
    server.ended.recv().await.unwrap();
}
