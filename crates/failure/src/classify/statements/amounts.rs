//! Amounts of time in prose: `5 seconds`, `2 minutes and 30 s`, `6m0s`, `one hour`.

use crate::hint::MAX_HINT_MS;

/// Numbers written as words.
const WORDS: [(&str, f64); 16] = [
    ("one", 1.0),
    ("two", 2.0),
    ("three", 3.0),
    ("four", 4.0),
    ("five", 5.0),
    ("six", 6.0),
    ("seven", 7.0),
    ("eight", 8.0),
    ("nine", 9.0),
    ("ten", 10.0),
    ("fifteen", 15.0),
    ("twenty", 20.0),
    ("thirty", 30.0),
    ("forty", 40.0),
    ("fifty", 50.0),
    ("sixty", 60.0),
];

/// Units of time: every spelling, and the milliseconds per unit.
const UNITS: [(&[&str], f64); 5] = [
    (
        &[
            "milliseconds",
            "millisecond",
            "millis",
            "msecs",
            "msec",
            "ms",
        ],
        1.0,
    ),
    (&["seconds", "second", "secs", "sec", "s"], 1_000.0),
    (&["minutes", "minute", "mins", "min", "m"], 60_000.0),
    (&["hours", "hour", "hrs", "hr", "h"], 3_600_000.0),
    (&["days", "day", "d"], 86_400_000.0),
];

/// The pattern of hours, minutes and seconds: `06:12:44`.
const CLOCK: &str = "[0-9]{1,3}:[0-9]{2}:[0-9]{2}";

/// The pattern of one or more amounts.
pub(super) fn pattern() -> String {
    let words = WORDS.map(|(word, _)| word).join("|");
    let units: Vec<&str> = UNITS
        .iter()
        .flat_map(|(names, _)| *names)
        .copied()
        .collect();
    let one = format!(r"(?:[0-9]+(?:\.[0-9]+)?|{words}) ?(?:{})", units.join("|"));
    format!(r"(?:{CLOCK}|{one}(?:(?: and |,? ?){one})*)")
}

/// The milliseconds of a text that matches the pattern.
pub(super) fn delay_ms(text: &str) -> Option<u64> {
    let mut rest = text;
    let mut total_ms = 0.0;
    while !rest.is_empty() {
        let (ms, after) = amount(rest)?;
        total_ms += ms;
        rest = after.trim_start_matches([' ', ',']);
        rest = rest.strip_prefix("and ").unwrap_or(rest);
    }
    Some(whole_ms(total_ms))
}

/// The milliseconds of a number in a unit.
pub(super) fn number_ms(number: &str, unit_ms: f64) -> Option<u64> {
    let number: f64 = number.parse().ok()?;
    Some(whole_ms(number * unit_ms))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "amounts are not negative, and the cast saturates"
)]
fn whole_ms(ms: f64) -> u64 {
    (ms.ceil() as u64).min(MAX_HINT_MS)
}

/// Estimated milliseconds of words without a number.
pub(super) fn rough_ms(words: &str) -> u64 {
    const ROUGHLY: [(&str, u64); 8] = [
        ("seconds", 5_000),
        ("minutes", 180_000),
        ("minute", 60_000),
        ("hours", 10_800_000),
        ("hour", 3_600_000),
        ("moment", 10_000),
        ("soon", 10_000),
        ("shortly", 10_000),
    ];
    const LATER_MS: u64 = 30_000;
    let words = words.to_ascii_lowercase();
    let known = ROUGHLY.iter().find(|(word, _)| words.contains(word));
    known.map_or(LATER_MS, |(_, ms)| *ms)
}

/// The first amount in milliseconds, and the rest of the text.
fn amount(text: &str) -> Option<(f64, &str)> {
    if let Some(ms) = clock_ms(text) {
        return Some((ms, ""));
    }
    let is_digit = |it: char| it.is_ascii_digit() || it == '.';
    let digits = text.find(|it| !is_digit(it))?;
    let (number, rest) = if digits > 0 {
        (text[..digits].parse().ok()?, &text[digits..])
    } else {
        let (word, rest) = text.split_once(' ')?;
        let known = WORDS.iter().find(|(it, _)| it.eq_ignore_ascii_case(word));
        (known?.1, rest)
    };
    let rest = rest.trim_start();
    let letters = rest.find(|it: char| !it.is_ascii_alphabetic());
    let (unit, rest) = rest.split_at(letters.unwrap_or(rest.len()));
    let is_unit = |names: &[&str]| names.iter().any(|it| it.eq_ignore_ascii_case(unit));
    let (_, unit_ms) = UNITS.iter().find(|(names, _)| is_unit(names))?;
    Some((number * unit_ms, rest))
}

/// The milliseconds of a text of hours, minutes and seconds.
fn clock_ms(text: &str) -> Option<f64> {
    let parts: Option<Vec<f64>> = text.split(':').map(|it| it.parse().ok()).collect();
    let [hours, minutes, seconds] = parts?.try_into().ok()?;
    Some(((hours * 60.0 + minutes) * 60.0 + seconds) * 1_000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_converted_to_milliseconds() {
        for (text, expected) in [
            ("5 seconds", Some(5_000)),
            ("500 ms", Some(500)),
            ("500ms", Some(500)),
            ("2 minutes", Some(120_000)),
            ("1 minute and 30 seconds", Some(90_000)),
            ("1 hour, 5 min", Some(3_900_000)),
            ("6m0s", Some(360_000)),
            ("1.2s", Some(1_200)),
            ("0.25 s", Some(250)),
            ("one minute", Some(60_000)),
            ("thirty seconds", Some(30_000)),
            ("2 days", Some(172_800_000)),
            ("06:12:44", Some(22_364_000)),
            ("12:44", None),
            ("400 days", Some(MAX_HINT_MS)),
            ("999999999 days", Some(MAX_HINT_MS)),
            ("5", None),
            ("5 lightyears", None),
            ("some seconds", None),
            ("1.2.3 s", None),
        ] {
            assert_eq!(delay_ms(text), expected, "{text}");
        }
    }
}
