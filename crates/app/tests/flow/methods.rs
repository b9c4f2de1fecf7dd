//! The methods of the protocol, and its rules for the fields of a task.

use serde_json::{Value, json};

use crate::{Flow, MOMENT, after, below, new_id, task};

/// Checks the rules about `error`, `result` and the times of a task.
fn check_fields(task: &Value) {
    let status = task["status"].as_str().unwrap();
    let has_error = matches!(status, "failed" | "cancelled");
    let is_text = task["error"].as_str().is_some_and(|it| !it.is_empty());
    assert_eq!(is_text, has_error, "{task}");
    assert!(is_text || task["error"].is_null(), "{task}");
    assert_eq!(task["result"].is_object(), status == "completed", "{task}");
    assert_eq!(task["started_at"].is_null(), status == "pending", "{task}");
    let has_ended = has_error || status == "completed";
    assert_eq!(task["completed_at"].is_string(), has_ended, "{task}");
}

#[test]
fn a_task_has_the_fields_that_its_status_requires() {
    let flow = Flow::start();
    let (root, bad, blocked) = (new_id(), new_id(), new_id());
    let tasks = json!([
        task(&root, "demo/echo", json!({"a": 1})),
        below(
            task(&bad, "demo/divide", json!({"dividend": 1, "divisor": 0})),
            &root
        ),
        after(
            below(task(&blocked, "demo/echo", json!({})), &root),
            json!([{"id": bad}])
        ),
    ]);
    let created = flow.result("tasks.create", json!({"tasks": tasks}));
    assert_eq!(created["status"], "pending");
    for id in [&root, &bad, &blocked] {
        check_fields(&flow.task(id));
    }
    flow.result("tasks.execute", json!({"task_id": root}));
    check_fields(&flow.wait_for(&root, "completed"));
    check_fields(&flow.wait_for(&bad, "failed"));
    std::thread::sleep(MOMENT);
    let blocked = flow.task(&blocked);
    check_fields(&blocked);
    assert_eq!(blocked["status"], "pending");
    assert_eq!(blocked["blocked_by"], json!([bad]));
}

#[test]
fn a_failed_task_is_executed_again_with_its_error_cleared() {
    let flow = Flow::start();
    let id = flow.execute(json!([task(
        &new_id(),
        "demo/divide",
        json!({"dividend": 1, "divisor": 0})
    )]));
    flow.wait_for(&id, "failed");
    let started = flow.result("tasks.execute", json!({"task_id": id}));
    assert_eq!(started["root_task_id"], id.as_str());
    let mut again = Value::Null;
    panpan_testkit::until("the second generation", || {
        again = flow.task(&id);
        check_fields(&again);
        again["generation"] == 2 && again["status"] == "failed"
    });
    let kept = flow.result("tasks.generations", json!({"task_id": id}));
    assert_eq!(kept["generations"].as_array().unwrap().len(), 2);
}

#[test]
fn tasks_are_listed_with_filters_and_pages() {
    let flow = Flow::start();
    for number in 0..5 {
        let mut task = task(&new_id(), "demo/echo", json!({"number": number}));
        task["user_id"] = json!(if number < 2 { "ann" } else { "bob" });
        flow.result("tasks.create", task);
    }
    let listed = flow.result("tasks.list", json!({"limit": 2, "offset": 1}));
    assert_eq!(listed["tasks"].as_array().unwrap().len(), 2);
    assert_eq!(
        (&listed["total"], &listed["limit"], &listed["offset"]),
        (&json!(5), &json!(2), &json!(1))
    );
    let anns = flow.result("tasks.list", json!({"user_id": "ann", "status": "pending"}));
    assert_eq!(anns["total"], 2);
    let done = flow.result("tasks.list", json!({"status": "completed"}));
    assert_eq!(done["total"], 0);
    let counts = flow.result("tasks.statistics", json!({}));
    assert_eq!(counts["by_status"]["pending"], 5);
}

#[test]
fn the_tree_and_the_children_of_a_task_are_returned() {
    let flow = Flow::start();
    let (root, child, leaf) = (new_id(), new_id(), new_id());
    let tasks = json!([
        below(task(&leaf, "demo/echo", json!({})), &child),
        below(task(&child, "demo/echo", json!({})), &root),
        task(&root, "demo/echo", json!({})),
    ]);
    flow.result("tasks.create", json!({"tasks": tasks}));
    let tree = flow.result("tasks.tree", json!({"task_id": root}));
    assert_eq!(tree["task"]["id"], root.as_str());
    assert_eq!(tree["children"][0]["task"]["id"], child.as_str());
    assert_eq!(
        tree["children"][0]["children"][0]["task"]["id"],
        leaf.as_str()
    );
    let children = flow.result("tasks.children", json!({"parent_id": root}));
    assert_eq!(children["children"].as_array().unwrap().len(), 1);
}

#[test]
fn a_cancelled_task_has_the_message_or_a_default_one() {
    let flow = Flow::start();
    let (first, second) = (new_id(), new_id());
    for id in [&first, &second] {
        flow.result("tasks.create", task(id, "demo/echo", json!({})));
    }
    let cancelled = flow.result(
        "tasks.cancel",
        json!({"task_id": first, "message": "not needed"}),
    );
    assert_eq!(cancelled, json!({"task_id": first, "status": "cancelled"}));
    flow.result("tasks.cancel", json!({"task_id": second}));
    assert_eq!(flow.task(&first)["error"], "not needed");
    assert_eq!(flow.task(&second)["error"], "cancelled");
}

#[test]
fn a_notification_is_not_answered_and_a_batch_is() {
    let flow = Flow::start();
    let create = |id: Option<u64>| {
        let mut request =
            json!({"jsonrpc": "2.0", "method": "tasks.create", "params": {"name": "a"}});
        if let Some(id) = id {
            request["id"] = json!(id);
        }
        request
    };
    assert_eq!(flow.post("/tasks", &create(None).to_string()).status, 204);
    let batch = json!([create(Some(1)), create(None), create(Some(2))]).to_string();
    let responses = flow.post("/", &batch).json();
    assert_eq!(responses.as_array().unwrap().len(), 2);
    assert_eq!(flow.result("tasks.list", json!({}))["total"], 4);
}

#[test]
fn a_task_with_an_optional_dependency_on_a_failed_task_runs() {
    let flow = Flow::start();
    let (root, bad, last) = (new_id(), new_id(), new_id());
    let divide = json!({"dividend": 1, "divisor": 0});
    let optional = json!([{"id": bad, "required": false}]);
    flow.execute(json!([
        task(&root, "demo/echo", json!({})),
        below(task(&bad, "demo/divide", divide), &root),
        after(
            below(task(&last, "demo/echo", json!({"a": 1})), &root),
            optional
        ),
    ]));
    let last = flow.wait_for(&last, "completed");
    check_fields(&last);
    assert_eq!(last["result"], json!({"a": 1}));
    assert_eq!(flow.task(&bad)["status"], "failed");
}
