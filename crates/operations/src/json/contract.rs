//! The contract of `json/transform`: its input, its output and its failures.

use panpan_contract::operation::{OperationSpec, OperationType};
use panpan_failure::classify::JsonFailure;
use panpan_failure::{Code, ErrorDefinition};
use serde_json::{Value, json};

use super::compare::OPERATORS;
use super::document::{BYTES_LIMIT, DEPTH_LIMIT, ITEMS_LIMIT};
use super::path::LENGTH_LIMIT;
use super::transform::names;
use crate::operation;

/// The maximum number of keys.
const KEYS_LIMIT: usize = 1000;

/// When each code is returned.
const FAILURES: [(JsonFailure, &str); 6] = [
    (
        JsonFailure::Invalid,
        "data is a string that is not JSON text",
    ),
    (
        JsonFailure::PathInvalid,
        "path, or a path in another parameter, is missing or invalid",
    ),
    (
        JsonFailure::SchemaMismatch,
        "validate: the data does not match the schema; see the violations",
    ),
    (
        JsonFailure::TransformFailed,
        "the operation does not apply to the data, or a required parameter is missing",
    ),
    (JsonFailure::DepthExceeded, "the data is nested too deeply"),
    (
        JsonFailure::SizeExceeded,
        "the data or the result is too large, or one of its lists is too long",
    ),
];

pub(super) fn spec() -> OperationSpec {
    let mut spec = operation(
        "json/transform",
        OperationType::Query,
        "Extracts, changes or validates JSON. extract: the values that a JSONPath (RFC 9535) selects; one \
         value for a path of names and indexes, otherwise a list. map: the same for every item, null if \
         nothing is selected. filter: the items that meet a condition. pick, omit: only these members, or \
         all others. merge: the members of two objects. flatten: nested lists as one list. sort: the items \
         in order. validate: fails unless the data matches a JSON Schema.",
    );
    spec.title = Some("Transform JSON".to_owned());
    spec.deterministic = true;
    spec.idempotency.idempotent = true;
    spec.input_schema = input_schema();
    spec.output_schema = output_schema();
    spec.error_schemas = FAILURES.iter().map(definition).collect();
    spec
}

fn input_schema() -> Value {
    let text = |limit: usize, description: &str| json!({"type": "string", "minLength": 1, "maxLength": limit, "description": description});
    json!({
        "type": "object",
        "required": ["data", "operation"],
        "additionalProperties": false,
        "properties": {
            "data": {"description": format!(
                "The JSON to transform; a string is parsed as JSON text. At most {BYTES_LIMIT} bytes, {DEPTH_LIMIT} levels and {ITEMS_LIMIT} items in a list."
            )},
            "operation": {"enum": names()},
            "path": {"type": "string", "description": "extract, map: a JSONPath, such as $.items[0].name or $..price."},
            "keys": {
                "type": "array",
                "items": {"type": "string"},
                "maxItems": KEYS_LIMIT,
                "description": "pick, omit: names of members; missing members are ignored.",
            },
            "condition": {
                "type": "object",
                "required": ["field"],
                "additionalProperties": false,
                "description": "filter: the condition that an item has to meet.",
                "properties": {
                    "field": text(LENGTH_LIMIT, "The name of a member, or a path that starts with $ at the item."),
                    "operator": {"enum": OPERATORS.map(|(word, _)| word), "default": OPERATORS[0].0},
                    "value": {"description": "The value to compare with; for exists, false selects items without the field."},
                },
            },
            "merge_with": {"type": "object", "description": "merge: the members to add or replace."},
            "depth": {
                "type": "integer",
                "minimum": 1,
                "maximum": DEPTH_LIMIT,
                "default": 1,
                "description": "flatten: how many levels of lists.",
            },
            "sort_key": text(LENGTH_LIMIT, "sort: the name of a member, or a path that starts with $ at the item; by default the item itself. Items without it come last."),
            "sort_order": {"enum": ["asc", "desc"], "default": "asc"},
            "schema": {"type": ["object", "boolean"], "description": "validate: a JSON Schema. Only references inside the schema are allowed."},
        },
    })
}

fn output_schema() -> Value {
    json!({
        "type": "object",
        "required": ["result", "result_hash", "operation", "input_size", "output_size"],
        "properties": {
            "result": {"description": "The result; for validate, the data."},
            "result_hash": {"type": "string", "pattern": "^[0-9a-f]{64}$", "description": "SHA-256 of the result as canonical JSON (RFC 8785)."},
            "operation": {"enum": names()},
            "input_size": {"type": "integer", "description": "In bytes of JSON."},
            "output_size": {"type": "integer", "description": "In bytes of canonical JSON."},
            "form": {"enum": ["value", "list"], "description": "extract: whether the result is one value or the list of all selected values."},
            "matches": {"type": "integer", "description": "extract: how many values the path selected."},
        },
    })
}

fn definition((failure, description): &(JsonFailure, &str)) -> ErrorDefinition {
    let code = Code::new(failure.entry().code).expect("the codes of the catalogue are well formed");
    ErrorDefinition::new(code, *description)
}
