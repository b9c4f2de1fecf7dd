//! Inputs: the schema of the task, and references.

use serde_json::{Value, json};

use super::{check, id, plan, task, tasks, with};
use crate::plan::{ProblemKind, SCHEMAS_LIMIT};

fn with_schema(inputs: Value, schema: Value) -> Value {
    let schemas = json!({"method": "shop/list", "input_schema": schema});
    let task = with(task(1, None, &[]), "schemas", schemas);
    tasks([with(task, "inputs", inputs)])
}

#[test]
fn inputs_match_the_schema_of_the_task() {
    let schema = json!({
        "properties": {"n": {"type": "integer", "maximum": 3}, "s": {"type": "string"}}, "required": ["n"],
    });
    assert!(plan(&with_schema(json!({"n": 3}), schema.clone())).is_ok());
    check(
        &with_schema(json!({"n": 4, "s": 1}), schema.clone()),
        -32005,
        json!({
            "task_id": id(1), "problems": 2,
        }),
    );
    check(
        &with_schema(json!({}), schema),
        -32005,
        json!({"field": "/tasks/0/inputs/n"}),
    );
    check(
        &with_schema(json!({}), json!({"type": "objekt"})),
        -32005,
        json!({
            "field": "/tasks/0/schemas/input_schema",
        }),
    );
    check(
        &with_schema(json!({}), json!("string")),
        -32005,
        json!({
            "field": "/tasks/0/schemas/input_schema",
        }),
    );
}

#[test]
fn a_schema_is_of_draft_7_unless_it_states_another() {
    // A list of schemas in `items` means positions up to draft 2019-09, and is invalid since.
    let positions = json!({"properties": {"l": {"items": [{"type": "string"}]}}});
    assert!(plan(&with_schema(json!({"l": ["a"]}), positions.clone())).is_ok());
    check(
        &with_schema(json!({"l": [1]}), positions.clone()),
        -32005,
        json!({
            "field": "/tasks/0/inputs/l/0",
        }),
    );
    let draft = json!("https://json-schema.org/draft/2020-12/schema");
    let newer = with(positions, "$schema", draft);
    check(
        &with_schema(json!({"l": ["a"]}), newer),
        -32005,
        json!({
            "field": "/tasks/0/schemas/input_schema",
        }),
    );
}

#[test]
fn references_are_to_dependencies_of_the_task() {
    let referring = |dependencies: &[u128], reference: Value| {
        let second = with(
            task(2, Some(1), dependencies),
            "inputs",
            json!({"a": [reference]}),
        );
        tasks([task(1, None, &[]), second, task(3, Some(1), &[])])
    };
    let reference = |number| json!({"$from": id(number), "pointer": "/x"});
    assert!(plan(&referring(&[1], reference(1))).is_ok());
    for not_a_dependency in [2, 3, 9] {
        check(
            &referring(&[1], reference(not_a_dependency)),
            -32011,
            json!({
                "task_id": id(2), "field": "/tasks/1/inputs/a/0/$from", "actual": id(not_a_dependency),
            }),
        );
    }
    let invalid = json!({"$from": id(1), "pointer": "x"});
    check(
        &referring(&[1], invalid),
        -32005,
        json!({"field": "/tasks/1/inputs/a/0/pointer"}),
    );
}

#[test]
fn what_references_stand_for_is_not_checked_against_the_schema_yet() {
    let schema = |schema: Value| {
        let second = with(
            task(2, Some(1), &[1]),
            "inputs",
            json!({"n": {"$from": id(1)}}),
        );
        let schemas = json!({"method": "shop/list", "input_schema": schema});
        tasks([task(1, None, &[]), with(second, "schemas", schemas)])
    };
    let integer = json!({"properties": {"n": {"type": "integer"}}});
    assert!(plan(&schema(integer)).is_ok());
    let missing = json!({"properties": {"n": {"type": "integer"}}, "required": ["m"]});
    check(
        &schema(missing),
        -32005,
        json!({"field": "/tasks/1/inputs/m"}),
    );
    check(
        &schema(json!({"type": "objekt"})),
        -32005,
        json!({
            "field": "/tasks/1/schemas/input_schema",
        }),
    );
}

#[test]
fn different_schemas_are_limited() {
    let list = |count: usize, repeated: usize| {
        let below = (0..count).map(|it| {
            let schemas = json!({"method": "shop/list", "input_schema": {"title": it.to_string()}});
            with(task(10_000 + it as u128, Some(1), &[]), "schemas", schemas)
        });
        let again = (0..repeated).map(|it| {
            let schemas = json!({"method": "shop/list", "input_schema": {"title": "0"}});
            with(task(20_000 + it as u128, Some(1), &[]), "schemas", schemas)
        });
        tasks([task(1, None, &[])].into_iter().chain(below).chain(again))
    };
    assert!(plan(&list(SCHEMAS_LIMIT, 10)).is_ok());
    let error = plan(&list(SCHEMAS_LIMIT + 1, 0)).unwrap_err();
    assert_eq!((error.kind(), error.count()), (ProblemKind::Malformed, 1));
    assert_eq!(
        error.problems()[0].violation.actual,
        Some(json!(SCHEMAS_LIMIT + 1))
    );
}
