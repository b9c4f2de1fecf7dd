//! Replies whose meaning depends on whether the call writes or only reads.

use panpan_failure::{Effect, Repeat};

use super::*;

#[track_caller]
fn answered(reads: bool, status: u16, headers: &[(&str, &str)], body: &str) -> Failure {
    let response = ErrorResponse {
        status,
        headers,
        body,
        provider: None,
    };
    classify_unknown(&response, reads, Timestamp::UNIX_EPOCH).unwrap()
}

fn message(text: &str) -> String {
    serde_json::json!({ "message": text }).to_string()
}

#[test]
fn a_write_that_was_done_although_it_failed_may_have_had_an_effect() {
    for (status, text) in [
        (400, "The order was placed. The coupon is unknown."),
        (402, "Order placed, payment declined"),
        (404, "Order saved; the customer does not exist."),
        (409, "Order accepted; its stock is reserved by another one."),
        (422, "Order created, but the email is invalid."),
        (423, "The order was created. Its stock is locked."),
        (429, "Order created; notification rate limit exceeded."),
        (529, "Site is overloaded"),
        (503, "payment service: no healthy upstream"),
    ] {
        let failure = answered(false, status, &[], &message(text));
        assert_eq!(failure.effect(), Effect::Unknown, "{status} {text}");
    }
    for (status, text) in [
        (400, "The customer must be created first"),
        (400, "Order could not be created"),
        (409, "The invoice created on Monday is closed"),
        (409, "The order was already cancelled"),
        (422, "The email is not saved"),
        (429, "Too many orders were created"),
    ] {
        let failure = answered(false, status, &[], &message(text));
        assert_eq!(failure.effect(), Effect::None, "{status} {text}");
    }
}

#[test]
fn a_read_waits_for_what_is_not_there_yet() {
    for (text, delay_ms) in [
        (
            "Account is being provisioned. Please retry after 60 seconds.",
            60_000,
        ),
        (
            "Resource is being updated by another request. Try again in 5 seconds.",
            5_000,
        ),
        ("Job 17 is queued. Retry in 20 seconds.", 20_000),
        (
            "The user was created a moment ago and is not visible yet. Retry after 3 seconds.",
            3_000,
        ),
        (
            "Report rep_1 is being generated, please wait a moment and try again.",
            10_000,
        ),
        ("Still running (40 %). Poll again in 10 seconds.", 10_000),
        ("It was queued. Check back in 30 seconds.", 30_000),
        ("Come back in 2 minutes.", 120_000),
        ("The report will be ready in 60 seconds", 60_000),
        ("The printer is busy, try later", 30_000),
        ("Please wait until the import has finished.", 1_000),
    ] {
        for status in [400, 403, 404, 409, 422, 423] {
            let failure = answered(true, status, &[], &message(text));
            let found = (
                failure.code().as_str(),
                failure.recovery().retry_after_ms,
                failure.may_repeat(),
            );
            assert_eq!(
                found,
                ("ERR_TRY_LATER", Some(delay_ms), true),
                "{status} {text}"
            );
        }
    }
}

#[test]
fn other_work_does_not_keep_a_write_from_waiting() {
    for (status, text, code, effect) in [
        (
            409,
            "Account is being provisioned. Please retry after 60 seconds.",
            "ERR_TRY_LATER",
            Effect::None,
        ),
        (
            409,
            "Resource is being updated by another request.",
            "ERR_TRY_LATER",
            Effect::None,
        ),
        (
            409,
            "Your order is being processed. Check back in 5 seconds.",
            "ERR_HTTP_409_CONFLICT",
            Effect::None,
        ),
        (
            404,
            "Report rep_1 is being generated.",
            "ERR_HTTP_404_NOT_FOUND",
            Effect::None,
        ),
    ] {
        let failure = answered(false, status, &[], &message(text));
        let found = (failure.code().as_str(), failure.effect());
        assert_eq!(found, (code, effect), "{status} {text}");
    }
}

#[test]
fn an_internal_error_about_a_credential_is_one_of_the_service() {
    for (text, code) in [
        (
            "FATAL: password authentication failed for user \"app\"",
            "ERR_HTTP_500_SERVER_ERROR",
        ),
        ("Login failed for user 'sa'.", "ERR_HTTP_500_SERVER_ERROR"),
        (
            "SMTP error 535: authentication failed for mailer",
            "ERR_HTTP_500_SERVER_ERROR",
        ),
        (
            "mail provider: invalid API key",
            "ERR_HTTP_500_SERVER_ERROR",
        ),
        (
            "Your session has expired, please log in",
            "ERR_HTTP_401_UNAUTHORIZED",
        ),
    ] {
        let failure = answered(true, 500, &[], &message(text));
        assert_eq!(failure.code().as_str(), code, "{text}");
    }
}

#[test]
fn an_action_helps_with_what_the_message_says() {
    for (status, body, action) in [
        (
            429,
            message("Daily quota exceeded. Please try again tomorrow."),
            "This limit resets by itself",
        ),
        (
            429,
            message("Quota exceeded for quota metric 'Queries' and limit 'Queries per day'"),
            "This limit resets by itself",
        ),
        (
            403,
            r#"[{"message": "TotalRequests Limit exceeded.", "errorCode": "REQUEST_LIMIT_EXCEEDED"}]"#
                .to_owned(),
            "This limit resets by itself",
        ),
        (
            429,
            message(
                "Too many failed attempts. Your account has been locked; contact support to unlock it.",
            ),
            "Ask a person to unlock",
        ),
        (
            410,
            message("Issues are disabled for this repo"),
            "What the message names is switched off",
        ),
        (
            410,
            message("The cursor has expired. Start again without a cursor."),
            "Leave the cursor or page token out",
        ),
        (
            400,
            message("The cursor has expired. Start again without a cursor."),
            "Leave the cursor or page token out",
        ),
    ] {
        let failure = answered(true, status, &[], &body);
        let actions = &failure.recovery().required_actions;
        assert!(actions[0].starts_with(action), "{body}: {actions:?}");
        assert!(!failure.may_repeat(), "{body}");
    }
}

#[test]
fn a_service_that_is_asked_too_often_limits_the_rate() {
    let body = "<?xml version=\"1.0\"?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>";
    let failure = answered(false, 503, &[], body);
    assert_eq!(failure.code().as_str(), "ERR_HTTP_429_RATE_LIMITED");
    let full = answered(false, 507, &[], &message("quota of 5 GB is used up"));
    assert_eq!((full.retryable(), full.effect()), (false, Effect::Unknown));
}

#[test]
fn a_stored_response_is_not_asked_for_again() {
    let replayed = [("Idempotent-Replayed", "true")];
    for (headers, repeat) in [
        (&replayed[..], Some(Repeat::Frozen)),
        (&[("Idempotent-Replayed", "false")], None),
    ] {
        let failure = answered(false, 500, headers, &message("An error occurred"));
        assert_eq!(failure.repeat(), repeat);
    }
}

#[test]
fn a_status_that_is_none_is_named_and_an_address_is_no_code() {
    let failure = answered(true, 999, &[], "Request denied by the site");
    assert!(failure.message().contains("999"), "{}", failure.message());
    let body = r#"{"error": "Find your key at https://a.example/account/keys"}"#;
    let failure = answered(true, 401, &[], body);
    assert_eq!(failure.details().and_then(|it| it.get("code")), None);
}
