//! Parameters and the options in their `_meta`.

use panpan_failure::dialect::Dialect;
use serde_json::{Value, json};

use super::gateway::gateway;
use panpan_mcp::names::{IDEMPOTENCY_META_KEY, SEED_META_KEY, TIMEOUT_META_KEY};

#[tokio::test]
async fn params_by_position_get_the_declared_names() {
    let gateway = gateway();
    for (params, expected) in [
        (json!([42, "x"]), json!([["/subtrahend", "type"]])),
        (json!([42]), json!([["/subtrahend", "missing"]])),
        (json!([1, 2, 3, 4]), json!([["", null]])),
    ] {
        let answer = gateway.call("math/subtract", params.clone()).await;
        let errors = answer["error"]["data"]["errors"].as_array().unwrap().iter();
        let found: Value = errors
            .map(|it| json!([it["pointer"], it["kind"]]))
            .collect();
        assert_eq!(
            (&answer["error"]["code"], &found),
            (&json!(-32602), &expected),
            "{params}"
        );
    }
    let body = r#"{"jsonrpc":"2.0","method":"math/subtract","params":[{"a":1,"a":2},3],"id":1}"#;
    let answer = gateway.json(body).await.unwrap();
    assert_eq!(answer["error"]["data"]["field"], json!("/0/a"));
}

#[tokio::test]
async fn other_params_must_be_named() {
    let gateway = gateway();
    assert_eq!(
        gateway.call("test/echo", json!([])).await["result"],
        json!({})
    );
    let answer = gateway.call("test/echo", json!([1])).await;
    assert_eq!(answer["error"]["code"], json!(-32602));
    assert_eq!(
        answer["error"]["message"],
        json!(
            "Invalid params: params must be an object: the operation declares no order of its arguments"
        )
    );
    for method in ["no/such", "test/hidden"] {
        let answer = gateway.call(method, json!([1])).await;
        assert_eq!(answer["error"]["code"], json!(-32601), "{method}");
    }
}

#[tokio::test]
async fn a_duplicate_member_in_params_is_located() {
    let body = r#"{"jsonrpc":"2.0","method":"test/note","params":{"a":[{"b":1,"b":2}]},"id":1}"#;
    let gateway = gateway();
    let answer = gateway.json(body).await.unwrap();
    assert_eq!(answer["error"]["code"], json!(-32602));
    assert_eq!(answer["error"]["data"]["field"], json!("/a/0/b"));
    assert_eq!(gateway.noted(), 0);
}

#[tokio::test]
async fn meta_is_removed_before_the_input_is_validated() {
    let gateway = gateway();
    let keyed = |input: Value, meta: Value| {
        let mut params = input;
        params["_meta"] = meta;
        params
    };
    let meta = json!({IDEMPOTENCY_META_KEY: "k", SEED_META_KEY: 7, TIMEOUT_META_KEY: 1000, "traceparent": 1});
    let first = gateway
        .call("test/report", keyed(json!({"a": 1}), meta.clone()))
        .await;
    assert_eq!(first["result"]["input"], json!({"a": 1}));
    let again = gateway
        .call("test/report", keyed(json!({"a": 1}), meta))
        .await;
    assert_eq!(again, first);
    let other = keyed(json!({"a": 2}), json!({IDEMPOTENCY_META_KEY: "k"}));
    let reused = Dialect::JsonRpc.read(gateway.call("test/report", other).await);
    let reused = reused.unwrap().outcome.unwrap_err();
    assert_eq!(reused.code().as_str(), "ERR_IDEMPOTENCY_KEY_REUSED");
    let kept = gateway.call("test/echo", json!({"_meta": "text"})).await;
    assert_eq!(kept["result"], json!({"_meta": "text"}));
}

#[tokio::test]
async fn an_invalid_option_in_meta_is_refused_with_its_pointer() {
    let gateway = gateway();
    for (name, value) in [
        (IDEMPOTENCY_META_KEY, json!("")),
        (IDEMPOTENCY_META_KEY, json!("a b")),
        (IDEMPOTENCY_META_KEY, json!(7)),
        (SEED_META_KEY, json!("7")),
        (SEED_META_KEY, json!(1.5)),
        (TIMEOUT_META_KEY, json!(-1)),
    ] {
        let answer = gateway
            .call("test/note", json!({"_meta": {name: value}}))
            .await;
        assert_eq!(answer["error"]["code"], json!(-32602), "{name}");
        let pointer = &answer["error"]["data"]["errors"][0]["pointer"];
        assert_eq!(
            pointer,
            &json!(format!("/_meta/{}", name.replace('/', "~1")))
        );
    }
    assert_eq!(gateway.noted(), 0);
}

#[tokio::test]
async fn a_valid_trace_is_passed_on_and_an_invalid_one_ignored() {
    let gateway = gateway();
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for (sent, passed_on) in [
        (json!(trace), json!(trace)),
        (json!("none"), Value::Null),
        (json!(1), Value::Null),
    ] {
        let params = json!({"_meta": {"traceparent": sent}});
        let answer = gateway.call("test/report", params).await;
        assert_eq!(answer["result"]["trace"], passed_on, "{sent}");
    }
}
