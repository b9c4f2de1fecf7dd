//! Error responses of real services, and the code and delay that they are classified as.

#![allow(clippy::unwrap_used, reason = "a failed setup fails the test")]

use jiff::Timestamp;
use panpan_failure::dialect::{Dialect, Envelope};
use panpan_failure::{Effect, Failure, Violation, codes};
use panpan_upstream::{ErrorResponse, classify};

const NOW: i64 = 1_700_000_000;

fn failure(status: u16, headers: &[(&str, &str)], body: &str, provider: &str) -> Failure {
    let response = ErrorResponse {
        status,
        headers,
        body,
        provider: Some(provider),
    };
    classify(&response, Timestamp::from_second(NOW).unwrap()).unwrap()
}

#[test]
fn codes_of_a_service_win_if_they_say_more_than_the_status() {
    for (provider, status, headers, body, code, delay_ms) in [
        // Rate limits with status 403.
        (
            "api.github.com",
            403,
            &[
                ("x-ratelimit-remaining", "0"),
                ("x-ratelimit-reset", "1700000060"),
            ][..],
            r#"{"message": "API rate limit exceeded"}"#,
            "ERR_HTTP_429_RATE_LIMITED",
            Some(60_000),
        ),
        (
            "api.github.com",
            403,
            &[("retry-after", "30")],
            r#"{"message": "You have exceeded a secondary rate limit"}"#,
            "ERR_HTTP_429_RATE_LIMITED",
            Some(30_000),
        ),
        (
            "www.googleapis.com",
            403,
            &[],
            r#"{"error": {"code": 403, "message": "Slow", "errors": [{"reason": "userRateLimitExceeded"}]}}"#,
            "ERR_HTTP_429_RATE_LIMITED",
            Some(1000),
        ),
        (
            "api.github.com",
            403,
            &[
                ("x-ratelimit-remaining", "4999"),
                ("x-ratelimit-reset", "1700000060"),
            ],
            r#"{"message": "Resource not accessible"}"#,
            "ERR_HTTP_403_FORBIDDEN",
            None,
        ),
        // Conditions with the status of a bad request or a conflict.
        (
            "dynamodb.example.com",
            400,
            &[],
            r#"{"__type": "com.amazon.coral.availability#ThrottlingException", "message": "Rate exceeded"}"#,
            "ERR_HTTP_429_RATE_LIMITED",
            Some(1000),
        ),
        (
            "dynamodb.example.com",
            400,
            &[],
            r#"{"__type": "ExpiredTokenException", "message": "The security token included in the request is expired"}"#,
            "ERR_HTTP_401_UNAUTHORIZED",
            None,
        ),
        (
            "dynamodb.example.com",
            400,
            &[],
            r#"{"__type": "ConditionalCheckFailedException", "message": "The conditional request failed"}"#,
            "ERR_HTTP_412",
            None,
        ),
        (
            "crm.example.com",
            400,
            &[],
            r#"[{"message": "unable to obtain exclusive access", "errorCode": "UNABLE_TO_LOCK_ROW"}]"#,
            "ERR_TRY_LATER",
            Some(1000),
        ),
        (
            "cloud.example.com",
            409,
            &[],
            r#"{"error": {"code": "Conflict", "message": "Another operation on this resource is in progress."}}"#,
            "ERR_TRY_LATER",
            Some(1000),
        ),
        (
            "cloud.example.com",
            409,
            &[],
            r#"{"message": "the object has been modified; please apply your changes to the latest version and try again"}"#,
            "ERR_HTTP_409_CONFLICT",
            None,
        ),
        // Spent quotas with the status of a rate limit.
        (
            "crm.example.com",
            403,
            &[],
            r#"[{"message": "TotalRequests Limit exceeded.", "errorCode": "REQUEST_LIMIT_EXCEEDED"}]"#,
            "ERR_RESOURCE_EXHAUSTED",
            None,
        ),
        (
            "crm.example.com",
            429,
            &[],
            r#"{"message": "You have reached your daily limit.", "policyName": "DAILY"}"#,
            "ERR_RESOURCE_EXHAUSTED",
            None,
        ),
        (
            "bank.example.com",
            400,
            &[],
            r#"{"message": "The amount exceeded the daily limit"}"#,
            "ERR_HTTP_400_BAD_REQUEST",
            None,
        ),
        (
            "cluster.example.com",
            403,
            &[],
            r#"{"reason": "Forbidden", "message": "pods is forbidden: exceeded quota: compute, used: cpu=9, limited: cpu=10"}"#,
            "ERR_RESOURCE_EXHAUSTED",
            None,
        ),
        (
            "127.0.0.1",
            400,
            &[],
            r#"{"type": "error", "error": {"type": "invalid_request_error", "message": "Your credit balance is too low"}}"#,
            "ERR_BUDGET_EXCEEDED",
            None,
        ),
        (
            "api.example.com",
            429,
            &[("retry-after", "7")],
            r#"{"error": {"message": "You exceeded your current quota", "type": "insufficient_quota", "param": null, "code": "insufficient_quota"}}"#,
            "ERR_BUDGET_EXCEEDED",
            None,
        ),
        (
            "www.googleapis.com",
            403,
            &[],
            r#"{"error": {"errors": [{"reason": "dailyLimitExceeded"}], "code": 403}}"#,
            "ERR_RESOURCE_EXHAUSTED",
            None,
        ),
        // Language-model providers, by shape and by host.
        (
            "127.0.0.1",
            529,
            &[],
            r#"{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}"#,
            "ERR_LLM_API_ERROR",
            None,
        ),
        (
            "127.0.0.1",
            400,
            &[],
            r#"{"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 9 tokens"}}"#,
            "ERR_LLM_CONTEXT_LENGTH",
            None,
        ),
        (
            "127.0.0.1",
            404,
            &[],
            r#"{"error": {"message": "The model does not exist", "type": "invalid_request_error", "param": null, "code": "model_not_found"}}"#,
            "ERR_LLM_INVALID_MODEL",
            None,
        ),
        (
            "127.0.0.1",
            429,
            &[("retry-after", "20")],
            r#"{"type": "error", "error": {"type": "rate_limit_error", "message": "slow"}}"#,
            "ERR_LLM_RATE_LIMITED",
            Some(20_000),
        ),
        (
            "generativelanguage.googleapis.com",
            403,
            &[],
            r#"{"error": {"code": 403, "message": "no", "status": "PERMISSION_DENIED"}}"#,
            "ERR_LLM_AUTH_FAILURE",
            None,
        ),
        (
            "notopenai.azure.com",
            403,
            &[],
            r#"{"error": {"code": 403, "message": "no", "status": "PERMISSION_DENIED"}}"#,
            "ERR_HTTP_403_FORBIDDEN",
            None,
        ),
        (
            "api.openai.com",
            404,
            &[],
            r#"{"error": {"message": "No such file", "type": "invalid_request_error", "param": "id", "code": null}}"#,
            "ERR_HTTP_404_NOT_FOUND",
            None,
        ),
        // The same codes from other services.
        (
            "api.example.com",
            500,
            &[],
            r#"{"error": {"code": "internal", "message": "oops"}}"#,
            "ERR_HTTP_500_SERVER_ERROR",
            None,
        ),
    ] {
        let failure = failure(status, headers, body, provider);
        assert_eq!(failure.code().as_str(), code, "{body}");
        assert_eq!(failure.upstream().unwrap().status, Some(status));
        if delay_ms.is_some() || !failure.retryable() {
            assert_eq!(failure.recovery().retry_after_ms, delay_ms, "{body}");
        }
    }
}

#[test]
fn every_form_of_a_stated_delay_is_read() {
    for (headers, body, delay_ms) in [
        (&[("retry-after", "7")][..], "", 7000),
        (&[("Retry-After", "1.5")], "", 1500),
        (
            &[("retry-after", "Tue, 14 Nov 2023 22:13:50 GMT")],
            "",
            30_000,
        ),
        (&[("retry-after-ms", "250")], "", 250),
        (&[("x-ratelimit-reset-requests", "6m0s")], "", 360_000),
        (&[("x-ratelimit-reset", "1700000042")], "", 42_000),
        (&[("x-ratelimit-reset", "1700000042000")], "", 42_000),
        (
            &[("anthropic-ratelimit-requests-reset", "2023-11-14T22:13:30Z")],
            "",
            10_000,
        ),
        (&[("ratelimit", "\"default\";r=0;t=30")], "", 30_000),
        (&[], r#"{"retry_after": 2.5}"#, 2500),
        (&[], r#"{"error": {"resets_in_seconds": 90}}"#, 90_000),
        (
            &[],
            r#"{"error": {"details": [{"retryDelay": "30.5s"}]}}"#,
            30_500,
        ),
    ] {
        let failure = failure(429, headers, body, "api.example.com");
        assert_eq!(
            failure.recovery().retry_after_ms,
            Some(delay_ms),
            "{headers:?} {body}"
        );
    }
    for garbage in ["soon", "", "-", "7 or 8", "\u{7}"] {
        let failure = failure(429, &[("retry-after", garbage)], "", "a.example");
        assert_eq!(failure.recovery().retry_after_ms, Some(1000), "{garbage:?}");
    }
}

#[test]
fn a_header_can_forbid_retries() {
    let forbidden = failure(500, &[("x-should-retry", "false")], "", "a.example");
    assert!(!forbidden.may_repeat());
    let silent = failure(500, &[], "", "a.example");
    assert_ne!(silent.recovery().max_retries, Some(0));
}

#[test]
fn the_facts_of_a_body_are_in_the_failure() {
    let body = r##"{"type": "https://example.com/probs/short", "title": "Bad name", "detail": "The name is short",
        "errors": [{"detail": "at least 3 letters", "pointer": "#/name"}]}"##;
    let failure = failure(422, &[], body, "api.example.com");
    assert_eq!(failure.code().as_str(), "ERR_HTTP_422_UNPROCESSABLE");
    assert_eq!(failure.message(), "The name is short");
    assert_eq!(
        failure.details().unwrap()["upstream_message"],
        "The name is short"
    );
    assert_eq!(
        failure.violations(),
        [Violation::value("/name", "at least 3 letters")]
    );
    let upstream = failure.upstream().unwrap();
    assert_eq!(upstream.code.as_deref(), Some("short"));
    assert_eq!(upstream.excerpt.as_deref(), Some(body));
}

#[test]
fn a_failure_of_a_panpan_is_recovered_in_every_dialect() {
    let original = Failure::new(codes::ERR_HTTP_503_UNAVAILABLE)
        .with_message("busy")
        .with_detail("queue", 7)
        .with_violation(Violation::missing("/name"))
        .with_effect(Effect::None)
        .with_retry_after_ms(1234)
        .with_operation("shop/order")
        .with_attempts(3);
    let redacted = original.clone().redacted();
    for dialect in Dialect::ALL {
        let body = dialect.write_failure(&redacted, Envelope::default());
        let body = String::from_utf8(body).unwrap();
        assert_eq!(failure(503, &[], &body, "a.example"), original, "{body}");
    }
    let foreign = r#"{"code": "NOT_FOUND", "message": "no", "retryable": false}"#;
    let foreign = failure(404, &[], foreign, "a.example");
    assert_eq!(foreign.code().as_str(), "ERR_HTTP_404_NOT_FOUND");
}

#[test]
fn a_meaningless_body_is_classified_by_its_status() {
    for body in [
        "",
        "<html>",
        "{",
        "[]",
        "null",
        "7",
        "\"x\"",
        "{\"error\": null}",
        "{\"errors\": {}}",
        "{\"panpan\": {}}",
        "{\"error\": {\"panpan\": {}}}",
        "{\"error\": []}",
    ] {
        let failure = failure(418, &[], body, "a.example");
        assert_eq!(failure.code().as_str(), "ERR_HTTP_418", "{body}");
    }
    let deep = "[".repeat(5000);
    assert_eq!(
        failure(500, &[], &deep, "a").code().as_str(),
        "ERR_HTTP_500_SERVER_ERROR"
    );
}
