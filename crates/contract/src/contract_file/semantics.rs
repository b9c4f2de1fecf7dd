//! Checks the rules between the members of an operation: names, access, idempotency, retry and
//! circuit.
//!
//! The structure of members is checked in `structure`, declared codes in `codes`, embedded schemas
//! in `schemas`.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::codes::Codes;
use super::problem::Problems;
use super::{OPERATIONS_LIMIT, messages, rule, structure};
use crate::circuit::CircuitSettings;
use crate::operation::{OperationName, check_namespace};
use crate::path::Path;
use crate::retry::RetryRule;
use panpan_failure::pointer::is_pointer;

/// Reports every problem of the operations.
pub(super) fn check(document: &Value, problems: &mut Problems<'_>) {
    let mut names = HashMap::new();
    let mut codes = Codes::default();
    for (index, operation) in operations(document) {
        let pointer = format!("/operations/{index}");
        let path = Path::At(&pointer);
        if let Some(name) = check_name(operation, &path, problems) {
            check_unique(name, index, &mut names, &path, problems);
        }
        check_access(operation, &path, problems);
        check_idempotency(operation, &path, problems);
        check_retry(operation, &path, problems);
        check_circuit(operation, &path, problems);
        codes.check(operation, &path, problems);
    }
}

/// The operations that are objects, with their indexes.
pub(super) fn operations(document: &Value) -> impl Iterator<Item = (usize, &Map<String, Value>)> {
    let operations = document["operations"].as_array().into_iter().flatten();
    let numbered = operations.take(OPERATIONS_LIMIT).enumerate();
    numbered.filter_map(|(index, operation)| Some((index, operation.as_object()?)))
}

fn check_name(
    operation: &Map<String, Value>,
    path: &Path<'_>,
    problems: &mut Problems<'_>,
) -> Option<OperationName> {
    let name = match OperationName::new(operation.get("name")?.as_str()?) {
        Ok(name) => name,
        Err(error) => {
            let message = format!("{error} (for example fs/readFile)");
            problems.note(&path.name("name"), rule::OPERATION_NAME, message);
            return None;
        }
    };
    let namespace = operation.get("namespace").and_then(Value::as_str);
    if let Some(Err(message)) = namespace.map(|it| check_namespace(&name, it)) {
        problems.note(&path.name("namespace"), rule::OPERATION_NAMESPACE, message);
    }
    Some(name)
}

fn check_unique(
    name: OperationName,
    index: usize,
    names: &mut HashMap<OperationName, usize>,
    path: &Path<'_>,
    problems: &mut Problems<'_>,
) {
    if let Some(first) = names.get(&name) {
        let message = format!(
            "duplicate operation name {name}, also at /operations/{first}; rename or remove one of them"
        );
        problems.note(&path.name("name"), rule::OPERATION_REPEATED, message);
    } else {
        names.insert(name, index);
    }
}

fn check_access(operation: &Map<String, Value>, path: &Path<'_>, problems: &mut Problems<'_>) {
    let Some(access) = operation.get("access_control").and_then(Value::as_object) else {
        return;
    };
    let stated = |name: &str| access.get(name).is_some_and(|value| !value.is_null());
    if stated("resource_action") && !stated("resource_type") {
        let message = "\"resource_action\" requires \"resource_type\"; add \"resource_type\", or leave \
                       \"resource_action\" out";
        let path = path.name("access_control");
        let path = path.name("resource_action");
        problems.note(&path, rule::ACCESS_RESOURCE_TYPE, message);
    }
}

fn check_idempotency(operation: &Map<String, Value>, path: &Path<'_>, problems: &mut Problems<'_>) {
    let Some(idempotency) = operation.get("idempotency") else {
        return;
    };
    let path = path.name("idempotency");
    let op_type = operation.get("op_type").and_then(Value::as_str);
    let is_required = idempotency["key"] == "required";
    if let Some(op_type @ ("query" | "subscription")) = op_type.filter(|_| is_required) {
        let message = format!(
            "a {op_type} cannot require a key; write \"optional\", or change op_type to \
             \"mutation\""
        );
        problems.note(&path.name("key"), rule::IDEMPOTENCY_KEY, message);
    }
    let pointer = idempotency["by_input"]["pointer"].as_str();
    if let Some(pointer) = pointer.filter(|it| !is_pointer(it)) {
        let message = format!(
            "{} is not a JSON Pointer; write, for example, /method for the member \"method\" of the input",
            messages::quoted(pointer)
        );
        let path = path.name("by_input");
        problems.note(&path.name("pointer"), rule::IDEMPOTENCY_POINTER, message);
    }
}

fn check_retry(operation: &Map<String, Value>, path: &Path<'_>, problems: &mut Problems<'_>) {
    let Some(retry) = operation.get("retry").filter(|it| it.is_object()) else {
        return;
    };
    // Problems of a single setting are already reported; this checks the rules between them.
    if !structure::part("retry").accepts(retry) {
        return;
    }
    if let Err(error) = serde_json::from_value::<RetryRule>(retry.clone()) {
        problems.note(&path.name("retry"), rule::RETRY_POLICY, error.to_string());
    }
}

fn check_circuit(operation: &Map<String, Value>, path: &Path<'_>, problems: &mut Problems<'_>) {
    let Some(circuit) = operation.get("circuit").filter(|it| it.is_object()) else {
        return;
    };
    // As above: only the rules between settings.
    if !structure::part("circuit").accepts(circuit) {
        return;
    }
    let settings = serde_json::from_value::<CircuitSettings>(circuit.clone());
    if let Ok(Err(error)) = settings.map(CircuitSettings::checked) {
        problems.note(&path.name("circuit"), rule::CIRCUIT, error.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_pointers_are_recognised() {
        for (text, expected) in [
            ("", true),
            ("/", true),
            ("/a/b", true),
            ("/a~0b~1", true),
            ("/é", true),
            ("a", false),
            ("$.a", false),
            ("#/a", false),
            ("/a~", false),
            ("/a~2", false),
            ("~0", false),
        ] {
            assert_eq!(is_pointer(text), expected, "{text:?}");
        }
    }
}
