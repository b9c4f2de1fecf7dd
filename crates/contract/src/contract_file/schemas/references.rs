//! Resolves references, and bundles a schema with the definitions that it refers to.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::schema::{Resolver, decoded, definition_names};

/// A schema in which references are resolved.
pub(super) struct Root<'a> {
    /// The schema.
    pub(super) schema: &'a Value,
    /// Whether it describes the details of a failure.
    pub(super) is_details: bool,
    /// The references inside the schema; none in a shared definition, where `#` is the file.
    own: Option<Resolver<'a>>,
    definitions: &'a Map<String, Value>,
}

impl<'a> Root<'a> {
    /// A shared definition.
    pub(super) fn shared(schema: &'a Value, definitions: &'a Map<String, Value>) -> Self {
        Self {
            schema,
            is_details: false,
            own: None,
            definitions,
        }
    }

    /// The schema of an operation.
    pub(super) fn embedded(schema: &'a Value, definitions: &'a Map<String, Value>) -> Self {
        Self {
            own: Some(Resolver::new(schema)),
            ..Self::shared(schema, definitions)
        }
    }

    /// The schema of the details of a failure.
    pub(super) fn for_details(schema: &'a Value, definitions: &'a Map<String, Value>) -> Self {
        Self {
            is_details: true,
            ..Self::embedded(schema, definitions)
        }
    }

    /// Whether it is a shared definition.
    pub(super) fn is_shared(&self) -> bool {
        self.own.is_none()
    }

    /// The target of a reference in this schema, if it is in the file.
    pub(super) fn find(&self, reference: &str) -> Option<&'a Value> {
        let own = || Some(self.own.as_ref()?.find(self.schema, reference)?.0);
        let shared = || {
            let pointer = decoded(reference.strip_prefix('#')?)?;
            let path = pointer.strip_prefix("/$defs/")?;
            let (name, within) = path.split_at(path.find('/').unwrap_or(path.len()));
            self.definitions.get(name)?.pointer(within)
        };
        own().or_else(shared)
    }
}

/// A schema with every shared definition that it needs, directly or indirectly.
pub(in crate::contract_file) fn self_contained(
    schema: &Value,
    definitions: &Map<String, Value>,
) -> Value {
    let own = schema.get("$defs").and_then(Value::as_object);
    let mut needed = BTreeSet::new();
    let mut open = vec![schema];
    while let Some(next) = open.pop() {
        for name in definition_names(next) {
            let is_own = own.is_some_and(|own| own.contains_key(&name));
            let shared = definitions.get(&name).filter(|_| !is_own);
            open.extend(shared.filter(|_| needed.insert(name)));
        }
    }
    let mut whole = schema.clone();
    if let Some(members) = whole.as_object_mut().filter(|_| !needed.is_empty()) {
        let taken = needed.into_iter().filter_map(|name| {
            let definition = definitions.get(&name)?.clone();
            Some((name, definition))
        });
        add_definitions(members, taken);
    }
    whole
}

/// Adds definitions to those of a schema. A `$defs` that is not an object is replaced.
fn add_definitions(
    schema: &mut Map<String, Value>,
    definitions: impl Iterator<Item = (String, Value)>,
) {
    let mut all = match schema.remove("$defs") {
        Some(Value::Object(own)) => own,
        _ => Map::new(),
    };
    all.extend(definitions);
    schema.insert("$defs".to_owned(), Value::Object(all));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_is_bundled_with_the_definitions_it_needs() {
        let definitions = json!({
            "A": {"properties": {"b": {"$ref": "#/$defs/B"}}},
            "B": {"items": {"$ref": "#/$defs/A"}},
            "C": {"type": "string"},
            "D": {"type": "null"},
        });
        let definitions = definitions.as_object().unwrap();
        let schema = json!({
            "$ref": "#/%24defs/A/properties/b", "$defs": {"D": {"const": 1}},
            "properties": {"d": {"$ref": "#/$defs/D"}, "$ref": {"const": "#/$defs/C"}},
        });
        let whole = self_contained(&schema, definitions);
        let names: Vec<_> = whole["$defs"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["A", "B", "D"]);
        assert_eq!(whole["$defs"]["D"], json!({"const": 1}));
        assert!(jsonschema::is_valid(&whole, &json!([{"b": []}])));
        for alone in [
            json!(true),
            json!(5),
            json!({"$defs": 5}),
            json!({"$ref": "#/$defs/E"}),
        ] {
            assert_eq!(self_contained(&alone, definitions), alone);
        }
        let odd = json!({"$ref": "#/$defs/C", "$defs": 5});
        assert_eq!(
            self_contained(&odd, definitions)["$defs"],
            json!({"C": {"type": "string"}})
        );
    }
}
