//! Parses a response and checks that a panpan sent it.
//!
//! Another server may listen at the address, or a proxy may answer: only a document with the shape of a panpan
//! response counts. Any other response becomes a failure that describes it.

use http::header::{CONTENT_TYPE, LOCATION};
use jiff::Timestamp;
use panpan_failure::dialect::{Dialect, RESIDUAL};
use panpan_failure::read::{self, ReadError};
use panpan_failure::{Effect, Failure};
use serde_json::Value;
use uuid::Uuid;

use super::RemoteResponse;
use crate::client::Incoming;
use crate::exchange::display_url;

/// The longest response body that is read, in bytes.
pub const RESPONSE_BYTES_LIMIT: usize = 16 * 1024 * 1024;

/// How much of a body is quoted if no panpan sent it, in characters.
const QUOTE_CHARACTERS_LIMIT: usize = 80;

/// The header that marks a replayed outcome.
const REPLAYED: &str = "idempotent-replayed";

impl RemoteResponse {
    /// The response of a panpan, or a failure that describes another response.
    pub(super) fn parse(incoming: &Incoming) -> Result<Self, Failure> {
        let parsed = document(incoming).and_then(|document| {
            if is_of_panpan(&document, incoming.status) {
                Dialect::Call.read(document)
            } else {
                let hint = "it is neither an output nor a failure".to_owned();
                Err(ReadError::Unrecognised { hint })
            }
        });
        let parsed = parsed.map_err(|error| not_of_panpan(incoming, error))?;
        let id = parsed.request_id.as_ref().and_then(Value::as_str);
        Ok(Self {
            call: id.and_then(|id| Uuid::try_parse(id).ok()),
            outcome: parsed.outcome,
            replayed: header(incoming, REPLAYED).is_some_and(|it| it.eq_ignore_ascii_case("true")),
        })
    }
}

fn document(incoming: &Incoming) -> Result<Value, ReadError> {
    let limit = RESPONSE_BYTES_LIMIT;
    if incoming.is_cut {
        let bytes = limit + 1;
        return Err(ReadError::TooLarge { bytes, limit });
    }
    read::document_within(&incoming.body, limit)
}

/// The failure for a response that no panpan sent. An error status says more than the parse error.
pub(super) fn not_of_panpan(incoming: &Incoming, error: ReadError) -> Failure {
    let failure = incoming.failure(false, Timestamp::now());
    let failure = failure.unwrap_or_else(|| Failure::from(error).with_effect(Effect::Unknown));
    failure
        .with_message(description(incoming))
        .with_detail("server", display_url(&incoming.url))
        .with_detail("status", incoming.status)
        .with_actions(["Check the address: another server or a proxy answers there"])
}

fn description(incoming: &Incoming) -> String {
    let content_type = header(incoming, CONTENT_TYPE.as_str());
    let mut text = format!(
        "{} answered HTTP {} ({}), which is not a response of a panpan server",
        display_url(&incoming.url),
        incoming.status,
        content_type.unwrap_or("no content type")
    );
    if let Some(location) = header(incoming, LOCATION.as_str()) {
        text.push_str(&format!("; its Location is {location:?}"));
    }
    let body = incoming.text().unwrap_or_default();
    let quote: String = body.trim().chars().take(QUOTE_CHARACTERS_LIMIT).collect();
    if !quote.is_empty() {
        text.push_str(&format!("; its body begins with {quote:?}"));
    }
    text
}

fn header<'a>(incoming: &'a Incoming, name: &str) -> Option<&'a str> {
    incoming.headers.get(name)?.to_str().ok()
}

/// Whether a document has the shape of a panpan response: an output with the id of the call, or a failure with its
/// residual.
fn is_of_panpan(document: &Value, status: u16) -> bool {
    let has = |name: &str| document.get(name).is_some();
    if status < 400 {
        return status == 200 && document["result"] == "ok" && has("request_id");
    }
    document["code"].is_string() && document[RESIDUAL].is_object()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn response(status: u16, headers: &[(&'static str, &str)], body: &str) -> Incoming {
        let headers = headers.iter().map(|(name, value)| {
            let name = http::header::HeaderName::from_static(name);
            (name, value.parse().unwrap())
        });
        Incoming {
            status,
            headers: headers.collect(),
            body: body.to_owned().into(),
            is_cut: false,
            url: "http://127.0.0.1:7077/".parse().unwrap(),
            redirects: 0,
            after_write: false,
        }
    }

    fn parse(response: &Incoming) -> Result<RemoteResponse, Failure> {
        RemoteResponse::parse(response)
    }

    #[test]
    fn outputs_and_failures_of_a_panpan_are_parsed() {
        let id = "6ba7b810-9dad-41d1-80b4-00c04fd430c8";
        let success = json!({"request_id": id, "result": "ok", "output": null}).to_string();
        let answer = parse(&response(200, &[(REPLAYED, "true")], &success)).unwrap();
        assert_eq!(answer.call.unwrap().to_string(), id);
        assert_eq!(answer.outcome.unwrap(), Value::Null);
        assert!(answer.replayed);
        let failure = r#"{"code": "NOT_FOUND", "message": "no", "retryable": false, "panpan": {}}"#;
        let answer = parse(&response(404, &[], failure)).unwrap();
        assert_eq!(answer.outcome.unwrap_err().code().as_str(), "NOT_FOUND");
        assert!(!answer.replayed);
    }

    #[test]
    fn responses_of_other_servers_are_described() {
        let content_type = "content-type";
        for (status, header, body, code, expected) in [
            (
                200,
                (content_type, "text/html"),
                "<html>Welcome",
                "ERR_JSON_INVALID",
                "HTTP 200 (text/html), which is not a response of a panpan server; its body begins with \"<html>Welcome\"",
            ),
            (
                200,
                (content_type, "application/json"),
                r#"{"hello": "world"}"#,
                "ERR_JSON_SCHEMA_MISMATCH",
                "HTTP 200 (application/json)",
            ),
            (
                200,
                (content_type, "application/json"),
                r#"{"result": "ok", "request_id": "1"}"#,
                "ERR_JSON_SCHEMA_MISMATCH",
                "HTTP 200",
            ),
            (204, (content_type, ""), "", "ERR_JSON_INVALID", "HTTP 204"),
            (
                301,
                ("location", "https://elsewhere.example/"),
                "",
                "ERR_JSON_INVALID",
                "HTTP 301 (no content type), which is not a response of a panpan server; its Location is \"https://elsewhere.example/\"",
            ),
            (
                404,
                (content_type, "application/json"),
                r#"{"code": "NOT_FOUND", "message": "no route"}"#,
                "ERR_HTTP_404_NOT_FOUND",
                "HTTP 404",
            ),
            (
                502,
                (content_type, "text/html"),
                "<h1>Bad Gateway</h1>",
                "ERR_HTTP_502_BAD_GATEWAY",
                "HTTP 502 (text/html)",
            ),
        ] {
            let failure = parse(&response(status, &[header], body)).unwrap_err();
            assert_eq!(failure.code().as_str(), code, "{body}");
            assert_eq!(failure.effect() == Effect::None, status == 404, "{body}");
            let message = failure.message();
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn a_delay_in_a_header_of_a_proxy_is_kept() {
        for header in [("retry-after", "7"), ("retry-after-ms", "7000")] {
            let failure = parse(&response(503, &[header], "busy")).unwrap_err();
            assert_eq!(failure.recovery().retry_after_ms, Some(7000), "{header:?}");
        }
    }

    #[test]
    fn the_quote_of_a_body_is_truncated() {
        for (length, quoted) in [
            (QUOTE_CHARACTERS_LIMIT, QUOTE_CHARACTERS_LIMIT),
            (QUOTE_CHARACTERS_LIMIT + 1, QUOTE_CHARACTERS_LIMIT),
        ] {
            let failure = parse(&response(200, &[], &"é".repeat(length))).unwrap_err();
            assert_eq!(failure.message().matches('é').count(), quoted);
        }
    }
}
