//! Replaces a reference at the root of a schema by the definition that it refers to: clients look
//! only at the root to see whether a schema describes an object.

use std::borrow::Cow;

use panpan_contract::schema::Resolver;
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

/// The members of a schema with its root reference resolved. A schema with constraints beside the
/// reference, or with a reference to a schema that has an identifier of its own, is unchanged.
pub(super) fn resolved(schema: &Value) -> Option<Cow<'_, Map<String, Value>>> {
    let members = schema.as_object()?;
    let Some(mut resolved) = target(schema).cloned() else {
        return Some(Cow::Borrowed(members));
    };
    resolved.remove("$anchor");
    resolved.remove("$dynamicAnchor");
    let own = members.iter().filter(|(name, _)| *name != "$ref");
    resolved.extend(own.map(|(name, value)| (name.clone(), value.clone())));
    Some(Cow::Owned(resolved))
}

/// The definition at the end of the chain of references.
fn target(schema: &Value) -> Option<&Map<String, Value>> {
    let resolver = Resolver::new(schema);
    let mut members = schema.as_object()?;
    let mut reference = members.get("$ref")?;
    for _ in 0..REFERENCES_LIMIT {
        let is_annotation = |name: &String| name == "$ref" || ANNOTATIONS.contains(&name.as_str());
        if !members.keys().all(is_annotation) {
            return None;
        }
        let local = reference.as_str().filter(|it| it.starts_with('#'))?;
        members = resolver.find(schema, local)?.0.as_object()?;
        match members.get("$ref") {
            Some(next) => reference = next,
            None => return Some(members).filter(|it| !it.contains_key("$id")),
        }
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
                json!({"$ref": "#p", "$defs": {"a": {"type": "object", "$anchor": "p"}}}),
                Some(json!({"type": "object", "$defs": {"a": {"type": "object", "$anchor": "p"}}})),
            ),
            (
                json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "object", "$id": "urn:a"}}}),
                None,
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
            let found = resolved(&schema).unwrap();
            assert_eq!(Value::Object(found.into_owned()), expected, "{schema}");
        }
    }
}
