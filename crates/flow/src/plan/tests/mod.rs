//! Plans against the rules for trees, dependencies, origins and operations.

mod inputs;
mod limits;

use panpan_failure::Failure;
use panpan_failure::dialect::{Dialect, Envelope};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::*;
use crate::task::read_tasks;

struct Shop;

impl Methods for Shop {
    fn exists(&self, method: &str) -> bool {
        method == "shop/list"
    }

    fn similar(&self, method: &str) -> Vec<String> {
        match method {
            "shop/lst" => vec!["shop/list".to_owned()],
            _ => Vec::new(),
        }
    }
}

fn id(number: u128) -> TaskId {
    TaskId::from_random(Uuid::from_u128(number))
}

/// Existing tasks: 100 is the root of a flow with 101 (completed), 102 (failed) and 150 (one level above the limit); 200
/// is another flow; 300 is invisible.
fn known(task: TaskId) -> Option<KnownTask> {
    let row = |root, state, is_visible| KnownTask {
        root: id(root),
        level: if id(root) == task { 1 } else { 2 },
        state,
        is_visible,
    };
    [
        (100, row(100, State::InProgress, true)),
        (101, row(100, State::Completed, true)),
        (102, row(100, State::Failed, true)),
        (
            150,
            KnownTask {
                level: TREE_LEVELS_LIMIT - 1,
                ..row(100, State::Completed, true)
            },
        ),
        (200, row(200, State::Completed, true)),
        (300, row(300, State::Completed, false)),
    ]
    .into_iter()
    .find_map(|(number, known)| (id(number) == task).then_some(known))
}

fn plan(params: &Value) -> Result<Plan, PlanError> {
    let mut next = 1_000;
    let tasks = read_tasks(params, &mut || {
        next += 1;
        id(next)
    })?;
    Plan::new(tasks, &known, &Shop)
}

fn task(number: u128, parent: Option<u128>, dependencies: &[u128]) -> Value {
    let dependencies: Vec<Value> = dependencies
        .iter()
        .map(|it| json!({"id": id(*it)}))
        .collect();
    json!({"id": id(number), "name": "a", "parent_id": parent.map(id), "dependencies": dependencies})
}

fn with(mut task: Value, member: &str, value: Value) -> Value {
    task[member] = value;
    task
}

fn tasks(tasks: impl IntoIterator<Item = Value>) -> Value {
    json!({"tasks": tasks.into_iter().collect::<Vec<_>>()})
}

/// The error as JSON-RPC.
fn shown(error: PlanError) -> Value {
    let failure = Failure::from(error).redacted();
    Dialect::JsonRpc.render_failure(&failure, Envelope::default())["error"].clone()
}

#[track_caller]
fn check(params: &Value, number: i64, data: Value) {
    let error = shown(plan(params).expect_err("an invalid plan"));
    assert_eq!(error["code"], json!(number), "{error}");
    for (member, expected) in data.as_object().unwrap() {
        assert_eq!(error["data"][member], *expected, "{member} in {error}");
    }
}

#[test]
fn a_valid_tree_is_a_plan_in_the_order_of_the_client() {
    let params = tasks([
        task(3, Some(1), &[2]),
        task(1, None, &[3]),
        task(2, Some(1), &[]),
    ]);
    let plan = plan(&params).unwrap();
    let order: Vec<TaskId> = plan.tasks().iter().map(|it| it.id).collect();
    assert_eq!(order, [id(3), id(1), id(2)]);
    assert_eq!((plan.root(), plan.top().id), (id(1), id(1)));
    assert_eq!(
        (plan.position(id(2)), plan.position(id(9))),
        (Some(2), None)
    );
    assert!(plan.is_new_flow());
}

#[test]
fn a_task_joins_the_flow_of_an_existing_parent() {
    let plan = plan(&task(1, Some(102), &[101, 100])).unwrap();
    assert_eq!((plan.root(), plan.top().id), (id(100), id(1)));
    assert!(!plan.is_new_flow());
}

#[test]
fn invalid_parents_are_refused() {
    let missing = tasks([task(1, None, &[]), task(2, Some(9), &[])]);
    check(
        &missing,
        -32010,
        json!({
            "task_id": id(2), "field": "/tasks/1/parent_id", "actual": id(9),
        }),
    );
    check(
        &task(1, Some(9), &[]),
        -32010,
        json!({"field": "parent_id"}),
    );
    check(
        &task(1, Some(300), &[]),
        -32010,
        json!({"field": "parent_id"}),
    );
}

#[test]
fn tasks_that_are_not_one_tree_are_refused() {
    check(&tasks([]), -32012, json!({"field": "tasks"}));
    let two_roots = tasks([task(1, None, &[]), task(2, None, &[])]);
    check(
        &two_roots,
        -32012,
        json!({"roots": [id(1), id(2)], "task_id": id(2), "actual": 2}),
    );
    let two_tops = tasks([task(1, Some(100), &[]), task(2, None, &[])]);
    check(&two_tops, -32012, json!({"roots": [id(1), id(2)]}));
    let duplicate = tasks([task(1, None, &[]), task(1, Some(1), &[])]);
    check(
        &duplicate,
        -32012,
        json!({"field": "/tasks/1/id", "task_id": id(1)}),
    );
    for taken in [100, 300] {
        check(
            &task(taken, None, &[]),
            -32012,
            json!({"field": "id", "task_id": id(taken)}),
        );
    }
    check(
        &task(1, Some(1), &[]),
        -32012,
        json!({"cycle": [id(1), id(1)], "cycle_length": 1}),
    );
    let parents = tasks([
        task(1, None, &[]),
        task(2, Some(3), &[]),
        task(3, Some(2), &[]),
    ]);
    check(&parents, -32012, json!({"cycle": [id(2), id(3), id(2)]}));
}

#[test]
fn invalid_dependencies_are_refused() {
    for dependency in [9, 101, 300] {
        check(
            &task(1, None, &[dependency]),
            -32011,
            json!({
                "task_id": id(1), "field": "/dependencies/0/id", "actual": id(dependency),
            }),
        );
    }
    check(
        &task(1, Some(100), &[101, 200]),
        -32011,
        json!({
            "field": "/dependencies/1/id", "reason": "the task belongs to another flow",
        }),
    );
    let twice = tasks([task(1, None, &[2, 2]), task(2, Some(1), &[])]);
    check(
        &twice,
        -32011,
        json!({"field": "/tasks/0/dependencies/1/id"}),
    );
}

#[test]
fn cycles_of_dependencies_are_refused() {
    check(
        &task(1, None, &[1]),
        -32002,
        json!({"cycle": [id(1), id(1)], "cycle_length": 1}),
    );
    let three = tasks([
        task(1, None, &[]),
        task(2, Some(1), &[1, 3]),
        task(3, Some(1), &[4]),
        task(4, Some(1), &[2]),
    ]);
    check(
        &three,
        -32002,
        json!({
            "task_id": id(2),
            "field": "/tasks/1/dependencies/1/id",
            "cycle": [id(2), id(3), id(4), id(2)],
            "cycle_length": 3,
        }),
    );
    // Of two cycles through one task, the shorter one.
    let two = tasks([
        task(1, None, &[2]),
        task(2, Some(1), &[3, 1]),
        task(3, Some(1), &[1]),
    ]);
    check(&two, -32002, json!({"cycle": [id(1), id(2), id(1)]}));
    let message = shown(plan(&task(1, None, &[1])).unwrap_err())["message"].clone();
    assert!(
        message
            .as_str()
            .unwrap()
            .starts_with("Circular dependency: "),
        "{message}"
    );
}

#[test]
fn each_separate_cycle_is_reported() {
    let params = tasks([
        task(1, None, &[2]),
        task(2, Some(1), &[1]),
        task(3, Some(1), &[4]),
        task(4, Some(1), &[3]),
        task(5, Some(1), &[5]),
    ]);
    let error = plan(&params).unwrap_err();
    assert_eq!(error.count(), 3);
    assert!(
        error
            .problems()
            .iter()
            .all(|it| it.kind == ProblemKind::Cycle)
    );
}

#[test]
fn unknown_operations_are_refused_with_similar_names() {
    let method = |name: &str| with(task(1, None, &[]), "schemas", json!({"method": name}));
    assert!(plan(&method("shop/list")).is_ok());
    check(
        &method("shop/lst"),
        -32003,
        json!({
            "task_id": id(1), "executor": "shop/lst", "nearest": ["shop/list"], "field": "/schemas/method",
        }),
    );
    check(&method("nothing"), -32003, json!({"nearest": null}));
}

#[test]
fn origins_need_an_original_in_the_right_state() {
    let origin = |word: &str, original| {
        let task = with(task(1, None, &[]), "origin_type", json!(word));
        with(task, "original_task_id", json!(id(original)))
    };
    for (word, original, is_valid) in [
        ("link", 101, true),
        ("archive", 200, true),
        ("copy", 102, true),
        ("link", 102, false),
        ("archive", 100, false),
        ("link", 300, false),
        ("copy", 300, false),
        ("copy", 9, false),
        ("copy", 1, false),
    ] {
        let params = origin(word, original);
        if is_valid {
            assert!(plan(&params).is_ok(), "{word} {original}");
            continue;
        }
        let data = json!({"field": "original_task_id", "task_id": id(1), "actual": id(original)});
        check(&params, -32005, data);
    }
}

/// One plan with a problem of every kind that validation finds; without the first, the next decides the code.
#[test]
fn the_first_kind_decides_the_code_and_all_problems_are_listed() {
    let schema = with(task(1, None, &[]), "origin_type", json!("copy"));
    let schema = with(schema, "original_task_id", json!(id(9)));
    let problems = [
        (-32005, schema),
        (-32010, task(2, Some(9), &[])),
        (-32011, task(3, Some(1), &[9])),
        (-32002, task(4, Some(1), &[4])),
        (-32012, task(100, Some(1), &[])),
        (
            -32003,
            with(task(5, Some(1), &[]), "schemas", json!({"method": "x"})),
        ),
    ];
    for first in 0..problems.len() {
        let mut list: Vec<Value> = problems[first..].iter().map(|(_, it)| it.clone()).collect();
        if first > 0 {
            list.push(task(1, None, &[]));
        }
        let error = plan(&tasks(list)).unwrap_err();
        assert_eq!(error.count(), problems.len() - first);
        assert!(error.problems().is_sorted_by_key(|it| it.kind));
        let (number, _) = problems[first];
        let shown = shown(error);
        assert_eq!(shown["code"], json!(number), "{shown}");
        let listed = shown["data"]["errors"].as_array().unwrap().len();
        assert_eq!(listed, problems.len() - first);
    }
}

#[test]
fn only_ids_that_can_exist_are_looked_up() {
    let mut next = 500;
    let mut new_id = || {
        next += 1;
        id(next)
    };
    let first = with(task(1, Some(100), &[2, 101]), "origin_type", json!("copy"));
    let first = with(first, "original_task_id", json!(id(102)));
    let mut second = Map::new();
    second.insert("name".to_owned(), json!("b"));
    let read = read_tasks(&tasks([first, second.into()]), &mut new_id).unwrap();
    let expected = BTreeSet::from([id(1), id(2), id(100), id(101), id(102)]);
    assert_eq!(ids_to_look_up(&read), expected);
}
