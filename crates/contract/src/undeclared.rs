//! Outputs that are not what their operation declared, where a protocol's clients insist on that.
//!
//! Such an output is a success, and the caller is to have it. But clients of MCP hold structured content
//! against the schema of the tool, and throw away an answer that does not fit, or that lacks it. So the
//! schema of a tool leaves room for such an output, under a name of its own; both directions are here.

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
pub fn content(output: Value) -> Value {
    json!({ UNDECLARED: output })
}

/// The output that stands in structured content because it is not what was declared.
pub fn output(content: &Value) -> Option<&Value> {
    let members = content.as_object().filter(|members| members.len() == 1);
    members.and_then(|members| members.get(UNDECLARED))
}

/// The schema of an object, with room for what is not declared.
pub fn leaving_room(schema: &Map<String, Value>) -> Map<String, Value> {
    let (mut whole, mut declared) = (Map::new(), Map::new());
    for (name, value) in schema {
        let mut value = value.clone();
        each_reference(&mut value, &moved_in);
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

/// What was declared, of a schema that leaves room; `None` for one that does not.
pub fn declared(schema: &Map<String, Value>) -> Option<Map<String, Value>> {
    let alternatives = schema.get("anyOf")?.as_array()?;
    let [Value::Object(declared), room] = alternatives.as_slice() else {
        return None;
    };
    if *room != json!({"required": [UNDECLARED]}) {
        return None;
    }
    let whole = schema.iter();
    let whole = whole.filter(|(name, _)| OF_THE_WHOLE.contains(&name.as_str()));
    let members = whole.chain(declared).map(|(name, value)| {
        let mut value = value.clone();
        each_reference(&mut value, &moved_out);
        (name.clone(), value)
    });
    Some(members.collect())
}

fn each_reference(schema: &mut Value, change: &impl Fn(&mut String)) {
    match schema {
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::String(reference) if name == "$ref" => change(reference),
                    value => each_reference(value, change),
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                each_reference(item, change);
            }
        }
        _ => {}
    }
}

/// A reference into the declared schema finds it where it stands with room beside it.
fn moved_in(reference: &mut String) {
    let Some(place) = reference.strip_prefix('#') else {
        return;
    };
    let first = place.trim_start_matches('/').split('/').next();
    let is_anchor = !place.is_empty() && !place.starts_with('/');
    if !is_anchor && !first.is_some_and(|first| OF_THE_WHOLE.contains(&first)) {
        *reference = format!("{DECLARED}{place}");
    }
}

fn moved_out(reference: &mut String) {
    if let Some(place) = reference.strip_prefix(DECLARED) {
        *reference = format!("#{place}");
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
            "$defs": {"age": {"type": "integer"}},
        });
        let schema = with_room(written.clone());
        let declared = declared(schema.as_object().unwrap()).unwrap();
        assert_eq!(Value::Object(declared), written);
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
            let undeclared = output(&content).map(|it| super::content(it.clone()));
            assert!(undeclared.is_none_or(|it| it == content), "{content}");
        }
    }
}
