//! Complete reports about failures.

use panpan_failure::{Alternative, Repeat, codes};
use serde_json::json;
use uuid::Uuid;

use super::*;

fn check(failure: Failure, key: Option<&str>, expected: &[&str]) {
    let failure = failure.redacted();
    let report = report(&failure, key, Colour::Off);
    let lines: Vec<&str> = report.lines().collect();
    assert_eq!(lines, expected, "\n{report}");
}

fn rate_limited() -> Failure {
    let id = Uuid::from_u128(7);
    Failure::new(codes::ERR_HTTP_429_RATE_LIMITED)
        .with_message("api.example.com answered HTTP 429")
        .with_retry_after_ms(7_500)
        .with_attempts(4)
        .stamped(id, "2026-01-01T00:00:00Z".parse().unwrap())
}

#[test]
fn the_delay_of_a_retryable_failure_is_printed_once() {
    check(
        rate_limited(),
        None,
        &[
            "ERR_HTTP_429_RATE_LIMITED: Upstream rate limit reached",
            "  api.example.com answered HTTP 429",
            "",
            "what to do",
            "  - Wait 7.5 s, then repeat the call",
            "  - retry at most 3 times",
            "",
            "retry  yes: nothing was changed",
            "tried  4 times",
            "id     00000000-0000-0000-0000-000000000007",
        ],
    );
}

#[test]
fn every_violation_shows_the_expected_and_the_found_value() {
    let failure = Failure::new(codes::INVALID_INPUT)
        .with_message("input does not match the schema")
        .with_violation(Violation::wrong_type(
            "/dividend",
            "a number",
            json!("four"),
        ))
        .with_violation(Violation::missing("/divisor").expected("a number"))
        .with_violation(Violation::wrong_type("/by/id", "a string", json!(7)))
        .with_violation(Violation::value("", "is odd"));
    check(
        failure,
        None,
        &[
            "INVALID_INPUT: Input does not match the schema",
            "",
            "  /dividend: wrong type",
            "    expected  a number",
            "    found     \"four\"",
            "",
            "  /divisor: required value is missing",
            "    expected  a number",
            "",
            "  /by/id: wrong type",
            "    expected  a string",
            "    found     7",
            "    write     by.id='\"7\"' to send a string",
            "",
            "  the whole input: is odd",
            "",
            "what to do",
            "  - Correct every field listed in the violations, then call again",
            "",
            "retry  no: the same call fails again",
        ],
    );
}

#[test]
fn violations_with_different_codes_show_them() {
    let failure = Failure::new(codes::INVALID_INPUT)
        .with_violation(Violation::value("/tasks/0/name", "is odd"))
        .with_violation(Violation::value("/tasks/1/parent_id", "no such task"))
        .with_detail(
            "violation_codes",
            json!(["INVALID_INPUT", "INVALID_PARENT_REFERENCE"]),
        );
    let report = report(&failure.redacted(), None, Colour::Off);
    let line = "  /tasks/1/parent_id: no such task\n    code      INVALID_PARENT_REFERENCE\n";
    assert!(report.contains(line), "{report}");
}

#[test]
fn adjustments_and_alternatives_can_be_copied_to_a_shell() {
    let failure = Failure::new(codes::INVALID_INPUT_ERROR)
        .with_adjustment("code", "ERR_TIMEOUT")
        .with_adjustment("size", "7")
        .with_alternatives([Alternative {
            description: "Ask for ERR_TIMEOUT".to_owned(),
            example: Some("{\"code\":\"ERR_TIMEOUT\"}".to_owned()),
        }]);
    check(
        failure,
        None,
        &[
            "INVALID_INPUT_ERROR: A tool rejected its input",
            "",
            "what to do",
            "  - Correct the input parameters",
            "  - call with code=ERR_TIMEOUT",
            "  - call with size='\"7\"'",
            "  - or ask for ERR_TIMEOUT, as in {\"code\":\"ERR_TIMEOUT\"}",
            "",
            "retry  no: the same call fails again",
        ],
    );
}

#[test]
fn the_retry_line_depends_on_the_effect_and_the_key() {
    let (read, write) = (Repeat::Allowed, Repeat::OnlyWithoutEffect);
    let key = Some("order-7");
    for (code, effect, repeat, key, expected) in [
        (
            codes::ERR_TIMEOUT,
            Effect::None,
            write,
            None,
            "yes: nothing was changed",
        ),
        (
            codes::ERR_TIMEOUT,
            Effect::Unknown,
            read,
            key,
            "yes, with the same key: --key order-7",
        ),
        (
            codes::ERR_TIMEOUT,
            Effect::Unknown,
            read,
            None,
            "yes: repeating it does no harm",
        ),
        (
            codes::ERR_TIMEOUT,
            Effect::Unknown,
            write,
            None,
            "check first whether the call took effect: it may have",
        ),
        (
            codes::NOT_FOUND,
            Effect::None,
            read,
            None,
            "no: the same call fails again",
        ),
        (
            codes::ERR_OUTCOME_UNKNOWN,
            Effect::Unknown,
            write,
            key,
            "check first whether the call took effect: it may have",
        ),
        (
            codes::ERR_OUTCOME_TOO_LARGE,
            Effect::Applied,
            write,
            None,
            "no: the call took effect",
        ),
    ] {
        let failure = Failure::new(code).with_effect(effect).with_repeat(repeat);
        assert_eq!(retry(&failure, key), expected, "{}", failure.code());
    }
}

#[test]
fn colour_adds_only_escape_sequences() {
    let failure = rate_limited().with_violation(Violation::value("/a", "is odd"));
    let failure = failure.redacted();
    let coloured = report(&failure, None, Colour::On);
    let expected = [
        "\u{1b}[1;31mERR_HTTP_429_RATE_LIMITED\u{1b}[0m: Upstream rate limit reached",
        "  \u{1b}[36m/a\u{1b}[0m: is odd",
        "\u{1b}[1mwhat to do\u{1b}[0m",
        "\u{1b}[1mretry\u{1b}[0m  yes: nothing was changed",
        "\u{1b}[1mid   \u{1b}[0m  \u{1b}[2m00000000-0000-0000-0000-000000000007\u{1b}[0m",
    ];
    for line in expected {
        assert!(
            coloured.lines().any(|shown| shown == line),
            "{line:?} in {coloured:?}"
        );
    }
    let mut plain = coloured;
    for sequence in [
        "\u{1b}[1;31m",
        "\u{1b}[1m",
        "\u{1b}[2m",
        "\u{1b}[36m",
        "\u{1b}[0m",
    ] {
        plain = plain.replace(sequence, "");
    }
    assert_eq!(plain, report(&failure, None, Colour::Off));
}

#[test]
fn texts_of_a_failure_cannot_control_the_terminal_or_forge_a_line() {
    let evil = "\u{1b}[2J\u{9b}1m\r\u{202e}evil\nretry  yes: it is safe";
    let failure = Failure::new(codes::INVALID_INPUT_ERROR)
        .with_message(evil)
        .with_violation(Violation::value(evil, evil).expected(evil).actual(evil))
        .with_actions([evil])
        .with_adjustment(evil, evil)
        .with_alternatives([Alternative::from(evil)]);
    let report = report(&failure.redacted(), Some(evil), Colour::Off);
    for line in report.lines() {
        assert!(
            !line
                .chars()
                .any(|character| character.is_control() || character == '\u{202e}')
        );
    }
    let retry: Vec<&str> = report
        .lines()
        .filter(|line| line.starts_with("retry"))
        .collect();
    assert_eq!(retry, ["retry  no: the same call fails again"]);
}

#[test]
fn delays_have_readable_units() {
    for (milliseconds, text) in [
        (1, "1 ms"),
        (999, "999 ms"),
        (1000, "1 s"),
        (1500, "1.5 s"),
        (119_000, "119 s"),
        (120_000, "2 min"),
        (150_001, "3 min"),
    ] {
        assert_eq!(duration(milliseconds), text);
    }
    assert_eq!(waiting(None, Some(1)).unwrap(), "retry once");
    assert_eq!(
        waiting(Some("2 s"), Some(3)).unwrap(),
        "wait 2 s, then retry at most 3 times"
    );
    assert_eq!(waiting(None, None), None);
}

#[test]
fn the_delay_is_part_of_the_action_that_says_to_wait() {
    for (action, delay, expected) in [
        (
            "Wait for the stated delay, then repeat the call",
            Some("2 s"),
            "Wait 2 s, then repeat the call",
        ),
        (
            "Wait before retrying",
            Some("2 s"),
            "Wait 2 s before retrying",
        ),
        (
            "Wait until the resource is released",
            Some("2 s"),
            "Wait until the resource is released (at least 2 s)",
        ),
        (
            "Wait 2000 ms, then repeat the identical call",
            Some("2 s"),
            "Wait 2000 ms, then repeat the identical call",
        ),
        ("Wait before retrying", None, "Wait before retrying"),
    ] {
        let mut actions = [action.to_owned()];
        assert!(state_delay(&mut actions, delay));
        assert_eq!(actions, [expected]);
    }
    let mut actions = ["Check the input".to_owned()];
    assert!(!state_delay(&mut actions, Some("2 s")));
}
