//! Tests for every format of a value, and for texts that are not values.

use super::*;
use proptest::prelude::*;

/// Sun, 06 Nov 1994 08:49:00 GMT: 37 s before the example dates of the standard.
fn now() -> Timestamp {
    "1994-11-06T08:49:00Z".parse().unwrap()
}

fn seconds(raw: &str) -> Option<u64> {
    parse_retry_after(raw, now())
}

#[test]
fn numbers_are_seconds_unless_they_are_a_unix_time() {
    let now = Timestamp::from_millisecond(1_700_000_000_000).unwrap();
    let check = |raw: &str, seconds, milliseconds| {
        assert_eq!(delay_ms(raw, Unit::Seconds, now), Some(seconds), "{raw} s");
        assert_eq!(
            delay_ms(raw, Unit::Milliseconds, now),
            Some(milliseconds),
            "{raw} ms"
        );
    };
    check("0", 0, 0);
    check("42", 42_000, 42);
    check(" 5\t", 5_000, 5);
    check("+5", 5_000, 5);
    check("1.5", 1_500, 2);
    check("16.1", 16_100, 17);
    check("0.3", 300, 1);
    check("5e-05", 1, 0);
    check(".5", 500, 1);
    check("-5", 0, 0);
    check("-1e300", 0, 0);
    check("-0", 0, 0);
    check("2592000", MAX_HINT_MS, 2_592_000);
    check("2592001", MAX_HINT_MS, 2_592_001);
    check("999999999", MAX_HINT_MS, 999_999_999);
    check("1700000042", 42_000, 1_700_000_042);
    check("1700000042.25", 42_250, 1_700_000_043);
    check("1600000000", 0, 1_600_000_000);
    check("1700000042123", 42_123, 42_123);
    check("1600000000000", 0, 0);
    check(&"9".repeat(MAX_VALUE_BYTES), MAX_HINT_MS, MAX_HINT_MS);
    check("5, 10", 10_000, 10);
    check("10, 5", 10_000, 10);
}

#[test]
fn dates_are_parsed_in_every_format() {
    let check = |raw: &str, expected| assert_eq!(seconds(raw), Some(expected), "{raw}");
    check("Sun, 06 Nov 1994 08:49:37 GMT", 37_000);
    check("Sunday, 06-Nov-94 08:49:37 GMT", 37_000);
    check("Sun Nov  6 08:49:37 1994", 37_000);
    check("1994-11-06T08:49:37Z", 37_000);
    check("1994-11-06T08:49:37.0005Z", 37_001);
    check("1994-11-06 10:49:37+02:00", 37_000);
    check("1994-11-06t08:49:37z", 37_000);
    check("1994-11-06T08:49:60Z", 59_000);
    check("1994-11-06T08:48:00Z", 0);
    check("Sun, 06 Nov 1994 08:48:00 GMT", 0);
    check("Fri, 31 Dec 9999 23:59:59 GMT", MAX_HINT_MS);
    check("9999-12-31T23:59:59Z", MAX_HINT_MS);
}

#[test]
fn a_moment_within_a_millisecond_is_rounded_up() {
    let later = now() + jiff::SignedDuration::from_nanos(1);
    assert_eq!(
        parse_retry_after("1994-11-06T08:49:01Z", later),
        Some(1_000)
    );
}

#[test]
fn go_durations_are_parsed_in_every_unit() {
    let check = |raw: &str, expected| assert_eq!(seconds(raw), Some(expected), "{raw}");
    check("6m0s", 360_000);
    check("100ms", 100);
    check("1h2m3.5s", 3_723_500);
    check("12\u{b5}s", 1);
    check("12\u{3bc}s", 1);
    check("1500us", 2);
    check("2000000ns", 2);
    check("0s", 0);
    check("30s", 30_000);
    check("7.66s", 7_660);
    check(".5s", 500);
    check("1d", 86_400_000);
    check("-30s", 0);
    check("99999999h", MAX_HINT_MS);
}

#[test]
fn other_texts_are_ignored() {
    let long_spaces = format!("{}5", " ".repeat(MAX_VALUE_BYTES));
    for raw in [
        "",
        " ",
        "soon",
        "NaN",
        "nan",
        "inf",
        "-inf",
        "infinity",
        "1e400",
        "-",
        "+",
        ".",
        "e5",
        "--5",
        "5 6",
        "1_000",
        "1,500",
        "0x10",
        "5\0",
        "\0",
        "\u{ff15}",
        "\u{663}",
        "5;q=1",
        "5s5",
        "s",
        "5.5.5s",
        "1e3s",
        "5 s",
        "6M0S",
        "5, soon",
        "soon, 5",
        "5,",
        ", ",
        "1994-11-06",
        "1994-11-06T08:49:37",
        "08:49:37Z",
        "1994-13-06T08:49:37Z",
        "-9223372036854775808s s",
        &long_spaces,
    ] {
        assert_eq!(seconds(raw), None, "{raw:?}");
        assert_eq!(delay_ms(raw, Unit::Milliseconds, now()), None, "{raw:?}");
    }
}

#[test]
fn a_value_at_the_size_limit_is_still_read() {
    let raw = format!("{}5", " ".repeat(MAX_VALUE_BYTES - 1));
    assert_eq!(seconds(&raw), Some(5_000));
}

proptest! {
    #[test]
    fn no_text_panics_or_exceeds_the_limit(
        raw in prop_oneof![any::<String>(), "[-+0-9.eEhmsdnu\u{b5}, :TZGMT]{0,40}"],
        now_ms in -377_705_023_000_000..253_402_207_200_000i64,
    ) {
        let now = Timestamp::from_millisecond(now_ms).unwrap();
        for unit in [Unit::Seconds, Unit::Milliseconds] {
            prop_assert!(delay_ms(&raw, unit, now).is_none_or(|ms| ms <= MAX_HINT_MS));
        }
    }

    #[test]
    fn any_moment_ahead_is_measured_to_the_second(
        now_s in 0..4_000_000_000i64,
        ahead_s in 0..2_592_000i64,
    ) {
        let now = Timestamp::from_second(now_s).unwrap();
        let moment = Timestamp::from_second(now_s + ahead_s).unwrap();
        let expected = Some(ahead_s.unsigned_abs() * 1000);
        for form in [
            "%a, %d %b %Y %H:%M:%S GMT",
            "%A, %d-%b-%y %H:%M:%S GMT",
            "%a %b %e %H:%M:%S %Y",
            "%Y-%m-%dT%H:%M:%SZ",
        ] {
            let raw = moment.strftime(form).to_string();
            prop_assert_eq!(parse_retry_after(&raw, now), expected, "{}", raw);
        }
    }
}
