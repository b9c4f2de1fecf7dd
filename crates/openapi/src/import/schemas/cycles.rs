//! Removes reference cycles that never descend into the value, because a validator would not stop. A
//! schema that refers to itself for a part of the value is fine.

use std::collections::{BTreeMap, BTreeSet};

use panpan_contract::schema::{Place, cycles, subschemas_at, subschemas_mut};
use serde_json::{Map, Value};

const PREFIX: &str = "#/$defs/";

/// Removes the closing reference of every cycle; returns the names of the changed definitions.
pub(super) fn break_cycles(definitions: &mut Map<String, Value>) -> Vec<String> {
    let mut closing: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let names = definitions.keys().map(String::as_str);
    let next = |name: &str| definitions.get(name).map(applied).unwrap_or_default();
    cycles(names, next, |cycle| {
        if let Some((to, from)) = cycle.first().zip(cycle.last()) {
            let references = closing.entry((*from).to_owned()).or_default();
            references.insert(format!("{PREFIX}{to}"));
        }
    });
    for (from, references) in &closing {
        if let Some(schema) = definitions.get_mut(from) {
            remove(schema, references);
        }
    }
    closing.into_keys().collect()
}

/// The definitions that are applied to the same value as a schema. Its depth is limited.
fn applied(schema: &Value) -> Vec<&str> {
    let mut names = Vec::new();
    let mut open = vec![schema];
    while let Some(schema) = open.pop() {
        let reference = schema.get("$ref").and_then(Value::as_str);
        names.extend(reference.and_then(|it| it.strip_prefix(PREFIX)));
        let inner = subschemas_at(schema, |place| place == Place::Same);
        open.extend(inner.map(|inner| inner.schema));
    }
    names
}

/// Removes references from all schemas that are applied to the same value.
fn remove(schema: &mut Value, references: &BTreeSet<String>) {
    let mut open = vec![schema];
    while let Some(schema) = open.pop() {
        let Some(members) = schema.as_object_mut() else {
            continue;
        };
        let reference = members.get("$ref").and_then(Value::as_str);
        if reference.is_some_and(|it| references.contains(it)) {
            members.remove("$ref");
        }
        let inner = subschemas_mut(members).filter(|(place, _)| *place == Place::Same);
        open.extend(inner.map(|(_, inner)| inner));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_cycles_without_descent_are_broken() {
        for (definitions, expected, changed) in [
            (
                json!({"A": {"$ref": "#/$defs/A"}}),
                json!({"A": {}}),
                vec!["A"],
            ),
            (
                json!({"A": {"items": {"$ref": "#/$defs/A"}}}),
                json!({"A": {"items": {"$ref": "#/$defs/A"}}}),
                vec![],
            ),
            (
                json!({
                    "Cat": {"allOf": [{"$ref": "#/$defs/Pet"}, {"type": "object"}]},
                    "Pet": {"oneOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}]},
                    "Dog": {"not": {"$ref": "#/$defs/Other"}},
                    "Other": {},
                }),
                json!({
                    "Cat": {"allOf": [{"$ref": "#/$defs/Pet"}, {"type": "object"}]},
                    "Pet": {"oneOf": [{}, {"$ref": "#/$defs/Dog"}]},
                    "Dog": {"not": {"$ref": "#/$defs/Other"}},
                    "Other": {},
                }),
                vec!["Pet"],
            ),
            (
                json!({
                    "A": {"then": {"$ref": "#/$defs/B"}},
                    "B": {"dependentSchemas": {"x": {"$ref": "#/$defs/C"}}},
                    "C": {"$ref": "#/$defs/A"},
                }),
                json!({
                    "A": {"then": {"$ref": "#/$defs/B"}},
                    "B": {"dependentSchemas": {"x": {"$ref": "#/$defs/C"}}},
                    "C": {},
                }),
                vec!["C"],
            ),
        ] {
            let mut definitions = definitions.as_object().unwrap().clone();
            assert_eq!(break_cycles(&mut definitions), changed);
            assert_eq!(Value::from(definitions), expected);
        }
    }
}
