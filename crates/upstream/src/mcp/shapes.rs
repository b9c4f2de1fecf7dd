//! The shapes in which others report failures. Read for what they say, never trusted for more.

use jiff::Timestamp;
use panpan_failure::catalogue::Entry;
use panpan_failure::dialect::{Dialect, read_foreign};
use panpan_failure::{Alternative, Category, Effect, Failure, codes, hint, size};
use rmcp::model::{ElicitRequest, ElicitRequestParams, InputRequest};
use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use super::error::Refusal;
use super::lifted::bounded;
use crate::classify::{ErrorBody, ErrorResponse, classify};

/// Where in a text a status is looked for, in characters.
const STATUS_WITHIN: usize = 400;

/// What stands before a status in the texts of widespread servers and clients, in lower case.
const BEFORE_STATUS: [&str; 9] = [
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

/// A text that says so means a rate limit, whatever else it says.
const RATE_LIMITED: [&str; 3] = ["rate limited", "rate limit exceeded", "too many requests"];

/// What the names of errors of the operating system mean.
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

/// The members of the envelope `{errorType, message, …}` that say what to do.
const ADVICE: [&str; 2] = ["suggestion", "aiGuidance"];

/// The error of a server that wants an address to be visited before it serves a request.
const VISIT_REQUIRED: i64 = -32042;

/// The error of a server that needs a client which can do more.
const CAPABILITY_MISSING: i64 = -32021;

/// How many bytes of such an error are passed on, as JSON.
const REFUSAL_DATA_LIMIT: usize = 16 * 1024;

/// How many addresses of one error are visited.
const VISITS_LIMIT: usize = 8;

/// How many other tools are named.
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
    let said = |name: &&str| Some(bounded(document.get(*name)?.as_str()?));
    let advice: Vec<String> = ADVICE.iter().filter_map(said).collect();
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

/// A document that says what happened and, in our words, whether repeating helps, when, or what was done. A word
/// for what happened is also its code.
pub(super) fn in_our_words(document: &Value, has_delay: bool) -> Option<Failure> {
    let lifted = ErrorBody::of_json(document);
    let is_ours = has_delay || lifted.retryable.is_some() || lifted.effect.is_some();
    let message = lifted.message.filter(|_| is_ours)?;
    let may_pass = lifted.retryable.unwrap_or(has_delay);
    let failure = lifted.codes.first().and_then(|word| {
        let known = json!({"code": word, "message": bounded(&message), "retryable": may_pass});
        read_foreign(known, None)
    });
    let failure = failure.unwrap_or_else(|| {
        let failure = Failure::new(codes::TOOL_FAILED).with_message(bounded(&message));
        match may_pass {
            // That it passes does not say that nothing was done.
            true => failure.restated(codes::ERR_TRY_LATER.into()),
            false => failure,
        }
    });
    let failure = match document.as_object() {
        Some(members) => failure.with_details(members.clone()),
        None => failure,
    };
    Some(match lifted.effect {
        Some(effect) => failure.with_effect(effect),
        None => failure,
    })
}

/// A failure by its code, and by what it says about repeating it.
fn stated(mut known: Value) -> Option<Failure> {
    if let Value::Object(members) = &mut known {
        members.retain(|_, value| !value.is_null());
    }
    Dialect::Call.read(known).ok()?.outcome.err()
}

/// An HTTP status that a text tells of.
pub(super) fn status_in_text(text: &str, server: &str, now: Timestamp) -> Option<Failure> {
    let beginning: String = text.chars().take(STATUS_WITHIN).collect();
    let beginning = beginning.to_ascii_lowercase();
    let (at, status) = status_of(&beginning).or_else(|| limit_of(&beginning))?;
    let failure = of_status(status, text, server, now)?;
    // A guess is not enough to repeat a change by. A text that opens with the limit and says when it ends
    // is none: it is how a server turns a call away.
    let is_refusal = failure.category() == Category::RateLimit
        && failure.stated_retry_after_ms().is_some()
        && is_opening(&beginning[..at]);
    let failure = match is_refusal {
        true => failure,
        false => failure.with_effect(Effect::Unknown),
    };
    Some(failure.with_message(bounded(text)))
}

/// The name of an error of the operating system at the beginning of a text, as Node.js writes it.
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

/// Where a text tells of a status, and of which.
fn status_of(text: &str) -> Option<(usize, u16)> {
    BEFORE_STATUS.iter().find_map(|words| {
        let mut found = text.match_indices(words);
        found.find_map(|(at, _)| Some((at, leading_status(&text[at + words.len()..])?)))
    })
}

/// Where a text tells of a rate limit.
fn limit_of(text: &str) -> Option<(usize, u16)> {
    let at = RATE_LIMITED.iter().find_map(|words| text.find(words))?;
    Some((at, 429))
}

/// Whether what stands before is no part of what a text says: nothing, whose limit it is, or that there is
/// an error.
fn is_opening(before: &str) -> bool {
    let before = before.trim();
    let is_title = before.contains("error") && before.ends_with(':');
    is_title || !before.contains(char::is_whitespace)
}

/// The three digits a text begins with, if they are a status that says that something failed.
fn leading_status(text: &str) -> Option<u16> {
    let digits = text.get(..3)?;
    let ends = !text[3..].starts_with(|next: char| next.is_ascii_alphanumeric() || next == '.');
    let status: u16 = digits.parse().ok().filter(|_| ends)?;
    (400..600).contains(&status).then_some(status)
}

/// The failure an HTTP status behind the tool stands for.
pub(super) fn of_status(status: u16, body: &str, server: &str, now: Timestamp) -> Option<Failure> {
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

/// Errors of the protocol that others number in their own way.
pub(super) fn numbered(refusal: &Refusal, now: Timestamp) -> Option<Failure> {
    let text = refusal.message.to_ascii_lowercase();
    let data = refusal
        .data
        .clone()
        .unwrap_or_else(|| Value::Object(Map::new()));
    let failure = match refusal.code {
        // Proposed for the protocol, with the wait among the data.
        -32023 => Failure::new(codes::ERR_HTTP_429_RATE_LIMITED),
        -32001 if text.contains("timed out") || text.contains("timeout") => {
            Failure::new(codes::ERR_TIMEOUT)
        }
        _ if denies_tool(refusal) => Failure::new(codes::ARTIFACT_NOT_FOUND),
        -32002 => Failure::new(codes::ARTIFACT_NOT_FOUND),
        VISIT_REQUIRED => Failure::new(codes::TOOL_FAILED)
            .with_effect(Effect::None)
            .with_actions([visit(&data)]),
        CAPABILITY_MISSING => Failure::new(codes::TOOL_FAILED)
            .with_effect(Effect::None)
            .with_actions([with_capabilities(&data)]),
        -32099..=-32000 => read_foreign(data.clone(), None)
            .or_else(|| status_in_text(&refusal.message, "the server", now))?,
        _ => return None,
    };
    let hint = hint::from_body(&data, now).filter(|_| failure.retryable());
    Some(match hint {
        Some(hint) => failure.with_retry_after_ms(hint.delay_ms),
        None => failure,
    })
}

/// Where a person has to go first.
fn visit(data: &Value) -> String {
    let first = data.pointer("/elicitations/0");
    let text = |name: &str| Some(bounded(first?.get(name)?.as_str()?));
    match (text("url"), text("message")) {
        (Some(url), Some(why)) => format!("Ask a person to open {url} ({why}), then call again"),
        (Some(url), None) => format!("Ask a person to open {url}, then call again"),
        _ => "Ask a person: the server wants something to be confirmed elsewhere".to_owned(),
    }
}

/// What the client of whoever calls has to be able to do.
fn with_capabilities(data: &Value) -> String {
    let required = data.get("requiredCapabilities").and_then(Value::as_object);
    let names: Vec<String> = required
        .map(|it| it.keys().map(|name| bounded(name)).collect())
        .unwrap_or_default();
    match names.is_empty() {
        true => "Call it with an MCP client that offers what the tool needs".to_owned(),
        false => format!(
            "Call it with an MCP client that offers {}",
            names.join(", ")
        ),
    }
}

/// What a refusal says that clients of the protocol act on. Secrets are removed from it, but addresses that a person
/// has to visit stay as they are: they lead nowhere otherwise.
pub(super) fn for_clients(refusal: &Refusal, redact: impl Fn(&mut Value)) -> Option<Value> {
    let is_known = matches!(refusal.code, VISIT_REQUIRED | CAPABILITY_MISSING);
    let stated = refusal.data.as_ref().filter(|_| is_known)?;
    if !size::fits(stated, REFUSAL_DATA_LIMIT) {
        return None;
    }
    let mut data = stated.clone();
    redact(&mut data);
    let visits = data.get_mut("elicitations").and_then(Value::as_array_mut);
    for (at, visit) in visits.into_iter().flatten().enumerate() {
        for name in ["url", "elicitationId"] {
            if let Some(kept) = stated.pointer(&format!("/elicitations/{at}/{name}")) {
                visit[name] = kept.clone();
            }
        }
    }
    Some(json!({"error": {"code": refusal.code, "data": data}}))
}

/// The addresses that a person has to visit before a request is served.
pub(super) fn visits(refusal: &Refusal) -> Vec<InputRequest> {
    if refusal.code != VISIT_REQUIRED {
        return Vec::new();
    }
    let listed = refusal.data.as_ref().and_then(|it| it.get("elicitations"));
    let listed = listed.and_then(Value::as_array).into_iter().flatten();
    let read = |asked: &Value| {
        let params = ElicitRequestParams::deserialize(asked).ok()?;
        Some(InputRequest::Elicitation(ElicitRequest::new(params)))
    };
    let is_visit = |asked: &&Value| asked.get("mode").and_then(Value::as_str) == Some("url");
    let visits = listed.filter(is_visit).filter_map(read);
    visits.take(VISITS_LIMIT).collect()
}

/// Whether an error says that there is no such tool.
pub(super) fn denies_tool(refusal: &Refusal) -> bool {
    let text = refusal.message.to_ascii_lowercase();
    let words = text.starts_with("unknown tool") || text.contains("tool not found");
    matches!(refusal.code, -32601 | -32602) && words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_found_where_widespread_servers_write_them() {
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
    fn a_status_far_down_in_a_text_is_not_what_it_is_about() {
        for (before, found) in [(STATUS_WITHIN - 8, true), (STATUS_WITHIN - 7, false)] {
            let text = format!("{}http 500", "a".repeat(before));
            let failure = status_in_text(&text, "files", Timestamp::UNIX_EPOCH);
            assert_eq!(failure.is_some(), found, "{before}");
        }
    }
}
