//! Structured content for outputs that violate the declared schema.
//!
//! Such an output is a success and must reach the caller. But MCP clients validate structured
//! content against the schema of the tool and discard a result that does not match or lacks it.
//! Therefore the schema of a tool gets an alternative for such outputs, under a name of its own.
//! This module wraps and unwraps both.

use serde_json::{Map, Value, json};

use crate::schema::{each_mut, subschemas_mut};

/// The member of structured content that contains an undeclared output.
pub const UNDECLARED: &str = "dev.panpan/undeclared";

/// Members that apply to a schema as a whole and are not moved.
const SCHEMA_LEVEL: [&str; 6] = [
    "$schema",
    "$id",
    "$defs",
    "definitions",
    "title",
    "description",
];

/// The location of the declared schema in the wrapped schema.
const DECLARED_POINTER: &str = "#/anyOf/0";

/// Wraps an output that violates the declared schema.
pub fn content(output: Value) -> Value {
    json!({ UNDECLARED: output })
}

/// The output in structured content that was wrapped by [`content`].
pub fn output(content: &Value) -> Option<&Value> {
    let members = content.as_object().filter(|members| members.len() == 1);
    members.and_then(|members| members.get(UNDECLARED))
}

/// Wraps the schema of an object so that it also accepts undeclared outputs.
pub fn allow_undeclared(schema: &Map<String, Value>) -> Map<String, Value> {
    let schema = with_references(schema.clone(), into_alternative);
    let is_whole = |(name, _): &(String, Value)| SCHEMA_LEVEL.contains(&name.as_str());
    let (mut whole, declared): (Map<_, _>, Map<_, _>) = schema.into_iter().partition(is_whole);
    whole.insert("type".to_owned(), json!("object"));
    whole.insert(
        "anyOf".to_owned(),
        json!([declared, {"required": [UNDECLARED]}]),
    );
    whole
}

/// The declared schema inside a wrapped one; `None` if the schema is not wrapped.
pub fn declared(schema: &Map<String, Value>) -> Option<Map<String, Value>> {
    let alternatives = schema.get("anyOf")?.as_array()?;
    let [Value::Object(declared), alternative] = alternatives.as_slice() else {
        return None;
    };
    if *alternative != json!({"required": [UNDECLARED]}) {
        return None;
    }
    let whole = schema.iter();
    let whole = whole.filter(|(name, _)| SCHEMA_LEVEL.contains(&name.as_str()));
    let members = whole.chain(declared);
    let members = members.map(|(name, value)| (name.clone(), value.clone()));
    Some(with_references(members.collect(), out_of_alternative))
}

fn with_references(
    mut schema: Map<String, Value>,
    change: impl Fn(&mut String),
) -> Map<String, Value> {
    let identifier = schema.remove_entry("$id");
    let mut visit = |members: &mut Map<String, Value>| {
        // The references in a schema with an identifier of its own start there.
        let is_inside = !members.contains_key("$id");
        for keyword in ["$ref", "$dynamicRef"].iter().filter(|_| is_inside) {
            if let Some(Value::String(reference)) = members.get_mut(*keyword) {
                change(reference);
            }
        }
        is_inside
    };
    visit(&mut schema);
    for (_, inner) in subschemas_mut(&mut schema) {
        each_mut(inner, &mut visit);
    }
    schema.extend(identifier);
    schema
}

/// Changes a reference into the declared schema to its location in the wrapped schema.
fn into_alternative(reference: &mut String) {
    let Some(target) = reference.strip_prefix('#') else {
        return;
    };
    let first = target.trim_start_matches('/').split('/').next();
    let is_anchor = !target.is_empty() && !target.starts_with('/');
    if !is_anchor && !first.is_some_and(|first| SCHEMA_LEVEL.contains(&first)) {
        *reference = format!("{DECLARED_POINTER}{target}");
    }
}

fn out_of_alternative(reference: &mut String) {
    if let Some(target) = reference.strip_prefix(DECLARED_POINTER) {
        *reference = format!("#{target}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowing_undeclared(schema: Value) -> Value {
        Value::Object(allow_undeclared(schema.as_object().unwrap()))
    }

    #[test]
    fn the_wrapped_schema_accepts_declared_and_undeclared_outputs() {
        let written = json!({
            "type": "object",
            "title": "A pet",
            "properties": {
                "age": {"$ref": "#/$defs/age"},
                "weight": {"$ref": "#/properties/age"},
                "young": {"type": "array", "items": {"$ref": "#"}},
            },
            "required": ["age"],
            "additionalProperties": false,
            "$id": "urn:example:pet",
            "$defs": {
                "age": {"type": "integer"},
                "alone": {"$id": "urn:example:alone", "not": {"$ref": "#/not"}},
                "example": {"const": {"$ref": "#/properties/age"}},
            },
        });
        let schema = allowing_undeclared(written.clone());
        let declared = declared(schema.as_object().unwrap()).unwrap();
        assert_eq!(Value::Object(declared), written);
        assert_eq!(schema["title"], json!("A pet"));
        for unchanged in ["alone", "example"] {
            assert_eq!(schema["$defs"][unchanged], written["$defs"][unchanged]);
        }
        assert_eq!(schema["type"], json!("object"));
        for (content, fits) in [
            (json!({"age": 1}), true),
            (json!({"age": 1, "weight": 2, "young": [{"age": 0}]}), true),
            (json!({"age": "one"}), false),
            (json!({"age": 1, "weight": "2"}), false),
            (json!({"age": 1, "young": [{"age": "0"}]}), false),
            (json!({}), false),
            (content(json!({"age": "one"})), true),
            (content(json!(null)), true),
        ] {
            assert_eq!(jsonschema::is_valid(&schema, &content), fits, "{content}");
            let undeclared = output(&content).map(|it| super::content(it.clone()));
            assert!(undeclared.is_none_or(|it| it == content), "{content}");
        }
    }
}
