//! What was heard, and whether a panpan said it.
//!
//! Any server may listen at an address, and any proxy may answer in front of it: only what has the shape
//! of a panpan's answer counts as one. Everything else is told as what it is.

use http::header::{CONTENT_TYPE, HeaderMap, LOCATION, RETRY_AFTER};
use jiff::Timestamp;
use panpan_failure::dialect::{Dialect, RESIDUAL};
use panpan_failure::read::{self, ReadError};
use panpan_failure::{Effect, Failure};
use serde_json::Value;
use url::Url;
use uuid::Uuid;

use super::RemoteAnswer;
use crate::charset;
use crate::classify::{Answer, classify};
use crate::trouble::shown;
use crate::wire::{Reply, WireError};

/// The longest answer that is read, in bytes.
pub const ANSWER_BYTES_LIMIT: usize = 16 * 1024 * 1024;

/// How much of a stranger's answer is quoted, in characters.
const QUOTED_CHARACTERS_LIMIT: usize = 80;

/// The header of an outcome that was there already.
const REPLAYED: &str = "idempotent-replayed";

/// An answer as it came.
#[derive(Debug)]
pub(super) struct Heard {
    status: u16,
    headers: HeaderMap,
    /// At most one byte longer than is read.
    body: Vec<u8>,
}

impl Heard {
    /// Reads the whole answer, or as much of it as shows that it is too long.
    pub(super) async fn of(mut reply: Reply) -> Result<Self, WireError> {
        let mut body = Vec::new();
        while body.len() <= ANSWER_BYTES_LIMIT {
            let Some(bytes) = reply.chunk().await? else {
                break;
            };
            let room = ANSWER_BYTES_LIMIT + 1 - body.len();
            body.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
        Ok(Self {
            status: reply.status().as_u16(),
            headers: reply.headers().clone(),
            body,
        })
    }

    /// An answer of which only the head was looked at.
    pub(super) fn head(reply: &Reply) -> Self {
        Self {
            status: reply.status().as_u16(),
            headers: reply.headers().clone(),
            body: Vec::new(),
        }
    }

    /// What a panpan answered, or what is wrong with the answer.
    pub(super) fn read(&self, url: &Url) -> Result<RemoteAnswer, Failure> {
        let read = read::document_within(&self.body, ANSWER_BYTES_LIMIT);
        let reply = read.and_then(|document| {
            if is_of_panpan(&document, self.status) {
                Dialect::Call.read(document)
            } else {
                let hint = "it is neither an output nor a failure".to_owned();
                Err(ReadError::Unrecognised { hint })
            }
        });
        let reply = reply.map_err(|error| self.stranger(url, error))?;
        let named = reply.request_id.as_ref().and_then(Value::as_str);
        Ok(RemoteAnswer {
            call: named.and_then(|id| Uuid::try_parse(id).ok()),
            outcome: reply.outcome,
            replayed: self
                .header(REPLAYED)
                .is_some_and(|value| value.eq_ignore_ascii_case("true")),
        })
    }

    /// Whether items follow.
    pub(super) fn begins_a_stream(&self) -> bool {
        let kind = self.header("content-type").unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        self.status == 200 && kind.eq_ignore_ascii_case("text/event-stream")
    }

    /// The failure for an answer no panpan gives. Its status tells more than its body.
    pub(super) fn stranger(&self, url: &Url, error: ReadError) -> Failure {
        let body = charset::text(&self.body, self.header("content-type"));
        let headers: Vec<(&str, &str)> = self
            .header(RETRY_AFTER.as_str())
            .map(|value| (RETRY_AFTER.as_str(), value))
            .into_iter()
            .collect();
        let answer = Answer {
            status: self.status,
            headers: &headers,
            body: &body,
            provider: url.host_str(),
        };
        let failure = classify(&answer, Timestamp::now())
            .unwrap_or_else(|| Failure::from(error).with_effect(Effect::Unknown));
        failure
            .with_message(self.described(url, &body))
            .with_detail("server", shown(url))
            .with_detail("status", self.status)
            .with_actions(["Check the address: another server or a proxy answers there"])
    }

    fn described(&self, url: &Url, body: &str) -> String {
        let status = self.status;
        let kind = self.header(CONTENT_TYPE.as_str()).unwrap_or("no type");
        let mut text = format!(
            "{} answered HTTP {status} ({kind}), and that is no answer of a panpan server",
            shown(url)
        );
        if let Some(location) = self.header(LOCATION.as_str()) {
            text.push_str(&format!("; it points to {location:?}"));
        }
        let quoted: String = body.trim().chars().take(QUOTED_CHARACTERS_LIMIT).collect();
        if !quoted.is_empty() {
            text.push_str(&format!("; it begins with {quoted:?}"));
        }
        text
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// Whether a panpan answers like that: an output with the call's id, or a failure with everything the
/// members of its shape have no room for.
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

    fn heard(status: u16, headers: &[(&'static str, &str)], body: &str) -> Heard {
        let headers = headers.iter().map(|(name, value)| {
            let name = http::header::HeaderName::from_static(name);
            (name, value.parse().unwrap())
        });
        Heard {
            status,
            headers: headers.collect(),
            body: body.into(),
        }
    }

    fn read(heard: &Heard) -> Result<RemoteAnswer, Failure> {
        heard.read(&Url::parse("http://127.0.0.1:7077/").unwrap())
    }

    #[test]
    fn outputs_and_failures_of_a_panpan_are_read() {
        let id = "6ba7b810-9dad-41d1-80b4-00c04fd430c8";
        let success = json!({"request_id": id, "result": "ok", "output": null}).to_string();
        let answer = read(&heard(200, &[(REPLAYED, "true")], &success)).unwrap();
        assert_eq!(answer.call.unwrap().to_string(), id);
        assert_eq!(answer.outcome.unwrap(), Value::Null);
        assert!(answer.replayed);
        let failure = r#"{"code": "NOT_FOUND", "message": "no", "retryable": false, "panpan": {}}"#;
        let answer = read(&heard(404, &[], failure)).unwrap();
        assert_eq!(answer.outcome.unwrap_err().code().as_str(), "NOT_FOUND");
        assert!(!answer.replayed);
    }

    #[test]
    fn answers_of_others_are_told_as_what_they_are() {
        let kind = "content-type";
        for (status, header, body, code, said) in [
            (
                200,
                (kind, "text/html"),
                "<html>Welcome",
                "ERR_JSON_INVALID",
                "HTTP 200 (text/html), and that is no answer of a panpan server; it begins with \"<html>Welcome\"",
            ),
            (
                200,
                (kind, "application/json"),
                r#"{"hello": "world"}"#,
                "ERR_JSON_SCHEMA_MISMATCH",
                "HTTP 200 (application/json)",
            ),
            (
                200,
                (kind, "application/json"),
                r#"{"result": "ok", "request_id": "1"}"#,
                "ERR_JSON_SCHEMA_MISMATCH",
                "HTTP 200",
            ),
            (204, (kind, ""), "", "ERR_JSON_INVALID", "HTTP 204"),
            (
                301,
                ("location", "https://elsewhere.example/"),
                "",
                "ERR_JSON_INVALID",
                "HTTP 301 (no type), and that is no answer of a panpan server; it points to \"https://elsewhere.example/\"",
            ),
            (
                404,
                (kind, "application/json"),
                r#"{"code": "NOT_FOUND", "message": "no route"}"#,
                "ERR_HTTP_404_NOT_FOUND",
                "HTTP 404",
            ),
            (
                502,
                (kind, "text/html"),
                "<h1>Bad Gateway</h1>",
                "ERR_HTTP_502_BAD_GATEWAY",
                "HTTP 502 (text/html)",
            ),
        ] {
            let failure = read(&heard(status, &[header], body)).unwrap_err();
            assert_eq!(failure.code().as_str(), code, "{body}");
            assert_eq!(failure.effect() == Effect::None, status == 404, "{body}");
            let message = failure.message();
            assert!(message.contains(said), "{message}");
        }
    }

    #[test]
    fn a_proxy_that_says_when_to_come_back_is_heard() {
        let failure = read(&heard(503, &[("retry-after", "7")], "busy")).unwrap_err();
        assert_eq!(failure.recovery().retry_after_ms, Some(7000));
    }

    #[test]
    fn only_so_much_of_an_answer_is_quoted() {
        for (length, quoted) in [
            (QUOTED_CHARACTERS_LIMIT, QUOTED_CHARACTERS_LIMIT),
            (QUOTED_CHARACTERS_LIMIT + 1, QUOTED_CHARACTERS_LIMIT),
        ] {
            let failure = read(&heard(200, &[], &"é".repeat(length))).unwrap_err();
            assert_eq!(failure.message().matches('é').count(), quoted);
        }
    }
}
