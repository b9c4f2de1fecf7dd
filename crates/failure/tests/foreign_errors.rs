//! Tests for third-party errors: the failures they become, and the facts that are marked as inferred.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use panpan_failure::dialect::{Dialect, detect, read_foreign};
use panpan_failure::{Category, Effect, Failure};
use serde_json::{Value, json};

fn read(document: Value) -> Failure {
    match detect(&document) {
        Ok(dialect) => dialect.read(document).unwrap().outcome.unwrap_err(),
        Err(_) => read_foreign(document, None).unwrap(),
    }
}

fn is_inferred(failure: &Failure, fact: &str) -> bool {
    failure
        .inferred()
        .iter()
        .any(|inferred| inferred.word() == fact)
}

#[test]
fn third_party_numbers_are_not_mistaken_for_ours() {
    for (number, message, code, retryable) in [
        (-32001, "Request timed out", "TOOL_FAILED", false),
        (-32002, "Resource not found", "TOOL_FAILED", false),
        (-32005, "request rate limited", "TOOL_FAILED", false),
        (215, "Widget is out of ink", "TOOL_FAILED", false),
        (503, "Backend Error", "ERR_HTTP_503_UNAVAILABLE", true),
        (429, "slow down", "ERR_HTTP_429_RATE_LIMITED", true),
        (401, "who are you", "ERR_HTTP_401_UNAUTHORIZED", false),
    ] {
        let failure =
            read(json!({"jsonrpc": "2.0", "id": 1, "error": {"code": number, "message": message}}));
        assert_eq!(
            (failure.code().as_str(), failure.retryable()),
            (code, retryable),
            "{number}"
        );
        assert!(is_inferred(&failure, "code"), "{number}");
        assert_eq!(failure.upstream().unwrap().code, Some(number.to_string()));
    }
    let ours = read(
        json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32001, "message": "Task not found"}}),
    );
    assert_eq!(ours.code().as_str(), "TASK_NOT_FOUND");
    assert!(!is_inferred(&ours, "code"));
}

#[test]
fn error_lists_of_another_shape_are_kept_unchanged() {
    for errors in [
        json!(["name is required"]),
        json!([{"field": "name", "message": "is required"}]),
    ] {
        let failure = read(
            json!({"jsonrpc": "2.0", "error": {"code": -32602, "message": "Invalid params", "data": {"errors": errors}}}),
        );
        assert_eq!(failure.details().unwrap()["errors"], errors);
    }
    let odd = json!({"jsonrpc": "2.0", "error": {"code": -32602, "message": "m", "data": {"reason": 5, "panpan": "radio", "expected": ["a"]}}});
    assert_eq!(read(odd).details().unwrap().len(), 3);
}

#[test]
fn is_retryable_without_a_delay_does_not_mean_the_identical_call() {
    let document = |recovery: Value| json!({"error": {"code": "FILE_GONE", "message": "m", "source": "fs", "recovery": recovery}});
    let changed = read(document(
        json!({"is_retryable": true, "required_actions": ["Use another path"]}),
    ));
    assert!(!changed.retryable());
    assert!(is_inferred(&changed, "retryable"));
    let repeated = read(document(
        json!({"is_retryable": true, "retry_strategy": {"suggested_delay": 1.5}, "alternatives": ["use x"]}),
    ));
    assert!(repeated.retryable());
    assert_eq!(repeated.recovery().retry_after_ms, Some(2));
    assert_eq!(repeated.recovery().alternatives[0].description, "use x");
}

#[test]
fn a_secret_never_becomes_a_code() {
    let key = concat!("AKIA", "IOSFODNN7", "EXAMPLE");
    let token = concat!("xox", "b-123456789012-", "abcdefABCDEF");
    for document in [
        json!({"code": key, "message": "m", "retryable": false}),
        json!({"success": false, "error": "m", "code": token}),
        json!({"type": format!("https://x.example/errors/{key}"), "title": "t", "status": 500}),
        json!({"code": "X_Y", "message": "m", "panpan": {"causes": [{"code": key, "message": "m"}]}}),
    ] {
        for dialect in Dialect::ALL {
            let failure = read(document.clone()).redacted();
            let written = String::from_utf8(
                dialect.write_failure(&failure, panpan_failure::dialect::Envelope::default()),
            )
            .unwrap();
            for secret in [
                key,
                token,
                &token.to_uppercase(),
                &token.replace('-', "_").to_uppercase(),
            ] {
                assert!(!written.contains(secret), "{dialect}: {written}");
            }
        }
    }
}

#[test]
fn native_members_win_over_a_contradicting_residual() {
    let document = json!({
        "code": "X_Y", "message": "native", "retryable": false, "details": {"a": 1},
        "panpan": {"code": "OTHER_CODE", "message": "tampered", "retryable": true, "details": {"a": 2}},
    });
    let failure = read(document);
    assert_eq!(
        (
            failure.code().as_str(),
            failure.message(),
            failure.retryable()
        ),
        ("X_Y", "native", false)
    );
    assert_eq!(failure.details().unwrap()["a"], 1);
}

#[test]
fn unknown_words_of_later_versions_are_ignored() {
    let document = json!({
        "code": "X_Y", "message": "m", "retryable": false,
        "panpan": {"effect": "partial", "category": "WEATHER", "remedy": ["restart_transaction", "wait"], "inferred": ["fault"],
                   "violations": [{"pointer": "/a", "kind": "range", "reason": "r"}], "new_member": {}},
    });
    let failure = read(document);
    assert_eq!(failure.violations().len(), 1);
    assert!(is_inferred(&failure, "effect"));
}

#[test]
fn a_grpc_reason_does_not_hide_the_category_of_the_number() {
    let status = |code: u64, reason: &str| {
        read(json!({"code": code, "message": "m", "details": [
            {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason},
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "5s"},
            {"@type": "type.googleapis.com/google.rpc.Help", "links": []},
        ]}))
    };
    let down = status(14, "BACKEND_DOWN");
    assert_eq!(
        (down.category(), down.retryable()),
        (Category::Transient, true)
    );
    assert_eq!(down.recovery().retry_after_ms, Some(5000));
    assert_eq!(status(8, "TOO_FAST").category(), Category::RateLimit);
    assert_eq!(down.details().unwrap()["details"][0]["links"], json!([]));
}

#[test]
fn every_failure_that_was_read_has_a_next_step() {
    let not_retryable = read(
        json!({"ok": false, "error": {"code": "X_Y", "category": "CLIENT_ERROR", "retryable": false, "retry_after_ms": 5}}),
    );
    assert!(!not_retryable.recovery().required_actions.is_empty());
    assert_eq!(not_retryable.recovery().retry_after_ms, None);
    let lenient = read(
        json!({"ok": false, "error": {"code": "X_Y", "category": "transient", "retry_after_ms": 1500.5}}),
    );
    assert!(lenient.recovery().retry_after_ms.is_some());
    assert_eq!(lenient.category(), Category::Transient);
}

#[test]
fn a_forbidden_retry_is_respected_and_a_contradicted_retry_is_marked() {
    let claims = |code: &str, retryable: bool| {
        let error = json!({"code": code, "message": "m", "retryable": retryable});
        read(json!({"ok": false, "error": error}))
    };
    let forbidden = claims("ERR_TIMEOUT", false);
    assert!(forbidden.retryable() && !forbidden.may_repeat());
    let contradicted = claims("ERR_HTTP_404_NOT_FOUND", true);
    assert!(!contradicted.may_repeat());
    assert!(is_inferred(&contradicted, "retryable"));
}

#[test]
fn errors_of_well_known_services_are_read() {
    for (service, document, code, category) in [
        (
            "github",
            json!({"message": "Not Found", "documentation_url": "https://docs.example", "status": "404"}),
            "ERR_HTTP_404_NOT_FOUND",
            Category::ClientError,
        ),
        (
            "spring",
            json!({"timestamp": "t", "status": 500, "error": "Internal Server Error", "path": "/x"}),
            "ERR_HTTP_500_SERVER_ERROR",
            Category::ServerError,
        ),
        (
            "aws",
            json!({"__type": "com.amazonaws.dynamodb.v20120810#ThrottlingException", "message": "Rate exceeded"}),
            "THROTTLING_EXCEPTION",
            Category::RateLimit,
        ),
        (
            "stripe",
            json!({"error": {"code": "rate_limit", "type": "invalid_request_error", "message": "m"}}),
            "RATE_LIMIT",
            Category::RateLimit,
        ),
        (
            "stripe",
            json!({"error": {"type": "card_error", "code": "card_declined", "message": "m"}}),
            "CARD_DECLINED",
            Category::Permanent,
        ),
        (
            "slack",
            json!({"ok": false, "error": "not_authed"}),
            "NOT_AUTHED",
            Category::AuthFail,
        ),
        (
            "telegram",
            json!({"ok": false, "error_code": 429, "description": "Too Many Requests"}),
            "ERR_HTTP_429_RATE_LIMITED",
            Category::RateLimit,
        ),
        (
            "oauth",
            json!({"error": "invalid_grant", "error_description": "expired"}),
            "INVALID_GRANT",
            Category::AuthFail,
        ),
        (
            "kubernetes",
            json!({"kind": "Status", "status": "Failure", "message": "pods not found", "reason": "NotFound", "code": 404}),
            "NOT_FOUND",
            Category::ClientError,
        ),
        (
            "anthropic",
            json!({"type": "error", "error": {"type": "rate_limit_error", "message": "m"}}),
            "ERR_LLM_RATE_LIMITED",
            Category::RateLimit,
        ),
        (
            "asp.net",
            json!({"type": "https://tools.ietf.org/html/rfc9110#section-15.5.5", "title": "Not Found", "status": 404}),
            "ERR_HTTP_404_NOT_FOUND",
            Category::ClientError,
        ),
        (
            "anyone",
            json!({"success": false, "error": {"message": "m", "code": "LOCK_TIMEOUT"}}),
            "LOCK_TIMEOUT",
            Category::Transient,
        ),
    ] {
        let failure = read(document);
        assert_eq!(
            (failure.code().as_str(), failure.category()),
            (code, category),
            "{service}"
        );
    }
}

#[test]
fn violations_of_other_frameworks_are_read() {
    let by_name = read(
        json!({"title": "One or more validation errors occurred.", "status": 400, "errors": {"Name": ["is required"], "Age": ["is too low", "is odd"]}}),
    );
    let pointers: Vec<_> = by_name
        .violations()
        .iter()
        .map(|violation| violation.pointer.as_str())
        .collect();
    assert_eq!(pointers, ["/Age", "/Age", "/Name"]);
    let fragment = read(
        json!({"title": "t", "status": 422, "errors": [{"pointer": "#/age", "detail": "must be positive"}]}),
    );
    assert_eq!(fragment.violations()[0].pointer, "/age");
}

#[test]
fn the_http_status_supplies_facts_that_the_body_lacks() {
    let failure = read_foreign(json!({"oops": true}), Some(503)).unwrap();
    assert_eq!(failure.code().as_str(), "ERR_HTTP_503_UNAVAILABLE");
    assert_eq!(failure.effect(), Effect::Unknown);
    assert_eq!(failure.details().unwrap()["oops"], true);
    let html = read_foreign(json!("<html>Bad Gateway</html>"), Some(502)).unwrap();
    assert_eq!(html.message(), "<html>Bad Gateway</html>");
    for nothing in [
        json!({}),
        json!({"result": 1}),
        json!(5),
        json!(null),
        json!([]),
        json!({"message": "fine"}),
    ] {
        assert!(read_foreign(nothing.clone(), None).is_none(), "{nothing}");
    }
}

#[test]
fn facts_that_a_third_party_error_states_in_our_words_are_kept() {
    for document in [
        json!({"code": "QUEUE_BUSY", "message": "busy", "category": "RATE_LIMIT", "effect": "none", "retryable": true}),
        json!({"ok": false, "error": {"code": "QUEUE_BUSY", "message": "busy", "category": "RATE_LIMIT", "effect": "none", "retryable": true}}),
        json!({"success": false, "error": "busy", "code": "queue_busy", "category": "RATE_LIMIT", "effect": "none", "retryable": true}),
        json!({"jsonrpc": "2.0", "id": 1, "error": {"code": 1234, "message": "busy", "data": {"category": "rate_limit", "effect": "none", "retriable": true}}}),
        json!({"error": {"type": "QUEUE_BUSY", "message": "busy", "category": "RATE_LIMIT", "effect": "none", "retryable": true}}),
    ] {
        let failure = read(document.clone());
        assert_eq!(failure.category(), Category::RateLimit, "{document}");
        assert!(failure.may_repeat(), "{document}");
        assert_eq!(failure.effect(), Effect::None, "{document}");
        assert!(!is_inferred(&failure, "effect"), "{document}");
    }
    let failure = read(json!({"code": "QUEUE_BUSY", "message": "busy", "category": "furniture"}));
    assert_eq!(failure.details().unwrap()["category"], "furniture");
}
