//! The sentences problems of shape are told in: what stands there, and what to write instead.
//!
//! Values are shown only where a word or a number was expected; anything else may be private.

use panpan_catalogue::nearest;
use serde_json::Value;

use panpan_failure::read::type_name;

/// The longest text that is quoted, in characters; more is cut.
const QUOTE_LIMIT: usize = 60;

/// A value of another type.
pub(super) fn wrong_type(found: &Value, schema: &Value) -> String {
    let fraction = found.is_f64() && names_type(schema, "integer");
    let advice = if fraction {
        ", without a fraction or exponent"
    } else {
        ""
    };
    format!(
        "found {}; write {}{advice}",
        type_name(found),
        expected(schema)
    )
}

/// A value that is none of the known words.
pub(super) fn wrong_word(found: &Value, schema: &Value) -> String {
    let Some(word) = found.as_str() else {
        return format!("found {}; write {}", type_name(found), expected(schema));
    };
    let words = schema["enum"].as_array().into_iter().flatten();
    let similar = similar(word, words.filter_map(Value::as_str));
    let hint = similar.map_or_else(String::new, |it| format!(" (did you mean {it:?}?)"));
    format!(
        "{} is not a known word{hint}; write {}",
        quoted(word),
        expected(schema)
    )
}

/// A word where only one is known beside numbers. It is not repeated: it may be anything.
pub(super) fn not_off() -> String {
    "not a known word; write \"off\", or an object with numbers".to_owned()
}

/// A number out of its bounds.
pub(super) fn out_of_range(found: &Value, schema: &Value) -> String {
    format!("is {found}; write {}", expected(schema))
}

/// A text that says nothing.
pub(super) fn blank() -> String {
    "is blank; write at least one character that is not white space".to_owned()
}

/// A list that says nothing.
pub(super) fn empty() -> String {
    "is empty; write at least one item, or leave it out".to_owned()
}

/// A list that is too long.
pub(super) fn too_long(found: usize, limit: usize) -> String {
    format!("has {found} items; write at most {limit}, and the rest in another file")
}

/// A member that is not there.
pub(super) fn missing(name: &str, schema: &Value, member: &Value) -> String {
    let description = member["description"].as_str().unwrap_or_default();
    let (description, _) = description.split_once(". ").unwrap_or((description, ""));
    let description = description.trim_end_matches('.');
    format!(
        "{name:?} is missing; write {} ({description})",
        expected(schema)
    )
}

/// A member nobody knows.
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
        Some(similar) => format!("did you mean {similar:?}?"),
        None => format!("known are {}", known().collect::<Vec<_>>().join(", ")),
    };
    let extension = if schema.get("patternProperties").is_some() {
        "; members of your own start with x-"
    } else {
        ""
    };
    format!(
        "{} is not a member of {what}; {advice}{extension}",
        quoted(name)
    )
}

/// A text in quotes, cut to a bearable length.
pub(super) fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTE_LIMIT) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// What a schema asks for, in words.
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

/// The known name a wrong one most likely means.
pub(super) fn similar<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    nearest(name, known).first().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(quoted("short"), "\"short\"");
        let long = quoted(&"é".repeat(QUOTE_LIMIT + 1));
        assert_eq!(long.chars().count(), QUOTE_LIMIT + 3);
    }
}
