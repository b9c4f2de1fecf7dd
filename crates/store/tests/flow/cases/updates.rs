//! Changing tasks.

use serde_json::{Value, json};

use crate::support::{Fixture, below, calling, id, task};

async fn update(fixture: &Fixture, number: u64, updates: Value) -> Value {
    fixture
        .ok(
            "tasks/update",
            json!({"task_id": id(number), "updates": updates}),
        )
        .await
}

async fn code(fixture: &Fixture, number: u64, updates: Value) -> String {
    fixture
        .code(
            "tasks/update",
            json!({"task_id": id(number), "updates": updates}),
        )
        .await
}

pub(crate) async fn a_pending_task_runs_as_it_was_changed(fixture: Fixture) {
    fixture.ok("tasks/create", task(1, "before")).await;
    fixture.clock.advance(1000);
    let updates = json!({"name": "after", "inputs": {"name": "changed"}, "priority": 0, "user_id": "ann",
        "params": {"a": 1}, "colour": "red", "retry": {"max_attempts": 2}});
    let updated = update(&fixture, 1, updates).await;
    assert_eq!(updated, json!({"id": id(1), "status": "pending"}));
    let changed = fixture.task(&id(1)).await;
    for (member, value) in [
        ("name", json!("after")),
        ("priority", json!(0)),
        ("user_id", json!("ann")),
        ("params", json!({"a": 1})),
        ("colour", json!("red")),
    ] {
        assert_eq!(changed[member], value, "{member}");
    }
    assert_eq!(changed["retry"]["max_attempts"], 2);
    assert_ne!(changed["updated_at"], changed["created_at"]);
    assert_eq!(
        fixture.ok("tasks/list", json!({"user_id": "ann"})).await["total"],
        1
    );
    let _worker = fixture.worker();
    fixture.ok("tasks/execute", json!({"task_id": id(1)})).await;
    fixture.wait_for(&id(1), "completed").await;
    assert_eq!(fixture.world.runs(), ["changed"]);
}

pub(crate) async fn all_malformed_updates_are_reported(fixture: Fixture) {
    fixture.ok("tasks/create", task(1, "one")).await;
    let updates =
        json!({"id": id(2), "parent_id": id(3), "result": {}, "generation": 2, "priority": 9});
    let input = json!({"task_id": id(1), "updates": updates});
    let failure = fixture.call("tasks/update", input).await.unwrap_err();
    assert_eq!(failure.code().as_str(), "INVALID_INPUT");
    let mut pointers: Vec<&str> = failure
        .violations()
        .iter()
        .map(|it| it.pointer.as_str())
        .collect();
    pointers.sort_unstable();
    let expected = [
        "/updates/generation",
        "/updates/id",
        "/updates/parent_id",
        "/updates/priority",
        "/updates/result",
    ];
    assert_eq!(pointers, expected);
    assert_eq!(code(&fixture, 9, json!({})).await, "TASK_NOT_FOUND");
    assert_eq!(
        fixture
            .code("tasks/update", json!({"task_id": id(1)}))
            .await,
        "INVALID_INPUT"
    );
    assert_eq!(code(&fixture, 1, json!([])).await, "INVALID_INPUT");
    assert_eq!(update(&fixture, 1, json!({})).await["status"], "pending");
}

pub(crate) async fn a_running_task_is_not_changed(fixture: Fixture) {
    let _worker = fixture.worker();
    fixture
        .execute(json!([calling(1, "held", "test/hold")]))
        .await;
    fixture.wait_for(&id(1), "in_progress").await;
    for updates in [
        json!({"name": "other"}),
        json!({"user_id": "ann"}),
        json!({"dependencies": []}),
        json!({"colour": "red"}),
    ] {
        assert_eq!(
            code(&fixture, 1, updates.clone()).await,
            "TASK_ALREADY_EXECUTING",
            "{updates}"
        );
    }
    assert_eq!(
        update(&fixture, 1, json!({"status": "in_progress"})).await["status"],
        "in_progress"
    );
    for status in ["pending", "completed", "failed"] {
        let code = code(&fixture, 1, json!({"status": status})).await;
        assert_eq!(code, "INVALID_STATE_TRANSITION", "{status}");
    }
    // The change of the state comes first.
    let updated = update(
        &fixture,
        1,
        json!({"status": "cancelled", "name": "stopped"}),
    )
    .await;
    assert_eq!(updated["status"], "cancelled");
    assert_eq!(fixture.task(&id(1)).await["name"], "stopped");
}

pub(crate) async fn an_ended_task_keeps_its_dependencies(fixture: Fixture) {
    let _worker = fixture.worker();
    let tasks = json!([
        task(1, "root"),
        below(calling(2, "pay", "test/refuse"), &[])
    ]);
    let root = fixture.execute(tasks).await;
    fixture.wait_for_rest(&root).await;
    let input = json!({"task_id": id(1), "updates": {"dependencies": [{"id": id(2)}]}});
    let failure = fixture.call("tasks/update", input).await.unwrap_err();
    assert_eq!(failure.code().as_str(), "INVALID_STATE_TRANSITION");
    let details = failure.details().unwrap();
    assert_eq!(details["current_status"], "completed");
    assert!(details["reason"].as_str().unwrap().contains("dependencies"));
    let actions = &failure.recovery().required_actions;
    assert!(actions[0].contains("tasks/copy"), "{actions:?}");
    update(&fixture, 1, json!({"inputs": {"name": "again"}})).await;
    let input = json!({"task_id": id(1), "updates": {"status": "pending"}});
    let failure = fixture.call("tasks/update", input).await.unwrap_err();
    let details = failure.details().unwrap();
    assert_eq!(details["attempted_transition"], "completed -> pending");
    assert_eq!(details["reason"], "completed is a terminal state");
    // A failed task becomes pending, and waits until it is executed.
    update(
        &fixture,
        2,
        json!({"status": "pending", "schemas": {"method": "test/run"}}),
    )
    .await;
    let reset = fixture.task(&id(2)).await;
    assert_eq!(
        (&reset["status"], &reset["error"], &reset["generation"]),
        (&json!("pending"), &Value::Null, &json!(2))
    );
    fixture.ok("tasks/execute", json!({"task_id": id(2)})).await;
    fixture.wait_for(&id(2), "completed").await;
}

pub(crate) async fn changed_dependencies_are_checked_and_waited_for(fixture: Fixture) {
    let tasks = json!({"tasks": [
        task(1, "root"),
        below(task(2, "a"), &[]),
        below(task(3, "b"), &[(2, true)]),
        below(task(4, "c"), &[(3, true)]),
    ]});
    fixture.ok("tasks/create", tasks).await;
    fixture.ok("tasks/create", task(9, "another flow")).await;
    let on = |number: u64| json!({"dependencies": [{"id": id(number)}]});
    assert_eq!(
        code(&fixture, 2, on(8)).await,
        "INVALID_DEPENDENCY_REFERENCE"
    );
    assert_eq!(
        code(&fixture, 2, on(9)).await,
        "INVALID_DEPENDENCY_REFERENCE"
    );
    assert_eq!(code(&fixture, 2, on(2)).await, "CIRCULAR_DEPENDENCY");
    let input = json!({"task_id": id(2), "updates": on(4)});
    let failure = fixture.call("tasks/update", input).await.unwrap_err();
    assert_eq!(failure.code().as_str(), "CIRCULAR_DEPENDENCY");
    let cycle = &failure.details().unwrap()["cycle"];
    assert_eq!(cycle, &json!([id(2), id(4), id(3), id(2)]));
    let both = json!({"dependencies": [{"id": id(4)}, {"id": id(8)}]});
    let input = json!({"task_id": id(2), "updates": both});
    let failure = fixture.call("tasks/update", input).await.unwrap_err();
    assert_eq!(failure.violations().len(), 2, "both problems are reported");
    update(&fixture, 1, on(4)).await;
    let _worker = fixture.worker_with(1);
    fixture.ok("tasks/execute", json!({"task_id": id(1)})).await;
    fixture.wait_for_rest(&id(1)).await;
    assert_eq!(fixture.world.runs(), ["a", "b", "c", "root"]);
}

pub(crate) async fn changed_inputs_and_methods_are_checked(fixture: Fixture) {
    fixture.ok("tasks/create", task(1, "one")).await;
    let unknown = json!({"schemas": {"method": "test/none"}});
    assert_eq!(code(&fixture, 1, unknown).await, "EXECUTOR_NOT_FOUND");
    let schema = json!({"schemas": {"method": "test/run", "input_schema": {"required": ["url"]}}});
    assert_eq!(code(&fixture, 1, schema).await, "INVALID_TASK_SCHEMA");
    let reference = json!({"inputs": {"name": {"$from": id(2)}}});
    assert_eq!(
        code(&fixture, 1, reference).await,
        "INVALID_DEPENDENCY_REFERENCE"
    );
}
