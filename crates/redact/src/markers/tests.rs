//! Markers behind every schema keyword, and schemas without markers.

use serde_json::json;

use super::*;
use crate::{REPLACEMENT, Redactor};

fn check(schema: &Value, mut value: Value, expected: &Value) {
    let markers = Markers::from_schema(schema);
    Redactor::new().marked(&markers, &mut value);
    assert_eq!(&value, expected);
}

#[test]
fn every_marker_marks() {
    for marker in [
        json!({"writeOnly": true}),
        json!({"format": "password"}),
        json!({"x-sensitive": true}),
    ] {
        let schema = json!({"properties": {"a": marker}});
        check(
            &schema,
            json!({"a": "x", "b": "y"}),
            &json!({"a": REPLACEMENT, "b": "y"}),
        );
        check(
            &schema,
            json!({"a": true, "b": null}),
            &json!({"a": REPLACEMENT, "b": null}),
        );
    }
}

#[test]
fn markers_are_found_through_every_keyword() {
    let secret = json!({"x-sensitive": true});
    let schemas = [
        json!({"properties": {"a": {"properties": {"b": secret}}}}),
        json!({"additionalProperties": {"additionalProperties": secret}}),
        json!({"patternProperties": {"^a$": {"patternProperties": {"b": secret}}}}),
        json!({"allOf": [{"anyOf": [{"oneOf": [{"properties": {"a": {"properties": {"b": secret}}}}]}]}]}),
        json!({"if": {}, "then": {"properties": {"a": {"else": {"properties": {"b": secret}}}}}}),
        json!({"dependencies": {"a": {"properties": {"a": {"properties": {"b": secret}}}}}}),
        json!({"properties": {"a": {"$ref": "#/$defs/x~1y%20z"}},
            "$defs": {"x/y z": {"properties": {"b": secret}}}}),
        json!({"properties": {"a": {"$ref": "#x"}},
            "$defs": {"y": {"$anchor": "x", "properties": {"b": secret}}}}),
    ];
    for schema in schemas {
        check(
            &schema,
            json!({"a": {"b": "x"}}),
            &json!({"a": {"b": REPLACEMENT}}),
        );
    }
}

#[test]
fn items_are_marked_by_index() {
    let secret = json!({"writeOnly": true});
    check(
        &json!({"items": secret}),
        json!(["x", 1]),
        &json!([REPLACEMENT, REPLACEMENT]),
    );
    check(
        &json!({"prefixItems": [{}, secret]}),
        json!(["x", "y", "z"]),
        &json!(["x", REPLACEMENT, "z"]),
    );
    check(
        &json!({"items": [secret]}),
        json!(["x", "y"]),
        &json!([REPLACEMENT, "y"]),
    );
}

#[test]
fn circular_references_terminate_and_still_mark() {
    let schema = json!({
        "properties": {"next": {"$ref": "#"}, "code": {"x-sensitive": true}, "loop": {"$ref": "#/properties/loop"}}
    });
    check(
        &schema,
        json!({"next": {"next": {"code": "x"}}, "loop": 1}),
        &json!({"next": {"next": {"code": REPLACEMENT}}, "loop": 1}),
    );
}

#[test]
fn a_schema_without_markers_is_empty() {
    for schema in [
        json!({"writeOnly": false, "format": "email"}),
        json!(true),
        json!(null),
    ] {
        assert!(Markers::from_schema(&schema).is_empty());
    }
    assert!(Markers::default().is_empty());
}

#[test]
fn a_value_too_deep_to_be_visited_is_marked() {
    let schema =
        json!({"items": {"$ref": "#"}, "contains": {"properties": {"a": {"writeOnly": true}}}});
    let nested = |levels| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    let mut marked = Vec::new();
    for levels in [DEPTH_LIMIT - 1, DEPTH_LIMIT] {
        let value = nested(levels);
        Markers::from_schema(&schema)
            .visit(&value, &mut |value| marked.push((levels, value.clone())));
    }
    assert_eq!(marked, [(DEPTH_LIMIT, json!(1))]);
}
