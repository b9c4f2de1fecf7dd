//! A schema whose root is a reference to one of its definitions, with the definition in its place: clients
//! look at the root alone to see whether a schema is one of an object.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// How many references are followed one after the other.
const FOLLOWED_LIMIT: usize = 16;

/// Members that say something about a schema and demand nothing.
const ANNOTATIONS: [&str; 8] = [
    "$schema",
    "$id",
    "$defs",
    "definitions",
    "$comment",
    "title",
    "description",
    "examples",
];

/// The schema with what its root refers to in its place. One that demands more beside the reference, or
/// refers to something else than a definition of its own, stays as it is.
pub(super) fn inlined(schema: &Map<String, Value>) -> Cow<'_, Map<String, Value>> {
    let Some(target) = target(schema) else {
        return Cow::Borrowed(schema);
    };
    let mut whole = target.clone();
    for (name, value) in schema.iter().filter(|(name, _)| *name != "$ref") {
        whole.insert(name.clone(), value.clone());
    }
    Cow::Owned(whole)
}

/// The definition at the end of the references a root starts.
fn target(schema: &Map<String, Value>) -> Option<&Map<String, Value>> {
    let mut found = schema;
    for _ in 0..FOLLOWED_LIMIT {
        let Some(reference) = found.get("$ref") else {
            return (!std::ptr::eq(found, schema)).then_some(found);
        };
        let is_alone = |name: &String| name == "$ref" || ANNOTATIONS.contains(&name.as_str());
        if !found.keys().all(is_alone) {
            return None;
        }
        let mut steps = reference.as_str()?.strip_prefix("#/")?.split('/');
        let (table, name) = (steps.next()?, steps.next()?);
        if steps.next().is_some() || !matches!(table, "$defs" | "definitions") {
            return None;
        }
        let name = name.replace("~1", "/").replace("~0", "~");
        found = schema.get(table)?.get(&name)?.as_object()?;
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_plain_reference_to_a_definition_is_replaced() {
        let object = json!({"type": "object", "title": "A"});
        for (schema, expected) in [
            (
                json!({"$ref": "#/$defs/a~1b", "$defs": {"a/b": object}, "title": "B"}),
                Some(json!({"type": "object", "title": "B", "$defs": {"a/b": object}})),
            ),
            (
                json!({"$ref": "#/$defs/a", "$defs": {"a": object}, "required": ["x"]}),
                None,
            ),
            (
                json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}),
                None,
            ),
            (json!({"$ref": "#/$defs/b", "$defs": {"a": object}}), None),
            (
                json!({"$ref": "#/properties/a", "properties": {"a": object}}),
                None,
            ),
            (json!({"$ref": "https://example.com/schema"}), None),
            (json!({"$ref": "#"}), None),
            (object, None),
        ] {
            let expected = expected.unwrap_or_else(|| schema.clone());
            let found = inlined(schema.as_object().unwrap());
            assert_eq!(Value::Object(found.into_owned()), expected, "{schema}");
        }
    }
}
