//! Local references: followed where one thing stands for another, carried along where a schema may
//! be recursive.
//!
//! Every walk is bounded, because a document may refer to itself.

use std::collections::BTreeMap;

use panpan_contract::pointer::{escaped, unescaped};
use serde_json::{Map, Value};

/// The longest chain of references that is followed.
pub const REFERENCES_LIMIT: usize = 16;
/// The deepest schema that is walked.
pub const SCHEMA_DEPTH_LIMIT: usize = 100;
/// The most shared definitions that are carried along with one schema.
pub const DEFINITIONS_LIMIT: usize = 1000;

const SCHEMAS: &str = "/components/schemas/";

/// What a value stands for: itself, or what its chain of references leads to.
pub(crate) fn follow<'a>(document: &'a Value, value: &'a Value) -> Result<&'a Value, String> {
    let mut value = value;
    for _ in 0..REFERENCES_LIMIT {
        let Some(reference) = value.get("$ref").and_then(Value::as_str) else {
            return Ok(value);
        };
        value = target(document, reference)?;
    }
    match value.get("$ref") {
        None => Ok(value),
        Some(_) => Err(format!(
            "more than {REFERENCES_LIMIT} references lead to one another"
        )),
    }
}

fn target<'a>(document: &'a Value, reference: &str) -> Result<&'a Value, String> {
    let pointer = reference
        .strip_prefix('#')
        .ok_or_else(|| format!("{reference} leads out of the document"))?;
    document
        .pointer(pointer)
        .ok_or_else(|| format!("{reference} leads nowhere"))
}

/// A schema that stands on its own: what it refers to is carried along under `$defs`.
///
/// Definitions may refer to themselves and to each other; each is carried once.
pub(crate) fn standing_alone(document: &Value, schema: &Value) -> Result<Value, String> {
    let mut carrier = Carrier {
        document,
        definitions: BTreeMap::new(),
        waiting: Vec::new(),
    };
    let mut schema = carrier.rewritten(schema, 0)?;
    while let Some((name, pointer)) = carrier.waiting.pop() {
        let found = target(document, &format!("#{pointer}"))?;
        let definition = carrier.rewritten(found, 0)?;
        carrier.definitions.insert(name, definition);
    }
    if let (Value::Object(members), false) = (&mut schema, carrier.definitions.is_empty()) {
        let definitions = Map::from_iter(carrier.definitions);
        members.insert("$defs".to_owned(), definitions.into());
    }
    Ok(schema)
}

struct Carrier<'a> {
    document: &'a Value,
    definitions: BTreeMap<String, Value>,
    waiting: Vec<(String, String)>,
}

impl Carrier<'_> {
    fn rewritten(&mut self, value: &Value, depth: usize) -> Result<Value, String> {
        if depth > SCHEMA_DEPTH_LIMIT {
            return Err(format!(
                "the schema is nested more than {SCHEMA_DEPTH_LIMIT} levels deep"
            ));
        }
        Ok(match value {
            Value::Object(members) => {
                let mut map = Map::new();
                for (name, member) in members {
                    let member = match (name.as_str(), member) {
                        ("$ref", Value::String(reference)) => self.carried(reference)?.into(),
                        _ => self.rewritten(member, depth + 1)?,
                    };
                    map.insert(name.clone(), member);
                }
                map.into()
            }
            Value::Array(items) => {
                let items = items.iter().map(|item| self.rewritten(item, depth + 1));
                items.collect::<Result<Vec<_>, _>>()?.into()
            }
            scalar => scalar.clone(),
        })
    }

    /// Makes sure that what a reference leads to is carried, and gives the new reference.
    fn carried(&mut self, reference: &str) -> Result<String, String> {
        target(self.document, reference)?;
        let pointer = reference.strip_prefix('#').unwrap_or_default();
        let (name, root, rest) = split(pointer);
        if !self.definitions.contains_key(&name) {
            if self.definitions.len() >= DEFINITIONS_LIMIT {
                return Err(format!(
                    "the schema refers to more than {DEFINITIONS_LIMIT} others"
                ));
            }
            self.definitions.insert(name.clone(), Value::Bool(true));
            self.waiting.push((name.clone(), root));
        }
        Ok(format!("#/$defs/{}{rest}", escaped(&name)))
    }
}

/// The name of a definition, where it stands, and the way from there.
fn split(pointer: &str) -> (String, String, String) {
    let Some(inside) = pointer.strip_prefix(SCHEMAS) else {
        return (pointer.to_owned(), pointer.to_owned(), String::new());
    };
    let end = inside.find('/').unwrap_or(inside.len());
    let (step, rest) = inside.split_at(end);
    let name = unescaped(step).into_owned();
    (name, format!("{SCHEMAS}{step}"), rest.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn chain(length: usize) -> Value {
        let mut steps = Map::new();
        for step in 0..length {
            let next = format!("#/steps/{}", step + 1);
            steps.insert(step.to_string(), json!({"$ref": next}));
        }
        steps.insert(length.to_string(), json!({"found": true}));
        json!({"steps": steps})
    }

    #[test]
    fn a_chain_of_references_is_followed_up_to_its_limit() {
        let start = json!({"$ref": "#/steps/0"});
        let found = |length| follow(&chain(length), &start).cloned();
        assert_eq!(found(REFERENCES_LIMIT - 1), Ok(json!({"found": true})));
        assert!(found(REFERENCES_LIMIT).is_err());
    }

    #[test]
    fn a_reference_to_itself_ends() {
        let document = json!({"a": {"$ref": "#/a"}});
        assert!(follow(&document, &document["a"]).is_err());
    }

    #[test]
    fn a_recursive_schema_is_carried_once() {
        let document = json!({"components": {"schemas": {
            "Node": {"type": "object", "properties": {
                "child": {"$ref": "#/components/schemas/Node"},
                "label": {"$ref": "#/components/schemas/Label/properties/text"},
            }},
            "Label": {"properties": {"text": {"type": "string"}}},
            "Unused": {},
        }}});
        let schema = standing_alone(&document, &json!({"$ref": "#/components/schemas/Node"}));
        assert_eq!(
            schema,
            Ok(json!({
                "$ref": "#/$defs/Node",
                "$defs": {
                    "Node": {"type": "object", "properties": {
                        "child": {"$ref": "#/$defs/Node"},
                        "label": {"$ref": "#/$defs/Label/properties/text"},
                    }},
                    "Label": {"properties": {"text": {"type": "string"}}},
                },
            }))
        );
    }

    #[test]
    fn depth_has_a_limit() {
        let nested = |depth| (0..depth).fold(json!({}), |inner, _| json!([inner]));
        assert!(standing_alone(&json!({}), &nested(SCHEMA_DEPTH_LIMIT)).is_ok());
        assert!(standing_alone(&json!({}), &nested(SCHEMA_DEPTH_LIMIT + 1)).is_err());
    }

    #[test]
    fn the_number_of_carried_definitions_has_a_limit() {
        let carried = |count: usize| {
            let names = || (0..count).map(|number| format!("S{number}"));
            let schemas: Map<String, Value> = names().map(|name| (name, json!({}))).collect();
            let refs: Vec<Value> = names()
                .map(|name| json!({"$ref": format!("#/components/schemas/{name}")}))
                .collect();
            let document = json!({"components": {"schemas": schemas}});
            standing_alone(&document, &json!({"oneOf": refs})).is_ok()
        };
        assert!(carried(DEFINITIONS_LIMIT));
        assert!(!carried(DEFINITIONS_LIMIT + 1));
    }

    #[test]
    fn a_reference_that_leads_out_or_nowhere_is_refused() {
        for reference in ["other.yaml#/a", "https://example.com/x.json", "#/missing"] {
            let value = json!({"$ref": reference});
            assert!(follow(&json!({}), &value).is_err(), "{reference}");
            assert!(standing_alone(&json!({}), &value).is_err(), "{reference}");
        }
    }
}
