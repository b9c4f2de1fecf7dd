//! Failures in successful responses: a document that is exactly a failure in one of our dialects, although
//! its transport reports success.
//!
//! Data about failures (a log, a list of runs, a report with a flag) is not a failure.

use serde_json::{Map, Value};

use super::agent::View;
use super::bot::BotError;
use super::call::CallError;
use super::grpc::Status;
use super::mcp::FailedResult;
use super::problem::Problem;
use super::{Dialect, RESIDUAL};
use crate::failure::Failure;

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
        return Dialect::Flat.read(flattened(errors)).ok()?.outcome.err();
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

/// The errors in a document that has nothing else: a GraphQL response without data, or errors with a flag that is
/// false.
fn error_list(members: &Map<String, Value>) -> Option<&[Value]> {
    let errors = members.get("errors")?.as_array()?;
    let is_error = |error: &Value| error.get("message").is_some_and(is_text);
    if errors.is_empty() || !errors.iter().all(is_error) {
        return None;
    }
    let is_flag = |name: &str| name == "success" || name == "ok";
    let is_flagged = members
        .iter()
        .any(|(name, value)| is_flag(name) && *value == Value::Bool(false));
    let fits = |(name, value): (&String, &Value)| match name.as_str() {
        "errors" => true,
        name if is_flag(name) => *value == Value::Bool(false),
        name if OUTPUTS.contains(&name) => value.is_null(),
        "extensions" => !is_flagged,
        "messages" => is_flagged && value.as_array().is_some_and(Vec::is_empty),
        name => is_flagged && ALLOWED.contains(&name),
    };
    let is_failure = is_flagged || (is_graphql(errors) && members.contains_key("data"));
    (is_failure && members.iter().all(fits)).then_some(errors)
}

/// Whether errors have only the members that GraphQL defines.
fn is_graphql(errors: &[Value]) -> bool {
    let mut members = errors.iter().filter_map(Value::as_object);
    members.all(|it| has_only(it, &["message", "locations", "path", "extensions"]))
}

/// The first error in the flat dialect.
fn flattened(errors: &[Value]) -> Value {
    let error = &errors[0];
    let codes = [&error["extensions"]["code"], &error["code"]];
    let code = codes.into_iter().find(|it| is_text(it));
    serde_json::json!({"success": false, "error": error["message"], "code": code})
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
        name => ALLOWED.contains(&name),
    };
    members.iter().all(fits)
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
mod tests {
    use serde_json::json;

    use super::super::{Envelope, agent_value};
    use super::*;

    #[test]
    fn documents_that_are_exactly_a_failure_are_recognised() {
        for (document, code, message) in [
            (
                json!({"success": false, "error": "this membership was closed"}),
                "TOOL_FAILED",
                "this membership was closed",
            ),
            (
                json!({"success": false, "error": {"code": "invalid_input", "message": "no"}, "data": null}),
                "INVALID_INPUT",
                "no",
            ),
            (
                json!({"success": false, "error": "Not enough credit", "code": "insufficient_funds", "category": "permission", "retriable": false}),
                "INSUFFICIENT_FUNDS",
                "Not enough credit",
            ),
            (
                json!({"success": false, "error": "sold out", "code": "OUT_OF_STOCK", "details": {"sku": 7}}),
                "OUT_OF_STOCK",
                "sold out",
            ),
            (
                json!({"ok": false, "error": {"code": "OUT_OF_STOCK", "message": "sold out"}}),
                "OUT_OF_STOCK",
                "sold out",
            ),
            (
                json!({"data": null, "errors": [{"message": "No such issue", "path": ["issue"], "extensions": {"code": "BAD_USER_INPUT"}}]}),
                "BAD_USER_INPUT",
                "No such issue",
            ),
            (
                json!({"success": false, "errors": [{"code": 9109, "message": "No zone"}], "messages": [], "result": null}),
                "TOOL_FAILED",
                "No zone",
            ),
            (
                json!({"ok": false, "error": "channel_not_found", "response_metadata": {}}),
                "CHANNEL_NOT_FOUND",
                "Channel not found",
            ),
            (
                json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "Invalid params"}}),
                "INVALID_INPUT",
                "Invalid params",
            ),
            (
                json!({"error": {"code": "NETWORK_ERROR", "category": "network", "message": "no way", "recovery": {"is_retryable": true}}}),
                "NETWORK_ERROR",
                "no way",
            ),
            (
                json!({"error": {"code": "LOCKED", "message": "held", "retryable": true, "next": ["wait"], "retry_after_ms": 300}}),
                "LOCKED",
                "held",
            ),
            (
                json!({"request_id": "1", "result": "error", "code": "TIMEOUT", "message": "late", "retryable": true}),
                "TIMEOUT",
                "late",
            ),
            (
                json!({"result": "error", "error": {"code": "OUT_OF_STOCK", "message": "sold out", "retryable": false}}),
                "OUT_OF_STOCK",
                "sold out",
            ),
            (
                json!({"type": "about:blank", "title": "Gone", "status": 410, "detail": "it left"}),
                "ERR_HTTP_410",
                "it left",
            ),
            (
                json!({"content": [{"type": "text", "text": "it failed"}], "isError": true}),
                "TOOL_FAILED",
                "it failed",
            ),
            (
                json!({"code": 5, "message": "no such order", "details": [{"@type": "type.googleapis.com/google.rpc.Help"}]}),
                "ARTIFACT_NOT_FOUND",
                "no such order",
            ),
        ] {
            let failure = disguised_failure(&document).unwrap_or_else(|| panic!("{document}"));
            assert_eq!(failure.code().as_str(), code, "{document}");
            assert_eq!(failure.message(), message, "{document}");
        }
    }

    #[test]
    fn data_about_failures_is_not_a_failure() {
        for document in [
            json!({"success": false, "results": [1, 2]}),
            json!({"success": false}),
            json!({"ok": false}),
            json!({"ok": false, "error": null}),
            json!({"ok": false, "error": ""}),
            json!({"ok": false, "error": {"count": 3}}),
            json!({"ok": false, "error": ["a", "b"]}),
            json!({"success": true, "error": "a warning"}),
            json!({"data": {"issue": null}, "errors": [{"message": "No such issue"}]}),
            json!({"data": null, "errors": []}),
            json!({"data": null, "errors": [{"message": "a", "level": "error"}]}),
            json!({"errors": [{"message": "a"}]}),
            json!({"errors": [{"message": "a"}], "total": 1}),
            json!({"success": false, "errors": [{"message": "a"}], "results": [1]}),
            json!({"success": true, "errors": [{"message": "a"}]}),
            json!({"success": "false", "error": "a"}),
            json!({"success": false, "error": "exit code 1", "name": "build-41"}),
            json!({"success": false, "error": "exit code 1", "data": {"a": 1}}),
            json!({"runs": [{"success": false, "error": "exit code 1"}]}),
            json!([{"success": false, "error": "exit code 1"}]),
            json!({"level": "error", "error": "disk full", "at": "2026-01-01"}),
            json!({"error": "a"}),
            json!({"code": "A_CODE", "message": "a"}),
            json!({"jsonrpc": "2.0", "id": 1, "result": {}}),
            json!({"jsonrpc": "2.0", "id": 1, "error": {"code": "A", "message": "a"}}),
            json!({"error": {"code": "E_1", "message": "the last error of this job"}}),
            json!({"error": {"code": "E_1", "message": "a", "retryable": true, "job": 7}}),
            json!({"error": {"code": "E_1", "message": "a", "recovery": {"is_retryable": true}}, "id": 7}),
            json!({"error": {"code": "E_1", "message": "a", "retryable": true, "next": "page-2"}}),
            json!({"result": "error", "message": "the build broke"}),
            json!({"result": "error", "code": "E_1", "message": "a", "retryable": false, "job": 7}),
            json!({"result": "error", "error": {"code": "E_1", "message": "a"}}),
            json!({"code": "A_CODE", "message": "a", "retryable": true}),
            json!({"status": "error", "message": "the job broke", "code": "E_1"}),
            json!({"title": "Fix the door", "status": "open", "type": "task"}),
            json!({"type": "https", "title": "Our shop", "status": 503}),
            json!({"title": "Our shop", "status": 503}),
            json!({"type": "about:blank", "title": "Fine", "status": 200}),
            json!({"type": "about:blank", "title": "Gone", "status": 410, "url": "https://a.example"}),
            json!({"content": [{"type": "text", "text": "a"}], "isError": false}),
            json!({"content": "a", "isError": true}),
            json!({"content": [], "isError": true, "run": 7}),
            json!({"id": "run-41", "success": false, "error": "exit code 1", "status": "completed"}),
            json!({"id": 5, "status_code": 500, "success": false, "error": "connection refused", "timestamp": 7}),
            json!({"ok": false, "error": "NXDOMAIN", "status": "checked", "id": "probe-1"}),
            json!({"ok": false, "error": "NXDOMAIN", "id": "probe-1"}),
            json!({"success": false, "error": "exit code 1", "status": "completed"}),
            json!({"success": false, "error": "exit code 1", "timestamp": "2026-01-01"}),
            json!({"success": false, "error": "exit code 1", "description": "nightly"}),
            json!({"success": false, "error": "refused", "status_code": 500}),
            json!({"success": false, "error": "refused", "statusCode": 500}),
            json!({"success": false, "error": "exit code 1", "meta": {"run": 41}}),
            json!({"success": false, "error": "exit code 1", "warning": "slow"}),
            json!({"success": false, "error": "exit code 1", "details": {"run": 41}}),
            json!({"type": "https://schema.org/Event", "title": "Concert", "status": 404}),
            json!({"type": "urn:issue", "title": "Broken door", "status": 500}),
            json!({"code": 1, "message": "success"}),
            json!({"code": 5, "message": "a", "details": [{"sku": 7}]}),
            json!({"code": 5, "message": "no such order", "details": []}),
            json!({"code": 0, "message": "", "details": []}),
            json!({"code": 17, "message": "a", "details": []}),
            json!("ok: false"),
            json!(null),
        ] {
            assert!(disguised_failure(&document).is_none(), "{document}");
        }
    }

    #[test]
    fn our_failures_are_recognised_in_every_dialect() {
        let failure = || Failure::new(crate::codes::ERR_RESOURCE_BUSY).with_message("held");
        for dialect in Dialect::ALL {
            let failure = failure().redacted();
            let written = dialect.render_failure(&failure, Envelope::default());
            let read = disguised_failure(&written).unwrap_or_else(|| panic!("{written}"));
            assert_eq!(read, *failure, "{written}");
        }
        let view = agent_value(&failure().redacted(), &|_| None);
        let read = disguised_failure(&view).unwrap_or_else(|| panic!("{view}"));
        assert_eq!(read.code().as_str(), "ERR_RESOURCE_BUSY");
    }

    #[test]
    fn a_stated_problem_is_a_failure_unless_its_status_is_a_success() {
        for (document, is_failure) in [
            (json!({"title": "Gone"}), false),
            (json!({"type": "about:blank", "title": "Gone"}), true),
            (json!({"title": "Gone", "status": 410, "sku": 7}), true),
            (
                json!({"type": "about:blank", "title": "Fine", "status": 200}),
                false,
            ),
        ] {
            assert_eq!(
                stated_problem(&document).is_some(),
                is_failure,
                "{document}"
            );
        }
    }
}
