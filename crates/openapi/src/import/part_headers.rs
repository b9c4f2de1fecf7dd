//! The headers of the parts of a form that have a fixed value.
//!
//! Callers send members of a form without headers, so a header without a fixed value is not sent.

use std::collections::BTreeMap;

use panpan_contract::binding::BodyForm;
use panpan_contract::path::Path;
use serde_json::Value;

use super::reader::Reader;

/// Headers that are derived from the member and its content.
const DERIVED: [&str; 2] = ["content-type", "content-disposition"];

/// The headers of an encoding that have a fixed value.
pub(super) fn fixed<'a>(
    reader: &mut Reader<'a>,
    encoding: &'a Value,
    form: BodyForm,
    location: &Path<'_>,
) -> BTreeMap<String, String> {
    let location = location.name("headers");
    let mut headers = BTreeMap::new();
    let written = encoding.get("headers").and_then(Value::as_object);
    for (name, header) in written.into_iter().flatten() {
        let location = location.name(name);
        let is_this = |it: &&str| it.eq_ignore_ascii_case(name);
        if form != BodyForm::Multipart || DERIVED.iter().any(is_this) {
            let message = "this header is set from the form: remove it; it is ignored";
            reader.warnings.note(&location, message);
            continue;
        }
        let Some(found) = reader.resolve(header, &location, "the header is not sent") else {
            continue;
        };
        match only_value(found.value).filter(|value| is_sendable(name, value)) {
            Some(value) => {
                reader.spend(name.len() + value.len());
                headers.insert(name.clone(), value);
            }
            None => {
                let message = "header without a fixed value: add \"const\", one \"enum\" value or \"default\"; \
                                it is not sent";
                reader.warnings.note(&location, message);
            }
        }
    }
    headers
}

/// The fixed or default value of a header.
fn only_value(header: &Value) -> Option<String> {
    let schema = header.get("schema")?;
    let options = schema.get("enum").and_then(Value::as_array);
    let only = options.and_then(|options| match options.as_slice() {
        [only] => Some(only),
        _ => None,
    });
    let value = schema.get("const").or(only).or(schema.get("default"))?;
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

fn is_sendable(name: &str, value: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let is_shown = |byte: u8| byte.is_ascii_graphic() || byte == b' ';
    !name.is_empty() && name.bytes().all(is_word) && value.bytes().all(is_shown)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_header_is_sent_only_with_one_valid_value() {
        for (schema, value) in [
            (json!({"const": "a"}), Some("a")),
            (json!({"enum": ["a"]}), Some("a")),
            (json!({"enum": ["a", "b"]}), None),
            (json!({"enum": ["a", "b"], "default": "b"}), Some("b")),
            (json!({"const": 3}), Some("3")),
            (json!({"const": ["a"]}), None),
            (json!({"type": "string"}), None),
            (json!(true), None),
        ] {
            let found = only_value(&json!({"schema": schema}));
            assert_eq!(found.as_deref(), value, "{schema}");
        }
        assert_eq!(only_value(&json!({})), None);
        for (name, value, sendable) in [
            ("X-Kind", "a b", true),
            ("X-Kind", "", true),
            ("X Kind", "a", false),
            ("", "a", false),
            ("X-Kind", "a\r\nX-Other: b", false),
            ("X-Kind", "\u{e9}", false),
        ] {
            assert_eq!(is_sendable(name, value), sendable, "{name} {value}");
        }
    }
}
