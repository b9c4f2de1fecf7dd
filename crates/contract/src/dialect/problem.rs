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
    map.serialize_entry("status", &failure.kind().http_status())?;
    map.serialize_entry("detail", failure.message())?;
    if let Some(id) = failure.id() {
        map.serialize_entry("instance", &Text(id.urn()))?;
    }
    map.serialize_entry("retryable", &failure.retryable())?;
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
    let failed = document
        .get("status")
        .and_then(Value::as_u64)
        .is_some_and(|status| (400..=599).contains(&status));
    let told = is_text("title") || is_text("detail");
    (is_text("type") && (told || failed)) || (failed && told)
}

pub(super) fn read(document: Value) -> Result<Reply, ReadError> {
    if !is_failure(&document) {
        return Ok(Reply::success(document));
    }
    let mut members = Members::of(document, "")?;
    let residual = members.members(RESIDUAL)?;
    let mut draft = Draft::default();
    read_identity(&mut draft, &mut members);
    draft.message = taken(&mut members, "detail", text);
    let title = taken(&mut members, "title", text);
    draft.message = draft.message.or(title);
    draft.facts.retryable = taken(&mut members, "retryable", |value| value.as_bool());
    draft.recovery.retry_after_ms = taken(&mut members, "retry_after_ms", |value| value.as_u64());
    if let Some(errors) = members
        .peek("errors")
        .and_then(Value::as_array)
        .map(|errors| violations(errors))
    {
        draft.violations = errors.unwrap_or_default();
        if !draft.violations.is_empty() {
            members.take("errors");
        }
    }
    draft.details_of_any_shape(members.take("details"));
    draft.keep_foreign(members.rest());
    if let Some(residual) = residual {
        draft.absorb(residual)?;
    }
    Ok(Reply::failure(draft.finish()))
}

/// The code from `type`, else from the status; a foreign `type` is kept as the upstream's own code.
fn read_identity(draft: &mut Draft, members: &mut Members) {
    draft.facts.http_status = taken(members, "status", |value| {
        value.as_u64().and_then(|status| u16::try_from(status).ok())
    });
    draft.id = taken(members, "instance", |value| {
        Uuid::try_parse(value.as_str()?.strip_prefix("urn:uuid:")?).ok()
    });
    let Some(uri) = taken(members, "type", text).filter(|uri| uri != "about:blank") else {
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

fn taken<T>(members: &mut Members, name: &str, read: impl Fn(&Value) -> Option<T>) -> Option<T> {
    let found = members.peek(name).and_then(read);
    if found.is_some() {
        members.take(name);
    }
    found
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// All violations, or none if one of them is not what we write or RFC 9457 shows.
fn violations(errors: &[Value]) -> Option<Vec<Violation>> {
    let word =
        |error: &Value, name: &str| error.get(name).and_then(Value::as_str).map(str::to_owned);
    let one = |error: &Value| {
        Some(Violation {
            kind: word(error, "kind")
                .and_then(|kind| ViolationKind::from_word(&kind))
                .unwrap_or_default(),
            expected: word(error, "expected"),
            actual: error.get("actual").cloned(),
            ..Violation::value(word(error, "pointer")?, word(error, "detail")?)
        })
    };
    errors.iter().map(one).collect()
}
