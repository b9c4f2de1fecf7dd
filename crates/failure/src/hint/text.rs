//! Parses one value: a number in its unit, a Go duration or a date.
//! Knows no header or field names.

use jiff::Timestamp;
use jiff::fmt::temporal::Pieces;

use super::http_date;
use super::{MAX_HINT_MS, MAX_VALUE_BYTES};

/// Parses a `Retry-After` value in any format seen in practice; returns milliseconds from `now`.
///
/// Accepts seconds (with or without a fraction), an HTTP date in its three formats, RFC 3339, a date with a named
/// month in UTC, a Go
/// duration such as `6m0s`, or several of these joined by `", "` (the longest wins). A number from 1e9 is a
/// Unix time in seconds, from 1e12 in milliseconds. A time in the past is 0, a delay over 30 days is cut to
/// 30 days, and any other text is `None`.
#[must_use]
pub fn parse_retry_after(raw: &str, now: Timestamp) -> Option<u64> {
    delay_ms(raw, Unit::Seconds, now)
}

/// The unit of a bare number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Seconds,
    Milliseconds,
}

/// Parses a value whose bare numbers are in `unit`; returns milliseconds from `now`.
pub(super) fn delay_ms(raw: &str, unit: Unit, now: Timestamp) -> Option<u64> {
    if raw.len() > MAX_VALUE_BYTES {
        return None;
    }
    let text = raw.trim();
    single(text, unit, now).or_else(|| longest_of_joined(text, unit, now))
}

/// Parses a decimal number; unlike Rust's parser it refuses `inf` and `NaN`.
pub(super) fn number(text: &str) -> Option<f64> {
    let is_part = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
    let number: f64 = text.bytes().all(is_part).then(|| text.parse().ok())??;
    number.is_finite().then_some(number)
}

fn single(text: &str, unit: Unit, now: Timestamp) -> Option<u64> {
    if let Some(number) = number(text) {
        return Some(from_number(number, unit, now));
    }
    if let Some(span_ms) = go_duration_ms(text) {
        return Some(whole_ms(span_ms));
    }
    let moment = http_date::parse(text, now)
        .or_else(|| rfc_3339(text))
        .or_else(|| named_month(text))?;
    Some(until_ms(moment, now))
}

/// Parses repeated headers that a proxy has joined: every part must be a value.
///
/// Only a comma with a space separates, because `1,500` is one number.
fn longest_of_joined(text: &str, unit: Unit, now: Timestamp) -> Option<u64> {
    let parts = text.split(", ").map(|part| single(part.trim(), unit, now));
    parts.collect::<Option<Vec<_>>>()?.into_iter().max()
}

/// Distinguishes a Unix time from a duration by its size: no duration is that long.
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

/// Rounds up, so that no retry is early, but ignores the rounding error of the float.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // The cast saturates.
pub(super) fn whole_ms(ms: f64) -> u64 {
    let without_noise = (ms * 100.0).round() / 100.0;
    (without_noise.ceil() as u64).min(MAX_HINT_MS)
}

fn until_ms(moment: Timestamp, now: Timestamp) -> u64 {
    let nanoseconds = moment.as_nanosecond() - now.as_nanosecond();
    let milliseconds = nanoseconds.max(0).unsigned_abs().div_ceil(1_000_000);
    u64::try_from(milliseconds).map_or(MAX_HINT_MS, |ms| ms.min(MAX_HINT_MS))
}

/// A date without an offset is ambiguous and refused.
fn rfc_3339(text: &str) -> Option<Timestamp> {
    let pieces = Pieces::parse(text).ok()?;
    let moment = pieces.date().to_datetime(pieces.time()?);
    Some(http_date::moment(moment, pieces.to_numeric_offset()?))
}

/// `2026-Nov-01 00:00:00+0000 UTC`, as API gateways write it.
fn named_month(text: &str) -> Option<Timestamp> {
    Timestamp::strptime("%Y-%b-%d %H:%M:%S%z", text.strip_suffix(" UTC")?).ok()
}

/// Milliseconds per unit of a Go duration, and per day, which some services add.
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

/// Parses durations such as `1h2m3.5s`, with an optional sign.
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
