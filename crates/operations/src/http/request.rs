//! Builds the request from the input of `http/call`.
//!
//! The input matches its schema. Violations that a schema cannot express are reported here, all at once.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use panpan_failure::pointer::joined;
use panpan_failure::{Failure, Violation, codes};
use panpan_runtime::untyped;
use panpan_upstream::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use panpan_upstream::{Method, Outgoing, ParseError, RepeatSafety, Url};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The supported methods.
pub(super) const METHODS: &[&str] = &["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"];
/// The idempotent methods, which need no key.
pub(super) const IDEMPOTENT_METHODS: &[&str] = &["GET", "HEAD", "OPTIONS", "PUT"];
/// The encodings of a body.
pub(super) const BODY_TYPES: &[&str] = &["json", "text", "form", "base64"];
/// The default timeout.
pub(super) const TIMEOUT_MS: u64 = 30_000;
/// The shortest and the longest timeout.
pub(super) const TIMEOUT_MS_LIMITS: (u64, u64) = (100, 300_000);
/// The longest URL, in characters.
pub(super) const URL_LENGTH_LIMIT: usize = 8192;
/// The maximum number of headers.
pub(super) const HEADERS_LIMIT: usize = 100;
/// The maximum number of redirects.
pub(super) const REDIRECTS_LIMIT: usize = 10;
/// The largest request body, in bytes.
pub(super) const REQUEST_BYTES_LIMIT: usize = 10 * 1024 * 1024;

/// The header with the downstream key.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

#[derive(Deserialize)]
struct Input {
    #[serde(default = "default_method")]
    method: String,
    url: String,
    #[serde(default)]
    headers: Map<String, Value>,
    #[serde(default)]
    query: Map<String, Value>,
    body: Option<Value>,
    body_type: Option<BodyType>,
    timeout_ms: Option<u64>,
    max_redirects: Option<usize>,
}

fn default_method() -> String {
    METHODS[0].to_owned()
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum BodyType {
    Json,
    Text,
    Form,
    Base64,
}

/// Builds the request, or fails with all violations.
pub(super) fn outgoing(input: &Value, key: Option<String>) -> Result<Outgoing, Failure> {
    let input = Input::deserialize(input).map_err(|error| untyped(&error))?;
    let mut violations = Vec::new();
    let url = url(&input, &mut violations);
    let mut headers = headers(&input.headers, &mut violations);
    let body = body(&input, &mut headers, &mut violations);
    let method = Method::from_bytes(input.method.as_bytes()).map_err(|error| untyped(&error))?;
    let (Some(url), true) = (url, violations.is_empty()) else {
        return Err(invalid(violations));
    };
    if let Some(Ok(key)) = key.map(HeaderValue::try_from)
        && !method.is_safe()
    {
        headers.entry(IDEMPOTENCY_KEY).or_insert(key);
    }
    let mut outgoing = Outgoing::new(method, url);
    if outgoing.repeat_safety == RepeatSafety::NotRepeatable
        && headers.contains_key(IDEMPOTENCY_KEY)
    {
        outgoing.repeat_safety = RepeatSafety::Keyed;
    }
    outgoing.headers = headers;
    outgoing.body = body.map(Into::into);
    outgoing.timeout = Duration::from_millis(input.timeout_ms.unwrap_or(TIMEOUT_MS));
    if let Some(limit) = input.max_redirects {
        outgoing.redirects_limit = limit;
    }
    Ok(outgoing)
}

fn invalid(violations: Vec<Violation>) -> Failure {
    let first = violations.first();
    let pointer = first.map_or("", |first| first.pointer.as_str());
    let reason = first.map_or("", |first| first.reason.as_str());
    Failure::new(codes::ERR_VALIDATION_FAILED)
        .with_message(format!("the request cannot be sent: {pointer}: {reason}"))
        .with_violations(violations)
}

/// The URL with the query. An invalid URL is not quoted, since it may contain a password.
fn url(input: &Input, violations: &mut Vec<Violation>) -> Option<Url> {
    let mut url = match Url::parse(&input.url) {
        Ok(url) => url,
        Err(error) => {
            let problem = match error {
                ParseError::RelativeUrlWithoutBase => {
                    "it does not start with http:// or https://".to_owned()
                }
                other => other.to_string(),
            };
            let violation = Violation::value("/url", format!("is not a valid URL: {problem}"));
            violations.push(violation.expected("such as https://api.example.com/items"));
            return None;
        }
    };
    if !input.query.is_empty() {
        pairs(&input.query, "/query", violations, &mut url);
    }
    Some(url)
}

/// Adds pairs to the query of a URL.
fn pairs(members: &Map<String, Value>, at: &str, violations: &mut Vec<Violation>, url: &mut Url) {
    let mut query = url.query_pairs_mut();
    for (name, value) in members {
        let one = std::slice::from_ref(value);
        for value in value.as_array().map_or(one, Vec::as_slice) {
            match scalar(value) {
                Some(text) => {
                    query.append_pair(name, &text);
                }
                None => violations.push(Violation::value(
                    joined(at, name),
                    "is not a string, number or boolean, or a list of these",
                )),
            }
        }
    }
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn headers(members: &Map<String, Value>, violations: &mut Vec<Violation>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in members {
        match header(name, value) {
            Ok((name, value)) => {
                headers.append(name, value);
            }
            Err(reason) => violations.push(Violation::value(joined("/headers", name), reason)),
        }
    }
    headers
}

fn header(name: &str, value: &Value) -> Result<(HeaderName, HeaderValue), &'static str> {
    let name = HeaderName::try_from(name).map_err(|_| "is not a valid header name")?;
    if Outgoing::is_of_connection(&name) {
        return Err("belongs to the connection and cannot be set");
    }
    let value = value.as_str().and_then(|text| text.parse().ok());
    Ok((
        name,
        value.ok_or("contains characters that are not allowed in a header")?,
    ))
}

/// Encodes the body, and sets its content type unless the input does.
fn body(
    input: &Input,
    headers: &mut HeaderMap,
    violations: &mut Vec<Violation>,
) -> Option<Vec<u8>> {
    let body = input.body.as_ref()?;
    let (encoded, media_type) = match input.body_type.unwrap_or_else(|| default_type(body)) {
        BodyType::Json => (Ok(body.to_string().into_bytes()), "application/json"),
        BodyType::Text => (text(body), "text/plain; charset=utf-8"),
        BodyType::Form => (form(body, violations), "application/x-www-form-urlencoded"),
        BodyType::Base64 => (decoded(body), "application/octet-stream"),
    };
    headers
        .entry(CONTENT_TYPE)
        .or_insert(HeaderValue::from_static(media_type));
    let encoded = encoded.and_then(|bytes| {
        let fits = bytes.len() <= REQUEST_BYTES_LIMIT;
        fits.then_some(bytes).ok_or("is larger than 10 MiB")
    });
    match encoded {
        Ok(bytes) => Some(bytes),
        Err(reason) => {
            violations.push(Violation::value("/body", reason));
            None
        }
    }
}

fn default_type(body: &Value) -> BodyType {
    if body.is_string() {
        BodyType::Text
    } else {
        BodyType::Json
    }
}

fn text(body: &Value) -> Result<Vec<u8>, &'static str> {
    let text = body.as_str().ok_or("is not a string")?;
    Ok(text.as_bytes().to_vec())
}

fn decoded(body: &Value) -> Result<Vec<u8>, &'static str> {
    let text = body.as_str().ok_or("is not a string")?;
    BASE64_STANDARD
        .decode(text)
        .map_err(|_| "is not valid base64")
}

/// Encodes a form like a query.
fn form(body: &Value, violations: &mut Vec<Violation>) -> Result<Vec<u8>, &'static str> {
    let members = body.as_object().ok_or("is not an object")?;
    let mut url = Url::parse("http://form.example/").expect("the address is well formed");
    pairs(members, "/body", violations, &mut url);
    Ok(url.query().unwrap_or_default().as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn body_of(input: Value) -> Result<(String, String), Failure> {
        let mut all = json!({"method": "PUT", "url": "https://api.example.com"});
        all.as_object_mut()
            .unwrap()
            .extend(input.as_object().unwrap().clone());
        let outgoing = outgoing(&all, None)?;
        let kind = outgoing.headers.get(CONTENT_TYPE);
        let kind = kind.map_or(String::new(), |kind| kind.to_str().unwrap().to_owned());
        let body = outgoing.body.unwrap_or_default().to_vec();
        Ok((kind, String::from_utf8_lossy(&body).into_owned()))
    }

    #[test]
    fn a_body_is_encoded_according_to_its_type() {
        for (input, kind, body) in [
            (
                json!({"body": {"a": [1, null]}}),
                "application/json",
                r#"{"a":[1,null]}"#,
            ),
            (json!({"body": [1]}), "application/json", "[1]"),
            (
                json!({"body": "hello"}),
                "text/plain; charset=utf-8",
                "hello",
            ),
            (
                json!({"body": "hello", "body_type": "json"}),
                "application/json",
                "\"hello\"",
            ),
            (
                json!({"body": {"a b": "c&d", "e": [1, true]}, "body_type": "form"}),
                "application/x-www-form-urlencoded",
                "a+b=c%26d&e=1&e=true",
            ),
            (
                json!({"body": "aGk=", "body_type": "base64"}),
                "application/octet-stream",
                "hi",
            ),
            (
                json!({"body": "<a/>", "headers": {"Content-Type": "application/xml"}}),
                "application/xml",
                "<a/>",
            ),
            (json!({}), "", ""),
        ] {
            let found = body_of(input.clone()).unwrap();
            assert_eq!(found, (kind.to_owned(), body.to_owned()), "{input}");
        }
    }

    #[test]
    fn the_query_is_added_to_the_url() {
        let input = json!({
            "method": "GET",
            "url": "https://api.example.com/a?x=1#part",
            "query": {"q": "ü &", "list": ["a", 2]},
        });
        let url = outgoing(&input, None).unwrap().url;
        assert_eq!(
            url.as_str(),
            "https://api.example.com/a?x=1&list=a&list=2&q=%C3%BC+%26#part"
        );
    }

    #[test]
    fn a_key_is_sent_with_writes_unless_the_input_has_a_key_header() {
        for (method, headers, sent) in [
            ("POST", json!({}), Some("derived")),
            ("DELETE", json!({}), Some("derived")),
            ("GET", json!({}), None),
            ("POST", json!({"Idempotency-Key": "mine"}), Some("mine")),
        ] {
            let input = json!({"method": method, "url": "https://a.example", "headers": headers});
            let outgoing = outgoing(&input, Some("derived".to_owned())).unwrap();
            let found = outgoing.headers.get(IDEMPOTENCY_KEY);
            assert_eq!(found.map(|key| key.to_str().unwrap()), sent, "{method}");
        }
    }

    #[test]
    fn the_violation_for_a_url_without_a_scheme_names_the_scheme() {
        let input = json!({"method": "GET", "url": "api.example.com/items"});
        let failure = outgoing(&input, None).unwrap_err();
        let reason = "is not a valid URL: it does not start with http:// or https://";
        assert_eq!(failure.violations()[0].reason, reason);
    }

    #[test]
    fn all_violations_are_reported_at_once() {
        let input = json!({
            "method": "POST",
            "url": "http://me:hunter2@",
            "headers": {"a b": "1", "host": "evil", "x-a": "a\r\nb", "fine": "1"},
            "body": {"a": {"b": 1}},
            "body_type": "form",
        });
        let failure = outgoing(&input, None).unwrap_err();
        assert_eq!(failure.code().as_str(), "ERR_VALIDATION_FAILED");
        let pointers: Vec<&str> = failure
            .violations()
            .iter()
            .map(|violation| violation.pointer.as_str())
            .collect();
        assert_eq!(
            pointers,
            [
                "/url",
                "/headers/a b",
                "/headers/host",
                "/headers/x-a",
                "/body/a"
            ]
        );
        assert!(!format!("{failure:?}").contains("hunter2"));
    }

    #[test]
    fn the_size_of_a_body_is_limited_and_its_type_is_checked() {
        let fits = |length: usize| body_of(json!({"body": "a".repeat(length)})).is_ok();
        assert!(fits(REQUEST_BYTES_LIMIT));
        assert!(!fits(REQUEST_BYTES_LIMIT + 1));
        for (body, kind) in [
            (json!({"a": 1}), "text"),
            (json!("%"), "base64"),
            (json!(1), "base64"),
            (json!("a=b"), "form"),
        ] {
            assert!(
                body_of(json!({"body": body, "body_type": kind})).is_err(),
                "{body}"
            );
        }
    }
}
