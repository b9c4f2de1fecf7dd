//! Time as the stores write it: whole milliseconds, clamped to the range of a timestamp.

use jiff::Timestamp;
use panpan_runtime::ports::Clock;

/// How long a released key is remembered.
pub(crate) const FREE_KEPT_MS: u64 = 24 * 60 * 60 * 1000;

/// The time now.
pub(crate) fn now_ms(clock: &dyn Clock) -> i64 {
    clock.now().as_millisecond()
}

/// The time `by_ms` after `now_ms`, at most the last valid timestamp.
pub(crate) fn later_ms(now_ms: i64, by_ms: u64) -> i64 {
    let by_ms = i64::try_from(by_ms).unwrap_or(i64::MAX);
    let last_ms = Timestamp::MAX.as_millisecond();
    now_ms.saturating_add(by_ms).min(last_ms)
}

/// The time left until `until_ms`; 0 when it has passed.
pub(crate) fn remaining_ms(until_ms: i64, now_ms: i64) -> u64 {
    u64::try_from(until_ms.saturating_sub(now_ms)).unwrap_or(0)
}

/// The timestamp of a stored number. A number out of range, which no store writes, becomes the last one.
pub(crate) fn timestamp(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX)
}

/// The epoch of the next lease: above the last epoch, and not below the current time. A key that was
/// deleted and claimed again therefore never repeats an epoch that an old call still holds.
pub(crate) fn next_epoch(last: u64, now_ms: i64) -> u64 {
    let now = u64::try_from(now_ms).unwrap_or(0);
    last.saturating_add(1).max(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_clamped_to_the_last_timestamp() {
        let last = Timestamp::MAX.as_millisecond();
        for (now, by, expected) in [
            (5, 7, 12),
            (-5, 7, 2),
            (0, u64::MAX, last),
            (last, 1, last),
            (i64::MAX, u64::MAX, last),
        ] {
            assert_eq!(later_ms(now, by), expected);
            assert_eq!(timestamp(expected).as_millisecond(), expected);
        }
    }

    #[test]
    fn epochs_rise_with_claims_and_with_time() {
        for (last, now, expected) in [(0, 50, 50), (50, 50, 51), (70, 50, 71), (0, -3, 1)] {
            assert_eq!(next_epoch(last, now), expected);
        }
    }
}
