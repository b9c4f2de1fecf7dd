//! `jsonrpc`: a JSON-RPC 2.0 response.
//!
//! `data` of the error contains the code, the details, the members of the first violation, all violations in
//! `errors`, and the residual. The message starts with the name of the number, as in the tables of the protocols.

use std::borrow::Cow;

use panpan_catalogue::{for_jsonrpc, is_protocol_code, jsonrpc_name, lookup};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

use super::{Envelope, RESIDUAL, Reply};
use crate::failure::{Canonical, Draft, Failure, Field, Fields, Violation, lenient_violation};
use crate::pointer::joined;
use crate::read::{Members, ReadError};
use crate::write::{OptionalMembers, non_empty, written};

const CARRIED: Fields = Fields::of(&[Field::Code, Field::Message, Field::Violations]);
const CODE: &str = "code";
const ALL_VIOLATIONS: &str = "errors";
/// The members of the first violation.
const FIRST_VIOLATION: [&str; 4] = ["field", "reason", "expected", "actual"];

written! {
    pub(super) Failed(failure: Failure, envelope: Envelope<'a>) {
        "jsonrpc" => Some("2.0"),
        "error" => Some(RpcError(failure)),
        "id" => Some(envelope.request_id),
    }
}

written! {
    RpcError(failure: Failure) {
        "code" => Some(failure.kind().jsonrpc_code()),
        "message" => Some(with_name(failure.kind().jsonrpc_code(), failure.message())),
        "data" => Some(Data(failure)),
    }
}

struct Data<'a>(&'a Failure);

impl Data<'_> {
    fn is_reserved(&self, name: &str) -> bool {
        let of_violation = FIRST_VIOLATION.contains(&name);
        let taken = of_violation && (name == FIRST_VIOLATION[0] || !self.0.violations().is_empty());
        taken || is_about_retrying(name) || [CODE, ALL_VIOLATIONS, RESIDUAL].contains(&name)
    }
}

/// Whether a program could read a member of `data` as the answer to whether the call may be repeated. Details
/// are members of `data` too and must not be mistaken for it.
fn is_about_retrying(name: &str) -> bool {
    name.to_ascii_lowercase().contains("retr")
}

impl Serialize for Data<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let failure = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(CODE, failure.code().as_str())?;
        if let Some(first) = failure.violations().first() {
            write_first(first, &mut map)?;
        }
        for (name, value) in failure.details().into_iter().flatten() {
            if !self.is_reserved(name) {
                map.serialize_entry(name, value)?;
            }
        }
        map.optional(ALL_VIOLATIONS, non_empty(failure.violations()))?;
        let residual = Canonical::without(failure, CARRIED);
        let kept = |name: &str, _: &Value| self.is_reserved(name);
        map.serialize_entry(RESIDUAL, &residual.keeping_details(&kept))?;
        map.end()
    }
}

fn write_first<M: SerializeMap>(violation: &Violation, map: &mut M) -> Result<(), M::Error> {
    map.serialize_entry("field", &field(&violation.pointer))?;
    map.serialize_entry("reason", &violation.reason)?;
    map.optional("expected", violation.expected.as_ref())?;
    map.optional("actual", violation.actual.as_ref())
}

/// The name of a top-level member; the pointer of a nested value.
fn field(pointer: &str) -> Cow<'_, str> {
    match pointer.strip_prefix('/') {
        Some(name) if !name.contains(['/', '~']) => Cow::Borrowed(name),
        _ => Cow::Borrowed(pointer),
    }
}

/// The message with the name of the number as prefix. A message that starts with the name already, such as
/// `Circular dependency detected`, is unchanged.
fn with_name(number: i64, message: &str) -> Cow<'_, str> {
    let Some(name) = jsonrpc_name(number) else {
        return message.into();
    };
    match message.strip_prefix(&*name) {
        Some(rest) if !rest.starts_with(": ") => message.into(),
        _ => format!("{name}: {message}").into(),
    }
}

fn without_name(number: i64, message: String) -> String {
    let name = jsonrpc_name(number);
    let rest = name.and_then(|name| {
        message
            .strip_prefix(&*name)?
            .strip_prefix(": ")
            .map(str::to_owned)
    });
    rest.unwrap_or(message)
}

pub(super) fn success<S: Serializer>(
    output: &impl Serialize,
    envelope: Envelope<'_>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(3))?;
    map.serialize_entry("jsonrpc", "2.0")?;
    map.serialize_entry("result", output)?;
    map.serialize_entry("id", &envelope.request_id)?;
    map.end()
}

pub(super) fn read(document: Value) -> Result<Reply, ReadError> {
    let mut members = Members::of(document, "")?;
    let request_id = members.take("id");
    if let Some(error) = members.read("error", |it| it.members())? {
        return Ok(Reply::failure(read_error(error)?).answering(request_id));
    }
    let result = members.take_nullable("result");
    let result = result.ok_or_else(|| members.missing("result", "a result or an error"))?;
    Ok(Reply::success(result).answering(request_id))
}

fn read_error(mut error: Members) -> Result<Failure, ReadError> {
    let number = error.required("code", "a whole number", |it| it.integer())?;
    let message = error.lenient_text("message");
    let mut draft = Draft {
        code: code_of(number, message.as_deref()),
        ..Draft::default()
    };
    draft.message = message.map(|message| without_name(number, message));
    if draft.code.is_none() {
        draft.facts.http_status = u16::try_from(number).ok();
        draft.parts.upstream.code = Some(number.to_string());
    }
    let pointer = error.pointer_to("data");
    match error.take("data") {
        Some(Value::Object(data)) => read_data(draft, Members::of(data.into(), pointer)?),
        Some(other) => {
            draft.keep_foreign(Map::from_iter([("data".to_owned(), other)]));
            Ok(draft.finish())
        }
        None => Ok(draft.finish()),
    }
}

/// The code of a number. The five numbers of the specification mean the same everywhere; any other number is
/// ours only if the message starts with our name for it.
fn code_of(number: i64, message: Option<&str>) -> Option<String> {
    let is_standard = number == -32700 || (-32603..=-32600).contains(&number);
    let is_named = || message?.starts_with(&*jsonrpc_name(number)?).then_some(());
    let known = for_jsonrpc(number).filter(|_| is_standard || is_named().is_some());
    known.map(|known| known.code().into_owned())
}

fn read_data(mut draft: Draft, mut data: Members) -> Result<Failure, ReadError> {
    let own_violations = data.lenient_list(ALL_VIOLATIONS, |it| lenient_violation(it, "reason"));
    if let Some(violations) = own_violations {
        draft.parts.violations = violations;
        FIRST_VIOLATION
            .iter()
            .for_each(|name| drop(data.take_nullable(name)));
    } else if let Some(field) = data.lenient_text("field") {
        draft.parts.violations = vec![read_first(&field, &mut data)];
    }
    let is_ours = data.peek(RESIDUAL).is_some_and(Value::is_object);
    let stated = data.peek(CODE).and_then(Value::as_str);
    let is_code = stated.is_some_and(|code| is_ours || is_known(code, draft.code.is_some()));
    if is_code {
        draft.code = data.lenient_text(CODE);
    }
    if is_ours {
        draft.facts.http_status = None;
        draft.parts.upstream.code = None;
    }
    // Earlier versions wrote the code into the residual if the number did not determine it.
    let carried = Fields::of(&[Field::Message, Field::Violations]);
    draft.finish_with(data, carried.and(Field::Code, is_code))
}

/// Whether a name in a third-party error is a code of the catalogue. A code of the protocol is only accepted
/// with a number of the protocol.
fn is_known(code: &str, number_is_known: bool) -> bool {
    lookup(code).is_some() && (number_is_known || !is_protocol_code(code))
}

fn read_first(field: &str, data: &mut Members) -> Violation {
    let pointer = if field.starts_with('/') {
        field.to_owned()
    } else {
        joined("", field)
    };
    let as_text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    };
    Violation {
        expected: data.lenient_as("expected", as_text),
        actual: data.take_nullable("actual"),
        ..Violation::value(pointer, data.lenient_text("reason").unwrap_or_default())
    }
}
