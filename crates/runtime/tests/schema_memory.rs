//! The memory that checking takes: values and schemas with long names, deep down. A test of its own process, because it
//! measures the process.

#![cfg(target_os = "linux")]

use panpan_runtime::check_once;
use serde_json::{Map, Value, json};

/// The largest growth of the process, in megabytes.
const LIMIT: u64 = 256;

#[test]
fn checking_takes_memory_in_proportion_to_the_value_and_the_schema() {
    let numbers = |count: usize| Value::from_iter((0..count).map(|_| 1));
    let tree = json!({
        "type": ["object", "array"],
        "additionalProperties": {"$ref": "#"},
        "items": {"type": "string"},
    });
    let names = |count: usize| (0..count).map(|number| (format!("r{number}"), json!({})));
    let required: Vec<String> = names(1000).map(|(name, _)| name).collect();
    let listed = (0..45).fold(
        json!({"items": {"type": "string"}}),
        |inner, _| json!({"additionalProperties": inner}),
    );
    let big = json!({"properties": names(2000).collect::<Map<_, _>>()});
    let either = json!({"anyOf": [{"$ref": "#/$defs/big"}, {"type": "string"}]});
    let forms = names(2000).map(|(name, _)| (name, either.clone()));
    let many_forms = json!({
        "properties": forms.collect::<Map<_, _>>(), "required": ["none"], "$defs": {"big": big},
    });
    let all = Value::from_iter((0..2000).map(|_| json!({"minLength": 0})));
    for (what, schema, value) in [
        (
            "searched values",
            tree.clone(),
            deep(60, 3000, numbers(10_000)),
        ),
        (
            "a tree of long names",
            tree,
            deep(60, 20_000, numbers(1000)),
        ),
        ("listed values", listed, deep(45, 20_000, numbers(5000))),
        (
            "missing members",
            json!({"items": {"required": required}}),
            Value::from_iter((0..5000).map(|_| json!({}))),
        ),
        (
            "errors that repeat an enum",
            json!({"items": {"enum": (0..5000).collect::<Vec<_>>()}}),
            Value::from_iter((0..5000).map(|number| json!(-number))),
        ),
        (
            "unknown members",
            json!({"additionalProperties": {"$ref": "#/$defs/none"}, "$defs": {"none": {"additionalProperties": false}}}),
            deep(1, 1_000_000, Value::Object(names(1000).collect())),
        ),
        (
            "large forms",
            many_forms,
            Value::Object(names(2000).collect()),
        ),
        (
            "many subschemas for many values",
            json!({"items": {"allOf": all, "not": {}}}),
            numbers(50_000),
        ),
    ] {
        let before = memory("VmRSS");
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        let checked = check_once(&schema, &value).expect("it is a schema");
        let took = memory("VmHWM").saturating_sub(before) / 1024;
        assert!(!checked.violations.is_empty(), "{what}");
        assert!(took <= LIMIT, "{what}: {took} MB");
    }
}

#[test]
fn a_schema_whose_pointers_are_too_long_is_refused() {
    let leaves = |count: usize| {
        let leaf = |number: usize| (format!("p{number}"), json!({"type": "string"}));
        json!({"properties": (0..count).map(leaf).collect::<Map<_, _>>()})
    };
    let inside = |length: usize, leaves: Value| {
        (0..45).fold(
            leaves,
            |inner, _| json!({"properties": {"k".repeat(length): inner}}),
        )
    };
    assert!(check_once(&inside(10, leaves(1000)), &json!({})).is_ok());
    let refused = check_once(&inside(1000, leaves(1000)), &json!({})).unwrap_err();
    assert!(refused.contains("too long"), "{refused}");
}

/// A value inside this many objects with a member name of this length.
fn deep(depth: usize, length: usize, value: Value) -> Value {
    (0..depth).fold(value, |inner, _| json!({"k".repeat(length): inner}))
}

/// The memory of this process as the system reports it, in kilobytes.
fn memory(what: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(what));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    kilobytes.unwrap_or_default()
}
