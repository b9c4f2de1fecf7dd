//! The shapes in which third-party servers report errors. They are parsed, but never trusted for
//! more than they state.

use jiff::Timestamp;
use panpan_failure::catalogue::Entry;
use panpan_failure::dialect::{Dialect, read_foreign};
use panpan_failure::{Alternative, Category, Effect, Failure, codes, hint};
use panpan_mcp::names::{CAPABILITY_MISSING, URL_ELICITATION_REQUIRED};
use rmcp::model::{ElicitRequest, ElicitRequestParams, InputRequest};
use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use super::error::RpcError;
use super::tool_error::bounded;
use crate::classify::ErrorBody;
use crate::classify::{ErrorResponse, classify};

/// How far into a text a status is searched for, in characters.
const STATUS_SEARCH_CHARACTERS: usize = 400;

/// The words before a status in the error texts of common servers and clients, in lower case.
const STATUS_PREFIXES: [&str; 9] = [
    "http error ",
    "http status ",
    "status code: ",
    "status code ",
    "status: ",
    "client error '",
    "server error '",
    "http/1.1 ",
    "http ",
];

/// Texts that mean a rate limit.
const RATE_LIMITED: [&str; 3] = ["rate limited", "rate limit exceeded", "too many requests"];

/// The codes for error names of the operating system.
const ERRNO: [(&str, &Entry); 14] = [
    ("EACCES", codes::NOT_AUTHORIZED),
    ("ECONNREFUSED", codes::ERR_CONNECTION_REFUSED),
    ("ECONNRESET", codes::ERR_SOCKET_ERROR),
    ("EEXIST", codes::ALREADY_EXISTS),
    ("EINVAL", codes::INVALID_INPUT_ERROR),
    ("EISDIR", codes::INVALID_INPUT_ERROR),
    ("EMFILE", codes::ERR_RESOURCE_EXHAUSTED),
    ("ENOENT", codes::ARTIFACT_NOT_FOUND),
    ("ENOSPC", codes::ERR_RESOURCE_EXHAUSTED),
    ("ENOTDIR", codes::INVALID_INPUT_ERROR),
    ("ENOTFOUND", codes::ERR_DNS_FAILURE),
    ("EPERM", codes::NOT_AUTHORIZED),
    ("EROFS", codes::NOT_AUTHORIZED),
    ("ETIMEDOUT", codes::ERR_TIMEOUT),
];

/// The members of the envelope `{errorType, message, …}` with advice.
const ADVICE_MEMBERS: [&str; 2] = ["suggestion", "aiGuidance"];

/// The number of URL elicitations of one error that are followed.
const URL_ELICITATIONS_LIMIT: usize = 8;

/// The number of alternative tools that are named.
const ALTERNATIVES_LIMIT: usize = 8;

/// `{errorType, message, details, retryable, aiGuidance, userFixable, suggestion}`.
pub(super) fn envelope(document: &Value) -> Option<Failure> {
    let code = document.get("errorType")?.as_str()?;
    let message = document.get("message")?.as_str()?;
    let known = json!({
        "code": code,
        "message": bounded(message),
        "retryable": document.get("retryable"),
    });
    let failure = stated(known)?;
    let failure = match document.get("details").and_then(Value::as_object) {
        Some(details) => failure.with_details(details.clone()),
        None => failure,
    };
    let text = |name: &&str| Some(bounded(document.get(*name)?.as_str()?));
    let advice: Vec<String> = ADVICE_MEMBERS.iter().filter_map(text).collect();
    Some(failure.with_actions(advice))
}

/// `recovery {error_code, message, suggest, fix_example, related_tools, retry}` beside the content.
pub(super) fn recovery_object(recovery: &Value, text: Option<&str>) -> Option<Failure> {
    let code = recovery.get("error_code")?.as_str()?;
    let message = recovery.get("message").and_then(Value::as_str).or(text);
    let known = json!({
        "code": code,
        "message": bounded(message.unwrap_or(code)),
        "retryable": recovery.get("retry").filter(|retry| retry.is_boolean()),
    });
    let failure = stated(known)?;
    let suggestion = recovery.get("suggest").and_then(Value::as_str);
    let failure = failure.with_actions(suggestion.map(bounded));
    let tools = recovery.get("related_tools").and_then(Value::as_array);
    let tools = tools.into_iter().flatten().filter_map(Value::as_str);
    let alternatives: Vec<Alternative> = tools
        .take(ALTERNATIVES_LIMIT)
        .map(|tool| Alternative::from(format!("Use the tool {}", bounded(tool)).as_str()))
        .collect();
    if alternatives.is_empty() {
        return Some(failure);
    }
    Some(failure.with_alternatives(alternatives))
}

/// A document with a message and with members of our own vocabulary for retryability, delay or
/// effect. A single-word message is also the code.
pub(super) fn own_vocabulary(document: &Value, has_delay: bool) -> Option<Failure> {
    let body = ErrorBody::of_json(document);
    let is_known = has_delay || body.retryable.is_some() || body.effect.is_some();
    let message = body.message.filter(|_| is_known)?;
    let may_pass = body.retryable.unwrap_or(has_delay);
    let failure = body.codes.first().and_then(|word| {
        let known = json!({"code": word, "message": bounded(&message), "retryable": may_pass});
        read_foreign(known, None)
    });
    let failure = failure.unwrap_or_else(|| {
        let failure = Failure::new(codes::TOOL_FAILED).with_message(bounded(&message));
        match may_pass {
            // A passing condition does not mean that nothing was done.
            true => failure.restated(codes::ERR_TRY_LATER.into()),
            false => failure,
        }
    });
    let failure = match document.as_object() {
        Some(members) => failure.with_details(members.clone()),
        None => failure,
    };
    Some(match body.effect {
        Some(effect) => failure.with_effect(effect),
        None => failure,
    })
}

/// A failure by its code and its stated retryability.
fn stated(mut known: Value) -> Option<Failure> {
    if let Value::Object(members) = &mut known {
        members.retain(|_, value| !value.is_null());
    }
    Dialect::Call.read(known).ok()?.outcome.err()
}

/// An HTTP status in a text.
pub(super) fn status_in_text(text: &str, server: &str, now: Timestamp) -> Option<Failure> {
    let beginning: String = text.chars().take(STATUS_SEARCH_CHARACTERS).collect();
    let beginning = beginning.to_ascii_lowercase();
    let (at, status) = status_in(&beginning).or_else(|| rate_limit_in(&beginning))?;
    let failure = from_status(status, text, server, now)?;
    // A guess must not allow repeating a change. A text that starts with the rate limit and states
    // its end is not a guess: that is how servers refuse a call.
    let is_refusal = failure.category() == Category::RateLimit
        && failure.stated_retry_after_ms().is_some()
        && is_opening(&beginning[..at]);
    let failure = match is_refusal {
        true => failure,
        false => failure.with_effect(Effect::Unknown),
    };
    Some(failure.with_message(bounded(text)))
}

/// The name of an operating system error at the beginning of a text, as Node.js writes it.
pub(super) fn errno_in_text(text: &str) -> Option<Failure> {
    let text = text.trim();
    let (name, _) = text
        .strip_prefix("Error: ")
        .unwrap_or(text)
        .split_once(':')?;
    let (_, entry) = ERRNO.iter().find(|(known, _)| *known == name)?;
    let failure = Failure::new(*entry).with_effect(Effect::Unknown);
    Some(failure.with_message(bounded(text)))
}

/// A status in a text, and its position.
fn status_in(text: &str) -> Option<(usize, u16)> {
    STATUS_PREFIXES.iter().find_map(|words| {
        let mut found = text.match_indices(words);
        found.find_map(|(at, _)| Some((at, leading_status(&text[at + words.len()..])?)))
    })
}

/// The position of a rate limit in a text.
fn rate_limit_in(text: &str) -> Option<(usize, u16)> {
    let at = RATE_LIMITED.iter().find_map(|words| text.find(words))?;
    Some((at, 429))
}

/// Whether the text before a rate limit adds nothing: it is empty, names the owner of the limit, or
/// announces an error.
fn is_opening(before: &str) -> bool {
    let before = before.trim();
    let is_title = before.contains("error") && before.ends_with(':');
    is_title || !before.contains(char::is_whitespace)
}

/// The three digits at the beginning of a text, if they are an error status.
fn leading_status(text: &str) -> Option<u16> {
    let digits = text.get(..3)?;
    let ends = !text[3..].starts_with(|next: char| next.is_ascii_alphanumeric() || next == '.');
    let status: u16 = digits.parse().ok().filter(|_| ends)?;
    (400..600).contains(&status).then_some(status)
}

/// The failure for the HTTP status of a service behind the tool.
pub(super) fn from_status(
    status: u16,
    body: &str,
    server: &str,
    now: Timestamp,
) -> Option<Failure> {
    let answer = ErrorResponse {
        status,
        headers: &[],
        body,
        provider: Some(server),
    };
    (400..600)
        .contains(&status)
        .then(|| classify(&answer, now))?
}

/// JSON-RPC errors with codes that only some servers use.
pub(super) fn known_code(error: &RpcError, now: Timestamp) -> Option<Failure> {
    let text = error.message.to_ascii_lowercase();
    let data = error
        .data
        .clone()
        .unwrap_or_else(|| Value::Object(Map::new()));
    let failure = match error.code {
        // Proposed for the protocol, with the delay in its data.
        -32023 => Failure::new(codes::ERR_HTTP_429_RATE_LIMITED),
        -32001 if text.contains("timed out") || text.contains("timeout") => {
            Failure::new(codes::ERR_TIMEOUT)
        }
        _ if is_unknown_tool(error) => Failure::new(codes::ARTIFACT_NOT_FOUND),
        -32002 => Failure::new(codes::ARTIFACT_NOT_FOUND),
        URL_ELICITATION_REQUIRED => Failure::new(codes::TOOL_FAILED)
            .with_effect(Effect::None)
            .with_actions([open_url(&data)]),
        CAPABILITY_MISSING => Failure::new(codes::TOOL_FAILED)
            .with_effect(Effect::None)
            .with_actions([with_capabilities(&data)]),
        -32099..=-32000 => read_foreign(data.clone(), None)
            .or_else(|| status_in_text(&error.message, "the server", now))?,
        _ => return None,
    };
    let hint = hint::from_body(&data, now).filter(|_| failure.retryable());
    Some(match hint {
        Some(hint) => failure.with_retry_after_ms(hint.delay_ms),
        None => failure,
    })
}

/// The action for a URL elicitation.
fn open_url(data: &Value) -> String {
    let first = data.pointer("/elicitations/0");
    let text = |name: &str| Some(bounded(first?.get(name)?.as_str()?));
    match (text("url"), text("message")) {
        (Some(url), Some(why)) => format!("Ask a person to open {url} ({why}), then call again"),
        (Some(url), None) => format!("Ask a person to open {url}, then call again"),
        _ => "Ask a person: the server requires a confirmation elsewhere".to_owned(),
    }
}

/// The action for a missing client capability.
fn with_capabilities(data: &Value) -> String {
    let required = data.get("requiredCapabilities").and_then(Value::as_object);
    let names: Vec<String> = required
        .map(|it| it.keys().map(|name| bounded(name)).collect())
        .unwrap_or_default();
    match names.is_empty() {
        true => "Call the tool with an MCP client that supports what it requires".to_owned(),
        false => format!(
            "Call the tool with an MCP client that supports {}",
            names.join(", ")
        ),
    }
}

/// The URL elicitations that an error requires.
pub(super) fn url_elicitations(error: &RpcError) -> Vec<InputRequest> {
    if error.code != URL_ELICITATION_REQUIRED {
        return Vec::new();
    }
    let listed = error.data.as_ref().and_then(|it| it.get("elicitations"));
    let listed = listed.and_then(Value::as_array).into_iter().flatten();
    let parse = |params: &Value| {
        let params = ElicitRequestParams::deserialize(params).ok()?;
        Some(InputRequest::Elicitation(ElicitRequest::new(params)))
    };
    let is_url = |params: &&Value| params.get("mode").and_then(Value::as_str) == Some("url");
    let elicitations = listed.filter(is_url).filter_map(parse);
    elicitations.take(URL_ELICITATIONS_LIMIT).collect()
}

/// Whether an error means that the tool does not exist.
pub(super) fn is_unknown_tool(error: &RpcError) -> bool {
    let text = error.message.to_ascii_lowercase();
    let is_stated = text.starts_with("unknown tool") || text.contains("tool not found");
    matches!(error.code, -32601 | -32602) && is_stated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_found_in_the_texts_of_common_servers() {
        for (text, status) in [
            (
                "Error calling tool 'x': HTTP error 404: Not Found - {'a': 1}",
                Some(404),
            ),
            ("HTTP 429: slow down", Some(429)),
            ("HTTP 429", Some(429)),
            ("Request failed with status code 503", Some(503)),
            (
                "Client error '403 Forbidden' for url 'https://api'",
                Some(403),
            ),
            (
                "Rate limited by upstream API, please retry later",
                Some(429),
            ),
            ("HTTP 200 but no body", None),
            ("HTTP 4040 things", None),
            ("http 404.5", None),
            ("http é", None),
            ("the answer has 404 rows", None),
            ("", None),
        ] {
            let failure = status_in_text(text, "files", Timestamp::UNIX_EPOCH);
            let found = failure.and_then(|it| it.upstream()?.status);
            assert_eq!(found, status, "{text}");
        }
    }

    #[test]
    fn a_status_beyond_the_search_limit_is_ignored() {
        for (before, found) in [
            (STATUS_SEARCH_CHARACTERS - 8, true),
            (STATUS_SEARCH_CHARACTERS - 7, false),
        ] {
            let text = format!("{}http 500", "a".repeat(before));
            let failure = status_in_text(&text, "files", Timestamp::UNIX_EPOCH);
            assert_eq!(failure.is_some(), found, "{before}");
        }
    }
}
