//! `jsonrpc`: a JSON-RPC 2.0 response.
//!
//! The error's `data` holds the details, the first violation flat, all violations in `errors`, and
//! the residual. The message starts with the name of the number, as the tables of the protocols do.

use std::borrow::Cow;

use panpan_catalogue::{for_jsonrpc, jsonrpc_name};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value, json};

use super::{Envelope, RESIDUAL, Reply, leads_back};
use crate::failure::{Canonical, Draft, Failure, Field, Fields, Inferred, Violation, violation};
use crate::pointer::escaped;
use crate::read::{Members, ReadError, unexpected};

const CARRIED: Fields = Fields::of(&[Field::Message, Field::Violations]);
const ALL_VIOLATIONS: &str = "errors";
/// The members of the first violation.
const FIRST_VIOLATION: [&str; 4] = ["field", "reason", "expected", "actual"];

pub(super) fn write<S: Serializer>(
    failure: &Failure,
    envelope: Envelope<'_>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(3))?;
    map.serialize_entry("jsonrpc", "2.0")?;
    map.serialize_entry("error", &RpcError(failure))?;
    map.serialize_entry("id", &envelope.request_id)?;
    map.end()
}

struct RpcError<'a>(&'a Failure);

impl Serialize for RpcError<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let number = self.0.kind().jsonrpc_code();
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("code", &number)?;
        map.serialize_entry("message", &named(number, self.0.message()))?;
        map.serialize_entry("data", &Data(self.0))?;
        map.end()
    }
}

struct Data<'a>(&'a Failure);

impl Data<'_> {
    fn is_reserved(&self, name: &str) -> bool {
        let flat = FIRST_VIOLATION.contains(&name);
        let taken = flat && (name == FIRST_VIOLATION[0] || !self.0.violations().is_empty());
        taken || name == ALL_VIOLATIONS || name == RESIDUAL
    }
}

impl Serialize for Data<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let failure = self.0;
        let mut map = serializer.serialize_map(None)?;
        if let Some(first) = failure.violations().first() {
            write_first(first, &mut map)?;
        }
        for (name, value) in failure.details().into_iter().flatten() {
            if !self.is_reserved(name) {
                map.serialize_entry(name, value)?;
            }
        }
        if !failure.violations().is_empty() {
            map.serialize_entry(ALL_VIOLATIONS, failure.violations())?;
        }
        let code_is_told = leads_back(for_jsonrpc(failure.kind().jsonrpc_code()), failure);
        let left = Canonical::without(failure, CARRIED.and(Field::Code, code_is_told));
        let kept = |name: &str, _: &Value| self.is_reserved(name);
        map.serialize_entry(RESIDUAL, &left.keeping_details(&kept))?;
        map.end()
    }
}

fn write_first<M: SerializeMap>(violation: &Violation, map: &mut M) -> Result<(), M::Error> {
    map.serialize_entry("field", &field(&violation.pointer))?;
    map.serialize_entry("reason", &violation.reason)?;
    if let Some(expected) = &violation.expected {
        map.serialize_entry("expected", expected)?;
    }
    if let Some(actual) = &violation.actual {
        map.serialize_entry("actual", actual)?;
    }
    Ok(())
}

/// A member of the input by its name; anything deeper by its pointer.
fn field(pointer: &str) -> Cow<'_, str> {
    match pointer.strip_prefix('/') {
        Some(name) if !name.contains(['/', '~']) => Cow::Borrowed(name),
        _ => Cow::Borrowed(pointer),
    }
}

/// The message behind the name of its number. A message that starts with the name already, as in
/// `Circular dependency detected`, stands alone.
fn named(number: i64, message: &str) -> Cow<'_, str> {
    let Some(name) = jsonrpc_name(number) else {
        return message.into();
    };
    match message.strip_prefix(&*name) {
        Some(rest) if !rest.starts_with(": ") => message.into(),
        _ => format!("{name}: {message}").into(),
    }
}

fn unnamed(number: i64, message: String) -> String {
    let name = jsonrpc_name(number);
    let rest = name.and_then(|name| {
        message
            .strip_prefix(&*name)?
            .strip_prefix(": ")
            .map(str::to_owned)
    });
    rest.unwrap_or(message)
}

pub(super) fn success(output: &Value, envelope: Envelope<'_>) -> Value {
    json!({"jsonrpc": "2.0", "result": output, "id": envelope.request_id})
}

pub(super) fn read(document: Value) -> Result<Reply, ReadError> {
    let mut members = Members::of(document, "")?;
    let request_id = members.take("id");
    if let Some(error) = members.members("error")? {
        return Ok(Reply::failure(read_error(error)?).answering(request_id));
    }
    let result = members.take_even_null("result");
    let result = result.ok_or_else(|| members.missing("result", "a result or an error"))?;
    Ok(Reply::success(result).answering(request_id))
}

fn read_error(mut error: Members) -> Result<Failure, ReadError> {
    let number = error
        .integer("code")?
        .ok_or_else(|| error.missing("code", "a whole number"))?;
    let mut draft = Draft {
        code: for_jsonrpc(number).map(|known| known.code().into_owned()),
        message: error
            .text("message")?
            .map(|message| unnamed(number, message)),
        ..Draft::default()
    };
    if draft.code.is_none() {
        draft.upstream.code = Some(number.to_string());
    }
    let data_place = error.at("data");
    match error.take("data") {
        None => {}
        Some(Value::Object(data)) => read_data(&mut draft, data, data_place)?,
        Some(other) => draft.keep_foreign(Map::from_iter([("data".to_owned(), other)])),
    }
    Ok(draft.finish())
}

fn read_data(draft: &mut Draft, data: Map<String, Value>, place: String) -> Result<(), ReadError> {
    let mut data = Members::of(data.into(), place)?;
    let residual = data.members(RESIDUAL)?;
    if data.peek(ALL_VIOLATIONS).is_some_and(Value::is_array) {
        draft.violations = data.list(ALL_VIOLATIONS, violation)?.unwrap_or_default();
        FIRST_VIOLATION
            .iter()
            .for_each(|name| drop(data.take_even_null(name)));
    } else if data.peek("field").is_some_and(Value::is_string) {
        draft.violations = vec![read_first(&mut data)?];
    }
    let details = data.rest();
    if !details.is_empty() {
        draft.details = Some(details);
    }
    let Some(residual) = residual else {
        return Ok(());
    };
    if draft.code.is_none() || residual.peek("code").is_some() {
        draft.upstream.code = None;
    }
    draft.inferred.remove(&Inferred::Code);
    draft.absorb(residual)
}

fn read_first(data: &mut Members) -> Result<Violation, ReadError> {
    let field = data.text("field")?.unwrap_or_default();
    let pointer = if field.starts_with('/') {
        field
    } else {
        format!("/{}", escaped(&field))
    };
    let expected = match data.take("expected") {
        None => None,
        Some(Value::String(text)) => Some(text),
        Some(other @ (Value::Number(_) | Value::Bool(_))) => Some(other.to_string()),
        Some(other) => return Err(unexpected(data.at("expected"), "a string", &other)),
    };
    Ok(Violation {
        expected,
        actual: data.take_even_null("actual"),
        ..Violation::value(pointer, data.text("reason")?.unwrap_or_default())
    })
}
