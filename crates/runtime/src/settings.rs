//! Settings of a dispatcher: leases, retention, recording and strictness.

/// The settings of a dispatcher.
///
/// A dispatcher raises values below [`SHORTEST_LEASE_MS`] and [`SHORTEST_KEEP_MS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The lease of a key, at least [`SHORTEST_LEASE_MS`].
    pub lease_ms: u64,
    /// How long the outcome of a key is kept, at least [`SHORTEST_KEEP_MS`].
    pub keep_ms: u64,
    /// The largest outcome that is stored, in bytes of JSON. Of a larger output only the digest is stored, of a
    /// larger failure only the code and its facts.
    pub kept_output_bytes_limit: usize,
    /// Which calls are recorded.
    pub record: Record,
    /// How long recordings and counts are kept.
    pub recordings_keep_ms: u64,
    /// Whether outputs and details that do not match their declared schema are failures.
    pub strict: bool,
}

/// Which calls are recorded; all are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// Every call.
    All,
    /// Failed calls.
    Failures,
    /// Failed calls, and every n-th other call of an operation.
    Sample {
        /// The n; 0 records no other calls.
        every: u64,
    },
}

/// How often the key of a crashed call may be taken over before it is given up.
pub const RECOVERIES_LIMIT: u32 = 3;

/// The shortest lease: its holder renews it three times, and must not lose the key to a short delay.
pub const SHORTEST_LEASE_MS: u64 = 100;

/// The shortest retention: a caller that lost the response has to find the outcome when it repeats the call.
pub const SHORTEST_KEEP_MS: u64 = 60_000;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

impl Settings {
    /// Raises values that are too short for keys to work.
    pub(crate) fn corrected(self) -> Self {
        Self {
            lease_ms: self.lease_ms.max(SHORTEST_LEASE_MS),
            keep_ms: self.keep_ms.max(SHORTEST_KEEP_MS),
            ..self
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            lease_ms: 30_000,
            keep_ms: DAY_MS,
            kept_output_bytes_limit: 1024 * 1024,
            record: Record::Sample { every: 128 },
            recordings_keep_ms: 7 * DAY_MS,
            strict: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_values_that_are_too_short_for_keys_are_raised() {
        for (lease_ms, keep_ms, expected) in [
            (0, 0, (SHORTEST_LEASE_MS, SHORTEST_KEEP_MS)),
            (
                SHORTEST_LEASE_MS - 1,
                SHORTEST_KEEP_MS - 1,
                (SHORTEST_LEASE_MS, SHORTEST_KEEP_MS),
            ),
            (
                SHORTEST_LEASE_MS + 1,
                SHORTEST_KEEP_MS + 1,
                (SHORTEST_LEASE_MS + 1, SHORTEST_KEEP_MS + 1),
            ),
            (u64::MAX, u64::MAX, (u64::MAX, u64::MAX)),
        ] {
            let settings = Settings {
                lease_ms,
                keep_ms,
                kept_output_bytes_limit: 0,
                recordings_keep_ms: 0,
                ..Settings::default()
            };
            let (lease_ms, keep_ms) = expected;
            let expected = Settings {
                lease_ms,
                keep_ms,
                ..settings
            };
            assert_eq!(settings.corrected(), expected);
        }
        assert_eq!(Settings::default().corrected(), Settings::default());
    }
}
