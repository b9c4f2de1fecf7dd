//! The messages for members of the wrong type or value: what is wrong, and what to write instead.
//!
//! A value is quoted only where an enum value or a number is expected; any other value may be
//! private.

use panpan_catalogue::nearest;
use serde_json::Value;

use panpan_failure::read::type_name;

/// The longest text that is quoted, in characters; a longer one is truncated.
const QUOTE_LIMIT: usize = 60;

/// A value of the wrong type.
pub(super) fn wrong_type(found: &Value, schema: &Value) -> String {
    let fraction = found.is_f64() && names_type(schema, "integer");
    let advice = if fraction {
        "; write it without a fraction or exponent"
    } else {
        ""
    };
    format!(
        "expected {}, found {}{advice}",
        expected(schema),
        type_name(found)
    )
}

/// A value that is not in the enum.
pub(super) fn wrong_word(found: &Value, schema: &Value) -> String {
    let Some(word) = found.as_str() else {
        return format!("expected {}, found {}", expected(schema), type_name(found));
    };
    let words = schema["enum"].as_array().into_iter().flatten();
    let similar = similar(word, words.filter_map(Value::as_str));
    let hint = similar.map_or_else(String::new, |it| format!(" (did you mean {it:?}?)"));
    format!(
        "unknown value {}{hint}; write {}",
        quoted(word),
        expected(schema)
    )
}

/// A text where only `off` or an object is allowed. It is not quoted, because it may be private.
pub(super) fn not_off() -> String {
    "unknown value; write \"off\" or an object of settings".to_owned()
}

/// A number outside its bounds.
pub(super) fn out_of_range(found: &Value, schema: &Value) -> String {
    format!("{found} is out of range; write {}", expected(schema))
}

/// A blank text.
pub(super) fn blank() -> String {
    "text is blank; write at least one character that is not white space".to_owned()
}

/// An empty list.
pub(super) fn empty() -> String {
    "list is empty; write at least one item, or leave the member out".to_owned()
}

/// A list with too many items.
pub(super) fn too_long(found: usize, limit: usize) -> String {
    format!("list has {found} items, the limit is {limit}; move the rest to another file")
}

/// A missing member.
pub(super) fn missing(name: &str, schema: &Value, member: &Value) -> String {
    let description = member["description"].as_str().unwrap_or_default();
    let (description, _) = description.split_once(". ").unwrap_or((description, ""));
    let description = description.trim_end_matches('.');
    format!(
        "missing member {name:?}; write {} ({description})",
        expected(schema)
    )
}

/// An unknown member.
pub(super) fn unknown(name: &str, schema: &Value) -> String {
    let what = schema["title"].as_str().unwrap_or("this object");
    let known = schema["properties"].as_object();
    let known = || {
        known
            .into_iter()
            .flat_map(|it| it.keys())
            .map(String::as_str)
    };
    let advice = match similar(name, known()) {
        Some(similar) => format!(" (did you mean {similar:?}?)"),
        None => format!(
            "; known members are {}",
            known().collect::<Vec<_>>().join(", ")
        ),
    };
    let extension = if schema.get("patternProperties").is_some() {
        "; start the names of your own members with x-"
    } else {
        ""
    };
    format!(
        "unknown member {} of {what}{advice}{extension}",
        quoted(name)
    )
}

/// A quoted text, truncated if it is long.
pub(super) fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTE_LIMIT) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// A description of the values that a schema accepts.
fn expected(schema: &Value) -> String {
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<_> = words.iter().map(Value::to_string).collect();
        return either(&words);
    }
    let types = match &schema["type"] {
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        name => vec![name.as_str().unwrap_or("object")],
    };
    let types: Vec<_> = types.into_iter().map(|name| phrase(name, schema)).collect();
    either(&types)
}

fn phrase(name: &str, schema: &Value) -> String {
    match name {
        "integer" => format!("a whole number{}", bounds(schema)),
        "number" => format!("a number{}", bounds(schema)),
        "boolean" => "true or false".to_owned(),
        "string" => "a string".to_owned(),
        "array" => "a list".to_owned(),
        "object" => "an object".to_owned(),
        other => other.to_owned(),
    }
}

fn bounds(schema: &Value) -> String {
    match (schema.get("minimum"), schema.get("maximum")) {
        (Some(minimum), Some(maximum)) => format!(" from {minimum} to {maximum}"),
        (Some(minimum), None) => format!(" of at least {minimum}"),
        _ => String::new(),
    }
}

fn either(phrases: &[String]) -> String {
    match phrases {
        [] => "something else".to_owned(),
        [only] => only.clone(),
        [others @ .., last] => format!("{} or {last}", others.join(", ")),
    }
}

fn names_type(schema: &Value, name: &str) -> bool {
    match &schema["type"] {
        Value::Array(names) => names.iter().any(|it| it == name),
        only => only == name,
    }
}

/// The known name that is most similar to a wrong one.
pub(super) fn similar<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    nearest(name, known).first().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_truncated_between_characters() {
        assert_eq!(quoted("short"), "\"short\"");
        let long = quoted(&"é".repeat(QUOTE_LIMIT + 1));
        assert_eq!(long.chars().count(), QUOTE_LIMIT + 3);
    }
}
