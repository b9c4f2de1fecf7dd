//! Documents of tools, and documents that were sent as a success.

use super::*;

#[test]
fn a_document_beyond_the_limit_is_not_parsed_as_a_failure() {
    // The document without the padding.
    let around = json!({"code": "ALREADY_EXISTS", "message": "no", "pad": ""});
    let room = FAILURE_BYTES_LIMIT - around.to_string().len();
    for (padding, code) in [(room, "ALREADY_EXISTS"), (room + 1, "TOOL_FAILED")] {
        let mut document = around.clone();
        document["pad"] = "a".repeat(padding).into();
        let whole = json!({"isError": true, "content": [], "_meta": {MCP_META_KEY: document}});
        let structured =
            json!({"isError": true, "content": [], "structuredContent": document.clone()});
        for result in [text(document.to_string()), whole, structured] {
            assert_eq!(failure_of(&result).code().as_str(), code, "{padding}");
        }
    }
}

#[test]
fn only_a_result_without_other_data_is_a_disguised_failure() {
    let declared = |result: Value, output_schema: Option<&Value>| {
        let failing = FailingResult {
            server: "files",
            result: &result,
            side_effects: SideEffects::Change,
            output_schema,
            members: &InputMembers::default(),
            now: Timestamp::UNIX_EPOCH,
        };
        failing.is_disguised()
    };
    let disguised = |result| declared(result, None);
    let block = |text: &str| json!({"type": "text", "text": text});
    let lie = r#"{"success": false, "error": "no such file"}"#;
    assert!(disguised(json!({"content": [block(lie)]})));
    let structured = json!({"ok": false, "error": {"code": "A"}});
    assert!(disguised(
        json!({"content": [], "structuredContent": structured})
    ));
    let schema = json!({"properties": {"success": {"type": "boolean"}}});
    let run =
        json!({"content": [], "structuredContent": {"success": false, "error": "exit code 1"}});
    assert!(disguised(run.clone()));
    assert!(!declared(run, Some(&schema)));
    for result in [
        json!({"content": [block(lie), block("and more")]}),
        json!({"content": [block("success: false")]}),
        json!({"content": [block(lie)], "structuredContent": {"success": false, "results": []}}),
        json!({"content": [block(r#"{"ok": false}"#)]}),
        json!({"content": []}),
    ] {
        assert!(!disguised(result.clone()), "{result}");
    }
}

#[test]
fn a_text_of_a_read_only_tool_is_a_failure_only_with_the_flag_of_one() {
    let problem = json!({"type": "about:blank", "title": "Not Found", "status": 404});
    for (document, is_read, is_changed) in [
        (
            json!({"success": false, "error": "no such file"}),
            true,
            true,
        ),
        (problem, false, true),
    ] {
        let disguised = |side_effects| {
            let failing = FailingResult {
                server: "files",
                result: &json!({"content": [{"type": "text", "text": document.to_string()}]}),
                side_effects,
                output_schema: None,
                members: &InputMembers::default(),
                now: Timestamp::UNIX_EPOCH,
            };
            failing.is_disguised()
        };
        assert_eq!(disguised(SideEffects::ReadOnly), is_read, "{document}");
        assert_eq!(disguised(SideEffects::Change), is_changed, "{document}");
    }
}

#[test]
fn documents_keep_their_message() {
    for (document, code, message) in [
        (
            json!({"success": false, "message": "no issue 9"}),
            "TOOL_FAILED",
            "no issue 9",
        ),
        (
            json!({"success": false, "detail": "no issue 9"}),
            "TOOL_FAILED",
            "no issue 9",
        ),
        (
            json!({"success": false, "errors": ["title is required", {"message": "no body"}]}),
            "TOOL_FAILED",
            "title is required; no body",
        ),
        (
            json!({"success": false, "results": [1]}),
            "TOOL_FAILED",
            r#"{"results":[1],"success":false}"#,
        ),
        (
            json!({"success": false, "error": "Request failed with status code 404"}),
            "ERR_HTTP_404_NOT_FOUND",
            "Request failed with status code 404",
        ),
        (
            json!({"error": "Too many requests"}),
            "ERR_HTTP_429_RATE_LIMITED",
            "Too many requests",
        ),
    ] {
        let failure = failure_of(&text(document.to_string()));
        let found = (failure.code().as_str(), failure.message());
        assert_eq!(found, (code, message), "{document}");
    }
}

#[test]
fn a_document_with_a_rate_limit_and_a_delay_keeps_both() {
    let said =
        json!({"message": "You are being rate limited.", "retry_after": 64.5, "global": false});
    let failure = failure_of(&text(said.to_string()));
    let found = (failure.code().as_str(), failure.stated_retry_after_ms());
    assert_eq!(found, ("ERR_HTTP_429_RATE_LIMITED", Some(64_500)));
    assert_eq!(failure.effect(), Effect::Unknown);
    assert_eq!(failure.details().unwrap()["global"], false);
}

#[test]
fn codes_and_statuses_in_documents_win_over_words() {
    for (document, code) in [
        (
            json!({"ok": false, "error": "invalid_auth"}),
            "ERR_HTTP_401_UNAUTHORIZED",
        ),
        (
            json!({"ok": false, "error": "missing_scope"}),
            "ERR_HTTP_403_FORBIDDEN",
        ),
        (
            json!({"code": "AUTH_REQUIRED", "message": "no"}),
            "ERR_HTTP_401_UNAUTHORIZED",
        ),
        (
            json!({"status": 409, "code": "conflict_error", "message": "no"}),
            "ERR_HTTP_409_CONFLICT",
        ),
        (
            json!({"statusCode": 401, "code": "x", "message": "no"}),
            "ERR_HTTP_401_UNAUTHORIZED",
        ),
        (
            json!({"status": 200, "code": "conflict_error", "message": "no"}),
            "ERR_HTTP_400_BAD_REQUEST",
        ),
        (
            json!({"status": 507, "code": "DISK_FULL", "message": "no"}),
            "DISK_FULL",
        ),
        (
            json!({"status": 503, "code": "ALREADY_EXISTS", "message": "no"}),
            "ALREADY_EXISTS",
        ),
    ] {
        let failure = failure_of(&text(document.to_string()));
        assert_eq!(failure.code().as_str(), code, "{document}");
    }
    let stated = json!({"status": 403, "error": "forbidden", "message": "no", "needed": "editor"});
    let failure = failure_of(&text(stated.to_string()));
    assert_eq!(failure.details().unwrap()["needed"], "editor");
}

#[test]
fn a_document_in_our_vocabulary_is_parsed_instead_of_quoted() {
    for (document, category, message, effect, delay_ms) in [
        (
            json!({"error": "busy", "retryable": true, "effect": "none", "retry_after_ms": 200}),
            Category::Transient,
            "busy",
            Effect::None,
            Some(200),
        ),
        (
            json!({"error": "the disk is busy", "retryable": true, "effect": "none"}),
            Category::Transient,
            "the disk is busy",
            Effect::None,
            None,
        ),
        (
            json!({"error": "the disk is busy", "retry_after_ms": 200}),
            Category::Transient,
            "the disk is busy",
            Effect::Unknown,
            Some(200),
        ),
        (
            json!({"error": "the disk is gone", "retryable": false, "effect": "applied"}),
            Category::Permanent,
            "the disk is gone",
            Effect::Applied,
            None,
        ),
    ] {
        let failure = failure_of(&text(document.to_string()));
        assert_eq!(failure.category(), category, "{document}");
        assert_eq!(failure.message(), message, "{document}");
        assert_eq!(failure.effect(), effect, "{document}");
        assert_eq!(failure.stated_retry_after_ms(), delay_ms, "{document}");
    }
}

#[test]
fn the_original_code_of_a_tool_is_kept_as_a_detail() {
    let document = json!({"code": "LOCKED", "message": "held by another", "retryable": true});
    let failure = failure_of(&text(document.to_string()));
    assert_ne!(failure.code().as_str(), "LOCKED");
    assert_eq!(failure.details().unwrap()["code"], "LOCKED");
    let declared = failure_of(&text(
        json!({"code": "DISK_FULL", "message": "no"}).to_string(),
    ));
    assert_eq!(declared.code().as_str(), "DISK_FULL");
    assert!(declared.details().is_none());
}
