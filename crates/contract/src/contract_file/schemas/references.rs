//! Resolves references, and bundles a schema with the definitions that it refers to.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};

use serde_json::{Map, Value};

use super::REFERENCES;
use super::keywords::each;

/// A schema in which references are resolved.
pub(super) struct Root<'a> {
    /// The schema.
    pub(super) schema: &'a Value,
    /// Whether it is a shared definition, where `#` is the file and not the schema.
    pub(super) is_shared: bool,
    /// Whether it describes the details of a failure.
    pub(super) is_details: bool,
    definitions: &'a Map<String, Value>,
    anchors: OnceCell<HashMap<&'a str, &'a Value>>,
}

impl<'a> Root<'a> {
    /// A shared definition.
    pub(super) fn shared(schema: &'a Value, definitions: &'a Map<String, Value>) -> Self {
        Self {
            schema,
            is_shared: true,
            is_details: false,
            definitions,
            anchors: OnceCell::new(),
        }
    }

    /// The schema of an operation.
    pub(super) fn embedded(schema: &'a Value, definitions: &'a Map<String, Value>) -> Self {
        Self {
            is_shared: false,
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

    /// The target of a reference in this schema, if it is in the file.
    pub(super) fn find(&self, reference: &str) -> Option<&'a Value> {
        let fragment = reference.strip_prefix('#')?;
        let pointer = decoded(fragment)?;
        let own = self.find_own(fragment, &pointer);
        own.or_else(|| self.find_shared(&pointer))
    }

    fn find_own(&self, fragment: &str, pointer: &str) -> Option<&'a Value> {
        if self.is_shared {
            return None;
        }
        if pointer.is_empty() || pointer.starts_with('/') {
            return self.schema.pointer(pointer);
        }
        self.anchors().get(fragment).copied()
    }

    fn find_shared(&self, pointer: &str) -> Option<&'a Value> {
        let (name, within) = split_shared(pointer)?;
        self.definitions.get(name)?.pointer(within)
    }

    fn anchors(&self) -> &HashMap<&'a str, &'a Value> {
        self.anchors.get_or_init(|| {
            let mut anchors = HashMap::new();
            each(self.schema, |schema| {
                for keyword in ["$anchor", "$dynamicAnchor"] {
                    if let Some(name) = schema.get(keyword).and_then(Value::as_str) {
                        anchors.insert(name, schema);
                    }
                }
            });
            anchors
        })
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
        each(next, |inner| {
            for name in shared_names(inner) {
                let is_own = own.is_some_and(|own| own.contains_key(&name));
                let shared = definitions.get(&name).filter(|_| !is_own);
                open.extend(shared.filter(|_| needed.insert(name)));
            }
        });
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

/// The names in the references of a schema to `#/$defs/Name`.
fn shared_names(schema: &Value) -> impl Iterator<Item = String> {
    let references = REFERENCES.iter().filter_map(|it| schema.get(*it)?.as_str());
    references.filter_map(|reference| {
        let pointer = decoded(reference.strip_prefix('#')?)?;
        Some(split_shared(&pointer)?.0.to_owned())
    })
}

/// Splits a pointer to a shared definition into its name and the pointer inside it. Names have no
/// escapes, so none are decoded.
fn split_shared(pointer: &str) -> Option<(&str, &str)> {
    let rest = pointer.strip_prefix("/$defs/")?;
    let end = rest.find('/').unwrap_or(rest.len());
    Some(rest.split_at(end))
}

/// The percent-decoded fragment of a URI.
fn decoded(fragment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let (digits, after) = after.split_at_checked(2)?;
        let digits = std::str::from_utf8(digits).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fragments_are_decoded_or_refused() {
        for (fragment, expected) in [
            ("/a%20b", Some("/a b")),
            ("/%C3%A9", Some("/é")),
            ("%24defs", Some("$defs")),
            ("%", None),
            ("%2", None),
            ("%zz", None),
            ("%ff", None),
            ("%é", None),
        ] {
            assert_eq!(decoded(fragment).as_deref(), expected, "{fragment}");
        }
    }

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
