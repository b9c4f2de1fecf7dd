//! `problem`: problem details of RFC 9457.
//!
//! The code is the last step of `type`, which resolves to the code's page. Members of the wrong type
//! are ignored, as the standard demands, and kept among the details like all unknown members.

use panpan_catalogue::check_code;
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::Value;
use uuid::Uuid;

use super::{Envelope, RESIDUAL, Reply};
use crate::failure::{Canonical, Draft, Failure, Field, Fields, Text, Violation, ViolationKind};
use crate::pointer::joined;
use crate::read::{Members, ReadError};

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
    if let Some(id) = failure.id() {
        map.serialize_entry("instance", &Text(id.urn()))?;
    }
    map.serialize_entry("retryable", &failure.may_repeat())?;
    if let Some(delay_ms) = failure.recovery().retry_after_ms {
        map.serialize_entry("retry_after_ms", &delay_ms)?;
    }
    if let Some(details) = failure.details() {
        map.serialize_entry("details", details)?;
    }
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
        if violation.kind != ViolationKind::Value {
            map.serialize_entry("kind", violation.kind.word())?;
        }
        if let Some(expected) = &violation.expected {
            map.serialize_entry("expected", expected)?;
        }
        if let Some(actual) = &violation.actual {
            map.serialize_entry("actual", actual)?;
        }
        map.end()
    }
}

/// Whether a document has the shape of a problem; everything else is a bare output.
pub(super) fn is_failure(document: &Value) -> bool {
    let is_text = |name: &str| document.get(name).is_some_and(Value::is_string);
    let failed = document.get("status").and_then(status).is_some();
    let told = is_text("title") || is_text("detail");
    (is_text("type") && (told || failed)) || (failed && told)
}

pub(super) fn read(document: Value) -> Result<Reply, ReadError> {
    if !is_failure(&document) {
        return Ok(Reply::success(document));
    }
    let mut members = Members::of(document, "")?;
    let mut draft = Draft::default();
    read_identity(&mut draft, &mut members);
    draft.message = members.told_text("detail");
    let title = members.told_text("title");
    draft.message = draft.message.or(title);
    draft.facts.retryable = members.told_flag("retryable");
    draft.recovery.retry_after_ms = members.told_unsigned("retry_after_ms");
    draft.violations = members.told("errors", violations).unwrap_or_default();
    draft.details_of_any_shape(members.take("details"));
    Ok(Reply::failure(draft.finish_with(members, CARRIED)?))
}

/// A failing status, also where it is written as a string.
fn status(value: &Value) -> Option<u16> {
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok())?;
    u16::try_from(number)
        .ok()
        .filter(|status| (400..=599).contains(status))
}

/// The code from `type`, else from the status; a foreign `type` is kept as the upstream's own code.
fn read_identity(draft: &mut Draft, members: &mut Members) {
    draft.facts.http_status = members.told("status", status);
    draft.id = members.told("instance", |value| {
        Uuid::try_parse(value.as_str()?.strip_prefix("urn:uuid:")?).ok()
    });
    let Some(uri) = members
        .told_text("type")
        .filter(|uri| !says_only_the_status(uri))
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

/// Frameworks point at the section of the HTTP standard that defines the status.
fn says_only_the_status(uri: &str) -> bool {
    uri == "about:blank"
        || uri.contains("/rfc9110")
        || uri.contains("/rfc7231")
        || uri.contains("httpstatuses")
}

/// All violations, or none if one of them has a shape nobody knows.
fn violations(errors: &Value) -> Option<Vec<Violation>> {
    match errors {
        Value::Array(errors) => errors.iter().map(violation).collect(),
        Value::Object(by_name) => {
            let lists = by_name
                .iter()
                .map(|(name, reasons)| of_a_member(name, reasons));
            lists
                .collect::<Option<Vec<_>>>()
                .map(|lists| lists.concat())
        }
        _ => None,
    }
}

/// One of a list, as we write it and as RFC 9457 shows it, with a pointer in a fragment.
fn violation(error: &Value) -> Option<Violation> {
    let word = |name: &str| error.get(name).and_then(Value::as_str).map(str::to_owned);
    let pointer = word("pointer")?;
    let kind = word("kind").and_then(|kind| ViolationKind::from_word(&kind));
    Some(Violation {
        kind: kind.unwrap_or_default(),
        expected: word("expected"),
        actual: error.get("actual").cloned(),
        ..Violation::value(
            pointer.strip_prefix('#').unwrap_or(&pointer),
            word("detail")?,
        )
    })
}

/// Sentences about one member, as some frameworks list them.
fn of_a_member(name: &str, reasons: &Value) -> Option<Vec<Violation>> {
    let reasons = reasons.as_array()?;
    reasons
        .iter()
        .map(|reason| Some(Violation::value(joined("", name), reason.as_str()?)))
        .collect()
}
