//! Messages that pass, messages that are answered with an error, and how the transport ends.

use std::pin::Pin;
use std::task::{Context, Poll};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, ReadBuf, duplex};

use super::*;

/// The responses that the client gets and the messages that rmcp gets for some input.
async fn transported(input: &[u8]) -> (Vec<Value>, Vec<Value>) {
    let (near, mut far) = duplex(64 * 1024);
    let (mut transport, end) = StdioTransport::new(input, near);
    let mut seen = Vec::new();
    while let Some(message) = transport.receive().await {
        seen.push(serde_json::to_value(message).unwrap());
    }
    transport.close().await.unwrap();
    drop(transport);
    assert!(end.error().is_none());
    let mut output = Vec::new();
    far.read_to_end(&mut output).await.unwrap();
    let responses = output.split(|byte| *byte == b'\n');
    let responses = responses.filter(|line| !line.is_empty());
    let responses = responses.map(|line| serde_json::from_slice(line).unwrap());
    (responses.collect(), seen)
}

fn ping(id: u32) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "ping"})
}

#[tokio::test]
async fn messages_pass_also_the_last_one_without_a_newline() {
    let lines = format!("{}\n\n  \n\u{feff}{}\r\n{}", ping(1), ping(2), ping(3));
    let (responses, seen) = transported(lines.as_bytes()).await;
    assert!(responses.is_empty(), "{responses:?}");
    let ids: Vec<&Value> = seen.iter().map(|it| &it["id"]).collect();
    assert_eq!(ids, [&json!(1), &json!(2), &json!(3)]);
}

#[tokio::test]
async fn an_invalid_line_is_answered_with_its_id_if_it_has_one() {
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":7,"params":{}{}}}"#,
        "[".repeat(200),
        "]".repeat(200)
    );
    for (line, code, id, said) in [
        ("hello garbage", -32700, Value::Null, "not valid JSON"),
        (
            r#"{"id": 3, "params": {"a": 1e999}}"#,
            -32700,
            json!(3),
            "number out of range",
        ),
        (
            r#"{"id": "x", "a": "\ud800"}"#,
            -32700,
            json!("x"),
            "not valid JSON",
        ),
        (
            deep.as_str(),
            -32700,
            json!(7),
            "nested more than 127 levels deep",
        ),
        ("{\"id\": 4", -32700, Value::Null, "EOF"),
        (
            r#"{"id": 5}"#,
            -32600,
            json!(5),
            "not a JSON-RPC 2.0 message",
        ),
        ("[1, 2]", -32600, Value::Null, "not a JSON-RPC 2.0 message"),
        (
            r#"{"id": 6, "params": {"a": [{"b": 1, "b": 1}]}}"#,
            -32602,
            json!(6),
            "duplicate member at /params/a/0/b",
        ),
    ] {
        let (responses, seen) = transported(format!("{line}\n{}\n", ping(9)).as_bytes()).await;
        assert_eq!(seen, [ping(9)], "{line}");
        let error = &responses[0]["error"];
        assert_eq!(
            (&error["code"], &responses[0]["id"]),
            (&json!(code), &id),
            "{line}"
        );
        assert!(error["message"].as_str().unwrap().contains(said), "{error}");
    }
}

#[tokio::test]
async fn a_notification_is_never_answered() {
    for line in [
        r#"{"method": "what/ever", "params": 7}"#,
        r#"{"method": "what/ever", "params": {"a": 1, "a": 1}}"#,
    ] {
        let (responses, _) = transported(line.as_bytes()).await;
        assert!(responses.is_empty(), "{responses:?}");
    }
}

#[tokio::test]
async fn lines_are_accepted_up_to_the_limit() {
    let line = |bytes: usize| {
        let message = ping(1).to_string();
        let blanks = " ".repeat(bytes - message.len() - 1);
        format!("{message}{blanks}\n")
    };
    let (responses, seen) = transported(line(DOCUMENT_BYTES_LIMIT).as_bytes()).await;
    assert_eq!((responses.len(), seen.len()), (0, 1));
    let (responses, seen) = transported(line(DOCUMENT_BYTES_LIMIT + 1).as_bytes()).await;
    assert_eq!((responses.len(), seen.len()), (1, 0));
}

#[tokio::test]
async fn a_client_that_stops_reading_has_disconnected() {
    let (near, far) = duplex(64);
    drop(far);
    let (_open, input) = duplex(64);
    let (mut transport, end) = StdioTransport::new(input, near);
    let response = serde_json::from_value(json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
    transport.send(response.unwrap()).await.unwrap_err();
    assert!(transport.receive().await.is_none());
    assert!(end.error().is_none());
    end.record(&io::ErrorKind::TimedOut.into());
    assert!(end.error().is_none(), "the first reason wins");
}

/// A pipe that cannot be read.
struct Unreadable;

impl AsyncRead for Unreadable {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        _: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

#[tokio::test]
async fn other_read_errors_are_reported() {
    let (mut transport, end) = StdioTransport::new(Unreadable, tokio::io::sink());
    assert!(transport.receive().await.is_none());
    assert_eq!(end.error().unwrap().kind(), io::ErrorKind::TimedOut);
}
