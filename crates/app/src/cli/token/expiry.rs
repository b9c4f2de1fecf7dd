//! When a token ends, as people write it: `30d`, `12h`, `2027-01-01`.

use std::str::FromStr;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// The end of a token's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expiry {
    /// So long from now.
    After(SignedDuration),
    /// At this time.
    At(Timestamp),
}

/// How lengths of time are written: a letter, and its seconds.
const UNITS: [(char, i64); 5] = [
    ('s', 1),
    ('m', 60),
    ('h', 60 * 60),
    ('d', 24 * 60 * 60),
    ('w', 7 * 24 * 60 * 60),
];

/// Why a text is no end of a token's time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ExpiryError {
    #[error("write how long it is to be valid, as 30d or 12h, or until when, as 2027-01-01")]
    Form,
    #[error("that is further away than time is counted")]
    TooFar,
}

impl Expiry {
    /// The time that is meant when it is written now.
    pub(super) fn from(self, now: Timestamp) -> Result<Timestamp, ExpiryError> {
        match self {
            Self::After(length) => now.checked_add(length).map_err(|_| ExpiryError::TooFar),
            Self::At(time) => Ok(time),
        }
    }
}

impl FromStr for Expiry {
    type Err = ExpiryError;

    fn from_str(text: &str) -> Result<Self, ExpiryError> {
        if let Some(length) = length(text) {
            return length.map(Self::After);
        }
        time(text).map(Self::At).ok_or(ExpiryError::Form)
    }
}

/// `None` where the text is not written like a length of time.
fn length(text: &str) -> Option<Result<SignedDuration, ExpiryError>> {
    let letter = text.chars().last()?;
    let (_, seconds) = UNITS.iter().find(|(unit, _)| *unit == letter)?;
    let count = text.strip_suffix(letter)?;
    if count.is_empty() || !count.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let total = count
        .parse::<i64>()
        .ok()
        .and_then(|count| count.checked_mul(*seconds));
    Some(
        total
            .map(SignedDuration::from_secs)
            .ok_or(ExpiryError::TooFar),
    )
}

/// A day stands for its beginning, the same everywhere.
fn time(text: &str) -> Option<Timestamp> {
    const DAY: usize = "2027-01-01".len();
    if text.len() != DAY {
        return text.parse().ok();
    }
    let day: Date = text.parse().ok()?;
    let beginning = day.to_zoned(TimeZone::UTC).ok()?;
    Some(beginning.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_days_and_times_are_read() {
        let now: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
        for (text, expected) in [
            ("90s", Ok("2026-11-15T12:01:30Z")),
            ("5m", Ok("2026-11-15T12:05:00Z")),
            ("12h", Ok("2026-11-16T00:00:00Z")),
            ("30d", Ok("2026-12-15T12:00:00Z")),
            ("2w", Ok("2026-11-29T12:00:00Z")),
            ("2027-01-01", Ok("2027-01-01T00:00:00Z")),
            ("2027-01-01T10:00:00+02:00", Ok("2027-01-01T08:00:00Z")),
            ("999999999d", Err(ExpiryError::TooFar)),
            ("99999999999999999999d", Err(ExpiryError::TooFar)),
            ("", Err(ExpiryError::Form)),
            ("d", Err(ExpiryError::Form)),
            ("30", Err(ExpiryError::Form)),
            ("30y", Err(ExpiryError::Form)),
            ("-1d", Err(ExpiryError::Form)),
            ("1.5h", Err(ExpiryError::Form)),
            ("30 d", Err(ExpiryError::Form)),
            ("2027-02-30", Err(ExpiryError::Form)),
            ("2027-01-01T10:00:00", Err(ExpiryError::Form)),
            ("tomorrow", Err(ExpiryError::Form)),
        ] {
            let read = text.parse::<Expiry>().and_then(|expiry| expiry.from(now));
            let expected = expected.map(|time| time.parse::<Timestamp>().unwrap());
            assert_eq!(read, expected, "{text:?}");
        }
    }
}
