//! Lists, trees and counts of tasks.

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
