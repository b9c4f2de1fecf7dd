//! Failing results, and the failures that they become.

use panpan_failure::dialect::Envelope;
use panpan_failure::{Category, Effect, Violation};

use super::*;

mod documents;

fn failure_of_tool(result: &Value, side_effects: SideEffects) -> Failure {
    let failing = FailingResult {
        server: "files",
        result,
        side_effects,
        output_schema: None,
        members: &InputMembers::default(),
        now: Timestamp::UNIX_EPOCH,
    };
    failing.failure(|code| code == "DISK_FULL")
}

fn failure_of(result: &Value) -> Failure {
    failure_of_tool(result, SideEffects::Change)
}

fn text(text: impl Into<String>) -> Value {
    json!({"isError": true, "content": [{"type": "text", "text": text.into()}]})
}

fn own() -> Failure {
    Failure::new(codes::INVALID_INPUT)
        .with_message("no such order")
        .with_violation(Violation::missing("/order"))
        .with_detail("order", 7)
        .with_attempts(3)
        .with_effect(Effect::None)
}

#[test]
fn a_failure_of_panpan_is_recovered_completely() {
    let failure = own().redacted();
    let whole = Dialect::Mcp.render_failure(&failure, Envelope::default());
    assert_eq!(failure_of(&whole), *failure);
    assert!(failure_of(&whole).was_repeated());
}

#[test]
fn a_failure_of_panpan_is_recovered_from_the_text_of_any_dialect() {
    let failure = own().redacted();
    for dialect in Dialect::ALL {
        if dialect == Dialect::Mcp {
            continue;
        }
        let written = dialect.render_failure(&failure, Envelope::default());
        assert_eq!(
            failure_of(&text(written.to_string())),
            *failure,
            "{dialect}"
        );
    }
}

#[test]
fn known_third_party_shapes_are_parsed() {
    let envelope = json!({
        "isError": true, "errorType": "MODULE_TIMEOUT", "message": "too slow", "retryable": true,
        "suggestion": "ask for less", "aiGuidance": null,
    });
    let nested =
        json!({"error": {"code": "rate_limited", "message": "slow down", "retry_after": 7}});
    let status = json!({"status": 404, "message": "no such file"});
    let gateway = json!({
        "isError": true, "content": [{"type": "text", "text": "boom"}],
        "_meta": {RECOVERY_META_KEY: {
            "error_code": "BACKEND_TIMEOUT", "message": "the backend is slow", "retry": true,
            "suggest": "wait a little", "related_tools": ["other"],
        }},
    });
    let forge = json!({
        "isError": true, "content": [{"type": "text", "text": "slow down"}],
        "structuredContent": {"status_code": 429},
    });
    let structured = json!({
        "isError": true, "content": [{"type": "text", "text": "failed"}],
        "structuredContent": {"code": "DISK_FULL", "message": "no room"},
    });
    for (result, code, message, retryable, delay_ms) in [
        (
            text(envelope.to_string()),
            "ERR_TIMEOUT",
            "too slow",
            true,
            None,
        ),
        (
            text(nested.to_string()),
            "ERR_HTTP_429_RATE_LIMITED",
            "slow down",
            true,
            Some(7_000),
        ),
        (
            text(status.to_string()),
            "ERR_HTTP_404_NOT_FOUND",
            "no such file",
            false,
            None,
        ),
        (gateway, "ERR_TIMEOUT", "the backend is slow", true, None),
        (forge, "ERR_HTTP_429_RATE_LIMITED", "slow down", true, None),
        (structured, "DISK_FULL", "no room", false, None),
        (
            text("HTTP error 503: busy"),
            "ERR_HTTP_503_UNAVAILABLE",
            "HTTP error 503: busy",
            true,
            None,
        ),
        (
            text("ENOENT: no such file"),
            "ARTIFACT_NOT_FOUND",
            "ENOENT: no such file",
            false,
            None,
        ),
        (
            text("the file is locked"),
            "TOOL_FAILED",
            "the file is locked",
            false,
            None,
        ),
        (
            text(" "),
            "TOOL_FAILED",
            "the tool failed without an error message",
            false,
            None,
        ),
        (
            json!({"isError": true, "content": []}),
            "TOOL_FAILED",
            "the tool failed without an error message",
            false,
            None,
        ),
        (
            text("{\"rows\": 3}"),
            "TOOL_FAILED",
            "{\"rows\": 3}",
            false,
            None,
        ),
        (text("[1]"), "TOOL_FAILED", "[1]", false, None),
    ] {
        let failure = failure_of(&result);
        let found = (
            failure.code().as_str(),
            failure.message(),
            failure.retryable(),
            failure.stated_retry_after_ms(),
        );
        assert_eq!(found, (code, message, retryable, delay_ms), "{result}");
    }
}

#[test]
fn the_condition_in_a_text_determines_its_code() {
    for (said, code) in [
        ("Request timed out after 30s", "ERR_TIMEOUT"),
        ("ConnectionError: db down", "ERR_SOCKET_ERROR"),
        (
            "Error executing tool get: could not connect to server",
            "ERR_CONNECTION_REFUSED",
        ),
        ("The database is currently unavailable.", "ERR_TRY_LATER"),
        (
            "Session expired, please log in again",
            "ERR_HTTP_401_UNAUTHORIZED",
        ),
        ("timeout must be at most 30", "TOOL_FAILED"),
        ("No results for 'connection refused'", "TOOL_FAILED"),
        ("File not found: docs/rate limit exceeded.md", "TOOL_FAILED"),
        ("ValueError: no such connection", "TOOL_FAILED"),
    ] {
        let read = failure_of_tool(&text(said), SideEffects::ReadOnly);
        assert_eq!((read.code().as_str(), read.message()), (code, said));
        let change = failure_of(&text(said));
        assert_eq!(change.code().as_str(), code, "{said}");
        assert_eq!(change.effect(), Effect::Unknown, "{said}");
    }
}

#[test]
fn third_party_advice_is_kept() {
    let said = json!({"errorType": "X_FAILED", "message": "no", "suggestion": "ask for less"});
    let failure = failure_of(&text(said.to_string()));
    assert_eq!(failure.recovery().required_actions, ["ask for less"]);
    assert_eq!(
        failure.upstream().unwrap().code.as_deref(),
        Some("X_FAILED")
    );
}

#[test]
fn a_failure_of_a_read_only_tool_has_no_effect() {
    for (side_effects, effect) in [
        (SideEffects::ReadOnly, Effect::None),
        (SideEffects::Idempotent, Effect::Unknown),
        (SideEffects::Change, Effect::Unknown),
    ] {
        assert_eq!(failure_of_tool(&text("no"), side_effects).effect(), effect);
    }
}

#[test]
fn a_guess_from_text_does_not_make_a_change_repeatable() {
    for said in [
        "HTTP 503",
        "Wrote 3 rows: HTTP 429",
        "Issue 5 was created, adding labels failed: HTTP 429 Too Many Requests",
        "Push failed: connect ECONNREFUSED 127.0.0.1:22",
        "read ECONNRESET",
    ] {
        let failure = failure_of(&text(said));
        assert!(failure.retryable(), "{said}");
        assert_eq!(failure.effect(), Effect::Unknown, "{said}");
    }
}

#[test]
fn a_text_that_is_only_a_refusal_means_no_effect() {
    for (said, code) in [
        (
            "Request failed with status code 401",
            "ERR_HTTP_401_UNAUTHORIZED",
        ),
        ("HTTP 403 Forbidden", "ERR_HTTP_403_FORBIDDEN"),
        (
            "Request failed with status code 404",
            "ERR_HTTP_404_NOT_FOUND",
        ),
        (
            "HTTP 400 Bad Request: title is required",
            "ERR_HTTP_400_BAD_REQUEST",
        ),
        (
            "failed to create issue: POST https://a.example/issues: 422 Validation Failed [{Field:head}]",
            "ERR_HTTP_422_UNPROCESSABLE",
        ),
        (
            "MCP error -32602: Invalid arguments for tool x: no",
            "INVALID_INPUT_ERROR",
        ),
    ] {
        let failure = failure_of(&text(said));
        let found = (failure.code().as_str(), failure.effect());
        assert_eq!(found, (code, Effect::None), "{said}");
    }
}

#[test]
fn a_rate_limit_keeps_its_delay_and_proves_nothing_about_a_write() {
    for (said, effect) in [
        (
            "Rate limit exceeded. Try again in 30 seconds.",
            Effect::Unknown,
        ),
        (
            "Error executing tool put: Too many requests, try again in 30 seconds",
            Effect::Unknown,
        ),
        ("HTTP 429: try again in 30 seconds", Effect::Unknown),
        (
            "Wrote 3 of 5 rows, then rate limited. Try again in 30 seconds.",
            Effect::Unknown,
        ),
        ("HTTP 503: try again in 30 seconds", Effect::Unknown),
        (
            "HTTP 429: nothing was changed, try again in 30 seconds",
            Effect::None,
        ),
    ] {
        let failure = failure_of(&text(said));
        assert_eq!(failure.effect(), effect, "{said}");
        assert_eq!(failure.stated_retry_after_ms(), Some(30_000), "{said}");
        let read = failure_of_tool(&text(said), SideEffects::ReadOnly);
        assert_eq!(read.effect(), Effect::None, "{said}");
    }
}

#[test]
fn a_refusal_behind_other_work_proves_nothing() {
    for said in [
        "Failed after sending 2 of 3 messages: AxiosError: Request failed with status code 403",
        "Receipt e-mail failed: AxiosError: Request failed with status code 404",
        "Order 7 is stored, but: Error: Request failed with status code 401",
        r#"{"created": ["u1"], "error": "forbidden", "status": 403}"#,
    ] {
        let failure = failure_of(&text(said));
        assert_eq!(failure.effect(), Effect::Unknown, "{said}");
    }
}

#[test]
fn a_message_is_cut_at_its_limit_without_splitting_a_secret() {
    for (count, kept) in [
        (MESSAGE_CHARACTERS_LIMIT, MESSAGE_CHARACTERS_LIMIT),
        // With an ellipsis between blanks.
        (MESSAGE_CHARACTERS_LIMIT + 1, MESSAGE_CHARACTERS_LIMIT + 3),
    ] {
        assert_eq!(bounded(&"é".repeat(count)).chars().count(), kept);
    }
    let before = "a ".repeat(MESSAGE_CHARACTERS_LIMIT / 2 - 10);
    let message = bounded(&format!(
        "{before}sk-live-abcdefghijklmnopqrstuvwxyz0123456789 end"
    ));
    assert!(
        !message.contains("sk-live"),
        "{}",
        &message[message.len() - 40..]
    );
}

#[test]
fn conditions_in_the_output_of_a_program_are_not_those_of_the_tool() {
    for said in [
        "exit code: 2\n  Rate limit exceeded test failed",
        "Command failed: npm test\n  ConnectionError: db down",
    ] {
        let failure = failure_of(&text(said));
        assert_eq!(failure.code().as_str(), "TOOL_FAILED", "{said}");
    }
}

#[test]
fn certain_statements_of_a_tool_are_used() {
    let busy = failure_of(&text("The index is being built, try again in 5 seconds."));
    assert_eq!(busy.code().as_str(), "ERR_TRY_LATER");
    assert_eq!(busy.recovery().retry_after_ms, Some(5_000));
    assert_eq!(busy.effect(), Effect::Unknown);
    let harmless = failure_of(&text("Nothing was written. Please wait 30s."));
    assert_eq!(harmless.effect(), Effect::None);
    assert_eq!(harmless.recovery().retry_after_ms, Some(30_000));
    let limited = failure_of(&text("Rate limited, please retry after 7 seconds"));
    assert_eq!(limited.recovery().retry_after_ms, Some(7_000));
    let other = failure_of(&text("retry policy was updated 5 seconds ago"));
    assert_eq!(other.code().as_str(), "TOOL_FAILED");
}

#[test]
fn all_text_blocks_of_a_failing_result_are_in_the_message() {
    let block = |text: &str| json!({"type": "text", "text": text});
    let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
    let blocks = [block("Step 1 done."), image, block("Step 2 failed: quota")];
    let failure = failure_of(&json!({"isError": true, "content": blocks}));
    assert_eq!(failure.message(), "Step 1 done.\nStep 2 failed: quota");
    let blocks = vec![block(&"a ".repeat(FAILURE_BYTES_LIMIT / 8)); 10];
    let failure = failure_of(&json!({"isError": true, "content": blocks}));
    assert!(failure.message().chars().count() <= MESSAGE_CHARACTERS_LIMIT + 3);
}
