//! Reading errors that are written in no dialect at all: whatever services happen to answer.
//!
//! Everything here is a guess by the names most services use, and marked as one.

use panpan_catalogue::for_status;
use serde_json::Value;

use crate::failure::{Draft, Failure, Inferred};
use crate::read::Members;

/// Where services write what happened, most telling first.
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
/// Where services write their code.
const CODES: [&str; 7] = [
    "code",
    "error_code",
    "errorCode",
    "__type",
    "type",
    "reason",
    "error",
];
/// Where services repeat the HTTP status.
const STATUSES: [&str; 5] = ["status", "statusCode", "status_code", "code", "http_status"];

/// The failure a document most likely tells of, with the HTTP status it came with if that is known.
///
/// `None` when nothing in it says that anything failed. Everything that is not understood is kept in
/// the details.
pub fn read_foreign(document: Value, status: Option<u16>) -> Option<Failure> {
    let status = status.filter(|status| for_status(*status).is_some());
    let mut draft = Draft::default();
    match document {
        Value::Object(_) => {
            let mut members = Members::of(document, "").ok()?;
            let said = STATUSES
                .iter()
                .find_map(|name| members.told(name, failing_status));
            draft.facts.http_status = status.or(said);
            read_words(&mut draft, &mut members);
            draft.take_stated(&mut members);
            draft.keep_foreign(members.rest());
        }
        Value::String(text) => draft.message = Some(text),
        Value::Array(items) => return read_foreign(items.into_iter().next()?, status),
        _ => {}
    }
    draft.facts.http_status = draft.facts.http_status.or(status);
    let tells =
        draft.facts.http_status.is_some() || (draft.message.is_some() && draft.code.is_some());
    draft.inferred.insert(Inferred::Code);
    draft.upstream.status = draft.facts.http_status;
    tells.then(|| draft.finish())
}

fn read_words(draft: &mut Draft, members: &mut Members) {
    if let Some(mut inner) = members.told_members("error") {
        read_words(draft, &mut inner);
        draft.take_stated(&mut inner);
        draft.keep_foreign(inner.rest());
    }
    if draft.code.is_none() {
        draft.code = CODES.iter().find_map(|name| members.told(name, code));
    }
    if draft.message.is_none() {
        draft.message = MESSAGES.iter().find_map(|name| members.told_text(name));
    }
}

fn failing_status(value: &Value) -> Option<u16> {
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok())?;
    u16::try_from(number)
        .ok()
        .filter(|status| for_status(*status).is_some())
}

/// A word without blanks; the part after the last `#` or `.`, where namespaces stand before it.
fn code(value: &Value) -> Option<String> {
    let text = value
        .as_str()
        .filter(|text| !text.is_empty() && !text.contains(char::is_whitespace))?;
    text.rsplit(['#', '.']).next().map(str::to_owned)
}
