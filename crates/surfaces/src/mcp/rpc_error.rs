//! JSON-RPC errors of the protocol itself; their data contains the name of a code.

use panpan_failure::catalogue::Entry;
use panpan_failure::codes;
use rmcp::ErrorData;
use rmcp::model::ErrorCode;
use serde_json::{Value, json};

/// The method is unknown.
pub(super) fn unknown_method(message: impl Into<String>) -> ErrorData {
    let message = message.into();
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, data(codes::NOT_FOUND))
}

/// The params are invalid.
pub(super) fn invalid_params(message: impl Into<String>) -> ErrorData {
    ErrorData::invalid_params(message.into(), data(codes::INVALID_INPUT))
}

/// The tool is unknown; lists the most similar names.
pub(super) fn unknown_tool(name: &str, nearest: &[&str]) -> ErrorData {
    let data = json!({"code": codes::NOT_FOUND.code, "tool": name, "nearest": nearest});
    ErrorData::invalid_params(format!("there is no tool {name}"), Some(data))
}

/// There is no such task, or it belongs to another caller.
pub(super) fn unknown_task(id: &str) -> ErrorData {
    let data = json!({"code": codes::TASK_NOT_FOUND.code, "task_id": id});
    let message = format!("there is no task {id}: it has expired, or was never created by you");
    ErrorData::invalid_params(message, Some(data))
}

/// The call was cancelled; this error is not sent.
pub(super) fn cancelled() -> ErrorData {
    ErrorData::internal_error("the call was cancelled", data(codes::ERR_CANCELLED))
}

/// An internal error of this server.
pub(super) fn internal(message: &'static str) -> ErrorData {
    ErrorData::internal_error(message, data(codes::INTERNAL))
}

fn data(code: &Entry) -> Option<Value> {
    Some(json!({"code": code.code}))
}
