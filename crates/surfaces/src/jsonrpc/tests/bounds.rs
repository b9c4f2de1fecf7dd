//! Batches and the limits of bodies.

use panpan_failure::read::DOCUMENT_DEPTH_LIMIT;
use serde_json::{Value, json};

use super::gateway::{gateway, gateway_within};
use crate::limits::Limits;

#[tokio::test]
async fn the_calls_of_a_batch_run_concurrently_and_are_answered_in_order() {
    // Each call ends only after the other has started.
    let request =
        |id: u32| json!({"jsonrpc": "2.0", "method": "test/meet", "id": id, "params": {"i": id}});
    let body = json!([request(1), request(2)]).to_string();
    let answers = gateway().json(&body).await.unwrap();
    for (index, id) in [(0, 1), (1, 2)] {
        assert_eq!(answers[index]["id"], json!(id));
        assert_eq!(answers[index]["result"], json!({"i": id}));
    }
}

#[tokio::test]
async fn a_batch_does_not_exceed_the_concurrency_limit_of_its_caller() {
    let gateway = gateway_within(Limits {
        calls_in_flight_per_caller: 1,
        ..Limits::default()
    });
    let request = json!({"jsonrpc": "2.0", "method": "test/note", "id": 1});
    let body = Value::from(vec![request; 20]).to_string();
    let answers = gateway.json(&body).await.unwrap();
    assert!(
        answers
            .as_array()
            .unwrap()
            .iter()
            .all(|it| it["result"] == json!("noted"))
    );
}

#[tokio::test]
async fn a_batch_over_the_limit_is_refused_and_not_executed() {
    let gateway = gateway_within(Limits {
        batch: 3,
        ..Limits::default()
    });
    let batch = |count| {
        let request = json!({"jsonrpc": "2.0", "method": "test/note", "id": 1});
        Value::from(vec![request; count]).to_string()
    };
    let answers = gateway.json(&batch(3)).await.unwrap();
    assert_eq!(answers.as_array().unwrap().len(), 3);
    let refused = gateway.json(&batch(4)).await.unwrap();
    assert_eq!(refused["error"]["code"], json!(-32600));
    assert_eq!(refused["error"]["data"]["batch_limit"], json!(3));
    assert_eq!(refused["id"], Value::Null);
    assert_eq!(gateway.noted(), 3);
    let broken = format!("{},]", batch(4).trim_end_matches(']'));
    assert_eq!(
        gateway.json(&broken).await.unwrap()["error"]["code"],
        json!(-32700)
    );
}

#[tokio::test]
async fn params_are_accepted_up_to_the_depth_limit() {
    let gateway = gateway();
    // The request and its params are two levels.
    let nested = |depth: usize| {
        let (open, close) = ("[".repeat(depth - 2), "]".repeat(depth - 2));
        format!(r#"{{"jsonrpc":"2.0","method":"test/echo","id":1,"params":{{"a":{open}{close}}}}}"#)
    };
    let answer = gateway.text(&nested(DOCUMENT_DEPTH_LIMIT)).await.unwrap();
    assert!(
        answer.starts_with(r#"{"jsonrpc":"2.0","result""#),
        "{answer}"
    );
    let answer = gateway
        .json(&nested(DOCUMENT_DEPTH_LIMIT + 1))
        .await
        .unwrap();
    assert_eq!(answer["error"]["code"], json!(-32700));
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("more than 127 levels deep"), "{message}");
    // Skipped values have no depth limit.
    let deep = format!(r#"{{"id":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(
        gateway.json(&deep).await.unwrap()["error"]["code"],
        json!(-32600)
    );
}

#[tokio::test]
async fn a_body_is_accepted_up_to_the_size_limit() {
    let body = r#"{"jsonrpc":"2.0","method":"test/echo","id":1}"#;
    let within = gateway_within(Limits {
        body_bytes: body.len(),
        ..Limits::default()
    });
    assert_eq!(within.json(body).await.unwrap()["result"], json!({}));
    let refused = within.json(&format!("{body} ")).await.unwrap();
    assert_eq!(refused["error"]["code"], json!(-32700));
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(
        message.contains(&format!("the limit is {}", body.len())),
        "{message}"
    );
}
