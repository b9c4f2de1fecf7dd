//! Moments in prose: RFC 3339, an HTTP date, a Unix time, a time of the day in UTC.

use jiff::civil::Time;
use jiff::{Timestamp, ToSpan as _, tz};

use crate::hint::{MAX_HINT_MS, parse_retry_after};

/// The milliseconds from now to a moment that is still to come.
pub(super) fn delay_ms(moment: &str, now: Timestamp) -> Option<u64> {
    let delay_ms = match time_of_day(moment) {
        Some(time) => until_ms(time, now),
        None => parse_retry_after(&as_rfc_3339(moment), now),
    };
    delay_ms.filter(|it| *it > 0)
}

/// `2099-01-01 00:00:00 UTC` as RFC 3339; other texts stay.
fn as_rfc_3339(moment: &str) -> String {
    let is_dated =
        moment.as_bytes().first().is_some_and(u8::is_ascii_digit) && moment.contains('-');
    match (
        is_dated,
        moment.strip_suffix("UTC").or(moment.strip_suffix("GMT")),
    ) {
        (true, Some(time)) => format!("{}Z", time.trim_end()),
        _ => moment.to_owned(),
    }
}

/// A time such as `14:00 UTC`.
fn time_of_day(moment: &str) -> Option<Time> {
    let is_zone = |it: &str| it.eq_ignore_ascii_case("UTC") || it.eq_ignore_ascii_case("GMT");
    let (time, zone) = moment.split_at_checked(moment.len().checked_sub(3)?)?;
    let mut parts = time.trim_end().split(':');
    let mut part = || parts.next().map_or(Some(0), |it| it.parse::<i8>().ok());
    let (hour, minute, second) = (part()?, part()?, part()?);
    Time::new(hour, minute, second, 0)
        .ok()
        .filter(|_| is_zone(zone))
}

/// The milliseconds until the clock shows a time in UTC.
fn until_ms(time: Time, now: Timestamp) -> Option<u64> {
    let today = now.to_zoned(tz::TimeZone::UTC).date().to_datetime(time);
    let next = |moment: jiff::civil::DateTime| tz::Offset::UTC.to_timestamp(moment).ok();
    let moment = next(today).filter(|it| *it > now);
    let moment = moment.or_else(|| next(today.checked_add(1.day()).ok()?))?;
    let milliseconds = moment.as_millisecond() - now.as_millisecond();
    Some(u64::try_from(milliseconds).ok()?.min(MAX_HINT_MS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_delays_from_now() {
        let now: Timestamp = "2025-06-30T12:00:00Z".parse().unwrap();
        for (moment, expected) in [
            ("2025-06-30T12:00:05Z", Some(5_000)),
            ("2025-06-30T14:00:00+02:00", None),
            ("2025-06-30 12:01:00 UTC", Some(60_000)),
            ("Mon, 30 Jun 2025 12:00:30 GMT", Some(30_000)),
            ("1751284810", Some(10_000)),
            ("1751284810000", Some(10_000)),
            ("12:05 UTC", Some(300_000)),
            ("11:00 GMT", Some(82_800_000)),
            ("25:00 UTC", None),
            ("2024-01-01T00:00:00Z", None),
            ("2099-01-01T00:00:00Z", Some(MAX_HINT_MS)),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(delay_ms(moment, now), expected, "{moment}");
        }
    }
}
