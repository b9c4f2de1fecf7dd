//! Replaces a reference at the root of a schema by the definition that it refers to: clients look
//! only at the root to see whether a schema describes an object.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// The longest chain of references that is followed.
const REFERENCES_LIMIT: usize = 16;

/// Members that describe a schema without constraining values.
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

/// The schema with its root reference resolved. A schema with constraints beside the reference, or
/// with a reference to anything but its own definitions, is returned unchanged.
pub(super) fn resolved(schema: &Map<String, Value>) -> Cow<'_, Map<String, Value>> {
    let Some(target) = target(schema) else {
        return Cow::Borrowed(schema);
    };
    let mut resolved = target.clone();
    for (name, value) in schema.iter().filter(|(name, _)| *name != "$ref") {
        resolved.insert(name.clone(), value.clone());
    }
    Cow::Owned(resolved)
}

/// The definition at the end of the chain of references.
fn target(schema: &Map<String, Value>) -> Option<&Map<String, Value>> {
    let mut found = schema;
    for _ in 0..REFERENCES_LIMIT {
        let Some(reference) = found.get("$ref") else {
            return (!std::ptr::eq(found, schema)).then_some(found);
        };
        let is_annotation = |name: &String| name == "$ref" || ANNOTATIONS.contains(&name.as_str());
        if !found.keys().all(is_annotation) {
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
    fn only_a_bare_reference_to_a_definition_is_resolved() {
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
            let found = resolved(schema.as_object().unwrap());
            assert_eq!(Value::Object(found.into_owned()), expected, "{schema}");
        }
    }
}
