use panpan_failure::Failure;
use panpan_failure::dialect::{Dialect, Envelope};
use serde_json::json;
use uuid::Uuid;

use super::*;
use crate::plan::About;
use crate::task::NESTING_LIMIT;
use crate::task::{Dependency, Provenance};

const ID: &str = "550e8400-e29b-41d4-a716-446655440000";
const OTHER: &str = "6ba7b810-9dad-41d1-80b4-00c04fd430c8";

fn read(params: &Value) -> Result<Vec<ReadTask>, PlanError> {
    let mut next = 0;
    read_tasks(params, &mut || {
        next += 1;
        TaskId::from_random(Uuid::from_u128(next))
    })
}

fn read_one(task: Value) -> ReadTask {
    let mut tasks = read(&task).unwrap();
    assert_eq!(tasks.len(), 1);
    tasks.remove(0)
}

fn with(member: &str, value: Value) -> Value {
    let mut task = json!({"name": "a"});
    task[member] = value;
    task
}

fn id(text: &str) -> TaskId {
    text.parse().unwrap()
}

#[test]
fn a_name_is_enough_for_a_task() {
    let read = read_one(json!({"name": "a"}));
    let task = &read.task;
    assert_eq!(task.definition, Definition::new("a").unwrap());
    assert_eq!((task.parent, task.dependencies.len()), (None, 0));
    assert_eq!((read.place, read.id_is_given), (RequestPlace::Only, false));
}

#[test]
fn every_member_that_a_client_may_set_is_read() {
    let read = read_one(json!({
        "id": ID, "parent_id": OTHER, "user_id": "u", "name": "a", "status": "pending", "priority": 0,
        "inputs": {"x": 1}, "params": {"p": 2}, "result": null, "error": null, "progress": 0.0,
        "schemas": {"method": "shop/list", "type": "remote", "input_schema": true, "model": "m", "more": 1},
        "dependencies": [{"id": OTHER}, {"id": ID, "required": false}],
        "origin_type": "copy", "original_task_id": OTHER, "has_references": false,
        "retry": {"max_attempts": 2}, "schedule_type": "cron", "mine": [1],
    }));
    let task = &read.task;
    let definition = &task.definition;
    assert!(read.id_is_given);
    assert_eq!((task.id, task.parent), (id(ID), Some(id(OTHER))));
    let dependency = |id, required| Dependency { id, required };
    let expected = [dependency(id(OTHER), true), dependency(id(ID), false)];
    assert_eq!(task.dependencies, expected);
    assert_eq!((definition.name(), definition.user_id()), ("a", Some("u")));
    assert_eq!(definition.priority, Priority::URGENT);
    assert_eq!(json!(definition.inputs), json!({"x": 1}));
    assert_eq!(json!(definition.params), json!({"p": 2}));
    assert_eq!(definition.origin, Provenance::Copy(id(OTHER)));
    assert_eq!(definition.retry.unwrap().max_retries(), 1);
    let extra = json!({"schedule_type": "cron", "mine": [1]});
    assert_eq!(json!(definition.extra()), extra);
    let schemas = definition.schemas.as_ref().unwrap();
    assert_eq!(
        (schemas.method(), schemas.kind()),
        ("shop/list", Some("remote"))
    );
    assert_eq!(
        (schemas.model(), schemas.input_schema()),
        (Some("m"), Some(&json!(true)))
    );
    assert_eq!(json!(schemas.extra()), json!({"more": 1}));
}

#[test]
fn null_is_accepted_where_it_is_the_default() {
    let nullable = [
        "parent_id",
        "user_id",
        "schemas",
        "params",
        "retry",
        "origin_type",
        "original_task_id",
        "result",
        "error",
        "started_at",
        "completed_at",
    ];
    for member in nullable {
        let read = read_one(with(member, Value::Null));
        assert_eq!(
            read.task.definition,
            Definition::new("a").unwrap(),
            "{member}"
        );
    }
    for member in ["id", "name", "priority", "inputs", "dependencies"] {
        let error = read(&with(member, Value::Null)).unwrap_err();
        assert_eq!(error.kind(), ProblemKind::Malformed, "{member}");
        assert_eq!(error.problems()[0].violation.pointer, format!("/{member}"));
    }
}

/// A task with one member, the kind of the problem and the pointer to it.
#[test]
fn each_invalid_member_is_refused_where_it_is() {
    use ProblemKind::{Malformed, Schema};
    let long = "é".repeat(256);
    let mut deep = json!(1);
    for _ in 0..=NESTING_LIMIT {
        deep = json!([deep]);
    }
    for (member, value, kind, pointer) in [
        ("id", json!("task1"), Malformed, "/id"),
        ("id", json!(7), Malformed, "/id"),
        (
            "parent_id",
            json!("550e8400-e29b-11d4-a716-446655440000"),
            Malformed,
            "/parent_id",
        ),
        ("name", json!(""), Malformed, "/name"),
        ("name", json!(long), Malformed, "/name"),
        ("name", json!(1), Malformed, "/name"),
        ("user_id", json!(""), Malformed, "/user_id"),
        ("user_id", json!(1), Malformed, "/user_id"),
        ("priority", json!(4), Malformed, "/priority"),
        ("priority", json!(-1), Malformed, "/priority"),
        ("priority", json!(1.5), Malformed, "/priority"),
        ("priority", json!("high"), Malformed, "/priority"),
        ("inputs", json!([]), Malformed, "/inputs"),
        ("inputs", json!({ "a": deep }), Malformed, "/inputs"),
        ("mine", deep, Malformed, "/mine"),
        ("params", json!("p"), Malformed, "/params"),
        ("schemas", json!("shop/list"), Malformed, "/schemas"),
        ("schemas", json!({}), Malformed, "/schemas/method"),
        (
            "schemas",
            json!({"method": ""}),
            Malformed,
            "/schemas/method",
        ),
        (
            "schemas",
            json!({"method": 1}),
            Malformed,
            "/schemas/method",
        ),
        (
            "schemas",
            json!({"method": "m", "type": "here"}),
            Malformed,
            "/schemas/type",
        ),
        (
            "schemas",
            json!({"method": "m", "model": 1}),
            Malformed,
            "/schemas/model",
        ),
        ("dependencies", json!({}), Malformed, "/dependencies"),
        ("dependencies", json!([ID]), Malformed, "/dependencies/0"),
        ("dependencies", json!([{}]), Malformed, "/dependencies/0/id"),
        (
            "dependencies",
            json!([{"id": OTHER}, {"id": "b"}]),
            Malformed,
            "/dependencies/1/id",
        ),
        (
            "dependencies",
            json!([{"id": OTHER, "required": 1}]),
            Malformed,
            "/dependencies/0/required",
        ),
        (
            "retry",
            json!({"backoff": "linear"}),
            Malformed,
            "/retry/backoff",
        ),
        ("origin_type", json!("clone"), Schema, "/origin_type"),
        ("origin_type", json!(1), Schema, "/origin_type"),
        ("origin_type", json!("link"), Schema, "/original_task_id"),
        ("original_task_id", json!(ID), Schema, "/original_task_id"),
        ("original_task_id", json!("b"), Schema, "/original_task_id"),
        ("has_references", json!(true), Schema, "/has_references"),
        ("status", json!("completed"), Schema, "/status"),
        ("result", json!({}), Schema, "/result"),
        ("error", json!("e"), Schema, "/error"),
        ("progress", json!(0.5), Schema, "/progress"),
        (
            "created_at",
            json!("2026-01-01T00:00:00Z"),
            Schema,
            "/created_at",
        ),
        ("generation", json!(1), Schema, "/generation"),
        ("blocked_by", json!([ID]), Schema, "/blocked_by"),
    ] {
        let error = read(&with(member, value.clone())).expect_err(member);
        let first = &error.problems()[0];
        let found = (first.kind, first.violation.pointer.as_str());
        assert_eq!(found, (kind, pointer), "{member}: {value}");
        let is_explained = first.violation.expected.is_some() && first.about == About::Value;
        assert!(is_explained, "{member}: {error}");
    }
}

#[test]
fn limits_of_lengths_and_nesting_include_the_limit() {
    read_one(json!({"name": "é".repeat(NAME_CHARACTERS_LIMIT)}));
    let mut deep = json!(1);
    for _ in 0..NESTING_LIMIT {
        deep = json!([deep]);
    }
    let task = read_one(with("mine", deep.clone())).task;
    let text = task.definition.to_text();
    assert_eq!(Definition::from_text(&text).unwrap(), task.definition);
    assert_eq!(task.definition.extra()["mine"], deep);
}

#[test]
fn all_problems_of_all_tasks_are_reported_at_once() {
    let error = read(&json!({"tasks": [
        {"name": "", "priority": 9},
        7,
        {"id": ID, "name": "b", "status": "failed", "dependencies": [{"id": "x"}, {}]},
    ]}))
    .unwrap_err();
    let pointers = error
        .problems()
        .iter()
        .map(|it| it.violation.pointer.as_str());
    let expected = [
        "/tasks/0/name",
        "/tasks/0/priority",
        "/tasks/1",
        "/tasks/2/dependencies/0/id",
        "/tasks/2/dependencies/1/id",
        "/tasks/2/status",
    ];
    let mut pointers: Vec<&str> = pointers.collect();
    pointers.sort_unstable();
    assert_eq!(pointers, expected);
    assert_eq!(error.count(), 6);
    assert_eq!(error.problems().last().unwrap().task, Some(id(ID)));
}

#[test]
fn parameters_are_a_task_or_a_list_of_tasks() {
    for (params, pointer) in [
        (json!(null), ""),
        (json!([{"name": "a"}]), ""),
        (json!({"tasks": {}}), "/tasks"),
        (json!({"tasks": null}), "/tasks"),
        (json!({}), "/name"),
    ] {
        let error = read(&params).unwrap_err();
        assert_eq!(error.problems()[0].violation.pointer, pointer, "{params}");
    }
    let tasks = read(&json!({"tasks": [{"name": "a"}, {"name": "b"}], "use_streaming": true}));
    let tasks = tasks.unwrap();
    let places: Vec<RequestPlace> = tasks.iter().map(|it| it.place).collect();
    assert_eq!(places, [RequestPlace::Item(0), RequestPlace::Item(1)]);
    assert_ne!(tasks[0].task.id, tasks[1].task.id);
    assert_eq!(read(&json!({"tasks": []})), Ok(Vec::new()));
}

#[test]
fn a_list_may_be_as_long_as_the_limit() {
    let list = |length| json!({"tasks": vec![json!({"name": "a"}); length]});
    assert_eq!(read(&list(TASKS_LIMIT)).unwrap().len(), TASKS_LIMIT);
    let error = read(&list(TASKS_LIMIT + 1)).unwrap_err();
    assert_eq!(error.kind(), ProblemKind::Malformed);
    assert_eq!(error.problems()[0].violation.pointer, "/tasks");
}

#[test]
fn a_malformed_parameter_has_the_members_of_the_protocol() {
    let error = read(&json!({"name": "a", "priority": 5})).unwrap_err();
    let shown =
        Dialect::JsonRpc.render_failure(&Failure::from(error).redacted(), Envelope::default());
    let error = &shown["error"];
    assert_eq!(error["code"], json!(-32602));
    let message = error["message"].as_str().unwrap();
    assert_eq!(
        message,
        "Invalid params: /priority: Value out of range: expected 0-3, found 5"
    );
    for (member, value) in [
        ("field", json!("priority")),
        ("reason", json!("Value out of range")),
        ("expected", json!("0-3")),
        ("actual", json!(5)),
    ] {
        assert_eq!(error["data"][member], value, "{member}");
    }
}

#[test]
fn an_id_in_the_parameters_is_a_uuid_v4() {
    assert_eq!(read_task_id(&json!({"task_id": ID}), "task_id"), Ok(id(ID)));
    for params in [
        json!({}),
        json!({"task_id": null}),
        json!({"task_id": "x"}),
        json!([]),
    ] {
        let error = read_task_id(&params, "task_id").unwrap_err();
        assert_eq!(error.kind(), ProblemKind::Malformed, "{params}");
        assert_eq!(error.problems()[0].violation.pointer, "/task_id");
    }
}
