//! Reads third-party errors that are in no dialect.
//!
//! Uses the member names that most services use, and marks the facts as inferred.

use panpan_catalogue::for_status;
use serde_json::Value;

use crate::failure::{Draft, Failure, Inferred};
use crate::read::Members;

/// Members for the message, most specific first.
const MESSAGES: [&str; 10] = [
    "message",
    "error_description",
    "detail",
    "Message",
    "errorMessage",
    "error_message",
    "msg",
    "description",
    "error",
    "title",
];
/// Members for the code.
const CODES: [&str; 7] = [
    "code",
    "error_code",
    "errorCode",
    "__type",
    "type",
    "reason",
    "error",
];
/// The number of entries of a list of errors that are read.
const ERRORS_LIMIT: usize = 50;

/// Members that repeat the HTTP status.
const STATUSES: [&str; 5] = ["status", "statusCode", "status_code", "code", "http_status"];

/// The most likely failure in a document, with the HTTP status of its response if known.
///
/// `None` if nothing indicates a failure. Unknown members are kept in the details.
pub fn read_foreign(document: Value, status: Option<u16>) -> Option<Failure> {
    let status = status.filter(|status| for_status(*status).is_some());
    let mut draft = Draft::default();
    match document {
        Value::Object(_) => {
            let mut members = Members::of(document, "").ok()?;
            let stated = STATUSES
                .iter()
                .find_map(|name| members.lenient_as(name, failing_status));
            draft.facts.http_status = status.or(stated);
            read_code_and_message(&mut draft, &mut members);
            draft.take_stated(&mut members);
            draft.keep_foreign(members.rest());
        }
        Value::String(text) => draft.message = Some(text),
        Value::Array(items) => return read_foreign(items.into_iter().next()?, status),
        _ => {}
    }
    draft.facts.http_status = draft.facts.http_status.or(status);
    let is_failure =
        draft.facts.http_status.is_some() || (draft.message.is_some() && draft.code.is_some());
    draft.parts.inferred.insert(Inferred::Code);
    draft.parts.upstream.status = draft.facts.http_status;
    is_failure.then(|| draft.finish())
}

fn read_code_and_message(draft: &mut Draft, members: &mut Members) {
    if let Some(mut inner) = members.lenient_members("error") {
        read_code_and_message(draft, &mut inner);
        draft.take_stated(&mut inner);
        draft.keep_foreign(inner.rest());
    }
    if draft.code.is_none() {
        draft.code = CODES.iter().find_map(|name| members.lenient_as(name, code));
    }
    if draft.message.is_none() {
        draft.message = message(members);
    }
}

/// The most specific message in a third-party object.
pub(super) fn message(members: &mut Members) -> Option<String> {
    MESSAGES.iter().find_map(|name| members.lenient_text(name))
}

/// The messages of a list of errors, as one text: the list has texts, or objects with a message.
pub(super) fn joined_messages(errors: &Value) -> Option<String> {
    let text = |value: &Value| {
        let text = value.as_str()?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    let message = |entry: &Value| {
        let stated = || {
            MESSAGES
                .iter()
                .find_map(|name| entry.get(name).and_then(text))
        };
        text(entry).or_else(stated)
    };
    let errors = errors.as_array()?.iter().take(ERRORS_LIMIT);
    let messages: Vec<String> = errors.filter_map(message).collect();
    (!messages.is_empty()).then(|| messages.join("; "))
}

fn failing_status(value: &Value) -> Option<u16> {
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok())?;
    u16::try_from(number)
        .ok()
        .filter(|status| for_status(*status).is_some())
}

/// A text without whitespace, without a namespace that ends in `#` or `.`.
fn code(value: &Value) -> Option<String> {
    let text = value
        .as_str()
        .filter(|text| !text.is_empty() && !text.contains(char::is_whitespace))?;
    text.rsplit(['#', '.']).next().map(str::to_owned)
}
