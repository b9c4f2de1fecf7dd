//! The file as a whole: accepted files and reported problems. Each rule is violated in `rules` and
//! `schemas`; malicious files are in `hostile`, random ones in `random`.

mod hostile;
mod random;
mod rules;
mod schemas;

use serde_json::{Value, json};

use super::*;

/// A file that uses every feature.
pub(super) fn full() -> Value {
    json!({
        "$schema": "https://panpan.dev/schema/contract-file/1",
        "panpan": "1",
        "service": {
            "name": "files", "version": "2.1.0", "description": "Reads and writes files.",
            "x-owner": "storage"
        },
        "operations": [
            {
                "name": "fs/readFile", "namespace": "fs", "title": "Read a file",
                "description": "Gives the text of a file.", "op_type": "query",
                "visibility": "external",
                "input_schema": {
                    "type": "object", "required": ["path"],
                    "properties": {"path": {"$ref": "#/$defs/Path"}}
                },
                "argument_order": ["path"],
                "output_schema": {"type": "string"},
                "error_schemas": [
                    {
                        "code": "FILE_NOT_FOUND", "description": "The file does not exist",
                        "schema": {"$ref": "#/$defs/Where"}, "http_status": 404,
                        "category": "CLIENT_ERROR", "retryable": false,
                        "remedy": ["change_input"], "effect": "none", "jsonrpc_code": 1404,
                        "x-since": "1.0"
                    },
                    {"code": "HTTP_429", "description": "Too many", "http_status": 429},
                    {"code": "DISK_ERROR", "description": "Anything else", "http_status": "5XX"}
                ],
                "access_control": {
                    "required_scopes": ["fs:read"], "required_scopes_any": ["a", "b"],
                    "resource_type": "directory", "resource_action": "read"
                },
                "idempotency": {"idempotent": true, "reconcilable": false, "key": "optional"},
                "timeout_ms": 5000,
                "retry": {"max_retries": 2, "initial_delay_ms": 10, "max_delay_ms": 100,
                          "categories": ["NETWORK", "TIMEOUT"]},
                "patience_ms": 0,
                "circuit": {"row": 3, "open_ms": 100},
                "outputs": "strict",
                "redaction": "strict",
                "deterministic": true,
                "x-cost": 3
            },
            {
                "name": "fs/writeFile", "op_type": "mutation",
                "input_schema": {
                    "properties": {"mode": {"enum": ["replace", "append"]}, "tree": {"$ref": "#/$defs/Tree"}}
                },
                "error_schemas": [{
                    "code": "FILE_NOT_FOUND", "description": "The directory does not exist",
                    "http_status": 409, "category": "CLIENT_ERROR", "remedy": ["change_input"],
                    "jsonrpc_code": 1404
                }],
                "idempotency": {
                    "key": "required", "by_input": {"pointer": "/mode", "idempotent_values": ["replace"]}
                }
            },
            {"name": "fs/watch", "op_type": "subscription", "visibility": "internal"}
        ],
        "$defs": {
            "Path": {"type": "string", "pattern": "^/", "maxLength": 4096},
            "Where": {"type": "object", "properties": {"path": {"$ref": "#/$defs/Path"}}},
            "Tree": {"type": "object", "properties": {
                "children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}
            }}
        },
        "x-generated-by": {"tool": "hand"}
    })
}

/// Whether the first contains everything in the second; defaults may have been added.
fn includes(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => part
            .iter()
            .all(|(name, part)| whole.get(name).is_some_and(|whole| includes(whole, part))),
        (Value::Array(whole), Value::Array(part)) => {
            let mut pairs = whole.iter().zip(part);
            whole.len() == part.len() && pairs.all(|(whole, part)| includes(whole, part))
        }
        _ => whole == part,
    }
}

/// The problems of a document, as `pointer rule`.
pub(super) fn problems_of(document: &Value) -> Vec<String> {
    let text = serde_json::to_vec(document).unwrap();
    match check(&text) {
        Ok(_) => Vec::new(),
        Err(problems) => problems
            .iter()
            .map(|problem| format!("{} {}", problem.pointer, problem.rule))
            .collect(),
    }
}

#[test]
fn a_valid_file_is_read_and_written_back_unchanged() {
    let written = full();
    let file = check(&serde_json::to_vec(&written).unwrap()).unwrap();
    assert_eq!(file.operations.len(), 3);
    assert_eq!(
        file.extensions.get("x-generated-by"),
        Some(&json!({"tool": "hand"}))
    );

    let again = serde_json::to_value(&file).unwrap();
    assert!(includes(&again, &written), "{again:#}");
    assert_eq!(check(file.to_text().as_bytes()).unwrap(), file);
}

#[test]
fn an_operation_from_discovery_is_valid_in_a_file() {
    let described = json!({
        "name": "fs/readFile", "namespace": "fs", "op_type": "query", "visibility": "external",
        "input_schema": {}, "output_schema": {},
        "error_schemas": [
            {
                "code": "FILE_NOT_FOUND", "description": "The file does not exist",
                "schema": {"type": "object", "properties": {"path": {"type": "string"}}},
                "http_status": null
            },
            {
                "code": "PERMISSION_DENIED", "description": "OS-level read permission denied",
                "schema": {"type": "object", "properties": {
                    "path": {"type": "string"}, "errno": {"type": "integer"}
                }},
                "http_status": null
            }
        ],
        "access_control": {
            "required_scopes": [], "required_scopes_any": null,
            "resource_type": null, "resource_action": null
        }
    });
    let mut file = serde_json::to_value(ContractFile::new("files")).unwrap();
    file["operations"] = json!([described]);
    assert_eq!(problems_of(&file), [""; 0]);
    let schema: Value = serde_json::from_str(ContractFile::SCHEMA).unwrap();
    assert!(jsonschema::is_valid(&schema, &file));
}

#[test]
fn the_published_schema_accepts_written_files() {
    let schema: Value = serde_json::from_str(ContractFile::SCHEMA).unwrap();
    let file = check(&serde_json::to_vec(&full()).unwrap()).unwrap();
    for document in [full(), serde_json::to_value(&file).unwrap()] {
        let validator = jsonschema::validator_for(&schema).unwrap();
        let errors: Vec<_> = validator
            .iter_errors(&document)
            .map(|it| it.to_string())
            .collect();
        assert_eq!(errors, [""; 0]);
    }
}

#[test]
fn a_self_contained_schema_can_be_used_without_the_file() {
    let file = check(&serde_json::to_vec(&full()).unwrap()).unwrap();
    let input = file.self_contained(&file.operations[0].input_schema);
    assert!(jsonschema::is_valid(&input, &json!({"path": "/etc"})));
    assert!(!jsonschema::is_valid(&input, &json!({"path": "etc"})));
}

#[test]
fn all_problems_are_reported_in_the_order_of_the_file() {
    let text = br#"{
        "x-b": 1,
        "operations": [
            {"op_type": "querry", "name": "readFile", "timeout_ms": "5"},
            {"timeout_ms": 0, "name": "fs/x", "op_type": "query",
             "error_schemas": [{"code": "TIMEOUT", "description": "Late", "http_status": 200}]}
        ],
        "panpan": 1,
        "banana": true
    }"#;
    let problems = check(text).unwrap_err();
    let messages: Vec<_> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        messages,
        [
            "at /service: missing member \"service\"; write an object (The service that offers the operations)",
            "at /operations/0/op_type: unknown value \"querry\" (did you mean \"query\"?); write \"query\", \"mutation\" or \"subscription\"",
            "at /operations/0/name: operation name \"readFile\" has no namespace; write namespace/operation (for example fs/readFile)",
            "at /operations/0/timeout_ms: expected a whole number from 1 to 9007199254740991 or null, found a string",
            "at /operations/1/timeout_ms: 0 is out of range; write a whole number from 1 to 9007199254740991 or null",
            "at /operations/1/error_schemas/0/code: TIMEOUT is reserved for the protocol; declare your own code, such as MY_TIMEOUT",
            "at /operations/1/error_schemas/0/http_status: 200 is out of range; write a whole number from 400 to 599, a string or null",
            "at /panpan: expected \"1\", found a number",
            "at /banana: unknown member \"banana\" of a panpan contract file; known members are $defs, $schema, operations, panpan, service; start the names of your own members with x-",
        ]
    );
}

#[test]
fn a_file_that_is_not_json_has_one_problem() {
    for (bytes, rule) in [
        (&b""[..], rule::FILE_SYNTAX),
        (b"{", rule::FILE_SYNTAX),
        (b"\xff\xfe{\0}\0", rule::FILE_SYNTAX),
        (&[b'['; 200], rule::FILE_DEEP),
        (&vec![b' '; FILE_BYTES_LIMIT + 1], rule::FILE_LARGE),
    ] {
        let problems = check(bytes).unwrap_err();
        assert_eq!(problems.len(), 1);
        assert_eq!((problems[0].rule, problems[0].pointer.as_str()), (rule, ""));
    }
}

#[test]
fn a_byte_order_mark_is_ignored() {
    let text = serde_json::to_vec(&full()).unwrap();
    assert!(check(&[b"\xef\xbb\xbf".to_vec(), text].concat()).is_ok());
}

#[test]
fn rule_names_are_unique() {
    let mut names: Vec<_> = rule::ALL.iter().map(|(name, _)| name).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), rule::ALL.len());
}
