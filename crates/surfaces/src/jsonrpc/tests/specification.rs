//! The examples of the specification with test operations, and its table of codes.

use serde_json::{Value, json};

use super::gateway::gateway;

/// The parts of a response that the specification defines: of an error only its code.
fn outline(answer: &Value) -> Value {
    match answer {
        Value::Array(answers) => answers.iter().map(outline).collect(),
        answer => match answer.get("error") {
            Some(error) => json!([answer["id"], error["code"]]),
            None => json!([answer["id"], {"result": answer["result"]}]),
        },
    }
}

#[tokio::test]
async fn the_examples_get_the_responses_of_the_specification() {
    let gateway = gateway();
    for (body, expected) in [
        (
            r#"{"jsonrpc": "2.0", "method": "math/subtract", "params": [42, 23], "id": 1}"#,
            Some(json!([1, {"result": 19}])),
        ),
        (
            r#"{"jsonrpc": "2.0", "method": "math/subtract", "params": [23, 42], "id": 2}"#,
            Some(json!([2, {"result": -19}])),
        ),
        (
            r#"{"jsonrpc": "2.0", "method": "math/subtract", "params": {"subtrahend": 23, "minuend": 42}, "id": 3}"#,
            Some(json!([3, {"result": 19}])),
        ),
        (
            r#"{"jsonrpc": "2.0", "method": "math/subtract", "params": {"minuend": 42, "subtrahend": 23}, "id": 4}"#,
            Some(json!([4, {"result": 19}])),
        ),
        (
            r#"{"jsonrpc": "2.0", "method": "test/note", "params": [1,2,3,4,5]}"#,
            None,
        ),
        (r#"{"jsonrpc": "2.0", "method": "foobar"}"#, None),
        (
            r#"{"jsonrpc": "2.0", "method": "foobar", "id": "1"}"#,
            Some(json!(["1", -32601])),
        ),
        (
            r#"{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]"#,
            Some(json!([null, -32700])),
        ),
        (
            r#"{"jsonrpc": "2.0", "method": 1, "params": "bar"}"#,
            Some(json!([null, -32600])),
        ),
        (
            r#"[{"jsonrpc": "2.0", "method": "test/echo", "params": {}, "id": "1"}, {"jsonrpc": "2.0", "method"]"#,
            Some(json!([null, -32700])),
        ),
        ("[]", Some(json!([null, -32600]))),
        ("[1]", Some(json!([[null, -32600]]))),
        (
            "[1,2,3]",
            Some(json!([[null, -32600], [null, -32600], [null, -32600]])),
        ),
        (
            r#"[
                {"jsonrpc": "2.0", "method": "test/echo", "params": {"a": 1}, "id": "1"},
                {"jsonrpc": "2.0", "method": "test/note", "params": {"a": 7}},
                {"jsonrpc": "2.0", "method": "math/subtract", "params": {"minuend": 42, "subtrahend": 23}, "id": "2"},
                {"foo": "boo"},
                {"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"},
                {"jsonrpc": "2.0", "method": "test/echo", "id": "9"}
            ]"#,
            Some(json!([
                ["1", {"result": {"a": 1}}],
                ["2", {"result": 19}],
                [null, -32600],
                ["5", -32601],
                ["9", {"result": {}}],
            ])),
        ),
        (
            r#"[
                {"jsonrpc": "2.0", "method": "test/note", "params": {"a": 1}},
                {"jsonrpc": "2.0", "method": "test/note", "params": {"a": 7}}
            ]"#,
            None,
        ),
    ] {
        let answer = gateway.json(body).await;
        assert_eq!(answer.as_ref().map(outline), expected, "{body}");
    }
    assert_eq!(gateway.noted(), 3);
}

#[tokio::test]
async fn every_code_has_its_standard_message() {
    let gateway = gateway();
    for (body, code, message) in [
        (r#"{"#, -32700, "Parse error: not valid JSON: "),
        (
            r#"{"jsonrpc": "1.0", "method": "a/b", "id": 1}"#,
            -32600,
            "Invalid Request: jsonrpc must be \"2.0\"",
        ),
        (
            r#"{"jsonrpc": "2.0", "method": "a/b", "id": 1}"#,
            -32601,
            "Method not found: there is no operation a/b",
        ),
        (
            r#"{"jsonrpc": "2.0", "method": "math/subtract", "id": 1}"#,
            -32602,
            "Invalid params: ",
        ),
        (
            r#"{"jsonrpc": "2.0", "method": "test/broken", "id": 1}"#,
            -32603,
            "Internal error",
        ),
        (
            r#"{"jsonrpc": "2.0", "method": "test/limited", "id": 1}"#,
            -32004,
            "Unauthorized: ",
        ),
    ] {
        let answer = gateway.json(body).await.unwrap();
        assert_eq!(answer["jsonrpc"], json!("2.0"));
        assert_eq!(answer["error"]["code"], json!(code), "{answer}");
        let found = answer["error"]["message"].as_str().unwrap();
        assert!(found.starts_with(message), "{found}");
        assert!(
            answer["error"]["data"]["panpan"]["id"].is_string(),
            "{answer}"
        );
    }
}
