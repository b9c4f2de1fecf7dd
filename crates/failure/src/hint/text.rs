//! How one value is understood: a number in its unit, a Go duration or a date.
//! Which header or field it stands in, and which wins, is not known here.

use jiff::Timestamp;
use jiff::fmt::temporal::Pieces;

use super::http_date;
use super::{MAX_HINT_MS, MAX_VALUE_BYTES};

/// Reads a `Retry-After` value in any form seen in the wild; returns milliseconds from `now`.
///
/// Seconds (whole or not), an HTTP date in its three forms, RFC 3339, a Go
/// duration such as `6m0s`, or several of the first joined by `", "` (the longest
/// counts). From 1e9 on a number is a Unix time in seconds, from 1e12 on in
/// milliseconds. What lies in the past is 0, what lies beyond 30 days is cut to
/// that, and what cannot be understood is `None`.
#[must_use]
pub fn parse_retry_after(raw: &str, now: Timestamp) -> Option<u64> {
    delay_ms(raw, Unit::Seconds, now)
}

/// What a bare number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Seconds,
    Milliseconds,
}

/// Reads a value whose bare numbers count `unit`; returns milliseconds from `now`.
pub(super) fn delay_ms(raw: &str, unit: Unit, now: Timestamp) -> Option<u64> {
    if raw.len() > MAX_VALUE_BYTES {
        return None;
    }
    let text = raw.trim();
    single(text, unit, now).or_else(|| longest_of_joined(text, unit, now))
}

/// Reads a plain decimal number; unlike the language's parser it knows no `inf` and no `NaN`.
pub(super) fn number(text: &str) -> Option<f64> {
    let shaped = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
    let number: f64 = text.bytes().all(shaped).then(|| text.parse().ok())??;
    number.is_finite().then_some(number)
}

fn single(text: &str, unit: Unit, now: Timestamp) -> Option<u64> {
    if let Some(number) = number(text) {
        return Some(from_number(number, unit, now));
    }
    if let Some(span_ms) = go_duration_ms(text) {
        return Some(whole_ms(span_ms));
    }
    let moment = http_date::parse(text, now).or_else(|| rfc_3339(text))?;
    Some(until_ms(moment, now))
}

/// Reads what a proxy makes of a repeated header: every part must be a value of its own.
///
/// Only a comma with a space separates, because `1,500` is one misspelt number.
fn longest_of_joined(text: &str, unit: Unit, now: Timestamp) -> Option<u64> {
    let parts = text.split(", ").map(|part| single(part.trim(), unit, now));
    parts.collect::<Option<Vec<_>>>()?.into_iter().max()
}

/// Tells a Unix time from a span by its size alone: no span is that long, no Unix time that short.
fn from_number(number: f64, unit: Unit, now: Timestamp) -> u64 {
    const EPOCH_MS: f64 = 1e12;
    const EPOCH_SECONDS: f64 = 1e9;
    #[allow(clippy::cast_precision_loss)] // Exact: a timestamp has fewer than 2^53 ms.
    let now_ms = now.as_millisecond() as f64;
    whole_ms(match unit {
        _ if number >= EPOCH_MS => number - now_ms,
        Unit::Milliseconds => number,
        Unit::Seconds if number >= EPOCH_SECONDS => number * 1000.0 - now_ms,
        Unit::Seconds => number * 1000.0,
    })
}

/// Rounds up, so that nobody comes back early, but not for the noise of a float's last digits.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // The cast saturates.
fn whole_ms(ms: f64) -> u64 {
    let tidy = (ms * 100.0).round() / 100.0;
    (tidy.ceil() as u64).min(MAX_HINT_MS)
}

fn until_ms(moment: Timestamp, now: Timestamp) -> u64 {
    let nanoseconds = moment.as_nanosecond() - now.as_nanosecond();
    let milliseconds = nanoseconds.max(0).unsigned_abs().div_ceil(1_000_000);
    u64::try_from(milliseconds).map_or(MAX_HINT_MS, |ms| ms.min(MAX_HINT_MS))
}

/// A date without an offset names no moment and is refused.
fn rfc_3339(text: &str) -> Option<Timestamp> {
    let pieces = Pieces::parse(text).ok()?;
    let moment = pieces.date().to_datetime(pieces.time()?);
    Some(http_date::moment(moment, pieces.to_numeric_offset()?))
}

/// Milliseconds in each unit of a Go duration, and in a day, which some services add.
const GO_UNITS: &[(&str, f64)] = &[
    ("d", 86_400_000.0),
    ("h", 3_600_000.0),
    ("ms", 1.0),
    ("m", 60_000.0),
    ("s", 1_000.0),
    ("us", 0.001),
    ("\u{b5}s", 0.001),
    ("\u{3bc}s", 0.001),
    ("ns", 0.000_001),
];

/// Reads `1h2m3.5s` and the like; one sign may stand in front of the whole.
fn go_duration_ms(text: &str) -> Option<f64> {
    let (mut rest, sign) = match text.strip_prefix('-') {
        Some(rest) => (rest, -1.0),
        None => (text.strip_prefix('+').unwrap_or(text), 1.0),
    };
    let mut total_ms = None;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let amount: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let (name, unit_ms) = GO_UNITS.iter().find(|(name, _)| rest.starts_with(name))?;
        rest = &rest[name.len()..];
        total_ms = Some(total_ms.unwrap_or(0.0) + amount * unit_ms);
    }
    total_ms.map(|ms| sign * ms)
}

#[cfg(test)]
mod tests;
