//! Tells a value that describes a secret, such as an error message, a validation rule or a schema,
//! from the secret itself.

use serde_json::{Map, Value};

use super::Scope;
use crate::harmless::is_harmless;
use crate::names::{is_descriptive, listed};
use crate::passwords::is_running_text;
use crate::shape::is_worded;
use crate::{DEPTH_LIMIT, prose};

/// Whether a value under a sensitive name describes the secret: a message, a list of messages, a
/// schema, or punctuation.
pub(crate) fn describes_secret(value: &Value, scope: Scope) -> bool {
    let describes = |text: &str| {
        is_harmless(text)
            || text.contains(' ') && is_running_text(text) && !prose::reveals(text)
            || prose::is_sentence(text)
            || scope.among_errors && prose::is_remark(text)
            || prose::is_punctuation(text)
    };
    match value {
        Value::String(text) => describes(text),
        Value::Array(items) => {
            let inner = scope.inner();
            let is_remark = |item: &Value| {
                let is_rule = item
                    .as_str()
                    .is_some_and(|it| it.contains('.') && is_rule(it));
                is_rule || describes_secret(item, inner)
            };
            !items.is_empty() && scope.depth < DEPTH_LIMIT && items.iter().all(is_remark)
        }
        Value::Object(members) => {
            scope.depth < DEPTH_LIMIT && (is_schema(members) || is_description(members, scope))
        }
        _ => false,
    }
}

/// Whether a text is the name of a rule, or contains nothing that could be a secret.
fn is_rule(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte);
    let has_digits = text.bytes().any(|byte| byte.is_ascii_digit());
    let is_name = text.bytes().all(is_part)
        && text.contains([':', '.', '_'])
        && (!has_digits || text.contains(':'));
    is_name && is_worded(text) || !prose::reveals(text)
}

/// Whether an object consists of rules and remarks.
fn is_description(members: &Map<String, Value>, scope: Scope) -> bool {
    const DESCRIPTIVE_MEMBERS: &str = "message messages msg code rule rules kind type path constraint constraints validator reason hint error errors \
        name title status param params field location loc in args value_type min max minimum maximum length given_length digits_only allowed pattern required description properties keyword severity passed count";
    let inner = scope.under("errors");
    let is_small = |it: &Value| it.as_f64().is_some_and(|it| it.abs() < 1e6);
    let is_counted = members
        .values()
        .all(|it| is_small(it) || it.is_boolean() || it.is_null());
    let mut has_remark = is_counted;
    let all_describe = members.iter().all(|(name, member)| {
        let lower = name.to_ascii_lowercase();
        let describes = DESCRIPTIVE_MEMBERS
            .split_ascii_whitespace()
            .any(|it| lower.ends_with(it));
        let is_name = !name.contains([' ', ':', '=']);
        has_remark |= describes;
        let is_named = is_name && (describes || is_descriptive(name));
        match member {
            Value::Bool(_) | Value::Null => true,
            Value::Number(number) => is_named || is_counted && number.to_string().len() <= 3,
            Value::String(text) => {
                let is_sentence = text.contains(' ') && describes_secret(member, inner);
                has_remark |= is_sentence;
                is_named && is_rule(text) || is_sentence || is_harmless(text)
            }
            Value::Array(items) if describes => {
                items.iter().all(|it| it.as_str().is_none_or(is_rule))
                    || describes_secret(member, inner)
            }
            _ => {
                let describes = describes_secret(member, inner);
                has_remark |= describes && member.is_array();
                describes
            }
        }
    });
    all_describe && has_remark && !members.is_empty() || members.contains_key("tokenUrl")
}

/// Whether an object is a JSON Schema of keywords that contain no value.
fn is_schema(members: &Map<String, Value>) -> bool {
    const TYPES: &str = "string integer number boolean object array null";
    const KEYWORDS: &str = "type format minLength maxLength pattern title description nullable \
        minimum maximum required writeOnly readOnly deprecated x-sensitive";
    let typed = members.get("type").and_then(Value::as_str);
    typed.is_some_and(|name| listed!(TYPES, name))
        && members.keys().all(|keyword| listed!(KEYWORDS, keyword))
}
