//! Outputs that are not what their operation declared.
//!
//! Such an output is a success, and the caller is to have it. But clients hold structured content against
//! the schema of the tool, and throw away an answer that does not fit, or that lacks it. So the schema of
//! a tool leaves room for such an output, under a name of its own.

use serde_json::{Map, Value, json};

/// The member of structured content that holds an output which is not what was declared.
pub const UNDECLARED: &str = "dev.panpan/undeclared";

/// Members that are about a whole schema, and stay where they are found.
const OF_THE_WHOLE: [&str; 6] = [
    "$schema",
    "$id",
    "$defs",
    "definitions",
    "title",
    "description",
];

/// Where the declared schema stands in the one that leaves room.
const DECLARED: &str = "#/anyOf/0";

/// Structured content for an output that is not what was declared.
pub(super) fn content(output: Value) -> Value {
    json!({ UNDECLARED: output })
}

/// The schema of an object, with room for what is not declared.
pub(super) fn leaving_room(schema: &Map<String, Value>) -> Map<String, Value> {
    let (mut whole, mut declared) = (Map::new(), Map::new());
    for (name, value) in schema {
        let mut value = value.clone();
        point_to_declared(&mut value);
        let place = if OF_THE_WHOLE.contains(&name.as_str()) {
            &mut whole
        } else {
            &mut declared
        };
        place.insert(name.clone(), value);
    }
    whole.insert("type".to_owned(), json!("object"));
    whole.insert(
        "anyOf".to_owned(),
        json!([declared, {"required": [UNDECLARED]}]),
    );
    whole
}

/// References into the declared schema find it where it stands now.
fn point_to_declared(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::String(reference) if name == "$ref" => moved(reference),
                    value => point_to_declared(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(point_to_declared),
        _ => {}
    }
}

fn moved(reference: &mut String) {
    let Some(place) = reference.strip_prefix('#') else {
        return;
    };
    let first = place.trim_start_matches('/').split('/').next();
    let is_anchor = !place.is_empty() && !place.starts_with('/');
    if !is_anchor && !first.is_some_and(|first| OF_THE_WHOLE.contains(&first)) {
        *reference = format!("{DECLARED}{place}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_room(schema: Value) -> Value {
        Value::Object(leaving_room(schema.as_object().unwrap()))
    }

    #[test]
    fn what_was_declared_fits_and_so_does_what_stands_under_the_name_for_it() {
        let schema = with_room(json!({
            "type": "object",
            "title": "A pet",
            "properties": {
                "age": {"$ref": "#/$defs/age"},
                "weight": {"$ref": "#/properties/age"},
                "young": {"type": "array", "items": {"$ref": "#"}},
            },
            "required": ["age"],
            "additionalProperties": false,
            "$defs": {"age": {"type": "integer"}},
        }));
        assert_eq!(schema["title"], json!("A pet"));
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
        }
    }
}
