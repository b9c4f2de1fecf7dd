//! The shapes in which third-party servers report errors. They are parsed, but never trusted for
//! more than they state.
//!
//! Documents are parsed here, texts in the modules below.

mod clauses;
mod connection_words;
mod embedded;
mod errno;
mod provider_codes;
mod text_status;
pub(super) mod validation;

use jiff::Timestamp;
use panpan_failure::classify::{InputMembers, STATEMENTS_BYTES_LIMIT, statements};
use panpan_failure::dialect::{Dialect, read_foreign};
use panpan_failure::{Alternative, Effect, Failure, codes};
use serde_json::{Value, json};

use super::tool_error::bounded;
use crate::classify::ErrorBody;
use crate::classify::{ErrorResponse, classify};
use clauses::Clause;
pub(super) use clauses::is_program_output;

/// The members of the envelope `{errorType, message, …}` with advice.
const ADVICE_MEMBERS: [&str; 2] = ["suggestion", "aiGuidance"];

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

/// Members that repeat the HTTP status of a response.
const STATUSES: [&str; 4] = ["status", "statusCode", "status_code", "http_status"];

/// A document that states the HTTP status of a response, as a number.
pub(super) fn stated_status(document: &Value, server: &str, now: Timestamp) -> Option<Failure> {
    let members = document.as_object()?;
    let status = |name: &&str| u16::try_from(members.get(*name)?.as_u64()?).ok();
    let is_failing = |status: &u16| (400..600).contains(status);
    let status = STATUSES.iter().filter_map(status).find(is_failing)?;
    let failure = from_status(status, &document.to_string(), server, now)?;
    let message = Value::from(failure.message());
    let is_other = |(name, value): &(&String, &Value)| {
        !STATUSES.contains(&name.as_str()) && !value.is_null() && **value != message
    };
    let others = members.iter().filter(is_other);
    let details = others.map(|(name, value)| (name.clone(), value.clone()));
    Some(failure.with_details(details.collect()))
}

/// The failure that a text states in the words of a common client.
pub(super) fn in_text(text: &str, tool: ToolText<'_>) -> Option<Failure> {
    validation::in_text(text, tool.members)
        .or_else(|| provider_codes::in_text(text))
        .or_else(|| text_status::in_text(text, tool.server, tool.now))
        .or_else(|| errno::in_text(text))
        .or_else(|| connection_words::in_text(text))
}

/// What is known about the tool that wrote a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct ToolText<'a> {
    pub(super) server: &'a str,
    /// The members of its input.
    pub(super) members: &'a InputMembers,
    pub(super) now: Timestamp,
}

/// The effect of a failure that was read from a text: as its code has it, unless the text may report that something
/// was done.
fn effect_in_text(failure: &Failure, clause: Clause<'_>, text: &str) -> Effect {
    let beginning = &text[..text.floor_char_boundary(STATEMENTS_BYTES_LIMIT)];
    let reports_effect = statements(beginning, &InputMembers::default()).something_happened;
    let may_have_begun = failure.upstream().and_then(|it| it.status) >= Some(500);
    match clause.is_announced() && !reports_effect && !may_have_begun {
        true => failure.effect(),
        false => Effect::Unknown,
    }
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
