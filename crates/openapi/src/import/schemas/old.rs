//! What schemas say in the way of OpenAPI 3.0, in the way of JSON Schema 2020-12.

use serde_json::{Map, Value, json};

/// Keywords that say something about a schema and nothing about values.
const ANNOTATIONS: [&str; 7] = [
    "default",
    "deprecated",
    "description",
    "examples",
    "readOnly",
    "title",
    "writeOnly",
];
/// Keywords that may refuse null whatever the type says.
const COMBINATORS: [&str; 5] = ["$ref", "allOf", "anyOf", "not", "oneOf"];

/// Whether a keyword is one that [`translate`] writes in its new form.
pub(super) fn is_translated(keyword: &str, value: &Value) -> bool {
    match keyword {
        "exclusiveMaximum" | "exclusiveMinimum" | "nullable" => value.is_boolean(),
        "example" => true,
        _ => false,
    }
}

/// Whether a keyword counts for nothing because a reference stands beside it.
pub(super) fn is_hidden_by_reference(keyword: &str, members: &Map<String, Value>) -> bool {
    let is_kept = |it: &str| {
        it == "$ref" || ANNOTATIONS.contains(&it) || it == "type" || it.starts_with("x-")
    };
    members.get("$ref").is_some_and(Value::is_string) && !is_kept(keyword)
}

/// The schema in its new form, from what was written and what has been made of it so far.
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

/// Beside a reference a type counts for nothing, or says what the reference says already.
pub(super) fn forget_beside_reference(new: &mut Map<String, Value>) {
    if new.contains_key("$ref") {
        new.remove("type");
    }
}

/// A schema that null fits too.
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
    fn null_fits_what_is_nullable() {
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
    fn bounds_and_examples_take_their_new_form() {
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
