//! The decoded body of a response, and the patterns of a contract that a response fits.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use panpan_contract::binding::{BodyPattern, HeaderPattern, ResponsePattern};
use panpan_failure::{StatusPattern, read};
use serde_json::Value;

use crate::client::Incoming;

/// The decoded body of a response.
pub(super) enum Body {
    Empty,
    Json(Value),
    Text(String),
    Bytes,
}

impl Body {
    pub(super) fn of(incoming: &Incoming) -> Self {
        if incoming.body.is_empty() {
            return Self::Empty;
        }
        let is_labelled = incoming.is_json() || incoming.media_type().is_none();
        let Some(text) = incoming.strict_text() else {
            return Self::Bytes;
        };
        match read::document(text.as_bytes()) {
            // Some services label objects and arrays as text.
            Ok(value) if is_labelled || value.is_object() || value.is_array() => Self::Json(value),
            // Malformed JSON reaches the caller as text.
            _ => Self::Text(text.into_owned()),
        }
    }

    pub(super) fn json(&self) -> Option<&Value> {
        match self {
            Self::Json(value) => Some(value),
            _ => None,
        }
    }

    pub(super) fn output(self, incoming: &Incoming) -> Value {
        match self {
            Self::Empty => Value::Null,
            Self::Json(value) => value,
            Self::Text(text) => Value::String(text),
            Self::Bytes => Value::String(BASE64_STANDARD.encode(&incoming.body)),
        }
    }
}

/// Whether a response fits a pattern of the contract.
pub(super) fn matches(pattern: &ResponsePattern, incoming: &Incoming, body: &Body) -> bool {
    let ResponsePattern {
        status,
        header,
        body: member,
    } = pattern;
    // The default covers failures only.
    let covers = |it: StatusPattern| {
        it.covers(incoming.status) && (it != StatusPattern::Default || incoming.status >= 400)
    };
    status.is_none_or(covers)
        && header.as_ref().is_none_or(|it| has_header(it, incoming))
        && member.as_ref().is_none_or(|it| has_member(it, body))
}

fn has_header(pattern: &HeaderPattern, incoming: &Incoming) -> bool {
    let values = incoming.headers.get_all(&pattern.name).iter();
    let mut values = values.filter_map(|value| value.to_str().ok());
    values.any(|value| {
        let equals = pattern.equals.as_ref().is_none_or(|it| it == value);
        let contains = pattern.contains.as_ref();
        equals && contains.is_none_or(|it| value.contains(it))
    })
}

fn has_member(pattern: &BodyPattern, body: &Body) -> bool {
    let Some(value) = body.json().and_then(|it| it.pointer(&pattern.pointer)) else {
        return false;
    };
    let equals = pattern.equals.as_ref().is_none_or(|it| it == value);
    let contains = pattern.contains.as_ref().is_none_or(|part| {
        let text = value.as_str().unwrap_or_default().to_lowercase();
        text.contains(&part.to_lowercase())
    });
    equals && contains
}
