//! The schemas of a document, each under a name of its own.
//!
//! A schema refers to its own parts from its top, and in a document the top is the document: such
//! references are made to start where the schema now stands.

use std::collections::{BTreeMap, BTreeSet};

use panpan_contract::contract_file::each_schema_mut;
use serde_json::{Map, Value, json};

const PLACE: &str = "#/components/schemas/";

/// The schemas collected so far.
#[derive(Default)]
pub(super) struct Components {
    schemas: Vec<(String, Value)>,
    /// The names of all there ever were.
    taken: BTreeSet<String>,
    /// How many names were asked for, so that a name used often is not tried from the start.
    asked: BTreeMap<String, usize>,
}

impl Components {
    /// Adds a schema that refers to nothing but other components; gives a reference to it.
    pub(super) fn add(&mut self, name: &str, schema: Value) -> Value {
        let name = self.free_name(name);
        let reference = json!({"$ref": format!("{PLACE}{name}")});
        self.schemas.push((name, schema));
        reference
    }

    /// Adds a schema that was written to stand alone; gives a reference to it.
    pub(super) fn adopt(&mut self, name: &str, schema: &Value) -> Value {
        let name = self.free_name(name);
        let reference = json!({"$ref": format!("{PLACE}{name}")});
        let moved = moved(schema, &name);
        self.schemas.push((name, moved));
        reference
    }

    /// What was added since it was last taken.
    pub(super) fn take(&mut self) -> Vec<(String, Value)> {
        std::mem::take(&mut self.schemas)
    }

    /// A name not taken yet: the wanted one with slashes as dots, or with a number after it.
    fn free_name(&mut self, wanted: &str) -> String {
        let wanted = wanted.replace('/', ".");
        let asked = self.asked.entry(wanted.clone()).or_default();
        loop {
            *asked += 1;
            let name = match *asked {
                1 => wanted.clone(),
                times => format!("{wanted}-{times}"),
            };
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// A schema as it has to be written under this name to mean what it meant alone.
fn moved(schema: &Value, name: &str) -> Value {
    let mut schema = schema.clone();
    if let Some(members) = schema.as_object_mut() {
        // With an address of its own it would be another document, which few readers look into.
        members.remove("$id");
        members.remove("id");
    }
    each_schema_mut(&mut schema, |members| {
        let is_another_document = members.contains_key("$id");
        if !is_another_document {
            rebase(members, name);
        }
        !is_another_document
    });
    schema
}

fn rebase(members: &mut Map<String, Value>, name: &str) {
    // Always `#`; only the draft that has this keyword knows it, and a component says no draft.
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

/// A reference that starts at the top of its schema, and the way from there.
fn local(reference: &mut Value) -> Option<(&mut Value, String)> {
    let own = reference.as_str()?.strip_prefix('#')?.to_owned();
    Some((reference, own))
}

fn rebased(own: &str, name: &str) -> String {
    if own.is_empty() || own.starts_with('/') {
        format!("{PLACE}{name}{own}")
    } else {
        format!("#{}", anchored(own, name))
    }
}

/// An anchor no other schema of the document has. It has to start with a letter or `_`.
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
        let names = names.map(|it| it["$ref"].as_str().unwrap().replace(PLACE, ""));
        assert_eq!(names, ["a.b", "a.b-2", "a.b-2-2", "a.b-3"]);
        assert_eq!(components.take().len(), 4);
        let later = components.add("a/b", json!({}));
        assert_eq!(later["$ref"], format!("{PLACE}a.b-4"));
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
            assert_eq!(moved(&alone, "N"), expected, "{alone}");
        }
    }
}
