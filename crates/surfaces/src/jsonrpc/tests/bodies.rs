//! Bodies without an example in the specification.

use panpan_failure::{Failure, codes};
use serde_json::{Value, json};

use super::super::{Parsed, serve};
use super::gateway::{TestGateway, gateway};
use crate::options::CallOptions;

#[tokio::test]
async fn ids_are_repeated_verbatim() {
    let gateway = gateway();
    for id in [
        "null",
        "0",
        "-0",
        "1.0",
        "1.00",
        "1e2",
        "1E+400",
        "-7.5e-3",
        "123456789012345678901234567890",
        r#""""#,
        r#""a\u0062\n""#,
        r#""é""#,
        r#""\ud800""#,
    ] {
        let body = format!(r#"{{"id" : {id} ,"jsonrpc":"2.0","method":"test/echo"}}"#);
        let expected = format!(r#"{{"jsonrpc":"2.0","result":{{}},"id":{id}}}"#);
        assert_eq!(gateway.text(&body).await, Some(expected));
        let body = format!(r#"{{"id":{id},"jsonrpc":"2.0","method":"no/such"}}"#);
        let answer = gateway.text(&body).await.unwrap();
        assert!(answer.ends_with(&format!(r#","id":{id}}}"#)), "{answer}");
    }
}

#[tokio::test]
async fn an_invalid_request_is_refused_under_its_id_if_it_can_be_read() {
    let gateway = gateway();
    for (body, id, field) in [
        (r#"{"method":"test/note","id":1}"#, json!(1), "jsonrpc"),
        (
            r#"{"jsonrpc":2.0,"method":"test/note","id":1}"#,
            json!(1),
            "jsonrpc",
        ),
        (
            r#"{"jsonrpc":"2.00","method":"test/note","id":1}"#,
            json!(1),
            "jsonrpc",
        ),
        (
            r#"{"jsonrpc":["2.0"],"method":"test/note","id":"x"}"#,
            json!("x"),
            "jsonrpc",
        ),
        (r#"{"jsonrpc":"2.0","id":1}"#, json!(1), "method"),
        (r#"{"jsonrpc":"2.0"}"#, Value::Null, "method"),
        (
            r#"{"jsonrpc":"2.0","method":null,"id":1}"#,
            json!(1),
            "method",
        ),
        (
            r#"{"jsonrpc":"2.0","method":{"a":"b"},"id":1}"#,
            json!(1),
            "method",
        ),
        (
            r#"{"jsonrpc":"2.0","method":"test/note","params":null,"id":1}"#,
            json!(1),
            "params",
        ),
        (
            r#"{"jsonrpc":"2.0","method":"test/note","params":"a","id":1}"#,
            json!(1),
            "params",
        ),
        (
            r#"{"jsonrpc":"2.0","method":"test/note","params":7}"#,
            Value::Null,
            "params",
        ),
        (
            r#"{"jsonrpc":"2.0","method":"test/note","id":true}"#,
            Value::Null,
            "id",
        ),
        (
            r#"{"jsonrpc":"2.0","method":"test/note","id":[1]}"#,
            Value::Null,
            "id",
        ),
        (
            r#"{"jsonrpc":"2.0","method":"test/note","id":{"id":1}}"#,
            Value::Null,
            "id",
        ),
        (
            r#"{"id":1,"id":1,"jsonrpc":"2.0","method":"test/note"}"#,
            Value::Null,
            "id",
        ),
        (
            r#"{"id":1,"jsonrpc":"2.0","method":"test/note","method":"test/echo"}"#,
            json!(1),
            "method",
        ),
        (
            r#"{"id":1,"jsonrpc":"2.0","method":"test/note","\u006dethod":"test/echo"}"#,
            json!(1),
            "method",
        ),
        (
            r#"{"id":1,"jsonrpc":"2.0","method":"test/note","params":{},"params":{}}"#,
            json!(1),
            "params",
        ),
        (
            r#"{"method":1,"method":1,"id":1,"id":2,"jsonrpc":"2.0"}"#,
            Value::Null,
            "method",
        ),
        (
            r#"{"id":1,"jsonrpc":"2.0","method":"test/note","x":1,"x":1}"#,
            json!(1),
            "x",
        ),
    ] {
        let answer = gateway.json(body).await.unwrap();
        assert_eq!(answer["id"], id, "{body}");
        assert_eq!(answer["error"]["code"], json!(-32600), "{body}");
        assert_eq!(answer["error"]["data"]["field"], json!(field), "{body}");
    }
    for body in ["null", "true", "1", "-1", "1.5", r#""text""#] {
        let answer = gateway.json(body).await.unwrap();
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&Value::Null, &json!(-32600))
        );
    }
    assert_eq!(gateway.noted(), 0);
}

#[tokio::test]
async fn unknown_members_are_ignored() {
    let body =
        r#"{"metadata":{"stream":[true]},"jsonrpc":"\u0032.0","method":"test\/echo","id":1,"x":1}"#;
    let answer = gateway().json(body).await.unwrap();
    assert_eq!(answer, json!({"jsonrpc": "2.0", "result": {}, "id": 1}));
}

#[tokio::test]
async fn a_notification_is_executed_without_a_response() {
    let gateway = gateway();
    for (body, noted) in [
        (r#"{"jsonrpc":"2.0","method":"test/note"}"#, 1),
        (r#"{"jsonrpc":"2.0","method":"test/broken"}"#, 1),
        (r#"{"jsonrpc":"2.0","method":"test/note","params":[1]}"#, 1),
        (
            r#"[{"jsonrpc":"2.0","method":"test/note"},{"jsonrpc":"2.0","method":"no/such"}]"#,
            2,
        ),
    ] {
        assert_eq!(gateway.text(body).await, None, "{body}");
        assert_eq!(gateway.noted(), noted, "{body}");
    }
}

#[tokio::test]
async fn a_method_names_an_operation_with_slashes_or_dots() {
    let gateway = gateway();
    for (method, found) in [
        ("test/echo", true),
        ("/test/echo", true),
        ("test.echo", true),
        ("/test.echo", true),
        ("test/dotted.name", true),
        ("test.dotted.name", true),
        ("test.a.b", true),
        ("test/a.b", true),
        ("test..echo", false),
        ("echo", false),
        ("", false),
        ("test/hidden", false),
        ("test.hidden", false),
    ] {
        let answer = gateway.call(method, json!({"x": 1})).await;
        match found {
            true => assert_eq!(answer["result"], json!({"x": 1}), "{method}"),
            false => {
                assert_eq!(answer["error"]["code"], json!(-32601), "{method}");
                let named = &answer["error"]["data"]["operation"];
                assert_eq!(named, &json!(method), "internal operations look absent");
            }
        }
    }
}

#[tokio::test]
async fn an_unidentified_caller_gets_a_failure_per_request_and_nothing_runs() {
    let TestGateway { gateway, notes } = gateway();
    let unidentified = Err(Failure::new(codes::FORBIDDEN).with_message("the token is not valid"));
    let note = r#"{"jsonrpc":"2.0","method":"test/note"}"#;
    let answer = async |body: &str| {
        let body = Parsed::new(body.as_bytes(), gateway.limits());
        serve(&gateway, &unidentified, &CallOptions::default(), body).await
    };
    assert_eq!(answer(note).await, None);
    let body = format!(r#"[{note},{{"jsonrpc":"2.0","method":"test/note","id":7}},1]"#);
    let answer = answer(&body).await.unwrap();
    let answers: Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!(answers[0]["error"]["code"], json!(-32004));
    assert_eq!(
        answers[0]["error"]["message"],
        json!("Unauthorized: the token is not valid")
    );
    assert_eq!(answers[0]["id"], json!(7));
    assert_eq!(answers[1]["error"]["code"], json!(-32600));
    assert_eq!(answers.as_array().unwrap().len(), 2);
    assert_eq!(notes.load(std::sync::atomic::Ordering::SeqCst), 0);
}

#[tokio::test]
async fn text_that_is_not_utf_8_is_a_parse_error() {
    let answer = gateway()
        .answer(b"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\"}")
        .await
        .unwrap();
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!(answer["error"]["code"], json!(-32700));
    assert_eq!(answer["id"], Value::Null);
}

#[tokio::test]
async fn the_future_of_serve_is_send() {
    let body = r#"[{"jsonrpc":"2.0","method":"test/echo","id":1}]"#;
    let served = tokio::spawn(async move { gateway().text(body).await });
    assert_eq!(
        served.await.unwrap().as_deref(),
        Some(r#"[{"jsonrpc":"2.0","result":{},"id":1}]"#)
    );
}
