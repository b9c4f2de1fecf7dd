//! Sums and differences of times that never fail.

use jiff::{SignedDuration, Timestamp};

/// The time after a delay, or the maximum timestamp.
pub(crate) fn later(now: Timestamp, delay_ms: u64) -> Timestamp {
    let delay = i64::try_from(delay_ms).map_or(SignedDuration::MAX, SignedDuration::from_millis);
    now.saturating_add(delay).unwrap_or(Timestamp::MAX)
}

/// How much later the second time is; nothing when it is earlier.
pub(crate) fn milliseconds_between(now: Timestamp, then: Timestamp) -> u64 {
    u64::try_from(then.duration_since(now).as_millis()).unwrap_or_default()
}

/// The shortest of the timeouts that were set, if nearly all of it is left; otherwise the time that is left.
pub(crate) fn stated_ms(left_ms: u64, timeouts: impl IntoIterator<Item = Option<u64>>) -> u64 {
    const MOMENT_MS: u64 = 100;
    let is_left = |it: &u64| (left_ms..=left_ms.saturating_add(MOMENT_MS)).contains(it);
    let set = timeouts.into_iter().flatten().filter(is_left);
    set.min().unwrap_or(left_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_is_stated_as_it_was_set_if_only_a_moment_of_it_is_gone() {
        for (left_ms, timeouts, stated) in [
            (299, [Some(300), None], 300),
            (300, [Some(300), Some(30_000)], 300),
            (200, [Some(300), None], 300),
            (199, [Some(300), None], 199),
            (301, [Some(300), None], 301),
            (299, [Some(30_000), None], 299),
            (299, [Some(300), Some(320)], 300),
            (299, [None, None], 299),
        ] {
            assert_eq!(
                stated_ms(left_ms, timeouts),
                stated,
                "{left_ms} {timeouts:?}"
            );
        }
    }
}
