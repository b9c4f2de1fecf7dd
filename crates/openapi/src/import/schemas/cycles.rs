//! Removes reference cycles that never descend into the value, because a validator would not stop. A
//! schema that refers to itself for a part of the value is fine.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::{Map, Value};

/// Removes the closing reference of every cycle; returns the names of the changed definitions.
pub(super) fn break_cycles(definitions: &mut Map<String, Value>) -> Vec<String> {
    let mut closing: Vec<_> = closing(definitions).into_iter().collect();
    closing.sort();
    for (from, references) in &closing {
        if let Some(schema) = definitions.get_mut(from) {
            remove(schema, references);
        }
    }
    closing.into_iter().map(|(from, _)| from).collect()
}

const PREFIX: &str = "#/$defs/";

/// The references that close a cycle, by the definition that contains them. Uses an explicit stack, because
/// cycles can be long.
fn closing(definitions: &Map<String, Value>) -> HashMap<String, BTreeSet<String>> {
    let applied: HashMap<&str, Vec<&str>> = definitions
        .iter()
        .map(|(name, schema)| (name.as_str(), applied(schema)))
        .collect();
    let mut closing: HashMap<_, BTreeSet<_>> = HashMap::new();
    let mut ended = HashSet::new();
    for start in definitions.keys().map(String::as_str) {
        let mut path = vec![(start, 0)];
        let mut on_path = HashSet::from([start]);
        while let Some((name, tried)) = path.last_mut() {
            let (name, next) = (*name, applied.get(name).and_then(|all| all.get(*tried)));
            *tried += 1;
            match next {
                _ if ended.contains(name) => {}
                Some(next) if on_path.contains(next) => {
                    let references = closing.entry(name.to_owned()).or_default();
                    references.insert(format!("{PREFIX}{next}"));
                    continue;
                }
                Some(next) => {
                    if !ended.contains(next) {
                        on_path.insert(next);
                        path.push((next, 0));
                    }
                    continue;
                }
                None => {}
            }
            ended.insert(name);
            on_path.remove(name);
            path.pop();
        }
    }
    closing
}

/// The definitions that are applied to the same value as a schema. Its depth is limited.
fn applied(schema: &Value) -> Vec<&str> {
    let mut names = Vec::new();
    let mut open = vec![schema];
    while let Some(schema) = open.pop() {
        let reference = schema.get("$ref").and_then(Value::as_str);
        names.extend(reference.and_then(|it| it.strip_prefix(PREFIX)));
        for keyword in LISTS {
            open.extend(
                schema
                    .get(keyword)
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten(),
            );
        }
        open.extend(SINGLE.iter().filter_map(|keyword| schema.get(*keyword)));
        let named = schema.get("dependentSchemas").and_then(Value::as_object);
        open.extend(named.into_iter().flat_map(Map::values));
    }
    names
}

const LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const SINGLE: [&str; 4] = ["not", "if", "then", "else"];

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
        for (keyword, value) in members {
            let keyword = keyword.as_str();
            if SINGLE.contains(&keyword) {
                open.push(value);
                continue;
            }
            match value {
                Value::Object(named) if keyword == "dependentSchemas" => {
                    open.extend(named.values_mut());
                }
                Value::Array(items) if LISTS.contains(&keyword) => open.extend(items),
                _ => {}
            }
        }
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

    #[test]
    fn a_very_long_cycle_is_broken_once() {
        let names = 0..20_000;
        let mut definitions: Map<String, Value> = names
            .clone()
            .map(|number| {
                let next = (number + 1) % names.len();
                (
                    number.to_string(),
                    json!({"$ref": format!("#/$defs/{next}")}),
                )
            })
            .collect();
        assert_eq!(break_cycles(&mut definitions).len(), 1);
    }
}
