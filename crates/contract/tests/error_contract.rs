//! The error contract: categories, code tables, retry limits, the shape of an outcome, and six
//! checks over the whole catalogue.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../../failure/tests/common/mod.rs"]
mod common;

use common::native;
use panpan_contract::retry::RetryPolicy;
use panpan_failure::classify::{self, JsonFailure, LlmFailure, NetworkFailure};
use panpan_failure::dialect::{Dialect, Envelope};
use panpan_failure::{Category, Effect, Failure, Kind, Remedy, Repeat, Upstream, catalogue, codes};
use serde_json::{Map, Value, json};

fn members(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

#[test]
fn categories_have_their_letter_retryability_and_budget() {
    for (word, letter, retryable, budget) in [
        ("TRANSIENT", 'T', true, 3),
        ("RATE_LIMIT", 'R', true, 3),
        ("CLIENT_ERROR", 'C', false, 0),
        ("SERVER_ERROR", 'S', true, 2),
        ("AUTH_FAIL", 'A', false, 0),
        ("NETWORK", 'N', true, 3),
        ("VALIDATION", 'V', false, 0),
        ("RESOURCE", 'X', false, 0),
        ("TIMEOUT", 'O', true, 2),
        ("PERMANENT", 'P', false, 0),
    ] {
        let category = Category::from_word(word).unwrap();
        assert_eq!(
            (category.letter(), category.retryable()),
            (letter, retryable),
            "{word}"
        );
        assert_eq!(
            RetryPolicy::for_category(category).max_retries(),
            budget,
            "{word}"
        );
    }
    assert_eq!(Category::ALL.len(), 10);
}

#[test]
fn http_statuses_map_to_codes() {
    for (status, code, category, retryable) in [
        (400, "ERR_HTTP_400_BAD_REQUEST", "CLIENT_ERROR", false),
        (401, "ERR_HTTP_401_UNAUTHORIZED", "AUTH_FAIL", false),
        (403, "ERR_HTTP_403_FORBIDDEN", "AUTH_FAIL", false),
        (404, "ERR_HTTP_404_NOT_FOUND", "CLIENT_ERROR", false),
        (408, "ERR_HTTP_408_TIMEOUT", "TIMEOUT", true),
        (409, "ERR_HTTP_409_CONFLICT", "CLIENT_ERROR", false),
        (422, "ERR_HTTP_422_UNPROCESSABLE", "VALIDATION", false),
        (429, "ERR_HTTP_429_RATE_LIMITED", "RATE_LIMIT", true),
        (500, "ERR_HTTP_500_SERVER_ERROR", "SERVER_ERROR", true),
        (502, "ERR_HTTP_502_BAD_GATEWAY", "SERVER_ERROR", true),
        (503, "ERR_HTTP_503_UNAVAILABLE", "TRANSIENT", true),
        (504, "ERR_HTTP_504_GATEWAY_TIMEOUT", "TIMEOUT", true),
        // Statuses without a row: by their class.
        (402, "ERR_HTTP_402", "CLIENT_ERROR", false),
        (418, "ERR_HTTP_418", "CLIENT_ERROR", false),
        (499, "ERR_HTTP_499", "CLIENT_ERROR", false),
        (501, "ERR_HTTP_501", "PERMANENT", false),
        (599, "ERR_HTTP_599", "SERVER_ERROR", true),
    ] {
        check(
            classify::http_status(status).unwrap(),
            code,
            category,
            retryable,
        );
    }
    for status in [0, 200, 302, 399, 600, 999] {
        assert_eq!(classify::http_status(status), None, "{status}");
    }
}

#[test]
fn network_failures_map_to_codes() {
    let expected = [
        (
            NetworkFailure::Connection,
            "ERR_CONNECTION_REFUSED",
            "NETWORK",
            true,
        ),
        (NetworkFailure::Timeout, "ERR_TIMEOUT", "TIMEOUT", true),
        (NetworkFailure::Dns, "ERR_DNS_FAILURE", "NETWORK", true),
        (NetworkFailure::Tls, "ERR_SSL_ERROR", "NETWORK", false),
        (NetworkFailure::Socket, "ERR_SOCKET_ERROR", "NETWORK", true),
    ];
    assert_eq!(expected.map(|row| row.0), NetworkFailure::ALL);
    for (failure, code, category, retryable) in expected {
        check(failure.into(), code, category, retryable);
    }
}

#[test]
fn provider_failures_map_to_codes() {
    for (failure, code, category, retryable) in [
        (
            LlmFailure::RateLimited,
            "ERR_LLM_RATE_LIMITED",
            "RATE_LIMIT",
            true,
        ),
        (
            LlmFailure::ContextTooLong,
            "ERR_LLM_CONTEXT_LENGTH",
            "VALIDATION",
            false,
        ),
        (
            LlmFailure::InvalidModel,
            "ERR_LLM_INVALID_MODEL",
            "CLIENT_ERROR",
            false,
        ),
        (
            LlmFailure::ContentFiltered,
            "ERR_LLM_CONTENT_FILTER",
            "PERMANENT",
            false,
        ),
        (LlmFailure::ApiError, "ERR_LLM_API_ERROR", "TRANSIENT", true),
        (
            LlmFailure::AuthFailure,
            "ERR_LLM_AUTH_FAILURE",
            "AUTH_FAIL",
            false,
        ),
        (
            LlmFailure::BadRequest,
            "ERR_LLM_BAD_REQUEST",
            "CLIENT_ERROR",
            false,
        ),
        (
            LlmFailure::QuotaSpent,
            "ERR_BUDGET_EXCEEDED",
            "RESOURCE",
            false,
        ),
    ] {
        check(failure.into(), code, category, retryable);
    }
}

#[test]
fn json_failures_map_to_codes() {
    let expected = [
        (JsonFailure::Invalid, "ERR_JSON_INVALID", "VALIDATION"),
        (
            JsonFailure::PathInvalid,
            "ERR_JSON_PATH_INVALID",
            "VALIDATION",
        ),
        (
            JsonFailure::SchemaMismatch,
            "ERR_JSON_SCHEMA_MISMATCH",
            "VALIDATION",
        ),
        (
            JsonFailure::TransformFailed,
            "ERR_JSON_TRANSFORM_FAILED",
            "PERMANENT",
        ),
        (
            JsonFailure::DepthExceeded,
            "ERR_JSON_DEPTH_EXCEEDED",
            "VALIDATION",
        ),
        (
            JsonFailure::SizeExceeded,
            "ERR_JSON_SIZE_EXCEEDED",
            "VALIDATION",
        ),
    ];
    assert_eq!(expected.map(|row| row.0), JsonFailure::ALL);
    for (failure, code, category) in expected {
        check(failure.into(), code, category, false);
    }
}

fn check(kind: Kind, code: &str, category: &str, retryable: bool) {
    assert_eq!(kind.code().as_str(), code);
    assert_eq!(
        (kind.category().word(), kind.retryable()),
        (category, retryable),
        "{code}"
    );
}

#[test]
fn retry_limits_match_the_table() {
    let default = RetryPolicy::DEFAULT;
    assert_eq!(limits(default), (3, 100, 5000, 2.0));
    assert_eq!(default.jitter_range(), 0.1);
    for (category, expected) in [
        (Category::Transient, (3, 100, 5000, 2.0)),
        (Category::RateLimit, (3, 1000, 30000, 2.0)),
        (Category::ServerError, (2, 500, 10000, 2.0)),
        (Category::Timeout, (2, 200, 5000, 1.5)),
        (Category::Network, (3, 100, 5000, 2.0)),
    ] {
        assert_eq!(
            limits(RetryPolicy::for_category(category)),
            expected,
            "{category}"
        );
    }

    fn limits(policy: RetryPolicy) -> (u32, u64, u64, f64) {
        (
            policy.max_retries(),
            policy.initial_delay_ms(),
            policy.max_delay_ms(),
            policy.backoff_multiplier(),
        )
    }
}

const TERMINAL: [&catalogue::Entry; 8] = [
    codes::ERR_HTTP_400_BAD_REQUEST,
    codes::ERR_HTTP_401_UNAUTHORIZED,
    codes::ERR_HTTP_403_FORBIDDEN,
    codes::ERR_HTTP_404_NOT_FOUND,
    codes::ERR_VALIDATION_FAILED,
    codes::ERR_JSON_INVALID,
    codes::ERR_LLM_CONTENT_FILTER,
    codes::ERR_BUDGET_EXCEEDED,
];

#[test]
fn terminal_retryable_and_conditional_codes_are_as_listed() {
    let retryable = [
        codes::ERR_HTTP_429_RATE_LIMITED,
        codes::ERR_HTTP_503_UNAVAILABLE,
        codes::ERR_TIMEOUT,
        codes::ERR_CONNECTION_REFUSED,
        codes::ERR_LLM_RATE_LIMITED,
        codes::ERR_DNS_FAILURE,
    ];
    assert!(TERMINAL.iter().all(|row| !row.retryable));
    assert!(retryable.iter().all(|row| row.retryable));
    // Conditional: on the effect if repeating may help, on a changed state otherwise.
    assert!(!codes::ERR_RESOURCE_EXHAUSTED.retryable);
    assert!(
        codes::ERR_RESOURCE_EXHAUSTED
            .remedies
            .contains(Remedy::ChangeState)
    );
    for row in [codes::ERR_HTTP_500_SERVER_ERROR, codes::ERR_LLM_API_ERROR] {
        let of_a_write = Failure::new(row).with_repeat(Repeat::OnlyWithoutEffect);
        assert!(!of_a_write.may_repeat(), "{}", row.code);
        let of_a_read = Failure::new(row).with_repeat(Repeat::Allowed);
        assert!(of_a_read.may_repeat(), "{}", row.code);
    }
}

#[test]
fn the_example_of_a_rate_limit_is_written_exactly() {
    let details = json!({
        "upstream_status": 429,
        "rate_limit_remaining": 0,
        "rate_limit_reset": "2025-12-01T12:00:00Z",
        "provider": "example_api",
    });
    let failure = Failure::new(codes::ERR_HTTP_429_RATE_LIMITED)
        .with_message("Rate limit exceeded for api.example.com")
        .with_details(members(details.clone()))
        .with_retry_after_ms(60000);
    let expected = json!({"ok": false, "error": {
        "code": "ERR_HTTP_429_RATE_LIMITED",
        "message": "Rate limit exceeded for api.example.com",
        "category": "RATE_LIMIT",
        "retryable": true,
        "details": details,
        "retry_after_ms": 60000,
    }});
    assert_eq!(native(Dialect::Outcome, failure), expected);
}

/// The status and the name of the upstream are members of the error; the excerpt has no native
/// member.
#[test]
fn upstream_facts_have_their_own_members() {
    let failure = Failure::new(codes::ERR_HTTP_503_UNAVAILABLE)
        .with_message("HTTP 503: Service Unavailable")
        .with_detail("url", "https://api.example.com/orders")
        .with_upstream(
            Upstream::status(503)
                .provider("example_api")
                .excerpt("down for maintenance"),
        );
    let error = &native(Dialect::Outcome, failure)["error"];
    assert_eq!(error["upstream_status"], 503);
    assert_eq!(error["provider"], "example_api");
    assert_eq!(
        error["details"],
        json!({"url": "https://api.example.com/orders"})
    );
}

#[test]
fn the_examples_of_handlers_keep_their_codes_and_details() {
    for (entry, message, details, category, retryable) in [
        (
            codes::ERR_TIMEOUT,
            "HTTP request timed out",
            json!({"url": "https://a.example", "timeout_ms": 30000}),
            "TIMEOUT",
            true,
        ),
        (
            codes::ERR_CONNECTION_REFUSED,
            "Failed to connect: refused",
            json!({"url": "https://a.example"}),
            "NETWORK",
            true,
        ),
        (
            codes::ERR_LLM_RATE_LIMITED,
            "Anthropic rate limit exceeded",
            json!({"provider": "anthropic", "model": "m"}),
            "RATE_LIMIT",
            true,
        ),
        (
            codes::ERR_LLM_CONTEXT_LENGTH,
            "Input exceeds model context length",
            json!({"provider": "anthropic", "model": "m"}),
            "VALIDATION",
            false,
        ),
        (
            codes::ERR_MISSING_IDEMPOTENCY_KEY,
            "Non-idempotent operation requires idempotency_key",
            json!({}),
            "VALIDATION",
            false,
        ),
    ] {
        let failure = Failure::new(entry)
            .with_message(message)
            .with_details(members(details.clone()));
        let error = &native(Dialect::Outcome, failure)["error"];
        assert_eq!(error["code"], entry.code);
        assert_eq!(
            (&error["message"], &error["details"]),
            (&json!(message), &details)
        );
        assert_eq!(
            (&error["category"], &error["retryable"]),
            (&json!(category), &json!(retryable))
        );
    }
}

#[test]
fn the_default_effect_follows_from_the_code() {
    for (code, effect) in [
        ("ERR_HTTP_429_RATE_LIMITED", Effect::None),
        ("ERR_DNS_FAILURE", Effect::None),
        ("ERR_CONNECTION_REFUSED", Effect::None),
        ("ERR_CIRCUIT_OPEN", Effect::None),
        ("ERR_HTTP_500_SERVER_ERROR", Effect::Unknown),
        ("ERR_HTTP_502_BAD_GATEWAY", Effect::Unknown),
        ("ERR_HTTP_504_GATEWAY_TIMEOUT", Effect::Unknown),
        ("ERR_HTTP_503_UNAVAILABLE", Effect::Unknown),
        ("ERR_SOCKET_ERROR", Effect::Unknown),
        ("HTTP_500", Effect::Unknown),
        ("HTTP_404", Effect::None),
    ] {
        assert_eq!(
            Failure::new(Kind::of(code).unwrap()).effect(),
            effect,
            "{code}"
        );
    }
}

mod six_checks {
    //! Over every code of the catalogue.

    use super::*;

    fn outcomes() -> impl Iterator<Item = (&'static catalogue::Entry, Value)> {
        catalogue::entries().map(|row| {
            let failure = Failure::new(row).redacted();
            (
                row,
                Dialect::Outcome.render_failure(&failure, Envelope::default()),
            )
        })
    }

    #[test]
    fn one_every_failure_is_a_structured_outcome() {
        for (row, outcome) in outcomes() {
            assert_eq!(outcome["ok"], false, "{}", row.code);
            for (field, is) in [
                ("code", Value::is_string as fn(&Value) -> bool),
                ("message", Value::is_string),
                ("category", Value::is_string),
                ("retryable", Value::is_boolean),
            ] {
                assert!(is(&outcome["error"][field]), "{} {field}", row.code);
            }
        }
    }

    #[test]
    fn two_codes_are_in_the_catalogue() {
        for (_, outcome) in outcomes() {
            let code = outcome["error"]["code"].as_str().unwrap();
            assert!(catalogue::lookup(code).is_some(), "{code}");
        }
    }

    #[test]
    fn three_categories_are_valid() {
        for (_, outcome) in outcomes() {
            assert!(Category::from_word(outcome["error"]["category"].as_str().unwrap()).is_some());
        }
    }

    #[test]
    fn four_retryability_matches_the_category_with_one_exception() {
        let exceptions: Vec<_> = outcomes()
            .filter(|(_, outcome)| {
                let category =
                    Category::from_word(outcome["error"]["category"].as_str().unwrap()).unwrap();
                outcome["error"]["retryable"] != category.retryable()
            })
            .map(|(row, _)| row.code)
            .collect();
        assert_eq!(exceptions, ["ERR_SSL_ERROR"]);
    }

    #[test]
    fn five_terminal_codes_are_not_retryable() {
        let terminal: Vec<_> = TERMINAL.iter().map(|row| row.code).collect();
        let found: Vec<_> = outcomes()
            .filter(|(row, _)| terminal.contains(&row.code))
            .collect();
        assert_eq!(found.len(), terminal.len());
        assert!(
            found
                .iter()
                .all(|(_, outcome)| outcome["error"]["retryable"] == false)
        );
    }

    #[test]
    fn six_rate_limits_have_a_delay() {
        let limits: Vec<_> = outcomes()
            .filter(|(row, _)| row.category == Category::RateLimit)
            .collect();
        assert!(limits.len() >= 4);
        for (row, outcome) in limits {
            assert!(outcome["error"]["retry_after_ms"].is_u64(), "{}", row.code);
        }
    }
}
