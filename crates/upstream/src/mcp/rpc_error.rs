//! Converts a JSON-RPC error into a failure: by its number, its data and its text.
//!
//! -32603 and the numbers of servers say nothing by themselves; there the text is read as that of a tool.

use std::sync::LazyLock;

use jiff::Timestamp;
use panpan_failure::catalogue::Entry;
use panpan_failure::classify::InputMembers;
use panpan_failure::dialect::{Dialect, RESIDUAL, read_foreign};
use panpan_failure::{Effect, Failure, Inferred, Violation, codes, hint};
use panpan_mcp::names::{CAPABILITY_MISSING, URL_ELICITATION_REQUIRED};
use regex::Regex;
use rmcp::model::{ElicitRequest, ElicitRequestParams, InputRequest};
use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use super::error::RpcError;
use super::error_shapes::{self, ToolText, validation};
use super::tool_error::{bounded, read_dialect, with_statements};
use super::write_effect::with_proven_effect;
use crate::classify::ErrorBody;
use crate::known_code::with_known_code;
use crate::retry_members::without_retry_members;

/// The number of URL elicitations of one error that are followed.
const URL_ELICITATIONS_LIMIT: usize = 8;

/// Numbers whose meaning JSON-RPC defines, other than the internal error.
const DEFINED: [i32; 4] = [-32700, -32602, -32601, -32600];

/// The number of a rate limit that is proposed for the protocol.
const RATE_LIMITED: i32 = -32023;

/// Numbers that programs act on, whatever the message says.
const FOR_PROGRAMS: [i32; 2] = [URL_ELICITATION_REQUIRED, CAPABILITY_MISSING];

/// Codes that say nothing about the cause.
const GENERAL: [&str; 2] = [codes::INTERNAL.code, codes::TOOL_FAILED.code];

/// Beginnings of messages with a meaning, in lower case.
const BEGINNINGS: [(&str, &Entry); 6] = [
    ("connection closed", codes::ERR_SOCKET_ERROR),
    ("forbidden", codes::ERR_HTTP_403_FORBIDDEN),
    ("permission denied", codes::ERR_HTTP_403_FORBIDDEN),
    ("request timed out", codes::ERR_TIMEOUT),
    ("unauthenticated", codes::ERR_HTTP_401_UNAUTHORIZED),
    ("unauthorized", codes::ERR_HTTP_401_UNAUTHORIZED),
];

/// Members of the data that explain the message.
const EXPLANATIONS: [&str; 7] = [
    "message",
    "detail",
    "details",
    "reason",
    "error",
    "body",
    "description",
];

/// A JSON-RPC error as MCP libraries write it into a text.
static IN_TEXT: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"^\s*(?:Error: )?(?:McpError: )?MCP error (?P<code>-?\d{1,9}): ";
    Regex::new(pattern).expect("a fixed pattern compiles")
});

/// The failure for a JSON-RPC error response.
pub(super) fn from_rpc_error(server: &str, error: &RpcError, now: Timestamp) -> Failure {
    let tool = ToolText {
        server,
        members: &InputMembers::default(),
        now,
    };
    let message = explained(error);
    let failure = of_error(error, &message, tool).with_message(message.as_str());
    let failure = match FOR_PROGRAMS.contains(&error.code) {
        true => failure,
        false => with_statements(with_effect_of_error(failure, error, now), now),
    };
    let failure = with_stated_delay(failure, error, now);
    let upstream = failure.upstream().cloned().unwrap_or_default();
    let upstream = upstream.provider(server).code(error.code.to_string());
    with_known_code(without_retry_members(failure), false, server, |_| false)
        .with_message(bounded(&message))
        .with_upstream(upstream)
}

/// The failure with the effect that the error proves. An error of another panpan states it, and the number of a
/// rate limit with a delay refuses the request itself.
fn with_effect_of_error(failure: Failure, error: &RpcError, now: Timestamp) -> Failure {
    let data = error.data.as_ref();
    let is_limit =
        || error.code == RATE_LIMITED && data.is_some_and(|it| hint::from_body(it, now).is_some());
    let is_certain = DEFINED.contains(&error.code)
        || data.is_some_and(|it| it.get(RESIDUAL).is_some())
        || is_limit();
    match is_certain {
        true => failure,
        false => with_proven_effect(failure, data.as_slice()),
    }
}

/// The failure for a JSON-RPC error in the text of a tool.
pub(super) fn in_text(text: &str, tool: ToolText<'_>) -> Option<Failure> {
    let found = IN_TEXT.captures(text)?;
    let error = RpcError {
        code: found["code"].parse().ok()?,
        message: text[found.get(0)?.end()..].to_owned(),
        data: None,
    };
    let failure = of_error(&error, &error.message, tool);
    Some(failure.with_message(bounded(text)))
}

fn of_error(error: &RpcError, message: &str, tool: ToolText<'_>) -> Failure {
    if validation::is_rejected_output(&error.message) {
        return validation::malformed_result(&error.message);
    }
    if let Some(failure) = known_code(error) {
        return failure;
    }
    let document = json!({"jsonrpc": "2.0", "id": null, "error": {
        "code": error.code, "message": error.message, "data": error.data,
    }});
    let by_number = read_dialect(Dialect::JsonRpc, document)
        .unwrap_or_else(|| Failure::new(codes::TOOL_FAILED));
    if DEFINED.contains(&error.code) {
        let violations = violations(error);
        return match by_number.violations().is_empty() {
            true => by_number.with_violations(violations),
            false => by_number,
        };
    }
    let is_general = GENERAL.contains(&by_number.code().as_str());
    if !is_general && by_number.kind().is_catalogued() {
        return by_number;
    }
    let data = error.data.as_ref();
    let by_data = || {
        let stated = error_shapes::stated_status(data?, tool.server, tool.now);
        stated.or_else(|| read_foreign(data?.clone(), None))
    };
    let stated = by_data()
        .or_else(|| error_shapes::in_text(without_prefix(message), tool))
        .or_else(|| by_beginning(message));
    match stated {
        Some(failure) => with_data(failure, data),
        None => by_number,
    }
}

/// The message, with the explanation in the data that it does not contain.
fn explained(error: &RpcError) -> String {
    let mut message = error.message.clone();
    let data = error.data.as_ref();
    let data = data.filter(|it| it.get(RESIDUAL).is_none());
    let members = EXPLANATIONS.iter().map(|name| data?.get(name)?.as_str());
    let texts = std::iter::once(data.and_then(Value::as_str)).chain(members);
    for text in texts.flatten().map(str::trim) {
        if !text.is_empty() && !message.contains(text) {
            message = match message.is_empty() {
                true => text.to_owned(),
                false => format!("{}: {text}", message.trim_end_matches(['.', ':', ' '])),
            };
        }
    }
    bounded(&message)
}

fn without_prefix(message: &str) -> &str {
    IN_TEXT
        .find(message)
        .map_or(message, |it| &message[it.end()..])
}

fn by_beginning(message: &str) -> Option<Failure> {
    let message = without_prefix(message).trim().to_ascii_lowercase();
    let mut known = BEGINNINGS.iter();
    let (_, entry) = known.find(|(beginning, _)| message.starts_with(beginning))?;
    Some(Failure::new(*entry).mark_inferred(Inferred::Code))
}

/// Keeps the data as details, as for errors that are read by their number.
fn with_data(failure: Failure, data: Option<&Value>) -> Failure {
    match data {
        Some(Value::Object(data)) if failure.details().is_none() => {
            failure.with_details(data.clone())
        }
        _ => failure,
    }
}

/// What is wrong with the input, in the data or in the message.
fn violations(error: &RpcError) -> Vec<Violation> {
    let in_data = error
        .data
        .as_ref()
        .map(|it| ErrorBody::of_json(it).violations);
    match in_data.filter(|it| !it.is_empty()) {
        Some(violations) => violations,
        None => validation::violations(&error.message),
    }
}

/// Adds the delay in the data. An error with a delay and nothing else is one that passes.
fn with_stated_delay(failure: Failure, error: &RpcError, now: Timestamp) -> Failure {
    let hint = error.data.as_ref().and_then(|it| hint::from_body(it, now));
    let Some(hint) = hint.filter(|_| !DEFINED.contains(&error.code)) else {
        return failure;
    };
    let is_general = GENERAL.contains(&failure.code().as_str());
    let failure = match is_general && !hint.is_quota_reset() {
        // The effect stays unknown: a passing condition does not mean that nothing was done.
        true => failure.restated(codes::ERR_TRY_LATER.into()),
        false => failure,
    };
    match failure.retryable() {
        true => failure.with_retry_after_ms(hint.delay_ms),
        false => failure,
    }
}

/// Numbers that MCP or servers define.
fn known_code(error: &RpcError) -> Option<Failure> {
    let text = error.message.to_ascii_lowercase();
    let data = error
        .data
        .clone()
        .unwrap_or_else(|| Value::Object(Map::new()));
    Some(match error.code {
        // Proposed for the protocol, with the delay in its data.
        RATE_LIMITED => Failure::new(codes::ERR_HTTP_429_RATE_LIMITED),
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
        _ => return None,
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
    // "Tool add not found", as the official TypeScript SDK writes it.
    let named = text
        .strip_prefix("tool ")
        .and_then(|it| it.strip_suffix(" not found"));
    let is_stated = text.starts_with("unknown tool")
        || text.contains("tool not found")
        || named.is_some_and(|name| !name.contains(' '));
    matches!(error.code, -32601 | -32602) && is_stated
}

#[cfg(test)]
mod tests;
