//! The contract of `json/transform`: what it takes, what it gives, and how it fails.

use panpan_contract::operation::{OperationName, OperationSpec, OperationType};
use panpan_failure::classify::JsonFailure;
use panpan_failure::{Code, ErrorDefinition};
use serde_json::{Value, json};

use super::compare::OPERATORS;
use super::document::{BYTES_LIMIT, DEPTH_LIMIT, ITEMS_LIMIT};
use super::path::LENGTH_LIMIT;
use super::transform::names;

/// The most members that can be named at once.
const KEYS_LIMIT: usize = 1000;

/// When each code is answered.
const FAILURES: [(JsonFailure, &str); 6] = [
    (
        JsonFailure::Invalid,
        "data is a string that is not JSON text",
    ),
    (
        JsonFailure::PathInvalid,
        "path, or a path in another parameter, is missing or cannot be read",
    ),
    (
        JsonFailure::SchemaMismatch,
        "validate: the data does not fit the schema; the violations say where",
    ),
    (
        JsonFailure::TransformFailed,
        "the operation does not suit the data, or a parameter it needs is missing",
    ),
    (JsonFailure::DepthExceeded, "the data is nested too deeply"),
    (
        JsonFailure::SizeExceeded,
        "the data or the result is too large, or one of its lists is too long",
    ),
];

pub(super) fn spec() -> OperationSpec {
    let name = OperationName::new("json/transform").expect("the name is well formed");
    let mut spec = OperationSpec::new(name, OperationType::Query);
    spec.title = Some("Transform JSON".to_owned());
    spec.description = Some(
        "Takes JSON apart, changes its shape or checks it. extract: what a JSONPath (RFC 9535) selects, \
         one value for a path of names and indexes, else a list. map: the same for every item, null \
         where nothing is there. filter: the items that meet a condition. pick, omit: only these members, \
         or all others. merge: the members of two objects. flatten: lists inside a list. sort: the items \
         in order. validate: fails unless the data fits a JSON Schema."
            .to_owned(),
    );
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
                "The JSON to work on; a string is read as JSON text. At most {BYTES_LIMIT} bytes, {DEPTH_LIMIT} levels and {ITEMS_LIMIT} items in a list."
            )},
            "operation": {"enum": names()},
            "path": {"type": "string", "description": "extract, map: a JSONPath, such as $.items[0].name or $..price."},
            "keys": {
                "type": "array",
                "items": {"type": "string"},
                "maxItems": KEYS_LIMIT,
                "description": "pick, omit: names of members; one that is absent is passed over.",
            },
            "condition": {
                "type": "object",
                "required": ["field"],
                "additionalProperties": false,
                "description": "filter: what an item has to meet.",
                "properties": {
                    "field": text(LENGTH_LIMIT, "A member's name, or a path that starts with $ at the item."),
                    "operator": {"enum": OPERATORS.map(|(word, _)| word), "default": OPERATORS[0].0},
                    "value": {"description": "What the field is compared with; for exists, false asks for items without it."},
                },
            },
            "merge_with": {"type": "object", "description": "merge: the members that are added, or take the place of others."},
            "depth": {
                "type": "integer",
                "minimum": 1,
                "maximum": DEPTH_LIMIT,
                "default": 1,
                "description": "flatten: how many levels of lists.",
            },
            "sort_key": text(LENGTH_LIMIT, "sort: a member's name, or a path that starts with $ at the item; the item itself if left out. Items without it come last."),
            "sort_order": {"enum": ["asc", "desc"], "default": "asc"},
            "schema": {"type": ["object", "boolean"], "description": "validate: a JSON Schema. References inside it are followed, others are refused."},
        },
    })
}

fn output_schema() -> Value {
    json!({
        "type": "object",
        "required": ["result", "result_hash", "operation", "input_size", "output_size"],
        "properties": {
            "result": {"description": "What came out; for validate, the data."},
            "result_hash": {"type": "string", "pattern": "^[0-9a-f]{64}$", "description": "SHA-256 of the result as canonical JSON (RFC 8785)."},
            "operation": {"enum": names()},
            "input_size": {"type": "integer", "description": "In bytes of JSON."},
            "output_size": {"type": "integer", "description": "In bytes of canonical JSON."},
            "form": {"enum": ["value", "list"], "description": "extract: whether the result is the one value the path selects, or the list of all."},
            "matches": {"type": "integer", "description": "extract: how many values the path selected."},
        },
    })
}

fn definition((failure, description): &(JsonFailure, &str)) -> ErrorDefinition {
    let code = Code::new(failure.entry().code).expect("the codes of the catalogue are well formed");
    ErrorDefinition::new(code, *description)
}
