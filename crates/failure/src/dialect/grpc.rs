//! `grpc`: a google.rpc.Status as JSON, with ErrorInfo, RetryInfo, BadRequest and RequestInfo.
//!
//! The metadata of ErrorInfo allows only strings: details that are strings are members of it, all others are in
//! the residual, which is JSON in a string.

use panpan_catalogue::{Category, Grpc, for_grpc};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{RESIDUAL, Reply};
use crate::failure::{Canonical, Draft, Failure, Field, Fields, Inferred, Violation};
use crate::kind::Kind;
use crate::pointer::joined;
use crate::read::{self, Members, ReadError};
use crate::write::{Text, written};

const CARRIED: Fields = Fields::of(&[
    Field::Code,
    Field::Message,
    Field::Retryable,
    Field::RetryAfter,
    Field::Id,
]);
const DOMAIN: &str = "panpan.dev";
const RETRYABLE: &str = "retryable";
const TYPE: &str = "@type";

const ERROR_INFO: &str = "type.googleapis.com/google.rpc.ErrorInfo";
const RETRY_INFO: &str = "type.googleapis.com/google.rpc.RetryInfo";
const BAD_REQUEST: &str = "type.googleapis.com/google.rpc.BadRequest";
const REQUEST_INFO: &str = "type.googleapis.com/google.rpc.RequestInfo";
/// A Status has no member for an output, so a success carries it as JSON in a string.
const OUTPUT: &str = "type.googleapis.com/google.protobuf.StringValue";

written! {
    pub(super) Status(failure: Failure) {
        "code" => Some(failure.kind().grpc().number()),
        "message" => Some(failure.message()),
        "details" => Some(Details(failure)),
    }
}

struct Details<'a>(&'a Failure);

impl Serialize for Details<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let failure = self.0;
        let mut list = serializer.serialize_seq(None)?;
        list.serialize_element(&ErrorInfo(failure))?;
        if let Some(delay_ms) = failure.recovery().retry_after_ms {
            let delay = format!("{}.{:03}s", delay_ms / 1000, delay_ms % 1000);
            list.serialize_element(&json!({TYPE: RETRY_INFO, "retryDelay": delay}))?;
        }
        if !failure.violations().is_empty() {
            let violations: Vec<Value> = failure.violations().iter().map(field_violation).collect();
            list.serialize_element(&json!({TYPE: BAD_REQUEST, "fieldViolations": violations}))?;
        }
        if let Some(id) = failure.id() {
            list.serialize_element(
                &json!({TYPE: REQUEST_INFO, "requestId": id.hyphenated().to_string()}),
            )?;
        }
        list.end()
    }
}

/// Field violations use dotted paths.
fn field_violation(violation: &Violation) -> Value {
    let field = violation.pointer.trim_start_matches('/').replace('/', ".");
    json!({"field": field, "description": violation.reason})
}

written! {
    ErrorInfo(failure: Failure) {
        TYPE => Some(ERROR_INFO),
        "reason" => Some(failure.code().as_str()),
        "domain" => Some(DOMAIN),
        "metadata" => Some(Metadata(failure)),
    }
}

struct Metadata<'a>(&'a Failure);

impl Serialize for Metadata<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let failure = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(RETRYABLE, &Text(failure.may_repeat()))?;
        for (name, value) in failure.details().into_iter().flatten() {
            if is_metadata(name, value) {
                map.serialize_entry(name, value)?;
            }
        }
        let kept = |name: &str, value: &Value| !is_metadata(name, value);
        let residual = Canonical::without(failure, CARRIED).keeping_details(&kept);
        let text = serde_json::to_string(&residual).map_err(serde::ser::Error::custom)?;
        map.serialize_entry(RESIDUAL, &text)?;
        map.end()
    }
}

/// Whether a detail can be metadata: a string with an allowed name.
fn is_metadata(name: &str, value: &Value) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    value.is_string()
        && (2..=64).contains(&name.len())
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(is_word)
        && name != RESIDUAL
        && name != RETRYABLE
}

pub(super) fn success(output: &Value) -> Value {
    json!({"code": 0, "message": "", "details": [{TYPE: OUTPUT, "value": output.to_string()}]})
}

pub(super) fn read(document: Value) -> Result<Reply, ReadError> {
    let mut members = Members::of(document, "")?;
    // Google's HTTP APIs wrap the status, with the HTTP status in `code` and the gRPC name in `status`.
    if let Some(wrapped) = members.lenient_members("error") {
        members = wrapped;
    }
    let number: u64 = members.required("code", "a whole number", |it| it.unsigned())?;
    let details = match members.take("details") {
        Some(Value::Array(details)) => details,
        other => other.into_iter().collect(),
    };
    if number == 0 {
        return read_output(&details, members).map(Reply::success);
    }
    let mut draft = Draft {
        message: members.lenient_text("message"),
        ..Draft::default()
    };
    let pointer = members.pointer_to("details");
    let mut unread = Vec::new();
    for (index, detail) in details.into_iter().enumerate() {
        let pointer = || joined(&pointer, &index.to_string());
        unread.extend(read_detail(&mut draft, detail, pointer)?);
    }
    let name = members.lenient_text("status");
    read_number(&mut draft, number, name.as_deref());
    if !unread.is_empty() {
        draft.keep_foreign(Map::from_iter([("details".to_owned(), unread.into())]));
    }
    draft.keep_foreign(members.rest());
    Ok(Reply::failure(draft.finish()))
}

/// Reads the number: as the code if no reason is given, otherwise as the category.
fn read_number(draft: &mut Draft, number: u64, name: Option<&str>) {
    if name.is_some() && draft.facts.http_status.is_none() {
        draft.facts.http_status = u16::try_from(number).ok();
    }
    let grpc = name
        .and_then(Grpc::from_word)
        .or_else(|| Grpc::from_number(number));
    let known = grpc.and_then(for_grpc);
    let Some(code) = &draft.code else {
        draft.code = known.map(|known| known.code().into_owned());
        draft.parts.inferred.insert(Inferred::Code);
        return;
    };
    let facts = &mut draft.facts;
    let has_no_category = facts.category.is_none() && facts.http_status.is_none();
    if has_no_category && Kind::of(code).is_none() {
        // An explicit `retryable` is more precise than the number.
        let fits = |category: &Category| category.retryable() || facts.retryable != Some(true);
        facts.category = known.map(|known| known.category()).filter(fits);
        draft.parts.inferred.insert(Inferred::Category);
    }
}

/// The output as we write it, otherwise the members besides the code.
fn read_output(details: &[Value], members: Members) -> Result<Value, ReadError> {
    match details
        .first()
        .and_then(|first| first.get("value")?.as_str())
    {
        Some(text) => read::document(text.as_bytes()),
        None => Ok(members.rest().into()),
    }
}

/// Reads one detail; returns it if its type is unknown.
fn read_detail(
    draft: &mut Draft,
    detail: Value,
    pointer: impl FnOnce() -> String,
) -> Result<Option<Value>, ReadError> {
    let text = |name: &str| detail.get(name).and_then(Value::as_str);
    match text(TYPE) {
        Some(ERROR_INFO) => read_error_info(draft, Members::of(detail, pointer())?)?,
        Some(RETRY_INFO) => {
            let delay_ms = text("retryDelay").and_then(duration_ms);
            draft.parts.recovery.retry_after_ms = delay_ms.or(draft.parts.recovery.retry_after_ms);
        }
        // Our violations are in the residual, with more facts.
        Some(BAD_REQUEST) if !draft.parts.violations.is_empty() => {}
        Some(BAD_REQUEST) => {
            let violations = detail.get("fieldViolations").and_then(Value::as_array);
            let read = violations.map(|all| all.iter().map(read_violation).collect());
            draft.parts.violations = read.flatten().unwrap_or_default();
        }
        Some(REQUEST_INFO) => {
            let id = text("requestId").and_then(|id| Uuid::try_parse(id).ok());
            draft.parts.id = id.or(draft.parts.id);
        }
        _ => return Ok(Some(detail)),
    }
    Ok(None)
}

fn read_error_info(draft: &mut Draft, mut info: Members) -> Result<(), ReadError> {
    draft.code = info.lenient_text("reason");
    let Some(mut metadata) = info.lenient_members("metadata") else {
        return Ok(());
    };
    let residual = metadata.lenient_text(RESIDUAL);
    let pointer = metadata.pointer_to(RESIDUAL);
    draft.facts.retryable = metadata.lenient_as(RETRYABLE, |word| word.as_str()?.parse().ok());
    draft.keep_foreign(metadata.rest());
    if let Some(residual) = residual {
        let residual = Members::of(read::document(residual.as_bytes())?, pointer)?;
        draft.absorb(residual, CARRIED)?;
    }
    Ok(())
}

fn read_violation(value: &Value) -> Option<Violation> {
    let field = value.get("field")?.as_str()?;
    let steps = field.split('.').filter(|step| !step.is_empty());
    let pointer = steps.fold(String::new(), |pointer, step| joined(&pointer, step));
    let description = value.get("description").and_then(Value::as_str);
    Some(Violation::value(pointer, description.unwrap_or_default()))
}

/// Milliseconds of a protobuf duration, rounded up.
fn duration_ms(text: &str) -> Option<u64> {
    let number = text.strip_suffix('s')?;
    let (seconds, fraction) = number.split_once('.').unwrap_or((number, ""));
    let is_digits = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if seconds.is_empty() || !is_digits(seconds) || !is_digits(fraction) || fraction.len() > 9 {
        return None;
    }
    let digits = fraction.bytes().chain(std::iter::repeat(b'0')).take(9);
    let nanos = digits.fold(0, |nanos, digit| nanos * 10 + u64::from(digit - b'0'));
    let whole = seconds.parse::<u64>().ok()?.checked_mul(1000)?;
    whole.checked_add(nanos.div_ceil(1_000_000))
}
