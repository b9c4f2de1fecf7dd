//! Every rule about the JSON Schemas in a file, violated once, and schemas that only look invalid.

use serde_json::{Value, json};

use super::full;
use super::rules::problems_with;
use crate::contract_file::rule;

const DRAFT_7: &str = "http://json-schema.org/draft-07/schema#";
const DRAFT_2020: &str = "https://json-schema.org/draft/2020-12/schema";

fn assert_problem(pointer: &str, schema: &Value, below: &str, rule: &str) {
    let expected = [format!("{pointer}{below} {rule}")];
    assert_eq!(problems_with(pointer, schema.clone()), expected, "{schema}");
}

#[test]
fn an_invalid_definition_is_reported_at_its_pointer() {
    for (schema, below, rule) in [
        (json!({"$schema": "urn:x"}), "/$schema", rule::SCHEMA_DRAFT),
        (json!({"$schema": DRAFT_7}), "/$schema", rule::SCHEMA_DRAFT),
        (json!({"type": "strin"}), "/type", rule::SCHEMA_INVALID),
        (
            json!({"items": {"minLength": -1}}),
            "/items/minLength",
            rule::SCHEMA_INVALID,
        ),
        (json!({"pattern": "("}), "/pattern", rule::SCHEMA_PATTERN),
        (
            json!({"patternProperties": {"(": {}}}),
            "/patternProperties/(",
            rule::SCHEMA_PATTERN,
        ),
        (
            json!({"$ref": "#/$defs/Pat"}),
            "/$ref",
            rule::SCHEMA_REFERENCE,
        ),
        (json!({"$ref": "#/$defs"}), "/$ref", rule::SCHEMA_REFERENCE),
        (
            json!({"$ref": "#/$defsX/Path"}),
            "/$ref",
            rule::SCHEMA_REFERENCE,
        ),
        (
            json!({"$ref": "#/operations/0/input_schema"}),
            "/$ref",
            rule::SCHEMA_REFERENCE,
        ),
        (json!({"$ref": "#"}), "/$ref", rule::SCHEMA_REFERENCE),
        (json!({"$ref": "#%"}), "/$ref", rule::SCHEMA_REFERENCE),
        (
            json!({"$ref": "https://example.com/s.json"}),
            "/$ref",
            rule::SCHEMA_REMOTE,
        ),
        (
            json!({"$ref": "file:///etc/passwd"}),
            "/$ref",
            rule::SCHEMA_REMOTE,
        ),
        (json!({"$ref": "other.json"}), "/$ref", rule::SCHEMA_REMOTE),
        (json!({"$ref": ""}), "/$ref", rule::SCHEMA_REMOTE),
        (
            json!({"$ref": "#/$defs/Path"}),
            "/$ref",
            rule::SCHEMA_ENDLESS,
        ),
        (json!({"$id": "urn:path"}), "/$id", rule::SCHEMA_IDENTITY),
        (
            json!({"$anchor": "path"}),
            "/$anchor",
            rule::SCHEMA_IDENTITY,
        ),
    ] {
        assert_problem("/$defs/Path", &schema, below, rule);
    }
    assert_problem("/$defs/Extra", &json!(null), "", rule::MEMBER_TYPE);
    assert_problem("/$defs/a~1b", &json!({}), "", rule::SCHEMA_NAME);
    assert_problem("/$defs/", &json!({}), "", rule::SCHEMA_NAME);
}

#[test]
fn an_invalid_schema_of_an_operation_is_reported_at_its_pointer() {
    for (schema, below, rule) in [
        (json!(null), "", rule::MEMBER_TYPE),
        (
            json!({"$schema": DRAFT_7, "items": 3}),
            "/items",
            rule::SCHEMA_INVALID,
        ),
        (
            json!({"items": {"$schema": DRAFT_2020}}),
            "/items/$schema",
            rule::SCHEMA_IDENTITY,
        ),
        (
            json!({"items": {"$id": "urn:x"}}),
            "/items/$id",
            rule::SCHEMA_IDENTITY,
        ),
        (json!({"$id": "a b"}), "/$id", rule::SCHEMA_IDENTITY),
        (
            json!({"$defs": {"Path": true}}),
            "/$defs/Path",
            rule::SCHEMA_SHADOWED,
        ),
        (
            json!({"examples": [{}], "$ref": "#/examples/0"}),
            "/$ref",
            rule::SCHEMA_REFERENCE,
        ),
        (json!({"$ref": "#nothing"}), "/$ref", rule::SCHEMA_REFERENCE),
        (json!({"$ref": "#"}), "/$ref", rule::SCHEMA_ENDLESS),
    ] {
        assert_problem("/operations/0/input_schema", &schema, below, rule);
    }
}

#[test]
fn schemas_that_only_look_invalid_are_accepted() {
    for schema in [
        json!(true),
        json!(false),
        json!({"$schema": DRAFT_2020, "$id": "urn:x", "$ref": "#/$defs/Path"}),
        json!({"properties": {"$ref": {"type": "string"}}}),
        json!({"const": {"$ref": "https://example.com"}}),
        json!({"default": {"$ref": "#/nowhere"}, "enum": [{"$ref": 1}]}),
        json!({"$ref": "#a", "items": {"$anchor": "a"}}),
        json!({"properties": {"a b": {"items": {}}, "c": {"$ref": "#/properties/a%20b/items"}}}),
        json!({"$defs": {"Path": full()["$defs"]["Path"]}}),
        json!({"$schema": DRAFT_7, "definitions": {"a": {}}, "items": [{"$ref": "#/definitions/a"}]}),
        json!({"properties": {"__proto__": {}, "constructor": false}}),
        json!({"properties": {"self": {"$ref": "#"}}}),
        json!({"$ref": "#/$defs/Where/properties/path"}),
        json!({"x-own-keyword": {"$ref": "https://example.com"}}),
    ] {
        let problems = problems_with("/operations/0/input_schema", schema.clone());
        assert_eq!(problems, [""; 0], "{schema}");
    }
}

#[test]
fn details_that_cannot_be_an_object_are_reported() {
    let pointer = "/operations/0/error_schemas/0/schema";
    for schema in [json!({"type": "string"}), json!({"$ref": "#/$defs/Path"})] {
        assert_problem(pointer, &schema, "", rule::SCHEMA_DETAILS);
    }
}

#[test]
fn an_operation_can_be_used_without_its_file() {
    let file = json!({
        "panpan": "1", "service": {"name": "s"},
        "operations": [{
            "name": "a/b", "op_type": "query", "input_schema": {"$ref": "#/$defs/In"},
            "output_schema": {"items": {"$ref": "#/$defs/Out"}},
            "error_schemas": [{"code": "ODD", "description": "Odd.", "schema": {"$ref": "#/$defs/In"}}],
        }],
        "$defs": {"In": {"type": "object"}, "Out": {"type": "string"}, "Other": {}},
    });
    let file = crate::contract_file::check(file.to_string().as_bytes()).unwrap();
    let alone = file.self_contained_operation(&file.operations[0]);
    let input = json!({"$ref": "#/$defs/In", "$defs": {"In": {"type": "object"}}});
    assert_eq!(alone.input_schema, input);
    assert_eq!(
        alone.output_schema["$defs"],
        json!({"Out": {"type": "string"}})
    );
    assert_eq!(alone.error_schemas[0].schema, input);
}
