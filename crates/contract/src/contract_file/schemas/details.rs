//! Checks that the schema of the details of a failure accepts objects, because details are always
//! an object.
//!
//! Only the type and the enum values at the top are checked, or at the end of a reference;
//! combinations of schemas are not.

use serde_json::Value;

use super::references::Root;
use crate::contract_file::problem::Problems;
use crate::contract_file::rule;
use crate::path::Path;

/// The most references that are followed; the schema after more is not checked. Cycles are reported
/// elsewhere.
const REFERENCES_LIMIT: usize = 16;

/// Every JSON Schema type except `object`.
const OTHER_TYPES: [&str; 6] = ["array", "boolean", "integer", "null", "number", "string"];

/// Reports a schema that accepts no object.
pub(super) fn check(root: &Root<'_>, path: &Path<'_>, problems: &mut Problems<'_>) {
    if resolved(root).is_some_and(excludes_objects) {
        let message = "the schema accepts no object, but details are always an object; write \
                       \"type\": \"object\" and put the value in a property";
        problems.note(path, rule::SCHEMA_DETAILS, message);
    }
}

/// The schema at the end of the references.
fn resolved<'a>(root: &Root<'a>) -> Option<&'a Value> {
    let mut schema = root.schema;
    for _ in 0..=REFERENCES_LIMIT {
        match schema.get("$ref").and_then(Value::as_str) {
            Some(reference) => schema = root.find(reference)?,
            None => return Some(schema),
        }
    }
    None
}

/// Whether the type or the enum of a schema excludes objects. An unknown type does not.
pub fn excludes_objects(schema: &Value) -> bool {
    let is_other = |name: &Value| name.as_str().is_some_and(|it| OTHER_TYPES.contains(&it));
    let by_type = match &schema["type"] {
        Value::Array(names) => !names.is_empty() && names.iter().all(is_other),
        name => is_other(name),
    };
    let values = schema["enum"].as_array().filter(|it| !it.is_empty());
    by_type || values.is_some_and(|values| !values.iter().any(Value::is_object))
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    fn is_rejected(schema: &Value, definitions: &Map<String, Value>) -> bool {
        resolved(&Root::for_details(schema, definitions)).is_some_and(excludes_objects)
    }

    #[test]
    fn only_a_schema_that_accepts_no_object_is_rejected() {
        let definitions = json!({"Text": {"type": "string"}, "Thing": {"type": "object"}});
        let definitions = definitions.as_object().unwrap();
        for (schema, expected) in [
            (json!({}), false),
            (json!(true), false),
            (json!({"properties": {}}), false),
            (json!({"type": "object"}), false),
            (json!({"type": ["null", "object"]}), false),
            (json!({"type": []}), false),
            (json!({"type": "strin"}), false),
            (json!({"enum": ["a", {}]}), false),
            (json!({"$ref": "#/$defs/Thing"}), false),
            (json!({"$ref": "#/$defs/Nothing"}), false),
            (json!({"$ref": "#"}), false),
            (json!({"type": "string"}), true),
            (json!({"type": ["null", "array"]}), true),
            (json!({"enum": ["a", 1]}), true),
            (json!({"$ref": "#/$defs/Text"}), true),
        ] {
            assert_eq!(is_rejected(&schema, definitions), expected, "{schema}");
        }
    }

    #[test]
    fn references_are_followed_up_to_a_limit() {
        for (length, expected) in [(REFERENCES_LIMIT, true), (REFERENCES_LIMIT + 1, false)] {
            let mut definitions = Map::new();
            definitions.insert("D1".to_owned(), json!({"type": "string"}));
            for number in 2..=length {
                let below = format!("#/$defs/D{}", number - 1);
                definitions.insert(format!("D{number}"), json!({"$ref": below}));
            }
            let schema = json!({"$ref": format!("#/$defs/D{length}")});
            assert_eq!(is_rejected(&schema, &definitions), expected, "{length}");
        }
    }
}
