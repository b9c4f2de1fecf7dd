//! Builds the output of `http/call` from the response.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use panpan_contract::{digest, hex};
use panpan_failure::read;
use panpan_upstream::Incoming;
use panpan_upstream::header::HeaderMap;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

pub(super) fn output(incoming: &Incoming, latency_ms: u64, retries: u32) -> Value {
    let headers = headers(&incoming.headers);
    let (body_type, body) = body(incoming);
    json!({
        "status_code": incoming.status,
        "url": incoming.url.as_str(),
        "headers_hash": hex(&digest(&headers)),
        "headers": headers,
        "body": body,
        "body_type": body_type,
        "body_hash": hex(&Sha256::digest(&incoming.body)),
        "latency_ms": latency_ms,
        "retries": retries,
    })
}

/// Headers by name; repeated headers are joined with commas.
fn headers(headers: &HeaderMap) -> Value {
    let mut members = Map::new();
    for (name, value) in headers {
        let value = String::from_utf8_lossy(value.as_bytes());
        match members.get_mut(name.as_str()) {
            Some(Value::String(before)) => {
                before.push_str(", ");
                before.push_str(&value);
            }
            _ => {
                members.insert(name.as_str().to_owned(), value.into());
            }
        }
    }
    Value::Object(members)
}

/// JSON if the content type says so and the body parses; otherwise text, or base64.
fn body(incoming: &Incoming) -> (&'static str, Value) {
    if incoming.body.is_empty() {
        return ("none", Value::Null);
    }
    let Some(text) = incoming.strict_text() else {
        return ("base64", BASE64_STANDARD.encode(&incoming.body).into());
    };
    let document = || read::document_within(text.as_bytes(), text.len()).ok();
    match incoming.is_json().then(document).flatten() {
        Some(document) => ("json", document),
        None => ("text", text.into()),
    }
}
