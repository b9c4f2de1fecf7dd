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
