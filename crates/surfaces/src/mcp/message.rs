//! Parses text into a message, or into the error response for text that is not a message. Used for
//! lines on stdio and for HTTP bodies.

use panpan_failure::dialect::{Dialect, Envelope};
use panpan_failure::read::{self, DOCUMENT_BYTES_LIMIT, ReadError};
use panpan_failure::{Failure, codes};
use rmcp::model::ClientJsonRpcMessage;
use serde::Deserialize;
use serde_json::Value;

use super::tasks::keep_task_member;
use crate::json::{duplicate_member, unreadable};

/// A parsed line.
pub(super) enum Parsed {
    Message(Box<ClientJsonRpcMessage>),
    Ignored,
    /// Not a message; this is the error response.
    Invalid(Vec<u8>),
}

/// Parses a line.
pub(super) fn parse_message(line: &[u8]) -> Parsed {
    if line.is_empty() {
        return Parsed::Ignored;
    }
    match parse_json(line, DOCUMENT_BYTES_LIMIT) {
        Ok(value) => message_in(value),
        Err(invalid) if invalid.is_notification => Parsed::Ignored,
        Err(invalid) => Parsed::Invalid(invalid.response),
    }
}

fn message_in(mut value: Value) -> Parsed {
    keep_task_member(&mut value);
    let (is_notification, id) = (is_notification(&value), id_of(&value));
    match ClientJsonRpcMessage::deserialize(value) {
        Ok(message) => Parsed::Message(Box::new(message)),
        // Notifications are never answered, not even malformed ones.
        Err(_) if is_notification => Parsed::Ignored,
        Err(_) => Parsed::Invalid(not_a_message(id)),
    }
}

/// Text that is not JSON, or that has duplicate members.
pub(super) struct InvalidJson {
    pub(super) response: Vec<u8>,
    is_notification: bool,
}

/// Parses JSON without duplicate members.
pub(super) fn parse_json(text: &[u8], limit: usize) -> Result<Value, InvalidJson> {
    let request = read::request(text, limit);
    let (value, duplicate) = request.map_err(|error| InvalidJson {
        response: error_response(unreadable(&error), request_id(text)),
        is_notification: false,
    })?;
    match duplicate {
        Some(pointer) => Err(InvalidJson {
            response: error_response(duplicate_member(&pointer), id_of(&value)),
            is_notification: is_notification(&value),
        }),
        None => Ok(value),
    }
}

/// The error response to JSON that is not a message.
pub(super) fn not_a_message(id: Option<Value>) -> Vec<u8> {
    let message = "valid JSON, but not a JSON-RPC 2.0 message";
    error_response(
        Failure::new(codes::INVALID_REQUEST).with_message(message),
        id,
    )
}

/// The error response to a line that was skipped because of its length.
pub(super) fn too_long(bytes: usize) -> Parsed {
    let limit = DOCUMENT_BYTES_LIMIT;
    let error = ReadError::TooLarge { bytes, limit };
    Parsed::Invalid(error_response(unreadable(&error), None))
}

/// The id for the error response, if there is a valid one.
pub(super) fn id_of(value: &Value) -> Option<Value> {
    value.get("id").filter(|id| is_id(id)).cloned()
}

/// The error response to a message that is not processed.
pub(super) fn error_response(failure: Failure, request_id: Option<Value>) -> Vec<u8> {
    let envelope = Envelope {
        request_id: request_id.as_ref(),
        ..Envelope::default()
    };
    Dialect::JsonRpc.write_failure(&failure.redacted(), envelope)
}

fn is_notification(value: &Value) -> bool {
    value.get("method").is_some() && value.get("id").is_none()
}

/// Finds the id even in JSON that is nested too deeply: other members are skipped, not built.
fn request_id(text: &[u8]) -> Option<Value> {
    #[derive(Deserialize)]
    struct Request {
        id: Option<Value>,
    }
    let request: Request = serde_json::from_slice(text).ok()?;
    request.id.filter(is_id)
}

fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_number()
}
