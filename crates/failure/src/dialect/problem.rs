//! `problem`: problem details of RFC 9457.
//!
//! The code is the last step of `type`, which is the URL of the page of the code. Members of the wrong type are
//! ignored, as the standard requires, and kept in the details like all unknown members.

use panpan_catalogue::check_code;
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::Value;
use uuid::Uuid;

use super::{Envelope, RESIDUAL, Reply};
use crate::failure::{Canonical, Draft, Failure, Field, Fields, Text, Violation, ViolationKind};
use crate::pointer::joined;
use crate::read::{Members, ReadError};
use crate::write::OptionalMembers;

const CARRIED: Fields = Fields::of(&[
    Field::Code,
    Field::Message,
    Field::HttpStatus,
    Field::Retryable,
    Field::RetryAfter,
    Field::Details,
    Field::Violations,
    Field::Id,
]);

pub(super) fn write<S: Serializer>(
    failure: &Failure,
    envelope: Envelope<'_>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    map.serialize_entry(
        "type",
        &Text(format_args!("{}{}", envelope.errors_base, failure.code())),
    )?;
    map.serialize_entry("title", &failure.kind().title())?;
    let status = envelope.http_status;
    map.serialize_entry("status", &status.unwrap_or(failure.kind().http_status()))?;
    map.serialize_entry("detail", failure.message())?;
    map.optional("instance", failure.id().map(|id| Text(id.urn())))?;
    map.serialize_entry("retryable", &failure.may_repeat())?;
    map.optional("retry_after_ms", failure.recovery().retry_after_ms)?;
    map.optional("details", failure.details())?;
    if !failure.violations().is_empty() {
        map.serialize_entry("errors", &Errors(failure.violations()))?;
    }
    map.serialize_entry(RESIDUAL, &Canonical::without(failure, CARRIED))?;
    map.end()
}

struct Errors<'a>(&'a [Violation]);

impl Serialize for Errors<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for violation in self.0 {
            list.serialize_element(&OneError(violation))?;
        }
        list.end()
    }
}

struct OneError<'a>(&'a Violation);

impl Serialize for OneError<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let violation = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("pointer", &violation.pointer)?;
        map.serialize_entry("detail", &violation.reason)?;
        map.optional("kind", violation.kind.stated_word())?;
        map.optional("expected", violation.expected.as_ref())?;
        map.optional("actual", violation.actual.as_ref())?;
        map.end()
    }
}

/// Whether a document has the shape of a problem; any other document is an output.
pub(super) fn is_failure(document: &Value) -> bool {
    let is_text = |name: &str| document.get(name).is_some_and(Value::is_string);
    let failed = document.get("status").and_then(status).is_some();
    let has_text = is_text("title") || is_text("detail");
    (is_text("type") && (has_text || failed)) || (failed && has_text)
}

pub(super) fn read(document: Value) -> Result<Reply, ReadError> {
    if !is_failure(&document) {
        return Ok(Reply::success(document));
    }
    let mut members = Members::of(document, "")?;
    let mut draft = Draft::default();
    read_identity(&mut draft, &mut members);
    draft.message = members.lenient_text("detail");
    let title = members.lenient_text("title");
    draft.message = draft.message.or(title);
    draft.facts.retryable = members.lenient_flag("retryable");
    draft.recovery.retry_after_ms = members.lenient_unsigned("retry_after_ms");
    draft.violations = members.lenient_as("errors", violations).unwrap_or_default();
    draft.details_of_any_shape(members.take("details"));
    Ok(Reply::failure(draft.finish_with(members, CARRIED)?))
}

/// A failing status, as a number or a string.
fn status(value: &Value) -> Option<u16> {
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok())?;
    u16::try_from(number)
        .ok()
        .filter(|status| (400..=599).contains(status))
}

/// Reads the code from `type`, otherwise from the status; a third-party `type` is kept as the upstream's code.
fn read_identity(draft: &mut Draft, members: &mut Members) {
    draft.facts.http_status = members.lenient_as("status", status);
    draft.id = members.lenient_as("instance", |value| {
        Uuid::try_parse(value.as_str()?.strip_prefix("urn:uuid:")?).ok()
    });
    let Some(uri) = members
        .lenient_text("type")
        .filter(|uri| !is_about_the_status(uri))
    else {
        return;
    };
    let step = uri
        .trim_end_matches('/')
        .rsplit(['/', ':', '#'])
        .next()
        .unwrap_or_default();
    draft.code = Some(step.to_owned());
    if check_code(step).is_err() {
        draft.upstream.code = Some(uri);
    }
}

/// Whether a `type` only repeats the status; frameworks link to the HTTP standard.
fn is_about_the_status(uri: &str) -> bool {
    uri == "about:blank"
        || uri.contains("/rfc9110")
        || uri.contains("/rfc7231")
        || uri.contains("httpstatuses")
}

/// All violations, or `None` if any has an unknown shape.
fn violations(errors: &Value) -> Option<Vec<Violation>> {
    match errors {
        Value::Array(errors) => errors.iter().map(violation).collect(),
        Value::Object(by_name) => {
            let lists = by_name
                .iter()
                .map(|(name, reasons)| violations_of(name, reasons));
            lists
                .collect::<Option<Vec<_>>>()
                .map(|lists| lists.concat())
        }
        _ => None,
    }
}

/// A violation as we write it, or as in RFC 9457, with the pointer in a fragment.
fn violation(error: &Value) -> Option<Violation> {
    let text = |name: &str| error.get(name).and_then(Value::as_str).map(str::to_owned);
    let pointer = text("pointer")?;
    let kind = text("kind").and_then(|kind| ViolationKind::from_word(&kind));
    Some(Violation {
        kind: kind.unwrap_or_default(),
        expected: text("expected"),
        actual: error.get("actual").cloned(),
        ..Violation::value(
            pointer.strip_prefix('#').unwrap_or(&pointer),
            text("detail")?,
        )
    })
}

/// Violations of one member, as a list of sentences that some frameworks write.
fn violations_of(name: &str, reasons: &Value) -> Option<Vec<Violation>> {
    let reasons = reasons.as_array()?;
    reasons
        .iter()
        .map(|reason| Some(Violation::value(joined("", name), reason.as_str()?)))
        .collect()
}
