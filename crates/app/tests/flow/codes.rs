//! Every row of the two code tables: number, name at the beginning of the message, members of `data`.

use serde_json::{Value, json};

use crate::{Flow, after, below, new_id, task};

/// Checks code, name and members of an error.
fn check(error: &Value, code: i64, name: &str, members: &[&str]) {
    assert_eq!(error["code"], code, "{error}");
    let message = error["message"].as_str().unwrap();
    assert!(message.starts_with(name), "{error}");
    for member in members {
        assert!(!error["data"][member].is_null(), "{member} in {error}");
    }
}

#[test]
fn minus_32700_is_returned_for_a_body_that_is_not_json() {
    let flow = Flow::start();
    for path in ["/", "/tasks", "/rpc"] {
        let response = flow.post(path, "{\"jsonrpc\": ");
        assert_eq!(response.status, 200);
        check(&response.json()["error"], -32700, "Parse error", &[]);
    }
}

#[test]
fn minus_32600_is_returned_for_json_that_is_not_a_request() {
    let flow = Flow::start();
    for body in [
        "[]",
        "7",
        "{\"method\": \"tasks.get\", \"id\": 1}",
        "{\"jsonrpc\": \"2.0\", \"id\": 1}",
    ] {
        let response = flow.post("/tasks", body).json();
        check(&response["error"], -32600, "Invalid Request", &[]);
    }
}

#[test]
fn minus_32601_is_returned_for_an_unknown_method() {
    let error = Flow::start().error("tasks.frobnicate", json!({}));
    check(&error, -32601, "Method not found", &[]);
}

#[test]
fn minus_32602_names_the_field_the_reason_and_what_was_expected() {
    let flow = Flow::start();
    let error = flow.error("tasks.create", json!({"name": "a", "priority": 5}));
    check(
        &error,
        -32602,
        "Invalid params",
        &["field", "reason", "expected", "actual"],
    );
    assert_eq!(error["data"]["field"], "priority");
    assert_eq!(error["data"]["actual"], 5);
    for (method, params, field) in [
        ("tasks.get", json!({}), "task_id"),
        ("tasks.get", json!({"task_id": "task1"}), "task_id"),
        ("tasks.create", json!({}), "name"),
        ("tasks.create", json!({"name": ""}), "name"),
        ("tasks.create", json!({"name": "a", "id": "task1"}), "id"),
        ("tasks.create", json!({"name": "a", "inputs": 7}), "inputs"),
        ("tasks.list", json!({"limit": 1001}), "limit"),
        ("tasks.list", json!({"status": "done"}), "status"),
        ("tasks.execute", json!({}), "tasks"),
        (
            "tasks.execute",
            json!({"tasks": [], "task_id": new_id()}),
            "tasks",
        ),
    ] {
        let error = flow.error(method, params.clone());
        check(&error, -32602, "Invalid params", &["field", "reason"]);
        assert_eq!(error["data"]["field"], field, "{method} {params}: {error}");
    }
}

#[test]
fn all_invalid_members_are_reported_at_once() {
    let params = json!({"name": "", "priority": 9, "inputs": [], "dependencies": [{"id": "x"}]});
    let error = Flow::start().error("tasks.create", params);
    assert_eq!(error["code"], -32602);
    assert_eq!(
        error["data"]["errors"].as_array().unwrap().len(),
        4,
        "{error}"
    );
}

#[test]
fn minus_32001_names_the_task_that_does_not_exist() {
    let flow = Flow::start();
    let id = new_id();
    for method in [
        "tasks.get",
        "tasks.execute",
        "tasks.cancel",
        "tasks.delete",
        "tasks.tree",
    ] {
        let error = flow.error(method, json!({"task_id": id}));
        check(&error, -32001, "Task not found", &["task_id"]);
        assert_eq!(error["data"]["task_id"], id.as_str(), "{method}");
    }
}

#[test]
fn minus_32002_contains_the_cycle() {
    let flow = Flow::start();
    let (root, a, b, c) = (new_id(), new_id(), new_id(), new_id());
    let on = |id: &str| json!([{"id": id}]);
    let tasks = json!([
        task(&root, "demo/echo", json!({})),
        after(below(task(&a, "demo/echo", json!({})), &root), on(&b)),
        after(below(task(&b, "demo/echo", json!({})), &root), on(&c)),
        after(below(task(&c, "demo/echo", json!({})), &root), on(&a)),
    ]);
    let error = flow.error("tasks.execute", json!({"tasks": tasks}));
    check(&error, -32002, "Circular dependency", &["cycle"]);
    let cycle: Vec<&str> = error["data"]["cycle"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it.as_str().unwrap())
        .collect();
    assert_eq!(cycle.len(), 4);
    assert_eq!(cycle.first(), cycle.last());
    let itself = after(task(&a, "demo/echo", json!({})), on(&a));
    let error = flow.error("tasks.create", itself);
    check(&error, -32002, "Circular dependency", &["cycle"]);
    let listed = flow.result("tasks.list", json!({}));
    assert_eq!(listed["total"], 0, "nothing of a refused plan is stored");
}

#[test]
fn minus_32003_suggests_similar_operations() {
    let error = Flow::start().error("tasks.create", task(&new_id(), "demo/divid", json!({})));
    check(&error, -32003, "Executor not found", &[]);
    assert!(error.to_string().contains("demo/divide"), "{error}");
}

#[test]
fn minus_32005_is_returned_for_provenance_and_schemas() {
    let flow = Flow::start();
    let pending = new_id();
    flow.result("tasks.create", task(&pending, "demo/echo", json!({})));
    let with = |member: &str, value: Value| {
        let mut task = task(&new_id(), "demo/echo", json!({}));
        task[member] = value;
        task
    };
    let mut linked = with("origin_type", json!("link"));
    linked["original_task_id"] = json!(pending);
    let mut checked = with("inputs", json!({"pieces": "two"}));
    checked["schemas"]["input_schema"] =
        json!({"type": "object", "properties": {"pieces": {"type": "integer"}}});
    for task in [
        with("origin_type", json!("stolen")),
        with("origin_type", json!("copy")),
        with("has_references", json!(true)),
        linked,
        checked,
    ] {
        let error = flow.error("tasks.create", task.clone());
        check(&error, -32005, "Invalid task schema", &["reason"]);
    }
}

#[test]
fn minus_32006_has_the_transition() {
    let flow = Flow::start();
    let id = flow.execute(json!([task(&new_id(), "demo/echo", json!({}))]));
    flow.wait_for(&id, "completed");
    let error = flow.error("tasks.cancel", json!({"task_id": id}));
    let members = [
        "task_id",
        "current_status",
        "attempted_transition",
        "reason",
    ];
    check(&error, -32006, "Invalid state transition", &members);
    assert_eq!(error["data"]["current_status"], "completed");
    assert_eq!(
        error["data"]["attempted_transition"],
        "completed -> cancelled"
    );
}

#[test]
fn minus_32007_lists_the_unsatisfied_dependencies() {
    let flow = Flow::start();
    let (root, first, second) = (new_id(), new_id(), new_id());
    let tasks = json!([
        task(&root, "demo/echo", json!({})),
        below(task(&first, "demo/echo", json!({})), &root),
        after(
            below(task(&second, "demo/echo", json!({})), &root),
            json!([{"id": first}])
        ),
    ]);
    flow.result("tasks.create", json!({"tasks": tasks}));
    let error = flow.error("tasks.execute", json!({"task_id": second}));
    check(
        &error,
        -32007,
        "Dependency not satisfied",
        &["task_id", "unsatisfied"],
    );
    assert_eq!(error["data"]["unsatisfied"][0]["task_id"], first.as_str());
    assert_eq!(error["data"]["unsatisfied"][0]["status"], "pending");
}

#[test]
fn minus_32008_is_returned_while_a_task_runs() {
    let flow = Flow::start();
    let id = flow.execute(json!([task(&new_id(), "demo/wait", json!({"ms": 20_000}))]));
    flow.wait_for(&id, "in_progress");
    let error = flow.error("tasks.execute", json!({"task_id": id}));
    let members = ["task_id", "current_status"];
    check(&error, -32008, "Task already executing", &members);
    assert_eq!(error["data"]["current_status"], "in_progress");
    flow.result("tasks.cancel", json!({"task_id": id}));
}

#[test]
fn minus_32009_says_why_a_task_cannot_be_deleted() {
    let flow = Flow::start();
    let (root, child, other) = (new_id(), new_id(), new_id());
    let tasks = json!([
        task(&root, "demo/echo", json!({})),
        below(task(&child, "demo/echo", json!({})), &root),
        after(
            below(task(&other, "demo/echo", json!({})), &root),
            json!([{"id": child}])
        ),
    ]);
    flow.result("tasks.create", json!({"tasks": tasks}));
    for id in [&root, &child] {
        let error = flow.error("tasks.delete", json!({"task_id": id}));
        check(
            &error,
            -32009,
            "Cannot delete task",
            &["task_id", "reason", "delete_first"],
        );
    }
    assert_eq!(
        flow.result("tasks.delete", json!({"task_id": other})),
        json!({"success": true})
    );
    flow.result("tasks.execute", json!({"task_id": root}));
    flow.wait_for(&child, "completed");
    let error = flow.error("tasks.delete", json!({"task_id": child}));
    check(&error, -32009, "Cannot delete task", &["task_id", "reason"]);
}

#[test]
fn minus_32010_11_and_12_are_returned_for_invalid_trees() {
    let flow = Flow::start();
    let echo = |id: &str| task(id, "demo/echo", json!({}));
    let (root, other) = (new_id(), new_id());
    let error = flow.error("tasks.create", below(echo(&new_id()), &new_id()));
    check(&error, -32010, "Invalid parent reference", &["reason"]);
    let outside = after(echo(&new_id()), json!([{"id": new_id()}]));
    let error = flow.error("tasks.create", outside);
    check(&error, -32011, "Invalid dependency reference", &["reason"]);
    for tasks in [
        json!([echo(&root), echo(&other)]),
        json!([below(echo(&root), &other), below(echo(&other), &root)]),
        json!([echo(&root), echo(&root)]),
        json!([]),
    ] {
        let error = flow.error("tasks.execute", json!({"tasks": tasks}));
        check(&error, -32012, "Task tree validation failed", &["reason"]);
    }
}

#[test]
fn minus_32603_is_what_a_failed_execution_leaves_in_the_task_not_on_the_wire() {
    let flow = Flow::start();
    let failing = task(
        &new_id(),
        "demo/divide",
        json!({"dividend": 1, "divisor": 0}),
    );
    let id = flow.execute(json!([failing]));
    let failed = flow.wait_for(&id, "failed");
    let error = failed["error"].as_str().unwrap();
    assert!(
        error.contains("demo/divide") && error.contains("DIVISION_BY_ZERO"),
        "{error}"
    );
    assert_eq!(failed["failure"]["code"], "DIVISION_BY_ZERO");
    assert!(failed["result"].is_null());
}
