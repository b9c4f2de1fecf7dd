//! Valid and invalid policies, and the messages for invalid ones.

use super::*;
use proptest::prelude::*;

fn read(json: &str) -> Result<RetryPolicy, String> {
    serde_json::from_str(json).map_err(|error| error.to_string())
}

fn settings(change: impl FnOnce(&mut RetrySettings)) -> RetrySettings {
    let mut settings = RetrySettings::default();
    change(&mut settings);
    settings
}

#[test]
fn the_policies_of_the_categories_are_the_published_ones() {
    let check = |category, retries, initial_ms, max_ms, multiplier: f64| {
        let policy = RetryPolicy::for_category(category);
        assert_eq!(policy.max_retries(), retries, "{category:?}");
        assert_eq!(policy.initial_delay_ms(), initial_ms, "{category:?}");
        assert_eq!(policy.max_delay_ms(), max_ms, "{category:?}");
        assert_eq!(
            policy.backoff_multiplier().to_bits(),
            multiplier.to_bits(),
            "{category:?}"
        );
        assert_eq!(
            policy.jitter_range().to_bits(),
            0.1f64.to_bits(),
            "{category:?}"
        );
    };
    check(Category::Transient, 3, 100, 5_000, 2.0);
    check(Category::RateLimit, 3, 1_000, 30_000, 2.0);
    check(Category::ServerError, 2, 500, 10_000, 2.0);
    check(Category::Timeout, 2, 200, 5_000, 1.5);
    check(Category::Network, 3, 100, 5_000, 2.0);
    for never in [
        Category::ClientError,
        Category::AuthFail,
        Category::Validation,
        Category::Resource,
        Category::Permanent,
    ] {
        assert_eq!(
            RetryPolicy::for_category(never),
            RetryPolicy::NEVER,
            "{never:?}"
        );
    }
    assert_eq!(RetryPolicy::NEVER.max_retries(), 0);
}

#[test]
fn missing_fields_are_the_default_configuration() {
    let check = |json: &str, expected: RetrySettings| {
        assert_eq!(read(json), Ok(expected.try_into().unwrap()), "{json}");
    };
    check("{}", RetrySettings::default());
    check(r#"{"max_retries":7}"#, settings(|s| s.max_retries = 7));
    check(
        r#"{"backoff_multiplier":3}"#,
        settings(|s| s.backoff_multiplier = 3.0),
    );
    check(
        r#"{"jitter_enabled":false}"#,
        settings(|s| s.jitter_range = 0.0),
    );
    check(
        r#"{"jitter_range":0}"#,
        settings(|s| s.jitter_enabled = false),
    );
    check(
        r#"{"jitter_range":-0.0}"#,
        settings(|s| s.jitter_enabled = false),
    );
}

#[test]
fn disabled_jitter_is_written_as_zero() {
    let policy = read(r#"{"jitter_range":-0.0}"#).unwrap();
    let text = serde_json::to_string(&policy).unwrap();
    assert!(
        text.contains(r#""jitter_enabled":false,"jitter_range":0.0"#),
        "{text}"
    );
}

#[test]
fn messages_name_the_field_its_value_and_a_fix() {
    let check = |json: &str, fragments: &[&str]| {
        let message = read(json).expect_err(json);
        for fragment in fragments {
            assert!(message.contains(fragment), "{json}: {message}");
        }
    };
    check(
        r#"{"backoff_multiplier":0.5}"#,
        &["backoff_multiplier is 0.5", "at least 1"],
    );
    check(
        r#"{"backoff_multiplier":-2}"#,
        &["backoff_multiplier is -2"],
    );
    check(
        r#"{"jitter_range":1.5}"#,
        &["jitter_range is 1.5", "0 (no jitter) to 1"],
    );
    check(r#"{"jitter_range":-0.1}"#, &["jitter_range is -0.1"]);
    check(
        r#"{"jitter_enabled":false,"jitter_range":7}"#,
        &["jitter_range is 7"],
    );
    check(
        r#"{"max_delay_ms":86400001}"#,
        &["max_delay_ms is 86400001", "86400000"],
    );
    check(
        r#"{"initial_delay_ms":90000000}"#,
        &["initial_delay_ms is 90000000", "86400000"],
    );
    check(
        r#"{"max_delay_ms":50}"#,
        &["initial_delay_ms is 100", "max_delay_ms 50", "at least 100"],
    );
    check(r#"{"max_retrys":3}"#, &["unknown field `max_retrys`"]);
    check(r#"{"max_retries":-1}"#, &["-1"]);
}

#[test]
fn non_finite_numbers_are_rejected() {
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let multiplier = RetryPolicy::try_from(settings(|s| s.backoff_multiplier = value));
        assert!(
            matches!(multiplier, Err(InvalidPolicy::Multiplier(_))),
            "{value}"
        );
        let jitter = RetryPolicy::try_from(settings(|s| s.jitter_range = value));
        assert!(
            matches!(jitter, Err(InvalidPolicy::JitterRange(_))),
            "{value}"
        );
    }
}

#[test]
fn values_at_the_limits_are_accepted() {
    let edge = settings(|s| {
        s.initial_delay_ms = MAX_DELAY_MS;
        s.max_delay_ms = MAX_DELAY_MS;
        s.backoff_multiplier = 1.0;
        s.jitter_range = 1.0;
    });
    assert!(RetryPolicy::try_from(edge).is_ok());
}

proptest! {
    #[test]
    fn a_policy_round_trips(
        max_retries: u32,
        delays in (0..=MAX_DELAY_MS, 0..=MAX_DELAY_MS),
        backoff_multiplier in 1.0..1e300f64,
        jitter_enabled: bool,
        jitter_range in 0.0..=1.0f64,
    ) {
        let policy = RetryPolicy::try_from(RetrySettings {
            max_retries,
            initial_delay_ms: delays.0.min(delays.1),
            max_delay_ms: delays.0.max(delays.1),
            backoff_multiplier,
            jitter_enabled,
            jitter_range,
        }).unwrap();
        let text = serde_json::to_string(&policy).unwrap();
        prop_assert_eq!(read(&text), Ok(policy), "{}", text);
    }
}
