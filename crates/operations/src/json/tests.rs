//! `json/transform`, called through a dispatcher.

mod failures;
mod limits;

use panpan_failure::Redacted;
use panpan_runtime::{CallRequest, Registry};
use panpan_testkit::{TestDispatcher, dispatcher};
use serde_json::{Value, json};

/// Calls the operation; the private log has to stay empty, so the output matches its schema.
async fn transform(input: Value) -> Result<Value, Redacted> {
    let TestDispatcher {
        dispatcher, notes, ..
    } = dispatcher(super::json(Registry::builder()));
    let answer = dispatcher
        .dispatch(CallRequest::from_wire("json/transform", input))
        .await;
    assert_eq!(notes.causes(), [""; 0]);
    answer.into_value()
}

/// The input of an operation: its data and its other parameters.
fn input(operation: &str, data: Value, others: Value) -> Value {
    let mut input = others;
    input["operation"] = operation.into();
    input["data"] = data;
    input
}

#[tokio::test]
async fn every_operation_returns_its_result() {
    let people = json!([
        {"name": "Ann", "age": 30, "tags": ["a", "b"]},
        {"name": "Bob", "age": 25.5, "tags": []},
        {"name": "Cid", "tags": ["b"]},
    ]);
    let (ann, bob, cid) = (&people[0], &people[1], &people[2]);
    let by = |condition: Value| json!({"condition": condition});
    for (operation, data, others, expected) in [
        (
            "extract",
            json!({"a": {"b": 1}}),
            json!({"path": "$.a.b"}),
            json!(1),
        ),
        (
            "extract",
            json!(r#"{"a": [1, 2]}"#),
            json!({"path": "$.a[-1]"}),
            json!(2),
        ),
        (
            "extract",
            json!({"a": null}),
            json!({"path": "$.a"}),
            json!(null),
        ),
        ("extract", json!([1]), json!({"path": "$"}), json!([1])),
        (
            "extract",
            people.clone(),
            json!({"path": "$[*].name"}),
            json!(["Ann", "Bob", "Cid"]),
        ),
        (
            "extract",
            people.clone(),
            json!({"path": "$..nothing"}),
            json!([]),
        ),
        (
            "extract",
            people.clone(),
            json!({"path": "$[?@.age > 26].name"}),
            json!(["Ann"]),
        ),
        (
            "extract",
            people.clone(),
            json!({"path": "$[?count(@.tags[*]) > 1].name"}),
            json!(["Ann"]),
        ),
        (
            "extract",
            people.clone(),
            json!({"path": "$[?match(@.name, '.n.')].name"}),
            json!(["Ann"]),
        ),
        (
            "extract",
            people.clone(),
            json!({"path": "$[?search(@.name, '[bd]')].name"}),
            json!(["Bob", "Cid"]),
        ),
        (
            "extract",
            people.clone(),
            json!({"path": "$[?match(@.name, 'n')].name"}),
            json!([]),
        ),
        (
            "extract",
            json!(["a\nb", "a.b"]),
            json!({"path": "$[?match(@, 'a.b')]"}),
            json!(["a.b"]),
        ),
        (
            "extract",
            json!([1, 2, 3]),
            json!({"path": "$[0,0]"}),
            json!([1, 1]),
        ),
        (
            "map",
            people.clone(),
            json!({"path": "$.age"}),
            json!([30, 25.5, null]),
        ),
        (
            "map",
            people.clone(),
            json!({"path": "$.tags[*]"}),
            json!([["a", "b"], [], ["b"]]),
        ),
        ("map", json!([]), json!({"path": "$.a"}), json!([])),
        (
            "filter",
            people.clone(),
            by(json!({"field": "name", "value": "Bob"})),
            json!([bob]),
        ),
        (
            "filter",
            people.clone(),
            by(json!({"field": "age", "operator": "gte", "value": 30.0})),
            json!([ann]),
        ),
        (
            "filter",
            people.clone(),
            by(json!({"field": "age", "operator": "lt", "value": 30})),
            json!([bob]),
        ),
        (
            "filter",
            people.clone(),
            by(json!({"field": "age", "operator": "gt", "value": 30})),
            json!([]),
        ),
        (
            "filter",
            people.clone(),
            by(json!({"field": "age", "operator": "lte", "value": 30})),
            json!([ann, bob]),
        ),
        (
            "filter",
            people.clone(),
            by(json!({"field": "age", "operator": "ne", "value": 30})),
            json!([bob, cid]),
        ),
        (
            "filter",
            people.clone(),
            by(json!({"field": "age", "operator": "exists"})),
            json!([ann, bob]),
        ),
        (
            "filter",
            people.clone(),
            by(json!({"field": "age", "operator": "exists", "value": false})),
            json!([cid]),
        ),
        (
            "filter",
            people.clone(),
            by(json!({"field": "tags", "operator": "contains", "value": "b"})),
            json!([ann, cid]),
        ),
        (
            "filter",
            people.clone(),
            by(json!({"field": "name", "operator": "contains", "value": "n"})),
            json!([ann]),
        ),
        (
            "filter",
            people.clone(),
            by(json!({"field": "name", "operator": "startswith", "value": "B"})),
            json!([bob]),
        ),
        (
            "filter",
            people.clone(),
            by(json!({"field": "name", "operator": "endswith", "value": "d"})),
            json!([cid]),
        ),
        (
            "filter",
            people.clone(),
            by(json!({"field": "$.tags[0]", "value": "b"})),
            json!([cid]),
        ),
        (
            "filter",
            json!([1, 2]),
            by(json!({"field": "$", "value": 2.0})),
            json!([2]),
        ),
        (
            "pick",
            json!({"a": 1, "b": 2}),
            json!({"keys": ["b", "c"]}),
            json!({"b": 2}),
        ),
        (
            "pick",
            json!([{"a": 1, "b": 2}, {}]),
            json!({"keys": ["b"]}),
            json!([{"b": 2}, {}]),
        ),
        (
            "omit",
            json!({"a": 1, "b": 2}),
            json!({"keys": ["b", "c"]}),
            json!({"a": 1}),
        ),
        (
            "merge",
            json!({"a": {"x": 1}, "b": 2}),
            json!({"merge_with": {"a": {}}}),
            json!({"a": {}, "b": 2}),
        ),
        (
            "flatten",
            json!([1, [2, [3, [4]]]]),
            json!({}),
            json!([1, 2, [3, [4]]]),
        ),
        (
            "flatten",
            json!([1, [2, [3, [4]]]]),
            json!({"depth": 2}),
            json!([1, 2, 3, [4]]),
        ),
        ("sort", json!([2, 10, 1.5]), json!({}), json!([1.5, 2, 10])),
        (
            "sort",
            people.clone(),
            json!({"sort_key": "age"}),
            json!([bob, ann, cid]),
        ),
        (
            "sort",
            people.clone(),
            json!({"sort_key": "age", "sort_order": "desc"}),
            json!([ann, bob, cid]),
        ),
        (
            "sort",
            people.clone(),
            json!({"sort_key": "$.name", "sort_order": "desc"}),
            json!([cid, bob, ann]),
        ),
        (
            "sort",
            json!([{"a": 1, "b": 1}, {"a": 0}, {"a": 1, "b": 2}]),
            json!({"sort_key": "a"}),
            json!([{"a": 0}, {"a": 1, "b": 1}, {"a": 1, "b": 2}]),
        ),
        (
            "validate",
            json!({"a": 1}),
            json!({"schema": {"required": ["a"]}}),
            json!({"a": 1}),
        ),
        (
            "validate",
            json!("[1]"),
            json!({"schema": true}),
            json!([1]),
        ),
    ] {
        let call = input(operation, data, others);
        let output = transform(call.clone()).await;
        let output = output.unwrap_or_else(|failure| panic!("{call}: {}", failure.message()));
        assert_eq!(output["result"], expected, "{call}");
        assert_eq!(output["operation"], operation);
    }
}

#[tokio::test]
async fn the_path_decides_whether_the_result_is_a_value_or_a_list() {
    for (path, form, matches, result) in [
        ("$.a", "value", 1, json!([1])),
        ("$['a'][0]", "value", 1, json!(1)),
        ("$.a[*]", "list", 1, json!([1])),
        ("$.b[*]", "list", 0, json!([])),
        ("$..*", "list", 2, json!([[1], 1])),
    ] {
        let call = input("extract", json!({"a": [1]}), json!({"path": path}));
        let output = transform(call).await.unwrap();
        let shown = (&output["form"], &output["matches"], &output["result"]);
        assert_eq!(shown, (&json!(form), &json!(matches), &result), "{path}");
    }
}

#[tokio::test]
async fn the_hash_is_of_the_canonical_json_and_sizes_are_in_bytes() {
    for (data, hash, input_size, output_size) in [
        (json!({"z": 1, "a": 2, "m": 3}), "ebba85cfdc0a724b", 19, 19),
        (
            json!(r#" {"z":1, "a":2, "m":3.0} "#),
            "ebba85cfdc0a724b",
            25,
            19,
        ),
        (json!({}), "44136fa355b3678a", 2, 2),
        (json!([]), "4f53cda18c2baa0c", 2, 2),
        (json!("null"), "74234e98afe7498f", 4, 4),
        (json!(r#""Alice""#), "1ea1f9a444bb86b5", 7, 7),
        (json!(["é"]), "", 6, 6),
    ] {
        let call = input("extract", data.clone(), json!({"path": "$"}));
        let output = transform(call).await.unwrap();
        let found = output["result_hash"].as_str().unwrap();
        assert_eq!((found.len(), found.starts_with(hash)), (64, true), "{data}");
        assert_eq!(output["input_size"], input_size, "{data}");
        assert_eq!(output["output_size"], output_size, "{data}");
    }
}
