//! `call`: `{code, message, retryable, details?}`, the payload of a `call.error` event.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use super::{Envelope, RESIDUAL, Reply};
use crate::failure::{Canonical, Draft, Failure, Field, Fields};
use crate::read::{Members, ReadError};
use crate::write::written;

const CARRIED: Fields = Fields::of(&[
    Field::Code,
    Field::Message,
    Field::Retryable,
    Field::Details,
]);

written! {
    pub(super) CallError(failure: Failure) {
        "code" => Some(failure.code().as_str()),
        "message" => Some(failure.message()),
        "retryable" => Some(failure.may_repeat()),
        "details" => failure.details(),
        RESIDUAL => Some(Canonical::without(failure, CARRIED)),
    }
}

pub(super) fn success<S: Serializer>(
    output: &impl Serialize,
    envelope: Envelope<'_>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(3))?;
    map.serialize_entry("request_id", &envelope.request_id)?;
    map.serialize_entry("result", "ok")?;
    map.serialize_entry("output", output)?;
    map.end()
}

pub(super) fn read(document: Value) -> Result<Reply, ReadError> {
    let mut members = Members::of(document, "")?;
    let request_id = members.take("request_id");
    if members.peek("result").is_some_and(|result| result == "ok") {
        let output = members
            .take_nullable("output")
            .ok_or_else(|| members.missing("output", "the output"))?;
        return Ok(Reply::success(output).answering(request_id));
    }
    // A batch wraps the error; elsewhere it is bare, with or without `result: "error"`.
    let is_error = |result: &Value| result == "error";
    if members.peek("result").is_some_and(is_error) {
        members.take("result");
        if members.peek("code").is_none() {
            members = members.required("error", "an object", |it| it.members())?;
        }
    }
    let mut draft = Draft {
        code: Some(members.required("code", "a string", |it| it.text())?),
        message: members.lenient_text("message"),
        ..Draft::default()
    };
    draft.facts.retryable = members.lenient_flag("retryable");
    draft.details_of_any_shape(members.take("details"));
    Ok(Reply::failure(draft.finish_with(members, CARRIED)?).answering(request_id))
}
