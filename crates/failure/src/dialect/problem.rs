//! `problem`: problem details of RFC 9457.
//!
//! The code is the last step of `type`, which is the URL of the page of the code. Members of the wrong type are
//! ignored, as the standard requires, and kept in the details like all unknown members.

use panpan_catalogue::check_code;
use serde_json::Value;
use uuid::Uuid;

use super::{Envelope, RESIDUAL, Reply};
use crate::failure::{Canonical, Draft, Failure, Field, Fields, Violation, lenient_violation};
use crate::pointer::joined;
use crate::read::{Members, ReadError};
use crate::write::{Sequence, Text, non_empty, written};

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

written! {
    pub(super) Problem(failure: Failure, envelope: Envelope<'a>) {
        "type" => Some(Text(format_args!("{}{}", envelope.errors_base, failure.code()))),
        "title" => Some(failure.kind().title()),
        "status" => Some(envelope.http_status.unwrap_or(failure.kind().http_status())),
        "detail" => Some(failure.message()),
        "instance" => failure.id().map(|id| Text(id.urn())),
        "retryable" => Some(failure.may_repeat()),
        "retry_after_ms" => failure.recovery().retry_after_ms,
        "details" => failure.details(),
        "errors" => non_empty(failure.violations()).map(|all| Sequence(|| all.iter().map(OneError))),
        RESIDUAL => Some(Canonical::without(failure, CARRIED)),
    }
}

written! {
    OneError(violation: Violation) {
        "pointer" => Some(&violation.pointer),
        "detail" => Some(&violation.reason),
        "kind" => violation.kind.stated_word(),
        "expected" => violation.expected.as_ref(),
        "actual" => violation.actual.as_ref(),
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
    draft.parts.recovery.retry_after_ms = members.lenient_unsigned("retry_after_ms");
    draft.parts.violations = members.lenient_as("errors", violations).unwrap_or_default();
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
    draft.parts.id = members.lenient_as("instance", |value| {
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
        draft.parts.upstream.code = Some(uri);
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
    let mut violation = lenient_violation(error, "detail")?;
    if violation.pointer.starts_with('#') {
        violation.pointer.remove(0);
    }
    Some(violation)
}

/// Violations of one member, as a list of sentences that some frameworks write.
fn violations_of(name: &str, reasons: &Value) -> Option<Vec<Violation>> {
    let reasons = reasons.as_array()?;
    reasons
        .iter()
        .map(|reason| Some(Violation::value(joined("", name), reason.as_str()?)))
        .collect()
}
