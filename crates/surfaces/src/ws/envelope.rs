//! `{type, id, payload}`: from messages to requests, and from events to messages.

use std::sync::Arc;

use axum::extract::ws::Message;
use panpan_failure::dialect::{Dialect, Envelope, FailureView};
use panpan_failure::read::{self, ReadError};
use panpan_failure::{Failure, Violation, codes};
use panpan_runtime::{CallRequest, Output};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::call::{Asked, Event};
use crate::json::{self, AnyValue, Twice};
use crate::meta::Names;

/// The longest id, in bytes. It is repeated with every item of a subscription.
pub(super) const ID_LENGTH_LIMIT: usize = 256;

/// Where a request says what it says besides its input.
const IN_PAYLOAD: Names = Names {
    within: "/payload",
    key: "idempotency_key",
    seed: "retry_seed",
    timeout: "timeout_ms",
    trace: "traceparent",
};

/// Where the input stands.
const INPUT: &str = "/payload/input";

/// The two kinds of messages. A request is answered in its own kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Binary,
}

/// What a client may send.
pub(super) enum Received {
    Requested(Arc<str>, Box<Asked>),
    Aborted(Arc<str>),
}

/// What is none of it, with the id where that could be read.
pub(super) struct Invalid {
    pub(super) id: String,
    pub(super) failure: Failure,
}

/// Reads a message.
pub(super) fn read(message: &[u8], limit: usize) -> Result<Received, Invalid> {
    let mut twice = Twice::default();
    let document = read::request_as(message, limit, AnyValue(&mut twice));
    let document = document.map_err(|error| unreadable(message, &error))?;
    let twice = twice.pointer();
    let Value::Object(mut members) = document else {
        return Err(invalid("", "", "an envelope is an object"));
    };
    let id = match members.remove("id") {
        Some(Value::String(id)) if is_id(&id) && twice.as_deref() != Some("/id") => id,
        _ => {
            let reason = format!("id has to be a string of 1 to {ID_LENGTH_LIMIT} bytes");
            return Err(invalid("", "/id", reason));
        }
    };
    if let Some(pointer) = &twice
        && in_input(pointer).is_none()
    {
        let reason = format!("the member at {pointer} stands twice");
        return Err(invalid(&id, pointer, reason));
    }
    let payload = members.remove("payload");
    match members.get("type").and_then(Value::as_str) {
        Some("call.requested") => requested(id, payload, twice),
        Some("call.aborted") => Ok(Received::Aborted(id.into())),
        _ => {
            let reason = "type has to be call.requested or call.aborted";
            Err(invalid(&id, "/type", reason))
        }
    }
}

fn requested(
    id: String,
    payload: Option<Value>,
    twice: Option<String>,
) -> Result<Received, Invalid> {
    let Some(Value::Object(mut payload)) = payload else {
        return Err(invalid(&id, "/payload", "payload has to be an object"));
    };
    let Some(Value::String(operation)) = payload.remove("operationId") else {
        let reason = "operationId has to be the name of an operation, as a string";
        return Err(invalid(&id, "/payload/operationId", reason));
    };
    let auth_token = match payload.remove("auth_token") {
        None => None,
        Some(Value::String(token)) => Some(token),
        Some(_) => {
            let reason = "auth_token has to be a string";
            return Err(invalid(&id, "/payload/auth_token", reason));
        }
    };
    let input = payload.remove("input");
    let input = input.unwrap_or_else(|| Value::Object(Map::new()));
    let mut request = CallRequest::from_wire(operation, input);
    let applied = IN_PAYLOAD.apply(&payload, &mut request);
    let twice = twice.as_deref().and_then(in_input).map(ambiguous);
    let problem = twice.or(applied.err());
    let asked = Asked {
        request,
        auth_token,
        problem,
    };
    Ok(Received::Requested(id.into(), Box::new(asked)))
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

/// The rest of a pointer that leads into the input.
fn in_input(pointer: &str) -> Option<&str> {
    let rest = pointer.strip_prefix(INPUT)?;
    rest.starts_with('/').then_some(rest)
}

/// A name in the input stands twice.
fn ambiguous(pointer: &str) -> Failure {
    let reason = format!("the name at {pointer} stands twice, and nobody can tell which is meant");
    Failure::new(codes::INVALID_INPUT)
        .with_message(&*reason)
        .with_violation(Violation::value(pointer, reason))
}

/// The id can be read even where the rest is too deep: everything else is skipped, not built.
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

/// Writes an event.
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
    let text = text.unwrap_or_else(|error| unwritable(id, &error));
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

/// What is sent in place of a recorded output that is not what was put into the store.
fn unwritable(id: &str, error: &serde_json::Error) -> String {
    let failure = Failure::new(codes::INTERNAL).caused_by(error);
    let failure = failure
        .with_message("the recorded output cannot be read")
        .redacted();
    let payload = Dialect::Call.render_failure(&failure, Envelope::default());
    json!({"type": "call.error", "id": id, "payload": payload}).to_string()
}
