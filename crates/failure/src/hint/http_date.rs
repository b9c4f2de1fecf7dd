//! HTTP dates in their three formats, as servers write them in practice.
//! Lenient where the meaning is clear; time zone names other than UTC are refused.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::Offset;

/// Reads an HTTP date: IMF-fixdate, RFC 850 or asctime.
///
/// The weekday is not compared with the date. Case is ignored; seconds may have a fraction or be a leap
/// second. `now` determines the century of a two-digit year.
pub(super) fn parse(text: &str, now: Timestamp) -> Option<Timestamp> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let (weekday, rest) = words.split_first()?;
    if !weekday
        .trim_end_matches(',')
        .bytes()
        .all(|byte| byte.is_ascii_alphabetic())
    {
        return None;
    }
    let (date, time, zone) = match *rest {
        [day, month, year, time, zone] => (date(year, month, day, now)?, time, zone),
        [month, day, time, year] => (date(year, month, day, now)?, time, "GMT"),
        [date, time, zone] => (dashed_date(date, now)?, time, zone),
        _ => return None,
    };
    Some(moment(date.to_datetime(clock_time(time)?), offset(zone)?))
}

/// The timestamp, clamped to the supported range.
pub(super) fn moment(local: DateTime, offset: Offset) -> Timestamp {
    let end = if local.year() > 0 {
        Timestamp::MAX
    } else {
        Timestamp::MIN
    };
    offset.to_timestamp(local).unwrap_or(end)
}

fn dashed_date(text: &str, now: Timestamp) -> Option<Date> {
    let (day, rest) = text.split_once('-')?;
    let (month, year) = rest.split_once('-')?;
    date(year, month, day, now)
}

fn date(year: &str, month: &str, day: &str, now: Timestamp) -> Option<Date> {
    const MONTHS: [&str; 12] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ];
    let month = (1..)
        .zip(MONTHS)
        .find(|(_, name)| name.eq_ignore_ascii_case(month))?
        .0;
    let day = i8::try_from(digits(day, 1..=2)?).ok()?;
    Date::new(full_year(year, now)?, month, day).ok()
}

/// A two-digit year is the next such year, unless that is more than 50 years ahead.
fn full_year(text: &str, now: Timestamp) -> Option<i16> {
    if text.len() != 2 {
        return digits(text, 4..=4);
    }
    let this_year = Offset::UTC.to_datetime(now).year();
    let ahead = (digits(text, 2..=2)? - this_year).rem_euclid(100);
    Some(this_year + if ahead > 50 { ahead - 100 } else { ahead })
}

fn digits(text: &str, lengths: std::ops::RangeInclusive<usize>) -> Option<i16> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && lengths.contains(&text.len())).then(|| text.parse().ok())?
}

/// `jiff` parses fractions and leap seconds, but also shorter formats, which are refused here.
fn clock_time(text: &str) -> Option<Time> {
    let colons = text.match_indices(':').map(|(at, _)| at);
    colons.eq([2, 5]).then(|| text.parse().ok())?
}

fn offset(zone: &str) -> Option<Offset> {
    if ["GMT", "UTC", "UT", "Z"]
        .iter()
        .any(|name| name.eq_ignore_ascii_case(zone))
    {
        return Some(Offset::UTC);
    }
    let (sign, clock) = match zone.split_at_checked(1)? {
        ("+", clock) => (1, clock),
        ("-", clock) => (-1, clock),
        _ => return None,
    };
    let clock = i32::from(digits(clock, 4..=4)?);
    Offset::from_seconds(sign * (clock / 100 * 3600 + clock % 100 * 60)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Option<String> {
        let now = "2026-06-15T00:00:00Z".parse().unwrap();
        parse(text, now).map(|moment| moment.to_string())
    }

    #[test]
    fn the_three_formats_and_common_deviations_are_parsed() {
        let check = |text: &str, expected: &str| {
            assert_eq!(read(text).as_deref(), Some(expected), "{text}");
        };
        check("Sun, 06 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37Z");
        check("Sunday, 06-Nov-94 08:49:37 GMT", "1994-11-06T08:49:37Z");
        check("Sun Nov  6 08:49:37 1994", "1994-11-06T08:49:37Z");
        check("Sun, 6 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37Z");
        check("Sun Nov 06 08:49:37 1994", "1994-11-06T08:49:37Z");
        check("Sun, 06-Nov-1994 08:49:37 GMT", "1994-11-06T08:49:37Z");
        check("sun, 06 nov 1994 08:49:37 gmt", "1994-11-06T08:49:37Z");
        check("SUN, 06 NOV 1994 08:49:37 UTC", "1994-11-06T08:49:37Z");
        check("Mon, 06 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37Z");
        check("Sun, 06 Nov 1994 08:49:37 +0000", "1994-11-06T08:49:37Z");
        check("Sun, 06 Nov 1994 08:49:37 -0730", "1994-11-06T16:19:37Z");
        check("Sun, 06 Nov 1994 08:49:37 +0200", "1994-11-06T06:49:37Z");
        check(
            "Sun, 06 Nov 1994 08:49:37.25 GMT",
            "1994-11-06T08:49:37.25Z",
        );
        check("Sat, 31 Dec 2016 23:59:60 GMT", "2016-12-31T23:59:59Z");
        check("Thu, 29 Feb 2024 00:00:00 GMT", "2024-02-29T00:00:00Z");
        check("Fri, 31 Dec 9999 23:59:59 GMT", &Timestamp::MAX.to_string());
        check("Sat, 01 Jan 0000 00:00:00 GMT", "0000-01-01T00:00:00Z");
    }

    #[test]
    fn a_two_digit_year_is_at_most_fifty_years_ahead() {
        let check = |year: &str, expected: &str| {
            let text = format!("Sunday, 06-Nov-{year} 08:49:37 GMT");
            assert_eq!(
                read(&text),
                Some(format!("{expected}-11-06T08:49:37Z")),
                "{year}"
            );
        };
        check("26", "2026");
        check("27", "2027");
        check("76", "2076");
        check("77", "1977");
        check("25", "2025");
        check("00", "2000");
    }

    #[test]
    fn other_texts_are_not_dates() {
        for text in [
            "",
            "Sun",
            "Sun, 06 Nov 1994",
            "Sun, 06 Nov 1994 08:49:37",
            "Sun, 06 Nov 1994 08:49 GMT",
            "Sun, 06 Nov 1994 084937 GMT",
            "Sun, 06 Nov 1994 24:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:61 GMT",
            "Sun, 06 Nov 1994 08:49:37 EST",
            "Sun, 06 Nov 1994 08:49:37 +9999",
            "Sun, 06 Nov 1994 08:49:37 \u{b1}0000",
            "Sun, 06 Nov 1994 08:49:37 GMT GMT",
            "Sun, 31 Nov 1994 08:49:37 GMT",
            "Wed, 29 Feb 2023 00:00:00 GMT",
            "Sun, 06 November 1994 08:49:37 GMT",
            "Sun, 06 Nov 94x 08:49:37 GMT",
            "Sun, 06 Nov -194 08:49:37 GMT",
            "Sun, 06 Nov 99999 08:49:37 GMT",
            "Sunday, 06-Nov 08:49:37 GMT",
            "1, 06 Nov 1994 08:49:37 GMT",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_like_a_date_panics(
            text in "[A-Za-z]{3}[, ]{1,2}[-0-9+.: a-zA-Z]{0,40}",
            clock in "[0-9]{2}:[0-9]{2}:[0-9.]{2,12}",
            now_s in -377_705_023_201..253_402_207_200i64,
        ) {
            let now = Timestamp::from_second(now_s).unwrap();
            let _ = parse(&text, now);
            let _ = parse(&format!("Sunday, 06-Nov-94 {clock} GMT"), now);
            let _ = parse(&format!("Sun, 06 Nov 1994 {clock} +{clock}"), now);
        }
    }
}
