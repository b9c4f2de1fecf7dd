//! Responses and the code, delay and effect of their failure.

use panpan_failure::{EXCERPT_CHARACTERS_LIMIT, Effect, Inferred, Repeat};
use serde_json::json;

use super::evidence::{MESSAGE_CHARACTERS_LIMIT, MESSAGE_VIOLATIONS_LIMIT};
use super::*;

#[test]
fn a_delay_in_the_body_counts_if_no_header_states_one() {
    let delay_ms = |headers| {
        let body = r#"{"error": {"message": "slow down", "retry_after": 2.5}}"#;
        let response = ErrorResponse {
            status: 429,
            headers,
            body,
            provider: None,
        };
        classify(&response, Timestamp::UNIX_EPOCH)
            .unwrap()
            .recovery()
            .retry_after_ms
    };
    assert_eq!(delay_ms(&[]), Some(2500));
    assert_eq!(delay_ms(&[("retry-after", "7")]), Some(7000));
}

fn failure(status: u16, headers: &[(&str, &str)]) -> Failure {
    let response = ErrorResponse {
        status,
        headers,
        body: "",
        provider: Some("api.example.com"),
    };
    classify(&response, Timestamp::UNIX_EPOCH).unwrap()
}

#[test]
fn the_status_decides_the_code() {
    for (status, code) in [
        (400, "ERR_HTTP_400_BAD_REQUEST"),
        (404, "ERR_HTTP_404_NOT_FOUND"),
        (418, "ERR_HTTP_418"),
        (503, "ERR_HTTP_503_UNAVAILABLE"),
        (599, "ERR_HTTP_599"),
        (600, "ERR_HTTP_502_BAD_GATEWAY"),
    ] {
        let failure = failure(status, &[]);
        assert_eq!(failure.code().as_str(), code);
        assert_eq!(failure.upstream().unwrap().status, Some(status));
    }
}

/// The failure of a call whose input has only the member `title`.
fn failure_about_title(body: &str) -> Failure {
    let response = ErrorResponse {
        status: 422,
        headers: &[],
        body,
        provider: Some("api.example.com"),
    };
    let members = InputMembers::of_schema(&json!({"properties": {"title": {}}}));
    let request = RequestContext {
        members: &members,
        declared: None,
        input: &Value::Null,
        kind_by_rule: None,
        reads: false,
    };
    classify_for(&response, request, Timestamp::UNIX_EPOCH).unwrap()
}

#[test]
fn a_message_has_a_limited_number_of_violations() {
    for count in [MESSAGE_VIOLATIONS_LIMIT, MESSAGE_VIOLATIONS_LIMIT + 1] {
        let error = |number| {
            (
                format!("member{number}"),
                json!([format!("is bad {number}")]),
            )
        };
        let errors: Value = (0..count).map(error).collect();
        let failure = failure_about_title(&json!({"message": "No.", "errors": errors}).to_string());
        let named = failure.message().matches("is bad").count();
        assert_eq!(named, MESSAGE_VIOLATIONS_LIMIT, "{}", failure.message());
    }
}

#[test]
fn the_message_says_what_the_service_says_in_any_shape() {
    let message = |body: &str| {
        let failure = failure_about_title(body);
        (failure.message().to_owned(), failure.violations().len())
    };
    for (body, expected, violations) in [
        // Members that the input has are violations, others are in the message.
        (
            r#"{"message": "Invalid.", "errors": {"title": ["is too long"], "base": ["was paid"]}}"#,
            "Invalid. was paid (base)",
            1,
        ),
        (
            r#"{"error": {"code": 400, "message": "Invalid", "details": [{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [{"field": "title", "description": "is too long"}, {"field": "titel", "description": "Cannot find field."}]}]}}"#,
            "Invalid; Cannot find field. (titel)",
            1,
        ),
        (
            r#"{"errorMessages": [], "errors": {"summary": "You must specify a summary"}}"#,
            "You must specify a summary",
            0,
        ),
        (
            r#"{"title": ["is required"], "non_field_errors": ["Too many rooms"]}"#,
            "Too many rooms (non_field_errors)",
            1,
        ),
        (
            r#"{"title": ["is required"], "to": ["is before from"]}"#,
            "is before from (to)",
            1,
        ),
        (
            r#"{"errors": ["too short", "too slow"]}"#,
            "too short; too slow",
            0,
        ),
        (
            r#"{"errors": "Exceeded 2 calls per second"}"#,
            "Exceeded 2 calls per second",
            0,
        ),
        (
            r#"{"error": {"type": "conflict_exception", "reason": "current version is 2"}}"#,
            "current version is 2",
            0,
        ),
        (
            "<Error><Code>NoSuchKey</Code><Message>The key does not exist</Message></Error>",
            "The key does not exist",
            0,
        ),
        // Not a text about the failure.
        (
            r#"{"reason": "Conflict"}"#,
            "api.example.com answered HTTP 422",
            0,
        ),
        (
            r#"{"tags": ["a", "b"], "count": 2}"#,
            "api.example.com answered HTTP 422",
            0,
        ),
        (
            "<html><title>Sign in</title></html>",
            "api.example.com answered HTTP 422",
            0,
        ),
    ] {
        assert_eq!(message(body), (expected.to_owned(), violations), "{body}");
    }
}

#[test]
fn a_message_does_not_call_600_an_http_status() {
    for (status, message) in [
        (599, "api.example.com answered HTTP 599"),
        (
            600,
            "api.example.com answered with status 600, which is not an HTTP status",
        ),
    ] {
        assert_eq!(failure(status, &[]).message(), message);
    }
}

#[test]
fn sentences_decide_code_delay_and_effect() {
    let minutes = "Please wait a few minutes before you try again.";
    for (status, body, code, delay_ms, effect) in [
        (
            400,
            "The record is locked by another process. Try again later.".to_owned(),
            "ERR_TRY_LATER",
            Some(30_000),
            Effect::None,
        ),
        (
            409,
            "Another deployment is in progress. Try again in a minute.".to_owned(),
            "ERR_TRY_LATER",
            Some(60_000),
            Effect::None,
        ),
        (
            403,
            format!("You have exceeded a secondary rate limit. {minutes}"),
            "ERR_HTTP_429_RATE_LIMITED",
            Some(180_000),
            Effect::None,
        ),
        (
            429,
            "Monthly quota of your plan exhausted. Upgrade to continue.".to_owned(),
            "ERR_RESOURCE_EXHAUSTED",
            None,
            Effect::None,
        ),
        (
            400,
            "Order was saved but the confirmation mail could not be sent".to_owned(),
            "ERR_HTTP_400_BAD_REQUEST",
            None,
            Effect::Unknown,
        ),
        (
            400,
            "Session expired, please log in again".to_owned(),
            "ERR_HTTP_401_UNAUTHORIZED",
            None,
            Effect::None,
        ),
        (
            400,
            "Too many requests".to_owned(),
            "ERR_HTTP_429_RATE_LIMITED",
            None,
            Effect::None,
        ),
        (
            422,
            "could not connect to the database".to_owned(),
            "ERR_TRY_LATER",
            None,
            Effect::Unknown,
        ),
        (
            404,
            "could not connect to the database".to_owned(),
            "ERR_HTTP_404_NOT_FOUND",
            None,
            Effect::None,
        ),
        (
            400,
            "timeout must be at most 30".to_owned(),
            "ERR_HTTP_400_BAD_REQUEST",
            None,
            Effect::None,
        ),
        (
            500,
            "Unauthorized".to_owned(),
            "ERR_HTTP_401_UNAUTHORIZED",
            None,
            Effect::Unknown,
        ),
        (
            400,
            "The name is wrong. Please correct it and try again.".to_owned(),
            "ERR_HTTP_400_BAD_REQUEST",
            None,
            Effect::None,
        ),
    ] {
        let response = ErrorResponse {
            status,
            headers: &[],
            body: &body,
            provider: None,
        };
        let failure = classify(&response, Timestamp::UNIX_EPOCH).unwrap();
        let delay = failure.stated_retry_after_ms();
        let found = (failure.code().as_str(), delay, failure.effect());
        assert_eq!(found, (code, delay_ms, effect), "{body}");
    }
}

#[test]
fn a_response_below_400_is_not_a_failure() {
    let response = |status| ErrorResponse {
        status,
        headers: &[],
        body: "",
        provider: None,
    };
    assert!(classify(&response(399), Timestamp::UNIX_EPOCH).is_none());
    assert!(classify(&response(400), Timestamp::UNIX_EPOCH).is_some());
}

#[test]
fn a_503_with_a_retry_after_header_had_no_effect() {
    assert_eq!(failure(503, &[]).effect(), Effect::Unknown);
    let stated = failure(503, &[("retry-after", "Thu, 01 Jan 1970 00:00:30 GMT")]);
    assert_eq!(stated.effect(), Effect::None);
    assert_eq!(stated.recovery().retry_after_ms, Some(30_000));
    let quota = failure(503, &[("x-ratelimit-reset", "3600")]);
    assert_eq!(quota.effect(), Effect::Unknown);
}

fn failure_of(status: u16, body: &str) -> Failure {
    let response = ErrorResponse {
        status,
        headers: &[],
        body,
        provider: Some("api.example.com"),
    };
    classify(&response, Timestamp::UNIX_EPOCH).unwrap()
}

#[test]
fn a_stated_delay_makes_a_final_status_retryable() {
    let later = |failure: &Failure, delay_ms: u64| {
        assert_eq!(failure.code().as_str(), "ERR_TRY_LATER");
        assert!(failure.may_repeat());
        assert_eq!(failure.effect(), Effect::None);
        assert_eq!(failure.recovery().retry_after_ms, Some(delay_ms));
    };
    let by_header = failure(404, &[("retry-after", "5")]);
    later(&by_header, 5_000);
    assert_eq!(by_header.kind().http_status(), 404);
    assert_eq!(by_header.upstream().unwrap().status, Some(404));
    later(
        &failure_of(
            409,
            r#"{"error": {"message": "locked", "retry_after_ms": 250}}"#,
        ),
        250,
    );
    later(
        &failure_of(
            409,
            r#"{"message": "an export is running, retry in 2 seconds"}"#,
        ),
        2_000,
    );
    later(
        &failure_of(400, "Busy. Please try again in 3 seconds.\n"),
        3_000,
    );
    later(
        &failure_of(422, r#"{"code": "X", "retryable": true}"#),
        1_000,
    );
    for (failure, code) in [
        (
            failure(401, &[("retry-after", "5")]),
            "ERR_HTTP_401_UNAUTHORIZED",
        ),
        (
            failure(403, &[("retry-after", "5")]),
            "ERR_HTTP_429_RATE_LIMITED",
        ),
        (
            failure(429, &[("retry-after", "5")]),
            "ERR_HTTP_429_RATE_LIMITED",
        ),
        (
            failure(404, &[("x-ratelimit-reset", "5")]),
            "ERR_HTTP_404_NOT_FOUND",
        ),
        (
            failure(404, &[("retry-after", "5"), ("x-should-retry", "false")]),
            "ERR_HTTP_404_NOT_FOUND",
        ),
        (
            failure_of(404, r#"{"retry_after": 5, "retryable": false}"#),
            "ERR_HTTP_404_NOT_FOUND",
        ),
        (
            failure_of(
                404,
                r#"{"message": "retry policy was updated 5 seconds ago"}"#,
            ),
            "ERR_HTTP_404_NOT_FOUND",
        ),
    ] {
        assert_eq!(failure.code().as_str(), code);
    }
}

#[test]
fn a_delay_is_inferred_if_it_comes_from_a_sentence() {
    let marked = |body| failure_of(429, body).inferred().contains(&Inferred::Delay);
    assert!(marked(r#"{"message": "try again in 5 seconds"}"#));
    assert!(!marked(
        r#"{"message": "try again in 5 seconds", "retry_after": 4}"#
    ));
    let both = failure_of(
        429,
        r#"{"message": "try again in 5 seconds", "retry_after": 4}"#,
    );
    assert_eq!(both.recovery().retry_after_ms, Some(4_000));
}

#[test]
fn only_a_header_a_member_or_a_sentence_means_no_effect() {
    let accepted = failure_of(
        503,
        r#"{"message": "accepted, still working", "retry_after": 0.2}"#,
    );
    assert_eq!(accepted.effect(), Effect::Unknown);
    assert_eq!(accepted.recovery().retry_after_ms, Some(200));
    let sentence = failure_of(500, r#"{"message": "Deadlock found, nothing was changed"}"#);
    assert_eq!(sentence.effect(), Effect::None);
    assert!(sentence.inferred().contains(&Inferred::Effect));
    let word = failure_of(500, r#"{"error": {"message": "no", "effect": "none"}}"#);
    assert_eq!(word.effect(), Effect::None);
    assert!(!word.inferred().contains(&Inferred::Effect));
    let both = failure_of(
        500,
        r#"{"message": "nothing was changed", "effect": "applied"}"#,
    );
    assert_eq!(both.effect(), Effect::Applied);
    let twice = failure_of(
        500,
        r#"{"message": "nothing was changed", "effect": "none"}"#,
    );
    assert!(!twice.inferred().contains(&Inferred::Effect));
}

#[test]
fn a_sentence_about_one_step_does_not_mean_no_effect() {
    for message in [
        "Order 17 was created, the payment failed. Nothing was charged.",
        "The order was created. No charge was made.",
        "Invoice saved. Nothing was sent.",
        "mail server down: nothing was sent",
        "Order stored, payment gateway timed out, no payment was taken",
        "We charged your card. Sending failed: nothing was sent.",
        "The first batch was imported. The second failed and the transaction was rolled back.",
        "Audit log unavailable, no record was written",
        "Replication failed: nothing has been done",
        "The order was placed – nothing was charged",
    ] {
        let body = serde_json::json!({"message": message}).to_string();
        assert_eq!(
            failure_of(500, &body).effect(),
            Effect::Unknown,
            "{message}"
        );
    }
}

#[test]
fn a_retry_after_header_does_not_deny_a_stated_effect() {
    let effect = |message: &str| {
        let body = serde_json::json!({"message": message}).to_string();
        let response = ErrorResponse {
            status: 503,
            headers: &[("Retry-After", "1")],
            body: &body,
            provider: None,
        };
        classify(&response, Timestamp::UNIX_EPOCH).unwrap().effect()
    };
    assert_eq!(
        effect("Order 17 was created, the index is down"),
        Effect::Unknown
    );
    assert_eq!(effect("The index is down"), Effect::None);
}

#[test]
fn a_delay_after_a_stated_effect_does_not_invite_a_retry() {
    for (status, message) in [
        (
            409,
            "Your order was received and is being processed, check back in 1 second",
        ),
        (409, "Your order was received, please try again in 1 second"),
        (400, "Your payment was accepted; please wait 1 second"),
    ] {
        let body = serde_json::json!({"message": message}).to_string();
        assert!(!failure_of(status, &body).retryable(), "{message}");
    }
    let limited = failure_of(
        429,
        r#"{"message": "You have sent too many requests, try again in 5 seconds"}"#,
    );
    assert_eq!(limited.recovery().retry_after_ms, Some(5_000));
}

#[test]
fn a_service_can_forbid_a_retry() {
    for failure in [
        failure(503, &[("x-should-retry", "false")]),
        failure_of(503, r#"{"retryable": false}"#),
        failure_of(
            429,
            r#"{"error": {"message": "enough", "retriable": false}}"#,
        ),
    ] {
        assert_eq!(failure.repeat(), Some(Repeat::Refused));
        assert!(!failure.may_repeat());
    }
    assert!(failure_of(503, r#"{"retryable": true}"#).may_repeat());
}

#[test]
fn a_spent_quota_with_a_stated_delay_is_a_rate_limit() {
    let spent = failure_of(
        429,
        r#"{"error": {"code": "quota_exceeded", "message": "no more"}}"#,
    );
    assert_eq!(spent.code().as_str(), "ERR_RESOURCE_EXHAUSTED");
    let minute = failure_of(
        429,
        r#"{"error": {"code": "quota_exceeded", "retry_after_seconds": 2}}"#,
    );
    assert_eq!(minute.code().as_str(), "ERR_HTTP_429_RATE_LIMITED");
}

#[test]
fn the_code_of_the_service_is_in_the_details() {
    let failure = failure_of(
        404,
        r#"{"error": {"type": "ARTICLE_UNKNOWN", "message": "no article W-99"}}"#,
    );
    assert_eq!(failure.details().unwrap()["code"], "ARTICLE_UNKNOWN");
    assert_eq!(
        failure.upstream().unwrap().code.as_deref(),
        Some("ARTICLE_UNKNOWN")
    );
    assert_eq!(failure.message(), "no article W-99");
}

#[test]
fn actions_refer_to_a_message_only_if_there_is_one() {
    let action = |failure: Failure| failure.recovery().required_actions.join(" ");
    for status in (400..500).filter(|it| *it != 429) {
        for unexplained in [
            failure(status, &[]),
            failure_of(status, r#"{"code": "E-1"}"#),
        ] {
            let action = action(unexplained);
            assert!(!action.contains("message"), "{status}: {action}");
        }
    }
    assert!(action(failure_of(400, r#"{"message": "no"}"#)).contains("as the message says"));
}

#[test]
fn a_compressed_body_is_reported_as_such() {
    let action = |failure: &Failure| failure.recovery().required_actions.join(" ");
    let compressed = failure(400, &[("Content-Encoding", "gzip")]);
    assert!(
        compressed.message().contains("compressed (gzip)"),
        "{compressed:?}"
    );
    assert!(
        action(&compressed).contains("compressed reason"),
        "{compressed:?}"
    );
    let plain = failure(400, &[("Content-Encoding", "identity")]);
    assert!(!plain.message().contains("compressed"), "{plain:?}");
    assert!(action(&plain).contains("did not say why"), "{plain:?}");
}

#[test]
fn a_long_message_is_truncated() {
    let long = |length: usize| "word ".repeat(length / 5);
    for length in [
        MESSAGE_CHARACTERS_LIMIT,
        MESSAGE_CHARACTERS_LIMIT + 5,
        60_000,
        70_000,
    ] {
        let text = long(length);
        let entry = serde_json::json!({"field": "a", "message": text});
        let body = serde_json::json!({"message": text, "errors": [entry]}).to_string();
        let failure = failure_of(400, &body);
        let reason = failure.violations()[0].reason.as_str();
        for text in [failure.message(), reason] {
            assert!(text.starts_with("word word") && text.chars().count() <= 1_001);
            assert_eq!(
                text.ends_with('…'),
                length > MESSAGE_CHARACTERS_LIMIT,
                "{length}"
            );
        }
        assert!(failure.details().unwrap()["upstream_message"] == failure.message());
    }
    let secret = "sk-live-0123456789abcdef0123456789abcdef";
    let body = serde_json::json!({"message": format!("{}{secret}", "a".repeat(990) + " ")});
    let failure = failure_of(400, &body.to_string());
    assert!(!failure.message().contains("sk-live"), "{failure:?}");
}

#[test]
fn the_excerpt_is_truncated_at_its_limit() {
    let body = "é".repeat(EXCERPT_CHARACTERS_LIMIT + 1);
    let response = ErrorResponse {
        status: 500,
        headers: &[],
        body: &body,
        provider: None,
    };
    let failure = classify(&response, Timestamp::UNIX_EPOCH)
        .unwrap()
        .redacted();
    let excerpt = failure.upstream().unwrap().excerpt.clone().unwrap();
    assert_eq!(excerpt.chars().count(), EXCERPT_CHARACTERS_LIMIT);
}
