//! Replies of services in their own words, and the code and effect that an agent has to act on.

use panpan_failure::Effect;

use super::*;

#[track_caller]
fn check(topic: &str, rows: &[(u16, &str, &str, Effect)]) {
    for (status, body, code, effect) in rows {
        let response = ErrorResponse {
            status: *status,
            headers: &[],
            body,
            provider: None,
        };
        let failure = classify(&response, Timestamp::UNIX_EPOCH).unwrap();
        let found = (failure.code().as_str(), failure.effect());
        assert_eq!(found, (*code, *effect), "{topic}: {body}");
    }
}

const BAD: &str = "ERR_HTTP_400_BAD_REQUEST";
const CONFLICT: &str = "ERR_HTTP_409_CONFLICT";
const FORBIDDEN: &str = "ERR_HTTP_403_FORBIDDEN";
const LATER: &str = "ERR_TRY_LATER";
const LIMITED: &str = "ERR_HTTP_429_RATE_LIMITED";
const NOT_FOUND: &str = "ERR_HTTP_404_NOT_FOUND";
const SIGN_IN: &str = "ERR_HTTP_401_UNAUTHORIZED";
const SPENT: &str = "ERR_RESOURCE_EXHAUSTED";

#[test]
fn work_that_was_done_in_part_is_not_denied_by_the_status() {
    check(
        "part done",
        &[
            (
                429,
                r#"{"message": "Rate limit reached after 40 of 100 rows were inserted.", "inserted": 40}"#,
                LIMITED,
                Effect::Unknown,
            ),
            (
                429,
                r#"{"message": "Rate limit exceeded", "processed": 40, "total": 100}"#,
                LIMITED,
                Effect::Unknown,
            ),
            (
                409,
                r#"{"message": "Step 1 was executed. Another deployment is already running."}"#,
                LATER,
                Effect::Unknown,
            ),
            (
                422,
                r#"{"message": "2 of 3 items were imported; 1 failed", "imported": 2}"#,
                "ERR_HTTP_422_UNPROCESSABLE",
                Effect::Unknown,
            ),
            (
                400,
                "Order created with warnings: coupon EXPIRED was not applied",
                BAD,
                Effect::Unknown,
            ),
            // A member made for the effect wins.
            (
                429,
                r#"{"message": "Rate limit reached after 40 rows were inserted.", "effect": "none"}"#,
                LIMITED,
                Effect::None,
            ),
            (
                429,
                r#"{"message": "Too many requests have been sent", "sent": 0}"#,
                LIMITED,
                Effect::None,
            ),
            (
                409,
                r#"{"message": "The order was already cancelled", "created": 1700000000}"#,
                CONFLICT,
                Effect::None,
            ),
        ],
    );
}

#[test]
fn a_condition_that_passes_by_itself_asks_to_wait() {
    check(
        "passes",
        &[
            (
                409,
                r#"{"error": {"code": "deployment_in_progress", "message": "busy"}}"#,
                LATER,
                Effect::None,
            ),
            (
                409,
                "A deployment is already in progress for this project.",
                LATER,
                Effect::None,
            ),
            (
                400,
                r#"{"error": "A backup is already running"}"#,
                LATER,
                Effect::None,
            ),
            (
                422,
                "Droplet already has a pending event.",
                LATER,
                Effect::None,
            ),
            (
                404,
                "Report not ready yet, check back in 30 seconds.",
                LATER,
                Effect::None,
            ),
            (
                409,
                "Conflict occurred while saving. Please try again.",
                LATER,
                Effect::None,
            ),
            (
                400,
                r#"{"error": "authorization_pending"}"#,
                LATER,
                Effect::None,
            ),
            (
                402,
                r#"{"error": {"code": "processing_error", "message": "An error occurred"}}"#,
                LATER,
                Effect::None,
            ),
        ],
    );
}

#[test]
fn unfinished_work_may_be_this_very_call() {
    check(
        "unfinished",
        &[
            (
                409,
                "The report is still being generated.",
                LATER,
                Effect::Unknown,
            ),
            (
                409,
                r#"{"error": {"code": "idempotency_key_in_use", "message": "in use"}}"#,
                LATER,
                Effect::Unknown,
            ),
            (
                409,
                "A request with the same Idempotency-Key is being processed.",
                LATER,
                Effect::Unknown,
            ),
        ],
    );
}

#[test]
fn a_status_that_is_final_stays_so() {
    check(
        "final",
        &[
            (
                404,
                "could not connect to the database",
                NOT_FOUND,
                Effect::None,
            ),
            (
                409,
                "The Idempotency-Key was used with another body",
                CONFLICT,
                Effect::None,
            ),
            (
                409,
                "The name is taken. Please try again.",
                CONFLICT,
                Effect::None,
            ),
        ],
    );
}

#[test]
fn a_limit_is_recognised_whatever_its_status() {
    check(
        "limits",
        &[
            (
                400,
                r#"{"error": {"message": "(#4) Application request limit reached", "is_transient": true}}"#,
                LIMITED,
                Effect::None,
            ),
            (
                400,
                r#"{"errorCode": "HOURLY_APIINVOCATION_LIMIT_EXCEEDED", "message": "no"}"#,
                LIMITED,
                Effect::None,
            ),
            (
                403,
                "Out of call volume quota. Quota will be replenished in 06:12:44.",
                LATER,
                Effect::None,
            ),
            (
                400,
                r#"{"__type": "LimitExceededException", "message": "limit of 500 tables"}"#,
                SPENT,
                Effect::None,
            ),
            (401, "Maximum credits exceeded", SPENT, Effect::None),
            (
                400,
                "You have reached your daily sending limit of 500.",
                SPENT,
                Effect::None,
            ),
            (
                429,
                r#"{"code": "rate_limit_exceeded", "message": "Request too large: Limit 30000, Requested 45000"}"#,
                "ERR_HTTP_413",
                Effect::None,
            ),
        ],
    );
}

#[test]
fn a_code_of_the_service_can_mean_another_status() {
    check(
        "codes",
        &[
            (
                400,
                r#"{"__type": "AccessDeniedException", "message": "not authorized to perform PutItem"}"#,
                FORBIDDEN,
                Effect::None,
            ),
            (
                400,
                r#"{"error": "invalid_grant", "error_description": "Token is not active"}"#,
                SIGN_IN,
                Effect::None,
            ),
            (
                400,
                r#"{"error_code": "INVALID_STATE", "message": "Cluster is Terminating."}"#,
                "ERR_HTTP_412",
                Effect::None,
            ),
            (
                405,
                r#"{"message": "Pull Request is not mergeable"}"#,
                "ERR_HTTP_412",
                Effect::None,
            ),
            (
                406,
                r#"{"message": "JSON object requested, multiple (or no) rows returned"}"#,
                BAD,
                Effect::None,
            ),
            (
                410,
                r#"{"message": "API v1 was retired. Use /v2/orders."}"#,
                "ERR_HTTP_501",
                Effect::None,
            ),
            (405, "Method Not Allowed", "ERR_HTTP_405", Effect::None),
            (410, "The order is gone", "ERR_HTTP_410", Effect::None),
        ],
    );
}

#[test]
fn a_service_that_is_overloaded_did_not_begin() {
    check(
        "refusals",
        &[
            (
                529,
                r#"{"message": "Overloaded"}"#,
                "ERR_HTTP_529",
                Effect::None,
            ),
            (
                503,
                r#"{"error": "Model bloom is currently loading"}"#,
                "ERR_HTTP_503_UNAVAILABLE",
                Effect::None,
            ),
            (
                503,
                r#"{"error": "unavailable"}"#,
                "ERR_HTTP_503_UNAVAILABLE",
                Effect::Unknown,
            ),
        ],
    );
}
