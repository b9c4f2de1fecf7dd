//! Pages of failures, whole, as they stand on a terminal.

use panpan_failure::{Alternative, Repeat, codes};
use serde_json::json;
use uuid::Uuid;

use super::*;

fn check(failure: Failure, key: Option<&str>, expected: &[&str]) {
    let failure = failure.redacted();
    let page = page(&failure, key, Paint::Plain);
    let lines: Vec<&str> = page.lines().collect();
    assert_eq!(lines, expected, "\n{page}");
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
fn a_failure_that_passes_says_how_long_to_wait() {
    check(
        rate_limited(),
        None,
        &[
            "ERR_HTTP_429_RATE_LIMITED: Upstream rate limit reached",
            "  api.example.com answered HTTP 429",
            "",
            "what to do",
            "  - Wait for the stated delay, then repeat the call",
            "  - wait 7.5 s, then call again, at most 3 times",
            "",
            "again  yes: nothing was done",
            "tried  4 times",
            "id     00000000-0000-0000-0000-000000000007",
        ],
    );
}

#[test]
fn every_violation_is_shown_with_what_was_expected_and_found() {
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
            "    write     by.id='\"7\"' to send it as a text",
            "",
            "  the whole input: is odd",
            "",
            "what to do",
            "  - Correct every field listed in the violations, then call again",
            "",
            "again  no: the same call fails again",
        ],
    );
}

#[test]
fn adjustments_and_alternatives_can_be_typed_as_they_stand() {
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
            "again  no: the same call fails again",
        ],
    );
}

#[test]
fn whether_to_call_again_depends_on_the_effect_and_the_key() {
    let (read, write) = (Repeat::Allowed, Repeat::OnlyWithoutEffect);
    let key = Some("order-7");
    for (code, effect, repeat, key, expected) in [
        (
            codes::ERR_TIMEOUT,
            Effect::None,
            write,
            None,
            "yes: nothing was done",
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
            "not before you have checked: it may have taken effect",
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
            "not before you have checked: it may have taken effect",
        ),
        (
            codes::ERR_OUTCOME_TOO_LARGE,
            Effect::Applied,
            write,
            None,
            "no: it took effect",
        ),
    ] {
        let failure = Failure::new(code).with_effect(effect).with_repeat(repeat);
        assert_eq!(again(&failure, key), expected, "{}", failure.code());
    }
}

#[test]
fn colour_changes_nothing_but_colour() {
    let failure = rate_limited().with_violation(Violation::value("/a", "is odd"));
    let failure = failure.redacted();
    let coloured = page(&failure, None, Paint::Colour);
    let expected = [
        "\u{1b}[1;31mERR_HTTP_429_RATE_LIMITED\u{1b}[0m: Upstream rate limit reached",
        "  \u{1b}[36m/a\u{1b}[0m: is odd",
        "\u{1b}[1mwhat to do\u{1b}[0m",
        "\u{1b}[1magain\u{1b}[0m  yes: nothing was done",
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
    assert_eq!(plain, page(&failure, None, Paint::Plain));
}

#[test]
fn nothing_a_failure_says_commands_the_terminal_or_passes_for_a_line_of_ours() {
    let evil = "\u{1b}[2J\u{9b}1m\r\u{202e}evil\nagain  yes: it is safe";
    let failure = Failure::new(codes::INVALID_INPUT_ERROR)
        .with_message(evil)
        .with_violation(Violation::value(evil, evil).expected(evil).actual(evil))
        .with_actions([evil])
        .with_adjustment(evil, evil)
        .with_alternatives([Alternative::from(evil)]);
    let page = page(&failure.redacted(), Some(evil), Paint::Plain);
    for line in page.lines() {
        assert!(
            !line
                .chars()
                .any(|character| character.is_control() || character == '\u{202e}')
        );
    }
    let again: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("again"))
        .collect();
    assert_eq!(again, ["again  no: the same call fails again"]);
}

#[test]
fn delays_are_told_in_units_people_use() {
    for (milliseconds, told) in [
        (1, "1 ms"),
        (999, "999 ms"),
        (1000, "1 s"),
        (1500, "1.5 s"),
        (119_000, "119 s"),
        (120_000, "2 min"),
        (150_001, "3 min"),
    ] {
        assert_eq!(duration(milliseconds), told);
    }
    assert_eq!(waiting(None, Some(1)).unwrap(), "call again, once more");
    assert_eq!(waiting(Some(0), None), None);
}
