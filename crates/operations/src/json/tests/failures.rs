//! The code, the location and the recovery of every failure.

use std::collections::BTreeSet;

use panpan_failure::classify::JsonFailure;
use panpan_runtime::VIOLATIONS_LIMIT;
use serde_json::{Value, json};

use super::{input, transform};

const INVALID: &str = "ERR_JSON_INVALID";
const PATH: &str = "ERR_JSON_PATH_INVALID";
const MISMATCH: &str = "ERR_JSON_SCHEMA_MISMATCH";
const FAILED: &str = "ERR_JSON_TRANSFORM_FAILED";
const DEPTH: &str = "ERR_JSON_DEPTH_EXCEEDED";
const SIZE: &str = "ERR_JSON_SIZE_EXCEEDED";

type Row = (
    &'static str,
    Value,
    Value,
    &'static str,
    &'static [&'static str],
    &'static str,
);

/// Operation, data, other parameters; code, pointers of the violations, a part of the message.
fn rows() -> Vec<Row> {
    let some = || json!([{"a": 1}, {"a": "x"}, {"b": null}]);
    let of = |field: &str, operator: &str, value: Value| json!({"condition": {"field": field, "operator": operator, "value": value}});
    vec![
        (
            "extract",
            json!("{\"a\": }"),
            json!({"path": "$"}),
            INVALID,
            &["/data"],
            "line 1, column 7",
        ),
        (
            "extract",
            json!("hello"),
            json!({"path": "$"}),
            INVALID,
            &["/data"],
            "not valid JSON",
        ),
        (
            "extract",
            json!(""),
            json!({"path": "$"}),
            INVALID,
            &["/data"],
            "not valid JSON",
        ),
        (
            "extract",
            json!("[".repeat(200)),
            json!({"path": "$"}),
            DEPTH,
            &["/data"],
            "levels deep",
        ),
        (
            "extract",
            json!({}),
            json!({}),
            PATH,
            &["/path"],
            "extract needs a path",
        ),
        (
            "map",
            json!([]),
            json!({}),
            PATH,
            &["/path"],
            "map needs a path",
        ),
        (
            "extract",
            json!({}),
            json!({"path": ""}),
            PATH,
            &["/path"],
            "start with $",
        ),
        (
            "extract",
            json!({}),
            json!({"path": "a.b"}),
            PATH,
            &["/path"],
            "start with $",
        ),
        (
            "extract",
            json!({}),
            json!({"path": "$.a["}),
            PATH,
            &["/path"],
            "after character 3",
        ),
        (
            "extract",
            json!({}),
            json!({"path": "$['a"}),
            PATH,
            &["/path"],
            "ending quote",
        ),
        (
            "extract",
            json!({}),
            json!({"path": "$[?foo(@)]"}),
            PATH,
            &["/path"],
            "foo",
        ),
        (
            "extract",
            json!(["a"]),
            json!({"path": "$[?match(@, '(')]"}),
            PATH,
            &["/path"],
            "the pattern ( is invalid",
        ),
        (
            "filter",
            some(),
            of("$.a[*]", "eq", json!(1)),
            PATH,
            &["/condition/field"],
            "more than one value",
        ),
        (
            "filter",
            some(),
            of("$.a[", "eq", json!(1)),
            PATH,
            &["/condition/field"],
            "condition.field",
        ),
        (
            "sort",
            some(),
            json!({"sort_key": "$..a"}),
            PATH,
            &["/sort_key"],
            "more than one value",
        ),
        (
            "extract",
            json!({"a": {"b": 1, "c": 2}}),
            json!({"path": "$.a.d.e"}),
            FAILED,
            &["/path"],
            "$.a is an object with b, c",
        ),
        (
            "extract",
            json!([1, 2]),
            json!({"path": "$[2]"}),
            FAILED,
            &["/path"],
            "$ is a list of 2 items",
        ),
        (
            "map",
            json!({}),
            json!({"path": "$"}),
            FAILED,
            &["/data"],
            "map needs a list at /data, but found an object",
        ),
        (
            "filter",
            json!("1"),
            of("a", "eq", json!(1)),
            FAILED,
            &["/data"],
            "a number",
        ),
        (
            "filter",
            json!([]),
            json!({}),
            FAILED,
            &["/condition"],
            "filter needs condition",
        ),
        (
            "filter",
            some(),
            of("a", "gt", json!(0)),
            FAILED,
            &["/data/1/a"],
            "cannot compare a string",
        ),
        (
            "filter",
            json!([{"a": []}]),
            of("a", "lt", json!([])),
            FAILED,
            &["/data/0/a"],
            "a list",
        ),
        (
            "filter",
            some(),
            of("a", "startswith", json!("x")),
            FAILED,
            &["/data/0/a"],
            "a number",
        ),
        (
            "filter",
            some(),
            of("a", "contains", json!("x")),
            FAILED,
            &["/data/0/a"],
            "a number",
        ),
        (
            "pick",
            json!({}),
            json!({}),
            FAILED,
            &["/keys"],
            "pick needs keys",
        ),
        (
            "pick",
            json!({}),
            json!({"keys": []}),
            FAILED,
            &["/keys"],
            "pick needs keys",
        ),
        (
            "omit",
            json!([{}, 1]),
            json!({"keys": ["a"]}),
            FAILED,
            &["/data/1"],
            "omit needs an object",
        ),
        (
            "omit",
            json!(1),
            json!({"keys": ["a"]}),
            FAILED,
            &["/data"],
            "an object or a list of objects",
        ),
        (
            "merge",
            json!({}),
            json!({}),
            FAILED,
            &["/merge_with"],
            "merge needs merge_with",
        ),
        (
            "merge",
            json!([]),
            json!({"merge_with": {}}),
            FAILED,
            &["/data"],
            "merge needs an object",
        ),
        (
            "flatten",
            json!({}),
            json!({}),
            FAILED,
            &["/data"],
            "flatten needs a list",
        ),
        (
            "sort",
            json!({}),
            json!({}),
            FAILED,
            &["/data"],
            "sort needs a list",
        ),
        (
            "sort",
            json!([1, "a"]),
            json!({}),
            FAILED,
            &["/data/1"],
            "cannot compare a string",
        ),
        (
            "sort",
            json!([[], []]),
            json!({}),
            FAILED,
            &["/data/0"],
            "a list",
        ),
        (
            "sort",
            some(),
            json!({"sort_key": "a"}),
            FAILED,
            &["/data/1/a"],
            "a number",
        ),
        (
            "validate",
            json!({}),
            json!({}),
            FAILED,
            &["/schema"],
            "validate needs schema",
        ),
        (
            "validate",
            json!({}),
            json!({"schema": {"type": 3}}),
            FAILED,
            &["/schema"],
            "not a valid JSON Schema",
        ),
        (
            "validate",
            json!({}),
            json!({"schema": {"$ref": "http://127.0.0.1/a"}}),
            FAILED,
            &["/schema"],
            "is not supported",
        ),
        (
            "validate",
            json!({}),
            json!({"schema": {"$ref": "file:///etc/hosts"}}),
            FAILED,
            &["/schema"],
            "is not supported",
        ),
        (
            "validate",
            json!({}),
            json!({"schema": {"$defs": {"a": {"$ref": "http://127.0.0.1/a"}}, "allOf": [{"$ref": "#/$defs/a"}]}}),
            FAILED,
            &["/schema"],
            "is not supported",
        ),
        (
            "validate",
            json!({}),
            json!({"schema": {"$ref": "#/$defs/none"}}),
            FAILED,
            &["/schema"],
            "has no target",
        ),
        (
            "validate",
            json!({}),
            json!({"schema": {"$ref": "#"}}),
            FAILED,
            &["/schema"],
            "refers to itself",
        ),
        (
            "validate",
            json!({}),
            json!({"schema": {"not": {"$id": "urn:x"}}}),
            FAILED,
            &["/schema"],
            "$id",
        ),
        (
            "validate",
            json!({}),
            json!({"schema": {"$dynamicRef": "#a"}}),
            FAILED,
            &["/schema"],
            "$dynamicRef",
        ),
        (
            "validate",
            json!({"a": 1, "c": "x"}),
            json!({"schema": {
                "required": ["b"], "properties": {"a": {"type": "string"}, "c": {"format": "date"}}
            }}),
            MISMATCH,
            &["/data/a", "/data/b", "/data/c"],
            "does not match the schema at",
        ),
        (
            "validate",
            json!("[1, [\"x\"]]"),
            json!({"schema": {"items": {"type": "integer"}}}),
            MISMATCH,
            &["/data/1"],
            "/data/1",
        ),
        (
            "validate",
            json!({}),
            json!({"schema": false}),
            MISMATCH,
            &["/data"],
            "/data",
        ),
        (
            "extract",
            json!([vec![0; 100_001]]),
            json!({"path": "$"}),
            SIZE,
            &["/data/0"],
            "a list of 100001 items",
        ),
    ]
}

#[tokio::test]
async fn every_failure_has_a_code_a_location_and_a_recovery() {
    for (operation, data, others, code, pointers, part) in rows() {
        let call = input(operation, data, others.clone());
        let failure = transform(call).await.expect_err(part);
        let shown = format!("{operation} {others}: {}", failure.message());
        assert_eq!(failure.code().as_str(), code, "{shown}");
        let mut found: Vec<&str> = failure
            .violations()
            .iter()
            .map(|it| it.pointer.as_str())
            .collect();
        found.sort_unstable();
        assert_eq!(found, pointers, "{shown}");
        assert!(failure.message().contains(part), "{shown}");
        assert!(!failure.retryable(), "{shown}");
        let recovery = failure.recovery();
        let advice = recovery.required_actions.len() + recovery.alternatives.len();
        assert!(advice > 0, "{shown}");
    }
}

#[test]
fn every_code_of_the_table_is_reached() {
    let reached: BTreeSet<&str> = rows().iter().map(|row| row.3).collect();
    let table: BTreeSet<&str> = JsonFailure::ALL.iter().map(|it| it.entry().code).collect();
    assert_eq!(reached, table);
}

#[tokio::test]
async fn details_name_the_position_in_the_text() {
    let at = |call: Value| async {
        transform(call)
            .await
            .unwrap_err()
            .details()
            .cloned()
            .unwrap()
    };
    let details = at(input("extract", json!("[1,\n x]"), json!({"path": "$"}))).await;
    assert_eq!(
        (&details["line"], &details["column"]),
        (&json!(2), &json!(2))
    );
    let details = at(input("extract", json!([]), json!({"path": "$.a.1"}))).await;
    assert_eq!(details["position"], json!(4));
    let details = at(input("extract", json!([]), json!({"path": "$.éé["}))).await;
    assert_eq!(details["position"], json!(4));
    let details = at(input("extract", json!({"a": 1}), json!({"path": "$.a.b"}))).await;
    assert_eq!(details["found_up_to"], json!("$.a"));
}

#[tokio::test]
async fn a_truncated_list_of_violations_names_its_limit() {
    for (count, more) in [(VIOLATIONS_LIMIT, false), (VIOLATIONS_LIMIT + 1, true)] {
        let schema = json!({"schema": {"items": {"type": "string"}}});
        let call = input("validate", json!(vec![0; count]), schema);
        let failure = transform(call).await.unwrap_err();
        assert_eq!(failure.violations().len(), VIOLATIONS_LIMIT);
        let limit = failure.details().and_then(|it| it.get("violations_limit"));
        assert_eq!(limit.is_some(), more);
    }
}

#[tokio::test]
async fn invalid_input_is_refused_with_all_violations() {
    let call = json!({
        "operation": "reverse",
        "path": 1,
        "keys": "a",
        "condition": {"operator": "like"},
        "depth": 0,
        "sort_order": "up",
        "sortkey": "a",
    });
    let failure = transform(call).await.unwrap_err();
    assert_eq!(failure.code().as_str(), "INVALID_INPUT");
    let pointers: BTreeSet<&str> = failure
        .violations()
        .iter()
        .map(|it| it.pointer.as_str())
        .collect();
    let expected = BTreeSet::from([
        "/condition/field",
        "/condition/operator",
        "/data",
        "/depth",
        "/keys",
        "/operation",
        "/path",
        "/sort_order",
        "/sortkey",
    ]);
    assert_eq!(pointers, expected);
}
