//! How large a request with tasks may be.

use serde_json::{Value, json};

use crate::{Flow, below, new_id, task};

/// A root and its children, 5 MiB in all.
fn large_flow() -> (String, Value) {
    let root = new_id();
    let text = "x".repeat(64 * 1024);
    let child = |_| below(task(&new_id(), "demo/echo", json!({ "text": text })), &root);
    let mut tasks: Vec<Value> = (0..80).map(child).collect();
    tasks.push(task(&root, "demo/echo", json!({})));
    (root, Value::Array(tasks))
}

#[test]
fn the_operator_can_allow_larger_requests() {
    let flow = Flow::configured("[limits]\nbody_bytes = 8388608\n");
    let (root, tasks) = large_flow();
    let created = flow.result("tasks.create", json!({ "tasks": tasks }));
    assert_eq!(created["id"], root.as_str());
    let children = flow.result("tasks.children", json!({"parent_id": root, "limit": 1}));
    assert_eq!(children["total"], 80);
}

#[test]
fn a_request_over_the_limit_is_refused_with_what_to_do() {
    let flow = Flow::start();
    let (_, tasks) = large_flow();
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tasks.create", "params": {"tasks": tasks}});
    let response = flow.post("/tasks", &body.to_string());
    let error = &response.json()["error"];
    assert_eq!(error["data"]["code"], "ERR_JSON_SIZE_EXCEEDED", "{error}");
    assert!(error.to_string().contains("body_bytes"), "{error}");
}
