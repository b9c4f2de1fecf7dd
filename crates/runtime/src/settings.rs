//! What an operator may choose about how calls are kept and repeated.

/// How a dispatcher works.
///
/// A dispatcher raises what is too short to keep its promises: see [`SHORTEST_LEASE_MS`] and
/// [`SHORTEST_KEEP_MS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How long a key is held without a sign of life, at least [`SHORTEST_LEASE_MS`].
    pub lease_ms: u64,
    /// How long the outcome of a key is kept, at least [`SHORTEST_KEEP_MS`].
    pub keep_ms: u64,
    /// The longest outcome that is kept, in bytes of JSON; of a longer one only the digest, and of a
    /// longer failure what its code says of it.
    pub kept_output_bytes_limit: usize,
    /// Which outcomes a key keeps.
    pub freeze: Freeze,
    /// Which calls are recorded.
    pub record: Record,
    /// How long recordings and counts are kept.
    pub recordings_keep_ms: u64,
    /// Whether a keyed call that does no harm when repeated runs while the store is down. One that may
    /// do harm never does.
    pub run_without_store: bool,
    /// Whether what breaks its declared schema is a failure: details of a failure, outputs.
    pub strict: bool,
}

/// Which outcomes a key keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Freeze {
    /// Those that repeating cannot or must not change; after others the key is free again.
    #[default]
    Final,
    /// All of work that began: a failure is the answer for ever, even one that would pass.
    All,
}

/// Which calls are recorded; all are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// Every call.
    All,
    /// Those that failed.
    Failures,
    /// Those that failed, and every so many-th of an operation's other calls.
    Sample {
        /// How many; 0 is none of them.
        every: u64,
    },
}

/// How often the key of a crashed call may be taken over before it is given up.
pub const RECOVERIES_LIMIT: u32 = 3;

/// The shortest lease: its holder shows up three times within one, and must not lose the key to a
/// moment of work.
pub const SHORTEST_LEASE_MS: u64 = 100;

/// The shortest time an outcome is kept: a caller that waited for its answer in vain has to find it
/// when it asks again.
pub const SHORTEST_KEEP_MS: u64 = 60_000;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

impl Settings {
    /// The same without what would defeat keys.
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
            freeze: Freeze::default(),
            record: Record::Sample { every: 128 },
            recordings_keep_ms: 7 * DAY_MS,
            run_without_store: false,
            strict: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_defeat_keys_is_raised_and_nothing_else_changes() {
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
