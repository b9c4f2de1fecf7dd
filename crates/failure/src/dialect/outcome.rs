//! `outcome`: `{ok: false, error: {code, message, category, retryable, details?, retry_after_ms?, …}}`.

use panpan_catalogue::Category;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

use super::{Envelope, RESIDUAL, Reply};
use crate::failure::{Canonical, Draft, Failure, Field, Fields};
use crate::read::{Members, ReadError};
use crate::write::{OptionalMembers, written};

const CARRIED: Fields = Fields::of(&[
    Field::Code,
    Field::Message,
    Field::Category,
    Field::Retryable,
    Field::Details,
    Field::RetryAfter,
    Field::UpstreamStatus,
    Field::UpstreamProvider,
]);

written! {
    pub(super) Failed(failure: Failure, envelope: Envelope<'a>) {
        "id" => envelope.request_id,
        "ok" => Some(false),
        "error" => Some(ErrorInfo(failure)),
    }
}

written! {
    ErrorInfo(failure: Failure) {
        "code" => Some(failure.code().as_str()),
        "message" => Some(failure.message()),
        "category" => Some(failure.category().word()),
        "retryable" => Some(failure.may_repeat()),
        "details" => failure.details(),
        "retry_after_ms" => failure.recovery().retry_after_ms,
        "upstream_status" => failure.upstream().and_then(|it| it.status),
        "provider" => failure.upstream().and_then(|it| it.provider.as_ref()),
        RESIDUAL => Some(Canonical::without(failure, CARRIED)),
    }
}

pub(super) fn success<S: Serializer>(
    output: &impl Serialize,
    envelope: Envelope<'_>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    map.optional("id", envelope.request_id)?;
    map.serialize_entry("ok", &true)?;
    map.serialize_entry("result", output)?;
    map.serialize_entry("meta", &Map::new())?;
    map.end()
}

pub(super) fn read(document: Value) -> Result<Reply, ReadError> {
    let mut members = Members::of(document, "")?;
    let request_id = members.take("id");
    if members.required("ok", "true or false", |it| it.flag())? {
        let result = members.take_nullable("result").unwrap_or_default();
        return Ok(Reply::success(result).answering(request_id));
    }
    let failure = match members.lenient_members("error") {
        Some(error) => read_error(error)?,
        None => read_bare(members)?,
    };
    Ok(Reply::failure(failure).answering(request_id))
}

fn read_error(mut error: Members) -> Result<Failure, ReadError> {
    let mut draft = Draft {
        code: Some(error.required("code", "a string", |it| it.text())?),
        message: error.lenient_text("message"),
        ..Draft::default()
    };
    let category = |word: &Value| Category::from_word(&word.as_str()?.to_ascii_uppercase());
    draft.facts.category = error.lenient_as("category", category);
    draft.facts.retryable = error.lenient_flag("retryable");
    draft.details_of_any_shape(error.take("details"));
    draft.parts.recovery.retry_after_ms = error.lenient_unsigned("retry_after_ms");
    draft.parts.upstream.status = error.lenient_unsigned("upstream_status");
    draft.parts.upstream.provider = error.lenient_text("provider");
    draft.finish_with(error, CARRIED)
}

/// Some services write `ok: false` with a code or message instead of an error object.
fn read_bare(mut members: Members) -> Result<Failure, ReadError> {
    let mut draft = Draft {
        code: members.lenient_text("error"),
        ..Draft::default()
    };
    draft.message = members
        .lenient_text("description")
        .or_else(|| members.lenient_text("message"));
    draft.facts.http_status = members.lenient_unsigned("error_code");
    if draft.code.is_none() && draft.message.is_none() {
        return Err(members.missing("error", "an object"));
    }
    draft.finish_with(members, Fields::default())
}
