//! Converts keywords of OpenAPI 3.0 to JSON Schema 2020-12.

use serde_json::{Map, Value, json};

/// Keywords that annotate a schema and do not constrain values.
const ANNOTATIONS: [&str; 7] = [
    "default",
    "deprecated",
    "description",
    "examples",
    "readOnly",
    "title",
    "writeOnly",
];
/// Keywords that may exclude null, whatever the type is.
const COMBINATORS: [&str; 5] = ["$ref", "allOf", "anyOf", "not", "oneOf"];

/// Whether [`translate`] converts this keyword.
pub(super) fn is_translated(keyword: &str, value: &Value) -> bool {
    match keyword {
        "exclusiveMaximum" | "exclusiveMinimum" | "nullable" => value.is_boolean(),
        "example" => true,
        _ => false,
    }
}

/// Whether a keyword is ignored because it is next to a reference.
pub(super) fn is_ignored_next_to_reference(keyword: &str, members: &Map<String, Value>) -> bool {
    let is_kept = |it: &str| {
        it == "$ref" || ANNOTATIONS.contains(&it) || it == "type" || it.starts_with("x-")
    };
    members.get("$ref").is_some_and(Value::is_string) && !is_kept(keyword)
}

/// Converts the keywords of 3.0: `old` is the original, `new` has the other keywords already converted.
pub(super) fn translate(old: &Map<String, Value>, mut new: Map<String, Value>) -> Value {
    for (flag, bound) in [
        ("exclusiveMinimum", "minimum"),
        ("exclusiveMaximum", "maximum"),
    ] {
        if old.get(flag) == Some(&Value::Bool(true))
            && let Some(limit) = new.remove(bound)
        {
            new.insert(flag.to_owned(), limit);
        }
    }
    if let Some(example) = old.get("example") {
        new.entry("examples").or_insert_with(|| json!([example]));
    }
    match old.get("nullable") {
        Some(Value::Bool(true)) => nullable(new),
        _ => new.into(),
    }
}

/// Removes the type next to a reference, where it is ignored or redundant.
pub(super) fn drop_type_next_to_reference(new: &mut Map<String, Value>) {
    if new.contains_key("$ref") {
        new.remove("type");
    }
}

/// Extends a schema to accept null.
fn nullable(mut schema: Map<String, Value>) -> Value {
    if COMBINATORS.iter().any(|it| schema.contains_key(*it)) {
        let mut whole = Map::new();
        for keyword in ANNOTATIONS {
            whole.extend(schema.remove_entry(keyword));
        }
        whole.insert("anyOf".to_owned(), json!([schema, {"type": "null"}]));
        return whole.into();
    }
    match schema.get_mut("type") {
        Some(Value::Array(types)) if !types.contains(&json!("null")) => types.push("null".into()),
        Some(one @ Value::String(_)) if *one != "null" => *one = json!([one.take(), "null"]),
        _ => {}
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    schema.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nullable_schema_accepts_null() {
        for (schema, expected) in [
            (
                json!({"type": "string"}),
                json!({"type": ["string", "null"]}),
            ),
            (
                json!({"type": "string", "enum": ["a"]}),
                json!({"type": ["string", "null"], "enum": ["a", null]}),
            ),
            (json!({}), json!({})),
            (
                json!({"type": ["integer", "null"]}),
                json!({"type": ["integer", "null"]}),
            ),
            (
                json!({"description": "d", "$ref": "#/$defs/A"}),
                json!({"description": "d", "anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]}),
            ),
            (
                json!({"type": "object", "allOf": [{}]}),
                json!({"anyOf": [{"type": "object", "allOf": [{}]}, {"type": "null"}]}),
            ),
        ] {
            let members = schema.as_object().unwrap().clone();
            assert_eq!(nullable(members), expected, "{schema}");
        }
    }

    #[test]
    fn bounds_and_examples_are_converted() {
        for (old, expected) in [
            (
                json!({"minimum": 1, "exclusiveMinimum": true, "maximum": 5, "exclusiveMaximum": false}),
                json!({"exclusiveMinimum": 1, "maximum": 5}),
            ),
            (json!({"exclusiveMinimum": true}), json!({})),
            (json!({"example": null}), json!({"examples": [null]})),
        ] {
            let members = old.as_object().unwrap();
            let kept = members
                .iter()
                .filter(|(name, value)| !is_translated(name, value));
            let new = kept
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect();
            assert_eq!(translate(members, new), expected, "{old}");
        }
    }
}
