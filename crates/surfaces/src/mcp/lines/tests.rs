//! What passes, what is answered, and how the pipes end.

use std::pin::Pin;
use std::task::{Context, Poll};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, ReadBuf, duplex};

use super::*;

/// What the client sees and what the library sees of some input.
async fn carried(input: &[u8]) -> (Vec<Value>, Vec<Value>) {
    let (near, mut far) = duplex(64 * 1024);
    let (mut lines, broken) = Lines::new(input, near);
    let mut seen = Vec::new();
    while let Some(message) = lines.receive().await {
        seen.push(serde_json::to_value(message).unwrap());
    }
    lines.close().await.unwrap();
    drop(lines);
    assert!(broken.why().is_none());
    let mut output = Vec::new();
    far.read_to_end(&mut output).await.unwrap();
    let answers = output.split(|byte| *byte == b'\n');
    let answers = answers.filter(|line| !line.is_empty());
    let answers = answers.map(|line| serde_json::from_slice(line).unwrap());
    (answers.collect(), seen)
}

fn ping(id: u32) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "ping"})
}

#[tokio::test]
async fn messages_pass_also_the_last_without_an_end() {
    let lines = format!("{}\n\n  \n\u{feff}{}\r\n{}", ping(1), ping(2), ping(3));
    let (answers, seen) = carried(lines.as_bytes()).await;
    assert!(answers.is_empty(), "{answers:?}");
    let ids: Vec<&Value> = seen.iter().map(|it| &it["id"]).collect();
    assert_eq!(ids, [&json!(1), &json!(2), &json!(3)]);
}

#[tokio::test]
async fn what_cannot_be_read_is_answered_with_its_id_where_it_has_one() {
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
        (r#"{"id": 5}"#, -32600, json!(5), "not one message"),
        ("[1, 2]", -32600, Value::Null, "not one message"),
        (
            r#"{"id": 6, "params": {"a": [{"b": 1, "b": 1}]}}"#,
            -32602,
            json!(6),
            "/params/a/0/b stands twice",
        ),
    ] {
        let (answers, seen) = carried(format!("{line}\n{}\n", ping(9)).as_bytes()).await;
        assert_eq!(seen, [ping(9)], "{line}");
        let error = &answers[0]["error"];
        assert_eq!(
            (&error["code"], &answers[0]["id"]),
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
        let (answers, _) = carried(line.as_bytes()).await;
        assert!(answers.is_empty(), "{answers:?}");
    }
}

#[tokio::test]
async fn the_length_of_a_line_is_limited_on_both_sides() {
    let line = |bytes: usize| {
        let message = ping(1).to_string();
        let blanks = " ".repeat(bytes - message.len() - 1);
        format!("{message}{blanks}\n")
    };
    let (answers, seen) = carried(line(DOCUMENT_BYTES_LIMIT).as_bytes()).await;
    assert_eq!((answers.len(), seen.len()), (0, 1));
    let (answers, seen) = carried(line(DOCUMENT_BYTES_LIMIT + 1).as_bytes()).await;
    assert_eq!((answers.len(), seen.len()), (1, 0));
}

#[tokio::test]
async fn a_client_that_stops_reading_has_left() {
    let (near, far) = duplex(64);
    drop(far);
    let (_open, input) = duplex(64);
    let (mut lines, broken) = Lines::new(input, near);
    let answer = serde_json::from_value(json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
    lines.send(answer.unwrap()).await.unwrap_err();
    assert!(lines.receive().await.is_none());
    assert!(broken.why().is_none());
    broken.by(&io::ErrorKind::TimedOut.into());
    assert!(broken.why().is_none(), "what came first is told");
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
async fn what_breaks_a_pipe_otherwise_is_told() {
    let (mut lines, broken) = Lines::new(Unreadable, tokio::io::sink());
    assert!(lines.receive().await.is_none());
    assert_eq!(broken.why().unwrap().kind(), io::ErrorKind::TimedOut);
}
