//! Tests for every header of the table and for the choice among them.

use super::*;
use proptest::prelude::*;

fn now() -> Timestamp {
    "2023-11-14T22:13:20Z".parse().unwrap() // 1,700,000,000 s
}

fn check(headers: &[(&str, &str)], expected: Option<(&str, u64)>) {
    let hint = from_headers(headers.iter().copied(), now());
    let found = hint
        .as_ref()
        .map(|hint| (hint.name.as_str(), hint.delay_ms));
    assert_eq!(found, expected, "{headers:?}");
}

#[test]
fn every_header_is_read_in_all_its_formats() {
    let check = |name: &str, raw: &str, delay_ms: u64| {
        check(
            &[("date", "x"), (name, raw)],
            Some((&name.to_ascii_lowercase(), delay_ms)),
        );
    };
    check("Retry-After", "30", 30_000);
    check("retry-after", "1.5", 1_500);
    check("RETRY-AFTER", "Tue, 14 Nov 2023 22:13:30 GMT", 10_000);
    check("retry-after", "Tuesday, 14-Nov-23 22:13:30 GMT", 10_000);
    check("retry-after", "Tue Nov 14 22:13:30 2023", 10_000);
    check("retry-after", "2023-11-14T22:13:30Z", 10_000);
    check("retry-after", "5, 10", 10_000);
    check("retry-after-ms", "1500", 1_500);
    check("retry-after-ms", "99.5", 100);
    check("x-ms-retry-after-ms", "750", 750);
    check("grpc-retry-pushback-ms", "250", 250);
    check("grpc-retry-pushback-ms", "2592000001", MAX_HINT_MS);
    check("x-ratelimit-reset-requests", "6m0s", 360_000);
    check("x-ratelimit-reset-tokens", "100ms", 100);
    check("x-ratelimit-reset-tokens", "7.66s", 7_660);
    check("x-ratelimit-reset-after", "1.25", 1_250);
    check("x-ratelimit-reset", "1700000042", 42_000);
    check("x-ratelimit-reset", "1700000042000", 42_000);
    check("x-ratelimit-reset", "42", 42_000);
    check("x-ratelimit-reset", "1700000000.75", 750);
    check("x-ratelimit-requests-reset", "1700000042000", 42_000);
    check("x-ratelimit-retry-after-ms", "4200", 4_200);
    check("x-ratelimit-retry-after", "42", 42_000);
    check("x-retry-after", "42", 42_000);
    check("x-rate-limit-reset", "1700000042", 42_000);
    check("x-rate-limit-user-reset", "1700000042", 42_000);
    check("x-rate-limit-api-token-interval-ms", "10000", 10_000);
    check("x-hubspot-ratelimit-interval-milliseconds", "10000", 10_000);
    check(
        "anthropic-ratelimit-requests-reset",
        "2023-11-14T22:13:30Z",
        10_000,
    );
    check(
        "anthropic-ratelimit-input-tokens-reset",
        "2023-11-14T22:14:20Z",
        60_000,
    );
    check("anthropic-ratelimit-unified-reset", "1700000005", 5_000);
    check("anthropic-ratelimit-unified-5h-reset", "1700000005", 5_000);
    check("ratelimit-reset", "30", 30_000);
    check("ratelimit", "limit=100, remaining=0, reset=30", 30_000);
    check("RateLimit", r#""default";r=0;t=30"#, 30_000);
    check("x-ratelimit-reset", "1600000000", 0);
    check("retry-after", "-5", 0);
    check("retry-after", "99999999", MAX_HINT_MS);
}

#[test]
fn other_headers_and_garbage_have_no_hint() {
    check(&[], None);
    for name in [
        "retry-afte",
        "retry-after-",
        "xretry-after",
        "retry_after",
        "x-ratelimit-limit",
        "x-ratelimit-reset-",
        "anthropic-ratelimit--reset",
        "anthropic-ratelimit-reset",
        "anthropic-ratelimit-requests-remaining",
        "",
        "\u{fc}",
    ] {
        check(&[(name, "5")], None);
    }
    let long = "5".repeat(MAX_VALUE_BYTES + 1);
    for raw in ["", "soon", "NaN", "inf", "1e400", "\0", "\u{ff15}", &long] {
        for row in ROWS {
            check(&[(&row.name.replace('*', "requests"), raw)], None);
        }
    }
    check(
        &[(
            &format!("x-ratelimit-reset-{}", "a".repeat(MAX_VALUE_BYTES)),
            "5",
        )],
        None,
    );
}

#[test]
fn a_value_is_read_up_to_the_size_limit() {
    let at = |bytes: usize| format!("reset=5{}", " ".repeat(bytes - "reset=5".len()));
    check(
        &[("ratelimit", &at(MAX_VALUE_BYTES))],
        Some(("ratelimit", 5_000)),
    );
    check(&[("ratelimit", &at(MAX_VALUE_BYTES + 1))], None);
}

#[test]
fn a_negative_pushback_is_not_a_delay() {
    check(&[("grpc-retry-pushback-ms", "-1")], None);
    check(
        &[("grpc-retry-pushback-ms", "-1"), ("retry-after", "3")],
        Some(("retry-after", 3_000)),
    );
}

#[test]
fn the_more_explicit_header_wins() {
    let milliseconds = ("retry-after-ms", "1200");
    let seconds = ("retry-after", "2");
    let reset = ("x-ratelimit-reset", "60");
    check(
        &[reset, seconds, milliseconds],
        Some(("retry-after-ms", 1_200)),
    );
    check(&[reset, seconds], Some(("retry-after", 2_000)));
    check(&[reset], Some(("x-ratelimit-reset", 60_000)));
    check(
        &[reset, seconds, ("retry-after-ms", "soon")],
        Some(("retry-after", 2_000)),
    );
    check(
        &[reset, ("retry-after", "soon")],
        Some(("x-ratelimit-reset", 60_000)),
    );
}

#[test]
fn the_longest_readable_repeated_header_wins() {
    check(
        &[("retry-after", "5"), ("Retry-After", "10")],
        Some(("retry-after", 10_000)),
    );
    check(
        &[("retry-after", "10"), ("retry-after", "5")],
        Some(("retry-after", 10_000)),
    );
    check(
        &[("retry-after", "soon"), ("retry-after", "5")],
        Some(("retry-after", 5_000)),
    );
}

#[test]
fn an_exhausted_quota_wins_over_a_longer_window() {
    let requests = ("x-ratelimit-reset-requests", "1h");
    let tokens = ("x-ratelimit-reset-tokens", "6m0s");
    let tokens_left = |left| ("x-ratelimit-remaining-tokens", left);
    let requests_left = |left| ("x-ratelimit-remaining-requests", left);
    let hour = Some(("x-ratelimit-reset-requests", 3_600_000));
    let minutes = Some(("x-ratelimit-reset-tokens", 360_000));
    check(&[requests, tokens], hour);
    check(&[requests, tokens, tokens_left("0")], minutes);
    check(
        &[tokens_left("0"), requests_left("10"), tokens, requests],
        minutes,
    );
    check(
        &[tokens_left("0"), requests_left("0"), tokens, requests],
        hour,
    );
    check(
        &[tokens_left("7"), requests_left("10"), tokens, requests],
        hour,
    );
    check(&[tokens_left("soon"), tokens, requests], hour);
    check(
        &[
            ("anthropic-ratelimit-requests-reset", "2023-11-14T22:13:21Z"),
            ("Anthropic-RateLimit-Requests-Remaining", "0"),
            ("anthropic-ratelimit-tokens-reset", "2023-11-14T22:20:00Z"),
            ("anthropic-ratelimit-tokens-remaining", "9000"),
        ],
        Some(("anthropic-ratelimit-requests-reset", 1_000)),
    );
    check(
        &[("ratelimit", r#""burst";r=0;t=5, "daily";r=12;t=3600"#)],
        Some(("ratelimit", 5_000)),
    );
    check(
        &[
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset-after", "1"),
            ("ratelimit-reset", "9"),
        ],
        Some(("x-ratelimit-reset-after", 1_000)),
    );
}

#[test]
fn only_ends_of_quota_windows_are_quota_resets() {
    let check = |name: &str, raw: &str, expected: bool| {
        let hint = from_headers([(name, raw)], now()).unwrap();
        assert_eq!(hint.is_quota_reset(), expected, "{name}");
    };
    check("retry-after", "5", false);
    check("retry-after-ms", "5", false);
    check("X-RateLimit-Reset-Tokens", "5s", true);
    check("ratelimit", "reset=5", true);
    check("anthropic-ratelimit-unified-reset", "5", true);
}

#[test]
fn a_hint_keeps_the_raw_value() {
    let hint = from_headers([("Retry-After", " 5 ")], now()).unwrap();
    assert_eq!(
        (hint.name.as_str(), hint.raw.as_str()),
        ("retry-after", " 5 ")
    );
    let text = serde_json::to_string(&hint).unwrap();
    assert_eq!(serde_json::from_str::<Hint>(&text).unwrap(), hint);
}

proptest! {
    #[test]
    fn no_headers_panic(
        odd in proptest::collection::vec(any::<(String, String)>(), 0..4),
        raw: String,
    ) {
        let known = ROWS.iter().map(|row| (row.name, raw.as_str()));
        let odd = odd.iter().map(|(name, raw)| (name.as_str(), raw.as_str()));
        let hint = from_headers(known.chain(odd), now());
        prop_assert!(hint.is_none_or(|hint| hint.delay_ms <= MAX_HINT_MS));
    }
}
