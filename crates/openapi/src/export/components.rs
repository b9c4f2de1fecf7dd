//! The schemas of a document, each with a unique name.
//!
//! A standalone schema refers to its parts from its root, and in a document the root is the document. Such
//! references are rewritten to the new location of the schema.

use panpan_contract::schema::each_mut;
use serde_json::{Map, Value, json};

use crate::unique_names::UniqueNames;

const PREFIX: &str = "#/components/schemas/";

/// The schemas collected so far.
#[derive(Default)]
pub(super) struct Components {
    schemas: Vec<(String, Value)>,
    names: UniqueNames,
}

impl Components {
    /// Adds a schema that refers to other components only; returns a reference to it.
    pub(super) fn add(&mut self, name: &str, schema: Value) -> Value {
        let name = self.unused_name(name);
        let reference = json!({"$ref": format!("{PREFIX}{name}")});
        self.schemas.push((name, schema));
        reference
    }

    /// Adds a standalone schema; returns a reference to it.
    pub(super) fn add_standalone(&mut self, name: &str, schema: &Value) -> Value {
        let name = self.unused_name(name);
        let reference = json!({"$ref": format!("{PREFIX}{name}")});
        let relocated = relocated(schema, &name);
        self.schemas.push((name, relocated));
        reference
    }

    /// The schemas added since the last call.
    pub(super) fn take(&mut self) -> Vec<(String, Value)> {
        std::mem::take(&mut self.schemas)
    }

    /// A free name, with dots for slashes.
    fn unused_name(&mut self, preferred: &str) -> String {
        self.names.assign(preferred.replace('/', "."), '-')
    }
}

/// The schema rewritten so that it means the same under this name.
fn relocated(schema: &Value, name: &str) -> Value {
    let mut schema = schema.clone();
    if let Some(members) = schema.as_object_mut() {
        // With an `$id` it would be a separate document, which many tools do not support.
        members.remove("$id");
        members.remove("id");
    }
    each_mut(&mut schema, |members| {
        let is_another_document = members.contains_key("$id");
        if !is_another_document {
            rebase(members, name);
        }
        !is_another_document
    });
    schema
}

fn rebase(members: &mut Map<String, Value>, name: &str) {
    // Its value is always `#`. Only one older draft has this keyword, and a component names no draft.
    if members.remove("$recursiveRef").is_some() {
        members.insert("$ref".to_owned(), "#".into());
    }
    for keyword in ["$ref", "$dynamicRef"] {
        let reference = members.get_mut(keyword);
        if let Some((reference, own)) = reference.and_then(local) {
            *reference = rebased(&own, name).into();
        }
    }
    for keyword in ["$anchor", "$dynamicAnchor"] {
        if let Some(Value::String(anchor)) = members.get_mut(keyword) {
            *anchor = anchored(anchor, name);
        }
    }
}

/// A reference that starts at the root of its schema, and its path from there.
fn local(reference: &mut Value) -> Option<(&mut Value, String)> {
    let own = reference.as_str()?.strip_prefix('#')?.to_owned();
    Some((reference, own))
}

fn rebased(own: &str, name: &str) -> String {
    if own.is_empty() || own.starts_with('/') {
        format!("{PREFIX}{name}{own}")
    } else {
        format!("#{}", anchored(own, name))
    }
}

/// An anchor that is unique in the document. It has to start with a letter or `_`.
fn anchored(anchor: &str, name: &str) -> String {
    format!("_{name}.{anchor}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_only_in_slashes_stay_apart() {
        let mut components = Components::default();
        let names = ["a/b", "a.b", "a.b-2", "a/b"].map(|name| components.add(name, json!({})));
        let names = names.map(|it| it["$ref"].as_str().unwrap().replace(PREFIX, ""));
        assert_eq!(names, ["a.b", "a.b-2", "a.b-2-2", "a.b-3"]);
        assert_eq!(components.take().len(), 4);
        let later = components.add("a/b", json!({}));
        assert_eq!(later["$ref"], format!("{PREFIX}a.b-4"));
        assert_eq!(components.take().len(), 1);
    }

    #[test]
    fn references_start_where_the_schema_stands() {
        for (alone, expected) in [
            (
                json!({"$ref": "#"}),
                json!({"$ref": "#/components/schemas/N"}),
            ),
            (
                json!({"items": {"$ref": "#/$defs/A~1b"}, "$defs": {"A/b": {"$ref": "#/items"}}}),
                json!({
                    "items": {"$ref": "#/components/schemas/N/$defs/A~1b"},
                    "$defs": {"A/b": {"$ref": "#/components/schemas/N/items"}},
                }),
            ),
            (
                json!({"$dynamicAnchor": "node", "items": {"$dynamicRef": "#node"}, "$anchor": "a"}),
                json!({
                    "$dynamicAnchor": "_N.node", "items": {"$dynamicRef": "#_N.node"},
                    "$anchor": "_N.a",
                }),
            ),
            (
                json!({"not": {"$recursiveRef": "#"}}),
                json!({"not": {"$ref": "#/components/schemas/N"}}),
            ),
            (
                json!({"$id": "urn:a", "not": {"$id": "urn:b", "$ref": "#/$defs/c"}}),
                json!({"not": {"$id": "urn:b", "$ref": "#/$defs/c"}}),
            ),
            (
                json!({"properties": {"$ref": {"const": {"$ref": "#/a"}}}}),
                json!({"properties": {"$ref": {"const": {"$ref": "#/a"}}}}),
            ),
            (json!(true), json!(true)),
        ] {
            assert_eq!(relocated(&alone, "N"), expected, "{alone}");
        }
    }
}
