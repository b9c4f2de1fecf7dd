//! Copies, links and archives, and the sweep of flows that rest.

use panpan_flow::FLOWS_SWEPT_AT_ONCE;
use serde_json::{Value, json};

use crate::support::{Fixture, below, calling, id, task};

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// A root with two tasks below it; the second has the result of the first in its inputs.
async fn flow(fixture: &Fixture) {
    let mut second = below(task(3, "second"), &[(2, true)]);
    second["inputs"] = json!({"name": "second", "deep": [{"$from": id(2), "pointer": "/echo"}]});
    let mut root = task(1, "root");
    root["colour"] = json!("red");
    let tasks = json!({"tasks": [root, below(task(2, "first"), &[]), second]});
    fixture.ok("tasks/create", tasks).await;
}

pub(crate) async fn a_copy_of_a_task_is_a_new_flow(fixture: Fixture) {
    let mut second = below(task(3, "second"), &[(2, false)]);
    second["retry"] = json!({"max_attempts": 5});
    let tasks = json!([
        calling(1, "root", "test/run"),
        below(task(2, "first"), &[]),
        second
    ]);
    let _worker = fixture.worker();
    let root = fixture.execute(tasks).await;
    fixture.wait_for_rest(&root).await;
    let before = fixture.task(&id(3)).await;
    fixture.clock.advance(1000);
    let copied = fixture.ok("tasks/copy", json!({"task_id": id(3)})).await;
    let copy_id = text(&copied["copied_task_id"]);
    assert_eq!(
        (&copied["original_task_id"], &copied["status"]),
        (&json!(id(3)), &json!("pending"))
    );
    let dropped = json!([{"task_id": copy_id, "dependency_id": id(2), "required": false}]);
    assert_eq!(copied["dropped_dependencies"], dropped);
    let copy = fixture.task(&copy_id).await;
    for (member, value) in [
        ("status", json!("pending")),
        ("parent_id", Value::Null),
        ("root_task_id", json!(copy_id)),
        ("origin_type", json!("copy")),
        ("original_task_id", json!(id(3))),
        ("dependencies", json!([])),
        ("result", Value::Null),
        ("generation", json!(1)),
    ] {
        assert_eq!(copy[member], value, "{member}");
    }
    for member in ["name", "inputs", "schemas", "params", "retry"] {
        assert_eq!(copy[member], before[member], "{member}");
    }
    let mut expected = before;
    expected["has_references"] = json!(true);
    assert_eq!(
        fixture.task(&id(3)).await,
        expected,
        "the original is unchanged"
    );
}

pub(crate) async fn a_copy_with_children_refers_to_the_copies(fixture: Fixture) {
    flow(&fixture).await;
    let input = json!({"task_id": id(1), "copy_children": true});
    let copied = fixture.ok("tasks/copy", input).await;
    assert_eq!(copied["dropped_dependencies"], json!([]));
    let root = text(&copied["copied_task_id"]);
    let tree = fixture.ok("tasks/tree", json!({"task_id": root})).await;
    assert_eq!(tree["task"]["colour"], "red");
    let below = tree["children"].as_array().unwrap();
    let (first, second) = (&below[0]["task"], &below[1]["task"]);
    assert_eq!(
        (&first["original_task_id"], &second["original_task_id"]),
        (&json!(id(2)), &json!(id(3)))
    );
    assert_eq!(
        second["dependencies"],
        json!([{"id": first["id"], "required": true}])
    );
    assert_eq!(second["inputs"]["deep"][0]["$from"], first["id"]);
    let _worker = fixture.worker();
    fixture.ok("tasks/execute", json!({"task_id": root})).await;
    let done = fixture.wait_for(&text(&second["id"]), "completed").await;
    assert_eq!(done["result"]["echo"]["deep"], json!([{"name": "first"}]));
    assert_eq!(fixture.status(&id(3)).await, "pending");
}

pub(crate) async fn a_copy_cannot_refer_to_tasks_outside(fixture: Fixture) {
    flow(&fixture).await;
    let failure = fixture
        .call("tasks/copy", json!({"task_id": id(3)}))
        .await
        .unwrap_err();
    assert_eq!(failure.code().as_str(), "INVALID_DEPENDENCY_REFERENCE");
    let message = failure.message();
    assert!(message.contains("/deep/0"), "{message}");
    assert!(message.contains("copy_children"), "{message}");
    assert!(message.contains(&id(1)), "{message}");
    assert_eq!(fixture.ok("tasks/list", json!({})).await["total"], 3);
    assert_eq!(fixture.task(&id(3)).await["has_references"], false);
    assert_eq!(
        fixture.code("tasks/copy", json!({"task_id": id(9)})).await,
        "TASK_NOT_FOUND"
    );
    let invalid = json!({"task_id": id(3), "origin_type": "create"});
    assert_eq!(fixture.code("tasks/copy", invalid).await, "INVALID_INPUT");
}

pub(crate) async fn a_link_has_the_result_of_its_original(fixture: Fixture) {
    let copy = json!({"task_id": id(1), "origin_type": "link"});
    fixture.ok("tasks/create", task(1, "one")).await;
    assert_eq!(
        fixture.code("tasks/copy", copy.clone()).await,
        "INVALID_TASK_SCHEMA"
    );
    let _worker = fixture.worker();
    fixture.ok("tasks/execute", json!({"task_id": id(1)})).await;
    fixture.wait_for(&id(1), "completed").await;
    let copied = fixture.ok("tasks/copy", copy).await;
    let link = text(&copied["copied_task_id"]);
    assert_eq!(fixture.task(&link).await["origin_type"], "link");
    fixture.ok("tasks/execute", json!({"task_id": link})).await;
    let done = fixture.wait_for(&link, "completed").await;
    assert_eq!(done["result"], json!({"echo": {"name": "one"}}));
    assert_eq!(fixture.world.runs(), ["one"], "a link calls nothing");
}

pub(crate) async fn an_archive_keeps_what_its_original_had(fixture: Fixture) {
    let _worker = fixture.worker();
    fixture
        .execute(json!([task(1, "one"), below(task(2, "two"), &[])]))
        .await;
    fixture.wait_for_rest(&id(1)).await;
    let copied = fixture
        .ok(
            "tasks/copy",
            json!({"task_id": id(1), "origin_type": "archive", "copy_children": true}),
        )
        .await;
    assert_eq!(copied["status"], "completed");
    let archive = text(&copied["copied_task_id"]);
    // The original changes.
    let updates = json!({"task_id": id(1), "updates": {"inputs": {"name": "changed"}}});
    fixture.ok("tasks/update", updates).await;
    fixture.ok("tasks/execute", json!({"task_id": id(1)})).await;
    fixture.wait_for_runs(4).await;
    fixture.wait_for(&id(1), "completed").await;
    let kept = fixture.task(&archive).await;
    assert_eq!(kept["status"], "completed");
    assert_eq!(kept["inputs"], json!({"name": "one"}));
    assert_eq!(kept["result"], json!({"echo": {"name": "one"}}));
    for (operation, code) in [
        ("tasks/execute", "INVALID_TASK_SCHEMA"),
        ("tasks/cancel", "INVALID_STATE_TRANSITION"),
        ("tasks/delete", "CANNOT_DELETE_TASK"),
    ] {
        let refused = fixture.code(operation, json!({"task_id": archive})).await;
        assert_eq!(refused, code, "{operation}");
    }
    let last = fixture.events(&archive, 0).await;
    assert_eq!(last.last().unwrap()["data"]["final"], true);
}

/// Nothing has happened with the changed inputs.
pub(crate) async fn a_task_that_was_changed_since_it_completed_is_not_archived(fixture: Fixture) {
    let _worker = fixture.worker();
    fixture.execute(json!([task(1, "one")])).await;
    fixture.wait_for(&id(1), "completed").await;
    let archive = json!({"task_id": id(1), "origin_type": "archive"});
    let renamed = json!({"task_id": id(1), "updates": {"name": "another name"}});
    fixture.ok("tasks/update", renamed).await;
    fixture.ok("tasks/copy", archive.clone()).await;
    let updates = json!({"task_id": id(1), "updates": {"inputs": {"name": "changed"}}});
    fixture.ok("tasks/update", updates).await;
    let refused = fixture
        .call("tasks/copy", archive.clone())
        .await
        .unwrap_err();
    assert_eq!(refused.code().as_str(), "INVALID_TASK_SCHEMA");
    assert!(
        refused.recovery().required_actions[0].contains("tasks/execute"),
        "{refused:?}"
    );
    let new = json!({
        "name": "archive", "origin_type": "archive", "original_task_id": id(1),
    });
    assert_eq!(
        fixture.code("tasks/create", new).await,
        "INVALID_TASK_SCHEMA"
    );
    fixture.ok("tasks/execute", json!({"task_id": id(1)})).await;
    fixture.wait_for_runs(2).await;
    fixture.wait_for(&id(1), "completed").await;
    let copied = fixture.ok("tasks/copy", archive).await;
    let kept = fixture.task(&text(&copied["copied_task_id"])).await;
    assert_eq!(kept["inputs"], json!({"name": "changed"}));
    assert_eq!(kept["result"], json!({"echo": {"name": "changed"}}));
}

/// Neither resolves the references in its inputs.
pub(crate) async fn a_task_with_references_is_linked_and_archived_alone(fixture: Fixture) {
    let _worker = fixture.worker();
    let mut root = task(1, "root");
    let inputs = json!({"name": {"$from": id(2), "pointer": "/echo/name"}});
    root["dependencies"] = json!([{"id": id(2)}]);
    root["inputs"] = inputs.clone();
    fixture
        .execute(json!([root, below(task(2, "two"), &[])]))
        .await;
    fixture.wait_for_rest(&id(1)).await;
    let copy = |origin: &str| json!({"task_id": id(1), "origin_type": origin});
    let refused = fixture.call("tasks/copy", copy("copy")).await.unwrap_err();
    assert_eq!(refused.code().as_str(), "INVALID_DEPENDENCY_REFERENCE");
    assert!(
        refused.recovery().required_actions[0].contains("copy_children"),
        "{refused:?}"
    );
    for origin in ["link", "archive"] {
        let copied = fixture.ok("tasks/copy", copy(origin)).await;
        let copy = text(&copied["copied_task_id"]);
        if origin == "link" {
            fixture.ok("tasks/execute", json!({"task_id": copy})).await;
        }
        let done = fixture.wait_for(&copy, "completed").await;
        assert_eq!(done["inputs"], inputs, "{origin}");
        assert_eq!(done["result"], json!({"echo": {"name": "two"}}), "{origin}");
    }
}

pub(crate) async fn an_archive_in_a_flow_is_a_dependency_with_a_result(fixture: Fixture) {
    let _worker = fixture.worker();
    fixture.execute(json!([task(1, "one")])).await;
    fixture.wait_for(&id(1), "completed").await;
    let archive = |members: Value| {
        let mut archive = json!({
            "id": id(12), "parent_id": id(11), "name": "archive",
            "origin_type": "archive", "original_task_id": id(1),
        });
        archive
            .as_object_mut()
            .unwrap()
            .extend(members.as_object().unwrap().clone());
        archive
    };
    let mut root = task(11, "root");
    root["dependencies"] = json!([{"id": id(12)}]);
    root["inputs"] = json!({"$from": id(12), "pointer": "/echo"});
    let other = json!({"tasks": [root, archive(json!({"inputs": {"name": "other"}}))]});
    let failure = fixture.call("tasks/create", other).await.unwrap_err();
    assert_eq!(failure.code().as_str(), "INVALID_TASK_SCHEMA");
    assert_eq!(failure.violations()[0].pointer, "/tasks/1/inputs");
    let tasks = json!({"tasks": [root, archive(json!({}))]});
    fixture.ok("tasks/create", tasks).await;
    assert_eq!(
        fixture.task(&id(12)).await["inputs"],
        json!({"name": "one"})
    );
    for generation in 1..=2 {
        let execute = json!({"task_id": id(11)});
        let executed = fixture.ok("tasks/execute", execute).await;
        let after = executed["events_after"].as_u64().unwrap();
        fixture.events(&id(11), after).await;
        let root = fixture.task(&id(11)).await;
        assert_eq!(root["result"], json!({"echo": {"name": "one"}}));
        assert_eq!(root["generation"], generation);
        assert_eq!(fixture.task(&id(12)).await["generation"], 1);
    }
}

pub(crate) async fn a_link_fails_without_its_original(fixture: Fixture) {
    let worker = fixture.worker();
    fixture.execute(json!([task(1, "one")])).await;
    fixture.wait_for(&id(1), "completed").await;
    let copied = fixture
        .ok(
            "tasks/copy",
            json!({"task_id": id(1), "origin_type": "link"}),
        )
        .await;
    let link = text(&copied["copied_task_id"]);
    drop(worker);
    fixture.ok("tasks/execute", json!({"task_id": id(1)})).await;
    fixture.ok("tasks/cancel", json!({"task_id": id(1)})).await;
    let _worker = fixture.worker();
    fixture.ok("tasks/execute", json!({"task_id": link})).await;
    let failed = fixture.wait_for(&link, "failed").await;
    assert_eq!(failed["failure"]["code"], "INVALID_TASK_SCHEMA");
}

pub(crate) async fn an_archive_is_never_changed(fixture: Fixture) {
    let _worker = fixture.worker();
    fixture.execute(json!([task(1, "one")])).await;
    fixture.wait_for(&id(1), "completed").await;
    let copied = fixture
        .ok(
            "tasks/copy",
            json!({"task_id": id(1), "origin_type": "archive"}),
        )
        .await;
    let archive = text(&copied["copied_task_id"]);
    for updates in [
        json!({"name": "other"}),
        json!({"status": "cancelled"}),
        json!({}),
    ] {
        let input = json!({"task_id": archive, "updates": updates});
        assert_eq!(
            fixture.code("tasks/update", input).await,
            "INVALID_TASK_SCHEMA"
        );
    }
    let copy = fixture.ok("tasks/copy", json!({"task_id": archive})).await;
    let input = json!({"task_id": copy["copied_task_id"], "updates": {"name": "other"}});
    fixture.ok("tasks/update", input).await;
}

pub(crate) async fn flows_that_rest_for_long_are_deleted(fixture: Fixture) {
    const KEEP_MS: u64 = 10_000;
    let tasks = json!({"tasks": [task(1, "root"), below(task(2, "child"), &[])]});
    fixture.ok("tasks/create", tasks).await;
    fixture.ok("tasks/cancel", json!({"task_id": id(1)})).await;
    let waiting = json!([calling(3, "queued", "test/run")]);
    fixture.execute(waiting).await;
    assert_eq!(fixture.flows.sweep(KEEP_MS).await, Ok(0));
    fixture.clock.advance(KEEP_MS / 2);
    fixture.ok("tasks/create", task(4, "new")).await;
    fixture.clock.advance(KEEP_MS / 2 + 1);
    assert_eq!(fixture.flows.sweep(KEEP_MS).await, Ok(1));
    let left = fixture.ok("tasks/list", json!({})).await;
    let left: Vec<&Value> = left["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["id"])
        .collect();
    assert_eq!(
        left,
        [&json!(id(3)), &json!(id(4))],
        "what is queued or new is kept"
    );
    // The ids are free again.
    fixture.ok("tasks/create", task(2, "again")).await;
}

pub(crate) async fn many_flows_are_deleted_in_batches(fixture: Fixture) {
    let count = u64::try_from(FLOWS_SWEPT_AT_ONCE).unwrap() * 2 + 1;
    for number in 1..=count {
        fixture.ok("tasks/create", task(number, "one")).await;
    }
    fixture.clock.advance(2);
    assert_eq!(fixture.flows.sweep(1).await, Ok(count));
    assert_eq!(fixture.ok("tasks/list", json!({})).await["total"], 0);
}
