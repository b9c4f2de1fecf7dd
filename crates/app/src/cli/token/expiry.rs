//! The expiry of a token, written as `30d`, `12h` or `2027-01-01`.

use std::str::FromStr;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// When a token expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expiry {
    /// After this time from now.
    After(SignedDuration),
    /// At this time.
    At(Timestamp),
}

/// The units of durations, in seconds.
const UNITS: [(char, i64); 5] = [
    ('s', 1),
    ('m', 60),
    ('h', 60 * 60),
    ('d', 24 * 60 * 60),
    ('w', 7 * 24 * 60 * 60),
];

/// Why a text is not an expiry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ExpiryError {
    #[error("expected a duration such as 30d or 12h, or a date such as 2027-01-01")]
    Syntax,
    #[error("the expiry is out of range")]
    OutOfRange,
}

impl Expiry {
    /// The time at which a token created now expires.
    pub(super) fn from(self, now: Timestamp) -> Result<Timestamp, ExpiryError> {
        match self {
            Self::After(duration) => now
                .checked_add(duration)
                .map_err(|_| ExpiryError::OutOfRange),
            Self::At(time) => Ok(time),
        }
    }
}

impl FromStr for Expiry {
    type Err = ExpiryError;

    fn from_str(text: &str) -> Result<Self, ExpiryError> {
        if let Some(duration) = duration(text) {
            return duration.map(Self::After);
        }
        time(text).map(Self::At).ok_or(ExpiryError::Syntax)
    }
}

/// `None` if the text is not a duration.
fn duration(text: &str) -> Option<Result<SignedDuration, ExpiryError>> {
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
            .ok_or(ExpiryError::OutOfRange),
    )
}

/// A date means its start in UTC.
fn time(text: &str) -> Option<Timestamp> {
    const DATE_BYTES: usize = "2027-01-01".len();
    if text.len() != DATE_BYTES {
        return text.parse().ok();
    }
    let date: Date = text.parse().ok()?;
    let start = date.to_zoned(TimeZone::UTC).ok()?;
    Some(start.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_dates_and_times_are_parsed() {
        let now: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
        for (text, expected) in [
            ("90s", Ok("2026-11-15T12:01:30Z")),
            ("5m", Ok("2026-11-15T12:05:00Z")),
            ("12h", Ok("2026-11-16T00:00:00Z")),
            ("30d", Ok("2026-12-15T12:00:00Z")),
            ("2w", Ok("2026-11-29T12:00:00Z")),
            ("2027-01-01", Ok("2027-01-01T00:00:00Z")),
            ("2027-01-01T10:00:00+02:00", Ok("2027-01-01T08:00:00Z")),
            ("999999999d", Err(ExpiryError::OutOfRange)),
            ("99999999999999999999d", Err(ExpiryError::OutOfRange)),
            ("", Err(ExpiryError::Syntax)),
            ("d", Err(ExpiryError::Syntax)),
            ("30", Err(ExpiryError::Syntax)),
            ("30y", Err(ExpiryError::Syntax)),
            ("-1d", Err(ExpiryError::Syntax)),
            ("1.5h", Err(ExpiryError::Syntax)),
            ("30 d", Err(ExpiryError::Syntax)),
            ("2027-02-30", Err(ExpiryError::Syntax)),
            ("2027-01-01T10:00:00", Err(ExpiryError::Syntax)),
            ("tomorrow", Err(ExpiryError::Syntax)),
        ] {
            let read = text.parse::<Expiry>().and_then(|expiry| expiry.from(now));
            let expected = expected.map(|time| time.parse::<Timestamp>().unwrap());
            assert_eq!(read, expected, "{text:?}");
        }
    }
}
