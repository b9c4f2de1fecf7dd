//! Finds payment card numbers by three checks: the grouping of the digits, an issuer prefix with a
//! length that the issuer uses, and the check digit. A number that fails one of them is kept.

use std::ops::{Range, RangeInclusive};

use super::spans::Spans;

/// Collects every card number in the text.
pub(super) fn find(text: &str, spans: &mut Spans) {
    let bytes = text.as_bytes();
    let groups = digit_groups(bytes);
    let mut at = 0;
    while at < groups.len() {
        let taken = GROUPINGS
            .iter()
            .find(|sizes| fits(bytes, &groups[at..], sizes))
            .map_or(0, |sizes| sizes.len());
        if taken > 0 {
            spans.push(groups[at].start..groups[at + taken - 1].end);
        }
        at += taken.max(1);
    }
}

/// Whether a whole number, as JSON writes it, is a card number.
pub(super) fn is_card_number(digits: &str) -> bool {
    digits.bytes().all(|byte| byte.is_ascii_digit()) && is_card(digits.as_bytes())
}

/// The prefixes of the issuers, each with the lengths of its numbers.
const ISSUERS: &[(RangeInclusive<u32>, RangeInclusive<usize>)] = &[
    (4000..=4999, 16..=16),
    (4000..=4999, 19..=19),
    (5100..=5599, 16..=16),
    (2221..=2720, 16..=16),
    (3400..=3499, 15..=15),
    (3700..=3799, 15..=15),
    (6011..=6011, 16..=19),
    (6440..=6599, 16..=19),
    (3000..=3059, 14..=14),
    (3600..=3699, 14..=14),
    (3800..=3999, 14..=14),
    (3528..=3589, 16..=19),
    (6200..=6299, 16..=19),
    (2200..=2204, 16..=19),
    (5018..=5018, 13..=19),
    (5020..=5020, 13..=19),
    (5038..=5038, 13..=19),
    (5893..=5893, 13..=19),
    (6304..=6304, 13..=19),
    (6759..=6763, 13..=19),
];

/// The groupings of a card number; zero means one group of any length.
const GROUPINGS: &[&[usize]] = &[
    &[4, 4, 4, 4, 3],
    &[4, 4, 4, 4],
    &[4, 6, 5],
    &[4, 6, 4],
    &[0],
];

fn fits(bytes: &[u8], groups: &[Range<usize>], sizes: &[usize]) -> bool {
    let Some(groups) = groups.get(..sizes.len()) else {
        return false;
    };
    let fit = groups
        .iter()
        .zip(sizes)
        .all(|(group, size)| *size == 0 || group.len() == *size);
    let joined = groups
        .windows(2)
        .all(|pair| pair[1].start == pair[0].end + 1 && is_separator(bytes[pair[0].end]));
    if !fit || !joined {
        return false;
    }
    let digits: Vec<u8> = groups
        .iter()
        .flat_map(|group| bytes[group.clone()].iter().take(20).copied())
        .collect();
    is_card(&digits)
}

fn is_separator(byte: u8) -> bool {
    matches!(byte, b' ' | b'-')
}

/// The runs of digits that are not part of a word or a decimal fraction.
fn digit_groups(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut groups = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        while at < bytes.len() && bytes[at].is_ascii_digit() {
            at += 1;
        }
        if at == start {
            at += 1;
        } else if is_separate(bytes, start, at) {
            groups.push(start..at);
        }
    }
    groups
}

fn is_separate(bytes: &[u8], start: usize, end: usize) -> bool {
    let before = |distance: usize| start.checked_sub(distance).map(|at| bytes[at]);
    let digit = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_digit());
    let letter = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphabetic());
    let escape = before(2) == Some(b'\\') || before(3) == Some(b'%');
    let after = bytes.get(end).copied();
    let fraction = before(1) == Some(b'.') && digit(before(2))
        || after == Some(b'.') && digit(bytes.get(end + 1).copied());
    (!letter(before(1)) || escape) && !letter(after) && !fraction
}

fn is_card(digits: &[u8]) -> bool {
    let Some(first) = digits.get(..4) else {
        return false;
    };
    let prefix = first
        .iter()
        .fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'));
    let issued = ISSUERS
        .iter()
        .any(|(prefixes, lengths)| prefixes.contains(&prefix) && lengths.contains(&digits.len()));
    issued && has_check_digit(digits)
}

/// The Luhn check.
fn has_check_digit(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(position, digit)| {
            let digit = u32::from(digit - b'0');
            if position % 2 == 0 {
                digit
            } else {
                digit * 2 / 10 + digit * 2 % 10
            }
        })
        .sum();
    sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        let mut spans = Spans::default();
        find(text, &mut spans);
        assert_eq!(spans.cut(text).as_deref(), expected, "{text}");
    }

    #[test]
    fn cards_go_in_every_grouping() {
        check("4111111111111111", Some("[REDACTED]"));
        check("pay 4111 1111 1111 1111 now", Some("pay [REDACTED] now"));
        check("5500-0055-5555-5559.", Some("[REDACTED]."));
        check("3782 822463 10005", Some("[REDACTED]"));
        check(
            "on 2026-11-15 4111 1111 1111 1111",
            Some("on 2026-11-15 [REDACTED]"),
        );
        check(
            "6011111111111117,30569309025904",
            Some("[REDACTED],[REDACTED]"),
        );
    }

    #[test]
    fn numbers_that_are_not_cards_survive() {
        let innocents = [
            "4111111111111112",
            "9111111111111111",
            "1731660510123",
            "0.4111111111111111",
            "a4111111111111111b",
            "41111111111111114111111111111111",
            "4111  1111  1111  1111",
            "41 1111 1111 1111 11",
            "+1 415 555 2671",
        ];
        for text in innocents {
            check(text, None);
        }
    }
}
