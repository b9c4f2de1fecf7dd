//! From text to a message, or to the answer that it is none. Lines of a pipe and bodies of HTTP requests
//! are read alike.

use panpan_failure::dialect::{Dialect, Envelope};
use panpan_failure::read::{self, DOCUMENT_BYTES_LIMIT, ReadError};
use panpan_failure::{Failure, codes};
use rmcp::model::ClientJsonRpcMessage;
use serde::Deserialize;
use serde_json::Value;

use crate::json::{AnyValue, DuplicateMember, duplicate_member, unreadable};

/// What a line is.
pub(super) enum Read {
    Message(Box<ClientJsonRpcMessage>),
    Ignored,
    /// No message; this is the answer.
    Refused(Vec<u8>),
}

/// Looks at a line.
pub(super) fn message(line: &[u8]) -> Read {
    let line = line.trim_ascii();
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
    if line.is_empty() {
        return Read::Ignored;
    }
    match value(line, DOCUMENT_BYTES_LIMIT) {
        Ok(value) => message_in(value),
        Err(unusable) if unusable.is_notification => Read::Ignored,
        Err(unusable) => Read::Refused(unusable.answer),
    }
}

fn message_in(value: Value) -> Read {
    let (is_notification, id) = (is_notification(&value), id_of(&value));
    match ClientJsonRpcMessage::deserialize(value) {
        Ok(message) => Read::Message(Box::new(message)),
        // Notifications are never answered, also those nobody understands.
        Err(_) if is_notification => Read::Ignored,
        Err(_) => Read::Refused(no_message(id)),
    }
}

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Text that is not JSON, or not JSON that everybody reads alike.
pub(super) struct Unusable {
    pub(super) answer: Vec<u8>,
    is_notification: bool,
}

/// The text as JSON in which no name stands twice.
pub(super) fn value(text: &[u8], limit: usize) -> Result<Value, Unusable> {
    let mut twice = DuplicateMember::default();
    let value = read::request_as(text, limit, AnyValue(&mut twice));
    let value = value.map_err(|error| Unusable {
        answer: refusal(unreadable(&error), request_id(text)),
        is_notification: false,
    })?;
    match twice.pointer() {
        Some(pointer) => Err(Unusable {
            answer: refusal(duplicate_member(&pointer), id_of(&value)),
            is_notification: is_notification(&value),
        }),
        None => Ok(value),
    }
}

/// The answer to JSON that is no message.
pub(super) fn no_message(id: Option<Value>) -> Vec<u8> {
    let message = "this is JSON, but not one message of JSON-RPC 2.0";
    refusal(
        Failure::new(codes::INVALID_REQUEST).with_message(message),
        id,
    )
}

/// What a line is that was passed over for its length.
pub(super) fn too_long(bytes: usize) -> Read {
    let limit = DOCUMENT_BYTES_LIMIT;
    let error = ReadError::TooLarge { bytes, limit };
    Read::Refused(refusal(unreadable(&error), None))
}

/// The id an answer has to carry, if there is one that can be.
pub(super) fn id_of(value: &Value) -> Option<Value> {
    value.get("id").filter(|id| is_id(id)).cloned()
}

/// What is written for a message that goes no further.
pub(super) fn refusal(failure: Failure, request_id: Option<Value>) -> Vec<u8> {
    let envelope = Envelope {
        request_id: request_id.as_ref(),
        ..Envelope::default()
    };
    Dialect::JsonRpc.write_failure(&failure.redacted(), envelope)
}

fn is_notification(value: &Value) -> bool {
    value.get("method").is_some() && value.get("id").is_none()
}

/// The id can be read even where the rest is too deep: everything else is skipped, not built.
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
