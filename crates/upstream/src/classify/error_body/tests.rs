//! Error bodies of real services, and what is read from them.

use panpan_failure::ViolationKind;
use serde_json::json;

use super::*;

#[test]
fn codes_and_messages_are_found_in_common_shapes() {
    for (body, codes, message) in [
        (
            json!({"type": "https://example.com/probs/out-of-credit", "title": "No credit", "detail": "Your balance is 30", "status": 403}),
            &["out-of-credit"][..],
            Some("Your balance is 30"),
        ),
        (
            json!({"type": "about:blank", "title": "Gone"}),
            &[],
            Some("Gone"),
        ),
        (
            json!({"error": {"code": "card_declined", "message": "No", "type": "card_error"}}),
            &["card_declined", "card_error"],
            Some("No"),
        ),
        (
            json!({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Slow", "details": [
                {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "RATE_LIMIT_EXCEEDED", "domain": "googleapis.com"}]}}),
            &["RATE_LIMIT_EXCEEDED", "RESOURCE_EXHAUSTED"],
            Some("Slow"),
        ),
        (
            json!({"error": {"errors": [{"reason": "userRateLimitExceeded", "message": "Too fast"}], "code": 403, "message": "Too fast"}}),
            &["userRateLimitExceeded"],
            Some("Too fast"),
        ),
        (
            json!({"errors": [{"status": "422", "code": "too_short", "title": "Short", "detail": "Name is short"}]}),
            &["too_short"],
            Some("Name is short"),
        ),
        (
            json!({"errors": [{"message": "Not yours", "extensions": {"code": "FORBIDDEN"}}]}),
            &["FORBIDDEN"],
            Some("Not yours"),
        ),
        (json!({"message": "Not Found"}), &[], Some("Not Found")),
        (
            json!({"error": "invalid_grant", "error_description": "Code expired"}),
            &["invalid_grant"],
            Some("Code expired"),
        ),
        (json!({"error": "It is broken"}), &[], Some("It is broken")),
        (
            json!({"__type": "com.amazonaws.dynamodb#ThrottlingException", "Message": "Rate exceeded"}),
            &["ThrottlingException"],
            Some("Rate exceeded"),
        ),
        (
            json!([{"message": "first"}, {"message": "second"}]),
            &[],
            Some("first"),
        ),
        (json!("text"), &[], None),
        (json!(null), &[], None),
    ] {
        let parsed = ErrorBody::of_json(&body);
        assert_eq!(parsed.codes, codes, "{body}");
        assert_eq!(parsed.message.as_deref(), message, "{body}");
    }
}

#[test]
fn input_errors_become_violations() {
    for (body, pointer, reason) in [
        (
            json!({"detail": [{"loc": ["body", "items", 0, "a/b"], "msg": "field required", "type": "missing"}]}),
            "/body/items/0/a~1b",
            "field required",
        ),
        (
            json!({"errors": [{"detail": "is too short", "source": {"pointer": "/data/attributes/name"}}]}),
            "/data/attributes/name",
            "is too short",
        ),
        (
            json!({"errors": [{"detail": "must be positive", "pointer": "#/age"}]}),
            "/age",
            "must be positive",
        ),
        (
            json!({"errors": {"name": ["can't be blank"]}}),
            "/name",
            "can't be blank",
        ),
        (
            json!({"field_errors": {"name": "can't be blank"}}),
            "/name",
            "can't be blank",
        ),
        (
            json!({"message": "Validation Failed", "errors": [{"field": "user.email", "message": "is taken"}]}),
            "/user/email",
            "is taken",
        ),
        (
            json!({"invalid_params": [{"name": "age", "reason": "must be positive"}]}),
            "/age",
            "must be positive",
        ),
    ] {
        let parsed = ErrorBody::of_json(&body);
        assert_eq!(parsed.violations.len(), 1, "{body}");
        assert_eq!(parsed.violations[0].pointer, pointer, "{body}");
        assert_eq!(parsed.violations[0].reason, reason, "{body}");
    }
    for body in [
        json!({"message": "Card declined", "details": {"decline_code": "insufficient_funds", "charge": "ch_1"}}),
        json!({"detail": {"reason": "closed"}}),
        json!({"error": {"message": "no", "details": {"id": "7"}}}),
    ] {
        assert!(ErrorBody::of_json(&body).violations.is_empty(), "{body}");
    }
    for (entry, expected) in [
        (
            json!({"field": "a", "message": "must be an integer"}),
            Some("integer"),
        ),
        (
            json!({"field": "a", "code": "out_of_range", "maximum": 250}),
            Some("at most 250"),
        ),
        (
            json!({"field": "a", "code": "range", "min": 1, "max": 9}),
            Some("at most 9, at least 1"),
        ),
        (
            json!({"pointer": "/a", "detail": "is not an allowed value", "allowed": ["x", "y"]}),
            Some("one of x, y"),
        ),
        (
            json!({"loc": ["query", "a"], "msg": "Input should be greater than or equal to 1", "ctx": {"ge": 1}}),
            Some("at least 1"),
        ),
        (
            json!({"loc": ["body", "a"], "msg": "Input should be 'low' or 'high'", "ctx": {"expected": "'low' or 'high'"}}),
            Some("'low' or 'high'"),
        ),
        (json!({"field": "a", "message": "is odd"}), None),
    ] {
        let parsed = ErrorBody::of_json(&json!({"errors": [entry]}));
        assert_eq!(
            parsed.violations[0].expected.as_deref(),
            expected,
            "{entry}"
        );
    }
    let missing = ErrorBody::of_json(
        &json!({"detail": [{"type": "missing", "loc": ["body", "a"], "msg": "Field required", "input": {}}]}),
    );
    assert_eq!(missing.violations[0].kind, ViolationKind::Missing);
    assert!(
        ErrorBody::of_json(&json!({"errors": ["no", 3, {}]}))
            .violations
            .is_empty()
    );
}

#[test]
fn plain_text_is_a_message_and_a_page_is_not() {
    let message = |body: &str| ErrorBody::of_text(body).message;
    assert_eq!(
        message(" limit may not exceed 100\n").as_deref(),
        Some("limit may not exceed 100")
    );
    for body in [
        "",
        "<html>Not Found</html>",
        "{\"error\": \"cut o",
        "a\u{1}b",
        &"a\n".repeat(LINES_LIMIT + 1),
    ] {
        assert_eq!(message(body), None, "{body}");
    }
    assert!(message(&"a\n".repeat(LINES_LIMIT)).is_some());
}

#[test]
fn retryable_and_effect_are_read_next_to_the_error() {
    for (body, retryable, effect) in [
        (
            json!({"retryable": true, "effect": "none"}),
            Some(true),
            Some(Effect::None),
        ),
        (
            json!({"error": {"retriable": false, "effect": "applied"}}),
            Some(false),
            Some(Effect::Applied),
        ),
        (json!({"retryable": "yes", "effect": "odd"}), None, None),
        (json!({"data": {"retryable": true}}), None, None),
    ] {
        let parsed = ErrorBody::of_json(&body);
        assert_eq!(
            (parsed.retryable, parsed.effect),
            (retryable, effect),
            "{body}"
        );
    }
}

#[test]
fn texts_codes_and_lists_have_limits() {
    let message =
        |length: usize| ErrorBody::of_json(&json!({"message": "a".repeat(length)})).message;
    for length in [TEXT_BYTES_LIMIT, TEXT_BYTES_LIMIT + 1] {
        let kept = message(length).map(|it| it.len());
        assert_eq!(kept, Some(TEXT_BYTES_LIMIT), "{length}");
    }
    let stated = |length: usize| ErrorBody::of_json(&json!({"code": "a".repeat(length)})).codes;
    assert_eq!(stated(CODE_CHARACTERS_LIMIT).len(), 1);
    assert!(stated(CODE_CHARACTERS_LIMIT + 1).is_empty());
    let errors = |count: usize| {
        let entry = |index: usize| json!({"field": format!("a{index}"), "message": "b"});
        let entries: Vec<_> = (0..count).map(entry).collect();
        ErrorBody::of_json(&json!({"errors": entries}))
            .violations
            .len()
    };
    assert_eq!(errors(ERRORS_LIMIT), ERRORS_LIMIT);
    assert_eq!(errors(ERRORS_LIMIT + 1), ERRORS_LIMIT);
}
