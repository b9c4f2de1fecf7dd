//! Detects the dialect of a document by its shape.

use serde_json::Value;

use super::{Dialect, bot, problem};
use crate::read::{ReadError, unexpected};

/// The dialect that the shape of the document matches.
pub fn detect(document: &Value) -> Result<Dialect, ReadError> {
    if !document.is_object() {
        return Err(unexpected(String::new(), "an object", document));
    }
    let has = |name: &str, is: fn(&Value) -> bool| document.get(name).is_some_and(is);
    let numbered = |value: &Value| value.get("code").is_some_and(Value::is_number);
    let is_grpc = numbered(document)
        && document["code"].as_u64().is_some_and(|code| code <= 16)
        && (has("message", Value::is_string) && !has("status", Value::is_string));
    let wrapped_status =
        |error: &Value| numbered(error) && error.get("status").is_some_and(Value::is_string);
    let shapes = [
        (has("jsonrpc", Value::is_string), Dialect::JsonRpc),
        (
            has("content", Value::is_array) && !has("code", Value::is_string),
            Dialect::Mcp,
        ),
        (has("success", Value::is_boolean), Dialect::Flat),
        (has("ok", Value::is_boolean), Dialect::Outcome),
        (
            document.get("error").is_some_and(wrapped_status),
            Dialect::Grpc,
        ),
        (
            document.get("error").is_some_and(numbered),
            Dialect::JsonRpc,
        ),
        (bot::is_failure(document), Dialect::Bot),
        (is_grpc, Dialect::Grpc),
        (
            has("code", Value::is_string) && has("message", Value::is_string),
            Dialect::Call,
        ),
        (
            has("request_id", |_| true) && has("result", Value::is_string),
            Dialect::Call,
        ),
        (problem::is_failure(document), Dialect::Problem),
    ];
    let found = shapes
        .into_iter()
        .find_map(|(fits, dialect)| fits.then_some(dialect));
    found.ok_or_else(|| ReadError::Unrecognised { hint: hint() })
}

fn hint() -> String {
    let names = Dialect::ALL.map(Dialect::name).join(", ");
    format!("name its dialect, one of {names}")
}
