//! Writes a value as a parameter, in each style and place of OpenAPI.
//!
//! Arrays and objects inside an array or object are written as JSON, because no style defines a form for them.

use panpan_contract::binding::{Parameter, Style};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};

use crate::transport::essence;

/// The characters to encode: all but the unreserved ones.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The characters to encode if reserved ones are allowed. Those that would end the query or begin another pair stay
/// encoded.
const ENCODED_EXCEPT_RESERVED: &AsciiSet = &ENCODED
    .remove(b':')
    .remove(b'/')
    .remove(b'?')
    .remove(b'[')
    .remove(b']')
    .remove(b'@')
    .remove(b'!')
    .remove(b'$')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b',')
    .remove(b';');

/// The value of a path parameter.
pub(super) fn in_path(parameter: &Parameter, value: &Value) -> String {
    if let Some(media_type) = &parameter.content {
        return encoded(&in_media_type(media_type, value));
    }
    let name = encoded(&parameter.wire_name);
    let explode = parameter.explode;
    match parameter.style {
        Style::Label => {
            let separator = if explode { "." } else { "," };
            format!(".{}", joined(value, separator, explode))
        }
        Style::Matrix => match (value, explode) {
            (Value::Array(items), true) => items
                .iter()
                .map(|item| format!(";{name}={}", encoded(&text(item))))
                .collect(),
            (Value::Object(members), true) => members
                .iter()
                .map(|(key, value)| format!(";{}={}", encoded(key), encoded(&text(value))))
                .collect(),
            _ => format!(";{name}={}", joined(value, ",", false)),
        },
        _ => joined(value, ",", explode),
    }
}

/// The pairs of a query parameter.
pub(super) fn in_query(parameter: &Parameter, value: &Value) -> Vec<String> {
    let name = encoded(&parameter.wire_name);
    let write = |text: &str| encoded_query(text, parameter.allow_reserved);
    if let Some(media_type) = &parameter.content {
        return vec![format!(
            "{name}={}",
            write(&in_media_type(media_type, value))
        )];
    }
    let pair = |key: &str, value: &Value| format!("{key}={}", write(&text(value)));
    let one_pair = |items: Vec<String>, separator: &str| {
        let items: Vec<String> = items.iter().map(|it| write(it)).collect();
        vec![format!("{name}={}", items.join(separator))]
    };
    match (parameter.style, value, parameter.explode) {
        (Style::DeepObject, Value::Object(members), _) => deep_object(&name, members, &pair),
        (_, Value::Array(items), true) => items.iter().map(|item| pair(&name, item)).collect(),
        (_, Value::Object(members), true) => members
            .iter()
            .map(|(key, value)| pair(&encoded(key), value))
            .collect(),
        (style, Value::Array(items), false) => {
            one_pair(items.iter().map(text).collect(), separator(style))
        }
        (style, Value::Object(members), false) => one_pair(alternating(members), separator(style)),
        (_, value, _) => vec![pair(&name, value)],
    }
}

/// A value in a media type: as JSON, or a string as itself.
pub(super) fn in_media_type(media_type: &str, value: &Value) -> String {
    match value {
        Value::String(text) if !essence(media_type).to_ascii_lowercase().ends_with("json") => {
            text.clone()
        }
        value => value.to_string(),
    }
}

/// Nested members as `name[a][b]`, the form that nearly every service reads.
fn deep_object(
    name: &str,
    members: &Map<String, Value>,
    pair: &impl Fn(&str, &Value) -> String,
) -> Vec<String> {
    let mut pairs = Vec::new();
    for (key, value) in members {
        let name = format!("{name}%5B{}%5D", encoded(key));
        match value {
            Value::Object(members) => pairs.extend(deep_object(&name, members, pair)),
            Value::Array(items) => pairs.extend(items.iter().map(|item| pair(&name, item))),
            value => pairs.push(pair(&name, value)),
        }
    }
    pairs
}

/// The value of a header parameter, which is not percent-encoded.
pub(super) fn in_header(parameter: &Parameter, value: &Value) -> String {
    if let Some(media_type) = &parameter.content {
        return in_media_type(media_type, value);
    }
    parts(value, parameter.explode, str::to_owned).join(",")
}

/// The parts of an array or object, encoded and joined.
fn joined(value: &Value, separator: &str, explode: bool) -> String {
    parts(value, explode, encoded).join(separator)
}

/// The parts of an array or object.
fn parts(value: &Value, explode: bool, encode: fn(&str) -> String) -> Vec<String> {
    let written = |value: &Value| encode(&text(value));
    match value {
        Value::Array(items) => items.iter().map(written).collect(),
        Value::Object(members) if explode => members
            .iter()
            .map(|(key, value)| format!("{}={}", encode(key), written(value)))
            .collect(),
        Value::Object(members) => alternating(members).iter().map(|it| encode(it)).collect(),
        value => vec![written(value)],
    }
}

/// Names and values in turn.
fn alternating(members: &Map<String, Value>) -> Vec<String> {
    let pairs = members.iter();
    pairs
        .flat_map(|(key, value)| [key.clone(), text(value)])
        .collect()
}

fn separator(style: Style) -> &'static str {
    match style {
        Style::SpaceDelimited => "%20",
        Style::PipeDelimited => "%7C",
        _ => ",",
    }
}

/// A value as text: a string as itself, null as nothing, everything else as JSON.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        value => value.to_string(),
    }
}

pub(super) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

fn encoded_query(text: &str, allow_reserved: bool) -> String {
    let encode = if allow_reserved {
        ENCODED_EXCEPT_RESERVED
    } else {
        ENCODED
    };
    utf8_percent_encode(text, encode).to_string()
}
