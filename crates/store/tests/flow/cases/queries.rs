//! Lists, trees and counts of tasks.

use panpan_flow::TREE_LEVELS_LIMIT;
use serde_json::{Value, json};

use crate::support::{Fixture, below, id, task};

fn ids(tasks: &Value) -> Vec<String> {
    let tasks = tasks.as_array().unwrap().iter();
    tasks
        .map(|it| it["id"].as_str().unwrap().to_owned())
        .collect()
}

/// A flow of four tasks, and one of a single task.
async fn two_flows(fixture: &Fixture) {
    let mut third = task(3, "third");
    third["parent_id"] = json!(id(2));
    third["user_id"] = json!("ann");
    let tasks = json!({"tasks": [task(1, "root"), below(task(2, "second"), &[]), third, below(task(4, "fourth"), &[])]});
    fixture.ok("tasks/create", tasks).await;
    fixture.ok("tasks/create", task(5, "alone")).await;
    fixture.ok("tasks/cancel", json!({"task_id": id(4)})).await;
}

pub(crate) async fn a_list_is_filtered_and_paged(fixture: Fixture) {
    two_flows(&fixture).await;
    for (input, expected) in [
        (json!({}), vec![1, 2, 3, 4, 5]),
        (json!({"status": "pending"}), vec![1, 2, 3, 5]),
        (json!({"status": "cancelled"}), vec![4]),
        (json!({"status": "failed"}), vec![]),
        (json!({"user_id": "ann"}), vec![3]),
        (json!({"roots": true}), vec![1, 5]),
        (json!({"root_task_id": id(1)}), vec![1, 2, 3, 4]),
        (
            json!({"root_task_id": id(1), "status": "pending", "user_id": "ann"}),
            vec![3],
        ),
    ] {
        let listed = fixture.ok("tasks/list", input.clone()).await;
        let expected: Vec<String> = expected.into_iter().map(id).collect();
        assert_eq!(ids(&listed["tasks"]), expected, "{input}");
        assert_eq!(listed["total"], expected.len(), "{input}");
    }
    let page = fixture
        .ok("tasks/list", json!({"limit": 2, "offset": 3}))
        .await;
    assert_eq!(ids(&page["tasks"]), [id(4), id(5)]);
    assert_eq!(
        (&page["total"], &page["limit"], &page["offset"]),
        (&json!(5), &json!(2), &json!(3))
    );
    let beyond = fixture.ok("tasks/list", json!({"offset": 9})).await;
    assert_eq!(
        (&beyond["tasks"], &beyond["total"]),
        (&json!([]), &json!(5))
    );
    for limit in [0, 1001] {
        let code = fixture.code("tasks/list", json!({"limit": limit})).await;
        assert_eq!(code, "INVALID_INPUT", "{limit}");
    }
}

pub(crate) async fn an_offset_is_a_whole_number(fixture: Fixture) {
    two_flows(&fixture).await;
    let total = fixture.ok("tasks/list", json!({})).await["total"].clone();
    let rest = fixture.ok("tasks/list", json!({"offset": 1.0})).await;
    assert_eq!(rest["offset"], 1);
    assert_eq!(json!(ids(&rest["tasks"]).len() + 1), total);
    let one = fixture.ok("tasks/list", json!({"limit": 1.0})).await;
    assert_eq!(ids(&one["tasks"]).len(), 1);
    for offset in [
        json!(-1),
        json!(0.5),
        json!(1e300),
        json!(u64::MAX),
        json!("1"),
    ] {
        let code = fixture.code("tasks/list", json!({"offset": offset})).await;
        assert_eq!(code, "INVALID_INPUT", "{offset}");
    }
}

pub(crate) async fn a_tree_nests_all_descendants(fixture: Fixture) {
    two_flows(&fixture).await;
    let tree = fixture.ok("tasks/tree", json!({"task_id": id(1)})).await;
    assert_eq!(tree["task"]["id"], id(1));
    let children = tree["children"].as_array().unwrap();
    let below: Vec<&Value> = children.iter().map(|it| &it["task"]["id"]).collect();
    assert_eq!(below, [&json!(id(2)), &json!(id(4))]);
    assert_eq!(children[0]["children"][0]["task"]["id"], id(3));
    assert_eq!(children[1]["children"], json!([]));
    let part = fixture.ok("tasks/tree", json!({"task_id": id(2)})).await;
    assert_eq!(
        (&part["task"]["id"], &part["children"][0]["task"]["id"]),
        (&json!(id(2)), &json!(id(3)))
    );
}

pub(crate) async fn children_are_only_the_direct_ones(fixture: Fixture) {
    two_flows(&fixture).await;
    let children = fixture
        .ok("tasks/children", json!({"parent_id": id(1)}))
        .await;
    assert_eq!(ids(&children["children"]), [id(2), id(4)]);
    let none = fixture
        .ok("tasks/children", json!({"parent_id": id(3)}))
        .await;
    assert_eq!(none["children"], json!([]));
    assert_eq!(
        fixture
            .code("tasks/children", json!({"parent_id": id(9)}))
            .await,
        "TASK_NOT_FOUND"
    );
}

pub(crate) async fn statistics_count_by_status(fixture: Fixture) {
    two_flows(&fixture).await;
    let all = fixture.ok("tasks/statistics", json!({})).await;
    let by_status =
        json!({"pending": 4, "in_progress": 0, "completed": 0, "failed": 0, "cancelled": 1});
    assert_eq!((&all["total"], &all["by_status"]), (&json!(5), &by_status));
    let flow = fixture
        .ok("tasks/statistics", json!({"root_task_id": id(5)}))
        .await;
    assert_eq!(
        (&flow["total"], &flow["by_status"]["pending"]),
        (&json!(1), &json!(1))
    );
}

pub(crate) async fn a_summary_has_no_inputs_and_no_results(fixture: Fixture) {
    let _worker = fixture.worker();
    let mut one = task(1, "one");
    one["colour"] = json!("red");
    one["schemas"]["input_schema"] = json!({"type": "object"});
    fixture
        .execute(json!([one, below(task(2, "two"), &[])]))
        .await;
    fixture.wait_for(&id(1), "completed").await;
    let whole = fixture.task(&id(1)).await;
    let summary = json!({"fields": "summary"});
    let listed = fixture.ok("tasks/list", summary).await["tasks"][0].take();
    let mut expected = whole;
    for member in ["inputs", "params", "result", "colour"] {
        expected.as_object_mut().unwrap().remove(member);
    }
    expected["schemas"] = json!({"method": "test/run"});
    assert_eq!(listed, expected);
    let of_first = json!({"task_id": id(1), "parent_id": id(1), "fields": "summary"});
    let tree = fixture.ok("tasks/tree", of_first.clone()).await;
    assert_eq!(tree["task"], expected);
    let children = fixture.ok("tasks/children", of_first).await;
    assert_eq!(children["children"][0]["inputs"], Value::Null);
    let code = fixture.code("tasks/list", json!({"fields": "some"})).await;
    assert_eq!(code, "INVALID_INPUT");
}

pub(crate) async fn a_list_ends_before_it_becomes_too_large(fixture: Fixture) {
    let large = |number: u64| {
        let mut task = task(number, "large");
        task["inputs"]["text"] = json!("x".repeat(3_500_000));
        task
    };
    let tasks = json!([large(1), below(large(2), &[]), below(large(3), &[])]);
    fixture.ok("tasks/create", json!({"tasks": tasks})).await;
    let first = fixture.ok("tasks/list", json!({})).await;
    assert_eq!(ids(&first["tasks"]), [id(1), id(2)]);
    assert_eq!(
        (&first["total"], &first["next_offset"]),
        (&json!(3), &json!(2))
    );
    let second = fixture.ok("tasks/list", json!({"offset": 2})).await;
    assert_eq!(ids(&second["tasks"]), [id(3)]);
    assert_eq!(second["next_offset"], Value::Null);
    let summary = fixture.ok("tasks/list", json!({"fields": "summary"})).await;
    assert_eq!(ids(&summary["tasks"]).len(), 3);
    assert_eq!(summary["next_offset"], Value::Null);
    let tree = json!({"task_id": id(1)});
    let refused = fixture.call("tasks/tree", tree).await.unwrap_err();
    assert_eq!(refused.code().as_str(), "INVALID_INPUT");
    assert!(
        refused.message().contains("3 tasks"),
        "{}",
        refused.message()
    );
    let summary = json!({"task_id": id(1), "fields": "summary"});
    let tree = fixture.ok("tasks/tree", summary).await;
    assert_eq!(tree["children"].as_array().unwrap().len(), 2);
    // Nothing of the results is read for a copy, and nothing is left out.
    let copy = json!({"task_id": id(1), "copy_children": true});
    fixture.ok("tasks/copy", copy).await;
}

pub(crate) async fn the_deepest_tree_can_be_read_by_common_parsers(fixture: Fixture) {
    let level = |number: u64| {
        let mut task = task(number, "level");
        if number > 1 {
            task["parent_id"] = json!(id(number - 1));
        }
        task
    };
    let deepest = TREE_LEVELS_LIMIT as u64;
    let tasks: Vec<Value> = (1..deepest).map(level).collect();
    fixture.ok("tasks/create", json!({"tasks": tasks})).await;
    fixture.ok("tasks/create", level(deepest)).await;
    let code = fixture.code("tasks/create", level(deepest + 1)).await;
    assert_eq!(code, "TASK_TREE_VALIDATION_FAILED");
    // Changes of the deepest task are not refused.
    let rename = json!({"task_id": id(deepest), "updates": {"inputs": {"name": "new"}}});
    fixture.ok("tasks/update", rename).await;
    let tree = fixture.ok("tasks/tree", json!({"task_id": id(1)})).await;
    let response = json!({"jsonrpc": "2.0", "id": 1, "result": tree}).to_string();
    let read: Value = serde_json::from_str(&response).unwrap();
    let pointer = format!(
        "/result{}/task/id",
        "/children/0".repeat(TREE_LEVELS_LIMIT - 1)
    );
    assert_eq!(read.pointer(&pointer), Some(&json!(id(deepest))));
}
