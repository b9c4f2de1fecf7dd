//! Documents that are failures, and documents about failures.

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
            json!({"data": null, "errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]}),
            "RATE_LIMITED",
            "API rate limit exceeded",
        ),
        (
            json!({"errors": [{"message": "Throttled", "extensions": {"code": "THROTTLED"}}], "extensions": {"cost": 1}}),
            "THROTTLED",
            "Throttled",
        ),
        (
            json!({"errors": [{"message": "No field foo", "locations": [{"line": 1}]}]}),
            "TOOL_FAILED",
            "No field foo",
        ),
        (
            json!({"ok": false, "error": "msg_too_long", "warning": "missing_charset", "response_metadata": {}}),
            "MSG_TOO_LONG",
            "Msg too long",
        ),
        (
            json!({"success": false, "message": "Insufficient balance"}),
            "TOOL_FAILED",
            "Insufficient balance",
        ),
        (
            json!({"ok": false, "description": "Unauthorized", "error_code": 401}),
            "ERR_HTTP_401_UNAUTHORIZED",
            "Unauthorized",
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
        json!({"errors": [{"message": "a", "extensions": {}}], "rows": [1]}),
        json!({"errors": [{"message": "a", "extensions": {}}, {"message": "b"}]}),
        json!({"data": {"a": 1}, "errors": [{"message": "a", "extensions": {}}]}),
        json!({"success": false, "message": "no match", "results": []}),
        json!({"success": false, "message": "no match", "description": "x"}),
        json!({"success": true, "message": "saved"}),
        json!({"success": false, "message": "", "code": "A"}),
        json!({"ok": false, "description": "nightly", "id": 7}),
        json!({"message": "Insufficient balance"}),
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
