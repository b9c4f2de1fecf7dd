//! Decodes and encodes envelopes: `{type, id, payload}`.

use std::sync::Arc;

use axum::extract::ws::Message;
use panpan_failure::dialect::{Dialect, Envelope, FailureView};
use panpan_failure::read::{self, ReadError};
use panpan_failure::{Failure, Violation, codes};
use panpan_runtime::{CallRequest, Output};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::call::{DecodedCall, Event};
use crate::json::{self, unwritable};
use crate::options::OptionNames;

/// Maximum length of an id, in bytes. It is repeated with every item of a subscription.
pub(super) const ID_LENGTH_LIMIT: usize = 256;

/// The members with call options.
const IN_PAYLOAD: OptionNames = OptionNames::plain("/payload");

/// The JSON pointer to the input.
const INPUT: &str = "/payload/input";

/// The kind of a message. A request is answered in its own kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Binary,
}

/// A valid message of a client.
pub(super) enum Received {
    Requested(Arc<str>, Box<DecodedCall>),
    Aborted(Arc<str>),
}

/// An invalid message, with its id if it could be read.
pub(super) struct Invalid {
    pub(super) id: String,
    pub(super) failure: Failure,
}

/// Decodes a message.
pub(super) fn read(message: &[u8], limit: usize) -> Result<Received, Invalid> {
    let request = read::request(message, limit);
    let (document, duplicate) = request.map_err(|error| unreadable(message, &error))?;
    let Value::Object(mut members) = document else {
        return Err(invalid("", "", "a message must be an object"));
    };
    let id = match members.remove("id") {
        Some(Value::String(id)) if is_id(&id) && duplicate.as_deref() != Some("/id") => id,
        _ => {
            let reason = format!("id must be a string of 1 to {ID_LENGTH_LIMIT} bytes");
            return Err(invalid("", "/id", reason));
        }
    };
    if let Some(pointer) = &duplicate
        && in_input(pointer).is_none()
    {
        let reason = format!("duplicate member at {pointer}");
        return Err(invalid(&id, pointer, reason));
    }
    let payload = members.remove("payload");
    match members.get("type").and_then(Value::as_str) {
        Some("call.requested") => requested(id, payload, duplicate),
        Some("call.aborted") => Ok(Received::Aborted(id.into())),
        _ => {
            let reason = "type must be call.requested or call.aborted";
            Err(invalid(&id, "/type", reason))
        }
    }
}

fn requested(
    id: String,
    payload: Option<Value>,
    duplicate: Option<String>,
) -> Result<Received, Invalid> {
    let Some(Value::Object(mut payload)) = payload else {
        return Err(invalid(&id, "/payload", "payload must be an object"));
    };
    let Some(Value::String(operation)) = payload.remove("operationId") else {
        let reason = "operationId must be the name of an operation";
        return Err(invalid(&id, "/payload/operationId", reason));
    };
    let auth_token = match payload.remove("auth_token") {
        None => None,
        Some(Value::String(token)) => Some(token),
        Some(_) => {
            let reason = "auth_token must be a string";
            return Err(invalid(&id, "/payload/auth_token", reason));
        }
    };
    let input = payload.remove("input");
    let input = input.unwrap_or_else(|| Value::Object(Map::new()));
    let mut request = CallRequest::from_wire(operation, input);
    let applied = IN_PAYLOAD.apply(&payload, &mut request);
    let applied = applied.and_then(|()| IN_PAYLOAD.refuse_misspelt(&payload));
    let duplicate = duplicate.as_deref().and_then(in_input);
    let problem = duplicate.map(json::duplicate_member).or(applied.err());
    let call = DecodedCall {
        request,
        auth_token,
        problem,
    };
    Ok(Received::Requested(id.into(), Box::new(call)))
}

fn is_id(id: &str) -> bool {
    (1..=ID_LENGTH_LIMIT).contains(&id.len())
}

fn invalid(id: &str, pointer: &str, reason: impl Into<String>) -> Invalid {
    let reason = reason.into();
    Invalid {
        id: id.to_owned(),
        failure: Failure::new(codes::INVALID_REQUEST)
            .with_message(&*reason)
            .with_violation(Violation::value(pointer, reason)),
    }
}

/// The pointer relative to the input, if it points into the input.
fn in_input(pointer: &str) -> Option<&str> {
    let rest = pointer.strip_prefix(INPUT)?;
    rest.starts_with('/').then_some(rest)
}

/// Reads the id even if the rest is nested too deeply: all other members are skipped.
fn unreadable(message: &[u8], error: &ReadError) -> Invalid {
    #[derive(Deserialize)]
    struct Identified {
        id: String,
    }
    let identified = match error {
        ReadError::TooDeep { .. } | ReadError::WideNumber { .. } => {
            serde_json::from_slice::<Identified>(message).ok()
        }
        _ => None,
    };
    let id = identified.map(|it| it.id).filter(|id| is_id(id));
    Invalid {
        id: id.unwrap_or_default(),
        failure: json::unreadable(error),
    }
}

/// Encodes an event.
pub(super) fn write(kind: Kind, id: &str, event: &Event) -> Message {
    let text = match event {
        Event::Responded(output) => text("call.responded", id, &Payload::Output { output }),
        Event::Completed => text("call.completed", id, &Payload::Empty {}),
        Event::Aborted => text("call.aborted", id, &Payload::Empty {}),
        Event::Failed(failure) => {
            let failure = Dialect::Call.failure(failure, Envelope::default());
            text("call.error", id, &Payload::Failure(failure))
        }
    };
    let text = text.unwrap_or_else(|error| {
        let payload = Dialect::Call.render_failure(&unwritable(&error), Envelope::default());
        json!({"type": "call.error", "id": id, "payload": payload}).to_string()
    });
    match kind {
        Kind::Text => Message::Text(text.into()),
        Kind::Binary => Message::Binary(text.into()),
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Payload<'a> {
    Output { output: &'a Output },
    Failure(FailureView<'a>),
    Empty {},
}

fn text(name: &str, id: &str, payload: &Payload<'_>) -> Result<String, serde_json::Error> {
    #[derive(Serialize)]
    struct Written<'a> {
        r#type: &'a str,
        id: &'a str,
        payload: &'a Payload<'a>,
    }
    serde_json::to_string(&Written {
        r#type: name,
        id,
        payload,
    })
}
