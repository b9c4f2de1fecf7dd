//! Failures that arrive as a success: a document that is a failure in one of our dialects and nothing
//! else, though its transport says that all went well.
//!
//! Exactly, or not at all: data about failures (a log, a list of runs, a report with a flag) is data.

use serde_json::{Map, Value};

use super::Dialect;
use crate::failure::Failure;

/// The members a failure in these dialects may have besides its flag and its error, as they and the
/// services that write alike have them.
const BESIDE: [&str; 30] = [
    "category",
    "code",
    "correlation_id",
    "description",
    "details",
    "documentation_url",
    "error_code",
    "errorCode",
    "error_description",
    "error_message",
    "id",
    "message",
    "meta",
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
    "status",
    "statusCode",
    "status_code",
    "timestamp",
    "trace_id",
    "warning",
];

/// Where a success would have put its output; a failure may name it, with nothing in it.
const OUTPUTS: [&str; 4] = ["data", "output", "payload", "result"];

/// The failure a successful answer is, if it is exactly one: `{"success": false, "error": …}`,
/// `{"ok": false, "error": …}` or an error response of JSON-RPC, without any member that is not part of
/// such a failure.
///
/// ```
/// use panpan_contract::dialect::disguised_failure;
/// use serde_json::json;
///
/// let failure = disguised_failure(&json!({"ok": false, "error": {"code": "OUT_OF_STOCK"}})).unwrap();
/// assert_eq!(failure.code().as_str(), "OUT_OF_STOCK");
/// assert!(disguised_failure(&json!({"success": false, "results": [1, 2]})).is_none());
/// ```
pub fn disguised_failure(document: &Value) -> Option<Failure> {
    let members = document.as_object()?;
    let dialect = if is_flagged(members, "success") {
        Dialect::Flat
    } else if is_flagged(members, "ok") {
        Dialect::Outcome
    } else if is_rpc_error(members) {
        Dialect::JsonRpc
    } else {
        return None;
    };
    dialect.read(document.clone()).ok()?.outcome.err()
}

/// Whether a flag says that it failed, an error says why, and nothing else is there.
fn is_flagged(members: &Map<String, Value>, flag: &str) -> bool {
    let fits = |(name, value): (&String, &Value)| match name.as_str() {
        "error" => tells(value),
        name if name == flag => *value == Value::Bool(false),
        name if OUTPUTS.contains(&name) => value.is_null(),
        name => BESIDE.contains(&name),
    };
    members.contains_key(flag) && members.contains_key("error") && members.iter().all(fits)
}

/// Whether an error says something: a text, or an object with a message or a code.
fn tells(error: &Value) -> bool {
    let is_said = |value: &Value| value.as_str().is_some_and(|it| !it.trim().is_empty());
    let names = ["message", "code", "type"];
    is_said(error)
        || names
            .iter()
            .any(|name| error.get(name).is_some_and(is_said))
}

fn is_rpc_error(members: &Map<String, Value>) -> bool {
    let is_ours = |name: &String| ["jsonrpc", "id", "error"].contains(&name.as_str());
    let error = members.get("error");
    members.get("jsonrpc").is_some_and(|it| it == "2.0")
        && error.is_some_and(|it| it["code"].is_i64() && it["message"].is_string())
        && members.keys().all(is_ours)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_exactly_a_failure_is_one() {
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
                json!({"ok": false, "error": {"code": "OUT_OF_STOCK", "message": "sold out"}}),
                "OUT_OF_STOCK",
                "sold out",
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
        ] {
            let failure = disguised_failure(&document).unwrap_or_else(|| panic!("{document}"));
            assert_eq!(failure.code().as_str(), code, "{document}");
            assert_eq!(failure.message(), message, "{document}");
        }
    }

    #[test]
    fn what_only_speaks_of_failures_is_none() {
        for document in [
            json!({"success": false, "results": [1, 2]}),
            json!({"success": false}),
            json!({"ok": false}),
            json!({"ok": false, "error": null}),
            json!({"ok": false, "error": ""}),
            json!({"ok": false, "error": {"count": 3}}),
            json!({"ok": false, "error": ["a", "b"]}),
            json!({"success": true, "error": "a warning"}),
            json!({"success": "false", "error": "a"}),
            json!({"success": false, "error": "exit code 1", "name": "build-41"}),
            json!({"success": false, "error": "exit code 1", "data": {"a": 1}}),
            json!({"runs": [{"success": false, "error": "exit code 1"}]}),
            json!([{"success": false, "error": "exit code 1"}]),
            json!({"level": "error", "error": "disk full", "at": "2026-01-01"}),
            json!({"error": "a"}),
            json!({"code": "A_CODE", "message": "a"}),
            json!({"type": "about:blank", "title": "Gone", "status": 410}),
            json!({"jsonrpc": "2.0", "id": 1, "result": {}}),
            json!({"jsonrpc": "2.0", "id": 1, "error": {"code": "A", "message": "a"}}),
            json!("ok: false"),
            json!(null),
        ] {
            assert!(disguised_failure(&document).is_none(), "{document}");
        }
    }
}
