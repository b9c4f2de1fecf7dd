//! JSON-RPC errors, and the failures that they become.

use panpan_failure::Category;

use super::*;

fn failure_of(code: i32, message: &str, data: Option<Value>) -> Failure {
    let error = RpcError {
        code,
        message: message.to_owned(),
        data,
    };
    from_rpc_error("files", &error, Timestamp::UNIX_EPOCH)
}

#[test]
fn json_rpc_errors_are_classified() {
    for (code, message, data, expected, retryable) in [
        (
            -32601,
            "Method not found",
            None,
            "ARTIFACT_NOT_FOUND",
            false,
        ),
        (-32602, "Unknown tool: x", None, "ARTIFACT_NOT_FOUND", false),
        (
            -32602,
            "Invalid arguments",
            None,
            "INVALID_INPUT_ERROR",
            false,
        ),
        (-32603, "Internal error", None, "TOOL_FAILED", false),
        (
            -32600,
            "Invalid request",
            None,
            "INVALID_INPUT_ERROR",
            false,
        ),
        (-32700, "Parse error", None, "INVALID_INPUT_ERROR", false),
        (
            -32002,
            "Resource not found",
            None,
            "ARTIFACT_NOT_FOUND",
            false,
        ),
        (-32001, "Request timed out", None, "ERR_TIMEOUT", true),
        (-32000, "Server error", None, "TOOL_FAILED", false),
        (-32000, "HTTP 503", None, "ERR_HTTP_503_UNAVAILABLE", true),
        (
            -32023,
            "Slow down",
            Some(json!({"retryAfter": 3})),
            "ERR_HTTP_429_RATE_LIMITED",
            true,
        ),
        (4711, "boom", None, "TOOL_FAILED", false),
        (i32::MAX, "boom", None, "TOOL_FAILED", false),
    ] {
        let error = RpcError {
            code,
            message: message.to_owned(),
            data,
        };
        let failure = from_rpc_error("files", &error, Timestamp::UNIX_EPOCH);
        let found = (failure.code().as_str(), failure.retryable());
        assert_eq!(found, (expected, retryable), "{code} {message}");
        let upstream = failure.upstream().unwrap();
        assert_eq!(upstream.code.as_deref(), Some(&*code.to_string()));
    }
}

#[test]
fn a_delay_in_the_data_of_an_error_is_kept() {
    let error = RpcError {
        code: -32023,
        message: "Slow down".to_owned(),
        data: Some(json!({"retry_after": 3})),
    };
    let failure = from_rpc_error("files", &error, Timestamp::UNIX_EPOCH);
    assert_eq!(failure.stated_retry_after_ms(), Some(3_000));
    assert_eq!(failure.category(), Category::RateLimit);
}

#[test]
fn the_text_of_an_error_without_a_meaning_is_read() {
    for (code, message, data, expected) in [
        (
            -32603,
            "HTTP 429 Too Many Requests",
            None,
            "ERR_HTTP_429_RATE_LIMITED",
        ),
        (
            -32603,
            "Request failed with status code 404",
            None,
            "ERR_HTTP_404_NOT_FOUND",
        ),
        (
            -32603,
            "Internal error: connect ECONNREFUSED 127.0.0.1:5432",
            None,
            "ERR_CONNECTION_REFUSED",
        ),
        (
            -32603,
            "ENOENT: no such file or directory, open '/x'",
            None,
            "ARTIFACT_NOT_FOUND",
        ),
        (-32603, "Request timed out after 30s", None, "ERR_TIMEOUT"),
        (-32603, "Internal error", None, "TOOL_FAILED"),
        (-32000, "Connection closed", None, "ERR_SOCKET_ERROR"),
        (
            -32000,
            "MCP error -32000: Connection closed",
            None,
            "ERR_SOCKET_ERROR",
        ),
        (
            -32001,
            "Unauthorized: missing token",
            None,
            "ERR_HTTP_401_UNAUTHORIZED",
        ),
        (
            -32003,
            "Forbidden: scope 'issues:read' required",
            None,
            "ERR_HTTP_403_FORBIDDEN",
        ),
        (
            -32029,
            "Rate limit exceeded",
            None,
            "ERR_HTTP_429_RATE_LIMITED",
        ),
        (
            -32603,
            "Upstream error",
            Some(json!({"status": 404})),
            "ERR_HTTP_404_NOT_FOUND",
        ),
        (-32603, "No page 'HTTP 429'", None, "TOOL_FAILED"),
        (-1, "boom", None, "TOOL_FAILED"),
    ] {
        let failure = failure_of(code, message, data);
        assert_eq!(failure.code().as_str(), expected, "{code} {message}");
    }
}

#[test]
fn a_rate_limit_states_its_delay_and_no_effect() {
    for (message, data, delay_ms) in [
        ("Too many requests", Some(json!({"retryAfter": 12})), 12_000),
        (
            "Rate limit exceeded. Try again in 30 seconds.",
            None,
            30_000,
        ),
    ] {
        let failure = failure_of(-32000, message, data);
        assert_eq!(failure.stated_retry_after_ms(), Some(delay_ms), "{message}");
        assert_eq!(failure.effect(), Effect::Unknown, "{message}");
    }
    let limited = json!({"retryAfter": 3});
    let refused = failure_of(RATE_LIMITED, "Slow down", Some(limited));
    assert_eq!(refused.effect(), Effect::None);
    let failure = failure_of(-32000, "busy", Some(json!({"retryAfter": 12})));
    let found = (failure.code().as_str(), failure.effect());
    assert_eq!(found, ("ERR_TRY_LATER", Effect::Unknown));
}

#[test]
fn the_explanation_in_the_data_is_kept() {
    for (message, data, expected) in [
        (
            "Query failed",
            json!({"detail": "no table usres"}),
            "Query failed: no table usres",
        ),
        (
            "Tool failed.",
            json!("no page 12"),
            "Tool failed: no page 12",
        ),
        ("no page 12", json!("page 12"), "no page 12"),
        (
            "Upstream error",
            json!({"status": 404, "body": "no issue 9"}),
            "Upstream error: no issue 9",
        ),
        (
            "Server error",
            json!({"reason": "a", "message": "b"}),
            "Server error: b: a",
        ),
        ("Server error", json!({"reason": 7}), "Server error"),
        ("Server error", json!(null), "Server error"),
    ] {
        let failure = failure_of(-32603, message, Some(data));
        assert_eq!(failure.message(), expected);
    }
}

#[test]
fn invalid_arguments_are_violations_without_an_effect() {
    let issues =
        r#"[{"code": "too_big", "maximum": 80, "path": ["title"], "message": "Too long"}]"#;
    let listed = json!({"errors": [{"path": "/title", "message": "must not be blank"}]});
    for (message, data) in [
        (format!("Invalid arguments for tool x: {issues}"), None),
        ("Invalid params".to_owned(), Some(listed)),
    ] {
        let failure = failure_of(-32602, &message, data);
        assert_eq!(failure.violations()[0].pointer, "/title", "{message}");
        assert_eq!(failure.effect(), Effect::None, "{message}");
    }
}

#[test]
fn an_error_in_a_text_is_read() {
    let tool = ToolText {
        server: "files",
        members: &InputMembers::default(),
        now: Timestamp::UNIX_EPOCH,
    };
    for (text, code) in [
        ("MCP error -32602: Invalid arguments", Some("INVALID_INPUT")),
        (
            "MCP error -32602: Unknown tool: x",
            Some("ARTIFACT_NOT_FOUND"),
        ),
        (
            "MCP error -32602: Tool trigger-elicitation-request not found",
            Some("ARTIFACT_NOT_FOUND"),
        ),
        (
            "MCP error -32602: Tool x: item 7 not found",
            Some("INVALID_INPUT"),
        ),
        (
            "McpError: MCP error -32001: Request timed out",
            Some("ERR_TIMEOUT"),
        ),
        (
            "MCP error -32602: Output validation error: Invalid structured content for tool x: no",
            Some("ERR_OUTPUT_INVALID"),
        ),
        ("No page 'MCP error -32602: x'", None),
        ("MCP error: x", None),
    ] {
        let failure = in_text(text, tool);
        assert_eq!(
            failure.as_ref().map(|it| it.code().as_str()),
            code,
            "{text}"
        );
        assert!(failure.is_none_or(|it| it.message() == text), "{text}");
    }
}

#[test]
fn an_error_for_programs_keeps_its_own_advice() {
    let data =
        json!({"elicitations": [{"mode": "url", "url": "https://a.example", "message": "b"}]});
    let failure = failure_of(URL_ELICITATION_REQUIRED, "Please sign in first", Some(data));
    let actions = &failure.recovery().required_actions;
    assert!(actions[0].contains("https://a.example"), "{actions:?}");
}
