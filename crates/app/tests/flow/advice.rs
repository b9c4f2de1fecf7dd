//! What a caller is told to do next: about tasks that failed, and about requests that were refused.

use serde_json::{Value, json};

use crate::{Flow, after, below, new_id, task};

/// The actions of a failure, one per line.
fn actions(recovery: &Value) -> String {
    let actions = recovery["required_actions"].as_array().unwrap();
    let actions = actions.iter().map(|it| it.as_str().unwrap());
    actions.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_failure_of_a_task_says_what_helps_in_its_flow() {
    let flow = Flow::start();
    let (root, divisor) = (new_id(), new_id());
    let inputs = json!({"dividend": 6, "divisor": {"$from": divisor, "pointer": "/echo/divisor"}});
    let dividing = after(task(&root, "demo/divide", inputs), json!([{"id": divisor}]));
    let echoed = json!({"echo": {"divisor": 0}});
    let source = below(task(&divisor, "demo/echo", echoed), &root);
    flow.execute(json!([dividing, source]));
    let failed = flow.wait_for(&root, "failed");
    assert_eq!(failed["failure"]["code"], "DIVISION_BY_ZERO", "{failed}");
    let actions = actions(&failed["failure"]["recovery"]);
    for part in [
        "tasks/update",
        "tasks/execute with the root_task_id",
        &divisor,
    ] {
        assert!(actions.contains(part), "{part} in {actions}");
    }
    assert!(!actions.contains("call again"), "{actions}");
}

#[test]
fn a_task_that_timed_out_gets_a_longer_timeout_of_its_own() {
    let flow = Flow::start();
    let id = new_id();
    let mut waiting = task(&id, "demo/wait", json!({"ms": 60_000}));
    waiting["params"] = json!({"call": {"timeout_ms": 50}});
    waiting["retry"] = json!({"max_attempts": 1});
    flow.execute(json!([waiting]));
    let failed = flow.wait_for(&id, "failed");
    let actions = actions(&failed["failure"]["recovery"]);
    let expected = format!("Set params.call.timeout_ms of task {id} above 50 with tasks/update");
    assert!(actions.contains(&expected), "{actions}");
    assert!(!actions.contains("Call again"), "{actions}");
}

#[test]
fn a_refused_plan_says_what_to_do_instead() {
    let flow = Flow::start();
    let (first, second) = (new_id(), new_id());
    let echo = |id: &str| task(id, "demo/echo", json!({}));
    let cycle = json!([
        after(echo(&first), json!([{"id": second}])),
        after(below(echo(&second), &first), json!([{"id": first}])),
    ]);
    for (params, code, action) in [
        (
            json!({"tasks": [task(&first, "no/such", json!({}))]}),
            "EXECUTOR_NOT_FOUND",
            "Call services/list to find the operation",
        ),
        (
            json!({"tasks": cycle}),
            "CIRCULAR_DEPENDENCY",
            "Remove one of the dependencies",
        ),
        (
            json!({"tasks": [echo(&first), echo(&second)]}),
            "TASK_TREE_VALIDATION_FAILED",
            "Give every task except one a parent_id",
        ),
        (
            json!({"tasks": [echo(&first)], "webhook_config": {"url": "https://example.com/"}}),
            "INVALID_INPUT",
            "Leave out webhook_config",
        ),
    ] {
        let data = flow.error("tasks.create", params)["data"].take();
        assert_eq!(data["code"], code, "{data}");
        let actions = actions(&data["panpan"]["recovery"]);
        assert!(actions.contains(action), "{actions}");
        assert!(
            !actions.contains("tasks/list") && !actions.contains(" must be "),
            "{actions}"
        );
    }
    let id = flow.execute(json!([echo(&first)]));
    let updates = json!({"task_id": id, "updates": {"parent_id": second}});
    let data = flow.error("tasks.update", updates)["data"].take();
    let actions = actions(&data["panpan"]["recovery"]);
    assert!(
        actions.starts_with("Leave out updates/parent_id"),
        "{actions}"
    );
}

#[test]
fn a_schema_that_refers_to_an_address_is_to_be_written_out() {
    let flow = Flow::start();
    let mut referring = task(&new_id(), "demo/echo", json!({}));
    referring["schemas"]["input_schema"] = json!({"$ref": "http://127.0.0.1:1/schema.json"});
    let error = flow.error("tasks.create", json!({"tasks": [referring]}));
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("$defs") && !message.contains("feature"),
        "{message}"
    );
}

#[test]
fn whole_numbers_may_have_a_decimal_point() {
    let flow = Flow::start();
    let mut waiting = task(&new_id(), "demo/wait", json!({"ms": 2.0}));
    waiting["priority"] = json!(2.0);
    waiting["params"] = json!({"call": {"timeout_ms": 60_000.0}});
    waiting["retry"] = json!({"max_attempts": 2.0});
    let id = flow.execute(json!([waiting]));
    assert_eq!(flow.wait_for(&id, "completed")["result"]["waited_ms"], 2);
    let direct = json!({"operation": "demo/flaky", "input": {"failures": 0.0}}).to_string();
    let answer = flow.post("/call", &direct);
    assert_eq!(answer.status, 200, "{}", answer.text());
}
