//! Errors of the protocol itself, in the words of JSON-RPC: each has the code by its name in its data.

use panpan_failure::catalogue::Entry;
use panpan_failure::codes;
use rmcp::ErrorData;
use rmcp::model::ErrorCode;
use serde_json::{Value, json};

/// A method, or something else that can be named, does not exist.
pub(super) fn no_such_method(message: impl Into<String>) -> ErrorData {
    let message = message.into();
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, data(codes::NOT_FOUND))
}

/// Parameters that no method takes.
pub(super) fn invalid_params(message: impl Into<String>) -> ErrorData {
    ErrorData::invalid_params(message.into(), data(codes::INVALID_INPUT))
}

/// The failure for an unknown tool, with the nearest names.
pub(super) fn no_such_tool(name: &str, near: &[&str]) -> ErrorData {
    let data = json!({"code": codes::NOT_FOUND.code, "tool": name, "nearest": near});
    ErrorData::invalid_params(format!("there is no tool {name}"), Some(data))
}

/// The call was cancelled; it is not sent.
pub(super) fn cancelled() -> ErrorData {
    ErrorData::internal_error("the call was cancelled", data(codes::ERR_CANCELLED))
}

/// A defect of this server.
pub(super) fn internal(message: &'static str) -> ErrorData {
    ErrorData::internal_error(message, data(codes::INTERNAL))
}

fn data(code: &Entry) -> Option<Value> {
    Some(json!({"code": code.code}))
}
