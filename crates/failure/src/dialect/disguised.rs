//! Failures in successful responses: a document that is exactly a failure in one of our dialects, although
//! its transport reports success.
//!
//! Data about failures (a log, a list of runs, a report with a flag) is not a failure.

mod envelopes;

use panpan_catalogue::Effect;
use serde_json::{Map, Value};

use super::agent::View;
use super::bot::BotError;
use super::call::CallError;
use super::grpc::Status;
use super::mcp::FailedResult;
use super::problem::Problem;
use super::{Dialect, RESIDUAL};
use crate::failure::Failure;
use envelopes::{bare_failure, error_list, flattened, is_flagged_false};

/// Members that a failure in the flat or outcome dialect may have besides its flag and its error. Names,
/// states and times are not among them: a document with those is the record of a failed job, probe or
/// delivery.
const ALLOWED: [&str; 21] = [
    "category",
    "code",
    "correlation_id",
    "documentation_url",
    "error_code",
    "errorCode",
    "error_description",
    "error_message",
    "message",
    "needed",
    "panpan",
    "provided",
    "request_id",
    "requestId",
    "response_metadata",
    "retriable",
    "retry_after",
    "retryAfter",
    "retry_after_ms",
    "retryable",
    "trace_id",
];

/// Members that such a failure may only have together with a code or our residual.
const ALLOWED_WITH_CODE: [&str; 1] = ["details"];

/// Members for the output of a success; in a failure they are null.
const OUTPUTS: [&str; 4] = ["data", "output", "payload", "result"];

/// Whether an object has a shape.
type IsShape = fn(&Map<String, Value>) -> bool;

/// The failure in a successful response, if the document is exactly a failure in one of our dialects, without
/// other members.
///
/// ```
/// use panpan_failure::dialect::disguised_failure;
/// use serde_json::json;
///
/// let failure = disguised_failure(&json!({"ok": false, "error": {"code": "OUT_OF_STOCK"}})).unwrap();
/// assert_eq!(failure.code().as_str(), "OUT_OF_STOCK");
/// assert!(disguised_failure(&json!({"success": false, "results": [1, 2]})).is_none());
/// ```
pub fn disguised_failure(document: &Value) -> Option<Failure> {
    let members = document.as_object()?;
    if let Some(errors) = error_list(members) {
        let failure = Dialect::Flat.read(flattened(errors)).ok()?.outcome.err()?;
        // GraphQL leaves out `data` only if it refused the request before it began.
        let is_refused = !is_flagged_false(members) && !members.contains_key("data");
        return Some(match is_refused {
            true => failure.with_effect(Effect::None),
            false => failure,
        });
    }
    if let Some(failure) = bare_failure(members) {
        return Some(failure);
    }
    let shapes: [(IsShape, Dialect); 8] = [
        (|it| is_flagged(it, "success"), Dialect::Flat),
        (|it| is_flagged(it, "ok"), Dialect::Outcome),
        (is_rpc_error, Dialect::JsonRpc),
        (is_bot, Dialect::Bot),
        (is_call, Dialect::Call),
        (is_problem, Dialect::Problem),
        (is_result, Dialect::Mcp),
        (is_status, Dialect::Grpc),
    ];
    let (_, dialect) = shapes.into_iter().find(|(is_shape, _)| is_shape(members))?;
    dialect.read(document.clone()).ok()?.outcome.err()
}

/// Members that distinguish a failure from an output, in any dialect.
const FLAGS: [&str; 8] = [
    "success", "ok", "error", "errors", "isError", "result", "code", "status",
];

/// Schemas that are examined for such members.
const SCHEMAS_LIMIT: usize = 200;

/// Whether a schema declares any member that distinguishes a failure, so that its outputs can look like one.
pub fn declares_flags(schema: &Value) -> bool {
    declares_any(schema, &FLAGS)
}

/// Whether a schema declares a member that makes this document look like a failure. A document that matches
/// such a schema is a declared output.
pub fn declares_flags_of(document: &Value, schema: &Value) -> bool {
    let has = |name: &str| document.get(name).is_some();
    let names: Vec<&str> = FLAGS.into_iter().filter(|name| has(name)).collect();
    declares_any(schema, &names)
}

/// Whether a schema, or one of its subschemas, has a property with one of these names.
fn declares_any(schema: &Value, names: &[&str]) -> bool {
    let mut open = vec![schema];
    for _ in 0..SCHEMAS_LIMIT {
        let Some(next) = open.pop() else {
            return false;
        };
        let properties = next.get("properties").and_then(Value::as_object);
        if properties.is_some_and(|it| names.iter().any(|name| it.contains_key(*name))) {
            return true;
        }
        let referred = next.get("$ref").and_then(Value::as_str);
        open.extend(referred.and_then(|it| schema.pointer(it.strip_prefix('#')?)));
        let parts = ["allOf", "anyOf", "oneOf"].map(|name| next.get(name)?.as_array());
        open.extend(parts.into_iter().flatten().flatten());
    }
    false
}

/// The failure in a response with the media type of a problem, unless its status is below 400.
pub fn stated_problem(document: &Value) -> Option<Failure> {
    let is_success = document["status"].as_u64().is_some_and(|it| it < 400);
    let failure = (!is_success).then(|| Dialect::Problem.read(document.clone()))?;
    failure.ok()?.outcome.err()
}

/// Whether the flag is false, an error explains it, and no other member is present.
fn is_flagged(members: &Map<String, Value>, flag: &str) -> bool {
    if !(members.contains_key(flag) && members.contains_key("error")) {
        return false;
    }
    let is_ours = members.get(RESIDUAL).is_some_and(Value::is_object);
    let has_code = is_ours || has_text(members, "code") || has_text(members, "error_code");
    let fits = |(name, value): (&String, &Value)| match name.as_str() {
        "error" => is_explained(value),
        name if name == flag => *value == Value::Bool(false),
        name if OUTPUTS.contains(&name) => value.is_null(),
        name if ALLOWED_WITH_CODE.contains(&name) => has_code,
        // A warning beside a code is about the request; beside a text, it may be part of a report.
        "warning" => members.get("error").is_some_and(is_code_word),
        name => ALLOWED.contains(&name),
    };
    members.iter().all(fits)
}

/// Whether an error is a code such as `msg_too_long`.
fn is_code_word(error: &Value) -> bool {
    let word = error.as_str().unwrap_or_default();
    let is_part = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_';
    word.contains('_') && word.chars().all(is_part)
}

/// Whether an error is a text, or an object with a message, code or type.
fn is_explained(error: &Value) -> bool {
    let names = ["message", "code", "type"];
    is_text(error)
        || names
            .iter()
            .any(|name| error.get(name).is_some_and(is_text))
}

fn is_rpc_error(members: &Map<String, Value>) -> bool {
    let error = members.get("error");
    members.get("jsonrpc").is_some_and(|it| it == "2.0")
        && error.is_some_and(|it| it["code"].is_i64() && it["message"].is_string())
        && has_only(members, &["jsonrpc", "id", "error"])
}

/// Whether it is a failure in the bot dialect or an agent view, and nothing else.
fn is_bot(members: &Map<String, Value>) -> bool {
    let Some(Value::Object(error)) = members.get("error").filter(|_| members.len() == 1) else {
        return false;
    };
    let is_recovery = |it: &Value| it["is_retryable"].is_boolean();
    let are_moves = |it: &Value| {
        let moves = it.as_array();
        moves.is_some_and(|it| !it.is_empty() && it.iter().all(is_text))
    };
    let is_bot =
        has_only(error, BotError::MEMBERS) && error.get("recovery").is_some_and(is_recovery);
    let is_view = has_only(error, View::MEMBERS)
        && error.get("next").is_some_and(are_moves)
        && error.get("retryable").is_some_and(Value::is_boolean);
    has_text(error, "code") && has_text(error, "message") && (is_bot || is_view)
}

/// Whether it is a failure in the call dialect: wrapped, as in a batch, or with `result: "error"`. A bare
/// failure is only recognised with our residual.
fn is_call(members: &Map<String, Value>) -> bool {
    let is_error = |error: &Map<String, Value>| {
        let is_flag = error.get("retryable").is_some_and(Value::is_boolean);
        is_flag && has_text(error, "code") && has_text(error, "message")
    };
    let is_stated = members.get("result").is_some_and(|it| it == "error");
    match members.get("error") {
        Some(Value::Object(error)) => {
            is_stated
                && has_only(members, &["request_id", "result", "error"])
                && has_only(error, CallError::MEMBERS)
                && is_error(error)
        }
        Some(_) => false,
        None => {
            let is_in_error = |name: &String| CallError::MEMBERS.contains(&name.as_str());
            let is_envelope = |name: &String| ["request_id", "result"].contains(&name.as_str());
            let is_ours = members.get("panpan").is_some_and(Value::is_object);
            (is_stated || is_ours)
                && members
                    .keys()
                    .all(|it| is_in_error(it) || (is_stated && is_envelope(it)))
                && is_error(members)
        }
    }
}

/// Whether it is a problem with type, title and failing status. The type must be `about:blank` or ours,
/// because any other `type` may be the type of the data.
fn is_problem(members: &Map<String, Value>) -> bool {
    let is_failing = |it: &Value| it.as_u64().is_some_and(|it| (400..600).contains(&it));
    let is_known = |it: &Value| {
        let kind = it.as_str();
        kind.is_some_and(|it| it == "about:blank" || it.starts_with("/errors/"))
    };
    let is_ours = || members.get(RESIDUAL).is_some_and(Value::is_object);
    // Other services add three members to a problem.
    let is_added = |it: &str| ["code", "requestId", "traceId"].contains(&it);
    let is_member = |it: &str| Problem::MEMBERS.contains(&it) || is_added(it);
    members.get("status").is_some_and(is_failing)
        && (members.get("type").is_some_and(is_known) || is_ours())
        && has_text(members, "title")
        && members.keys().all(|it| is_member(it))
}

/// Whether it is the result of a failed MCP tool.
fn is_result(members: &Map<String, Value>) -> bool {
    let are_blocks = |it: &Value| {
        let blocks = it.as_array();
        blocks.is_some_and(|it| it.iter().all(|block| block["type"].is_string()))
    };
    let is_member = |it: &str| FailedResult::MEMBERS.contains(&it) || it == "structuredContent";
    members.get("isError") == Some(&Value::Bool(true))
        && members.get("content").is_some_and(are_blocks)
        && members.keys().all(|it| is_member(it))
}

/// Whether it is a gRPC status with typed details; a number and a message alone can be any result.
fn is_status(members: &Map<String, Value>) -> bool {
    let is_failing = |it: &Value| it.as_u64().is_some_and(|it| (1..=16).contains(&it));
    let are_details = |it: &Value| {
        let details = it.as_array();
        let is_typed = |detail: &Value| detail["@type"].is_string();
        details.is_some_and(|it| !it.is_empty() && it.iter().all(is_typed))
    };
    has_only(members, Status::MEMBERS)
        && members.get("code").is_some_and(is_failing)
        && members.get("details").is_some_and(are_details)
        && has_text(members, "message")
}

fn has_only(members: &Map<String, Value>, names: &[&str]) -> bool {
    members.keys().all(|it| names.contains(&it.as_str()))
}

fn has_text(members: &Map<String, Value>, name: &str) -> bool {
    members.get(name).is_some_and(is_text)
}

fn is_text(value: &Value) -> bool {
    value.as_str().is_some_and(|it| !it.trim().is_empty())
}

#[cfg(test)]
mod tests;
