//! Decides whether a claim looks for a stored outcome before it tries to write.
//!
//! The fast path answers a repeated call without a write. For a new key it is wasted and takes as
//! long as the claim itself. New and repeated keys come in runs, so recent claims predict the next one.
//! A wrong guess costs time only: the write checks again.

use std::sync::atomic::{AtomicU32, Ordering};

/// After this many new keys in a row, the next key is assumed to be new.
const NEW_KEYS_RUN: u32 = 32;

/// Even then, every n-th claim tries the fast path.
const PROBE_INTERVAL: u32 = 16;

/// Counts claims since the last repeated key.
#[derive(Debug, Default)]
pub(crate) struct FastPath {
    new_in_a_row: AtomicU32,
}

impl FastPath {
    /// Whether the next claim should try the fast path.
    pub(crate) fn should_try(&self) -> bool {
        let new = self.new_in_a_row.fetch_add(1, Ordering::Relaxed);
        new < NEW_KEYS_RUN || new.is_multiple_of(PROBE_INTERVAL)
    }

    /// The key had an outcome.
    pub(crate) fn hit(&self) {
        self.new_in_a_row.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fast_path_is_rare_after_a_run_of_new_keys_until_a_key_repeats() {
        let fast_path = FastPath::default();
        let tries = |claims: u32| (0..claims).filter(|_| fast_path.should_try()).count();
        for _ in 0..2 {
            assert_eq!(tries(NEW_KEYS_RUN), 32);
            assert_eq!(tries(10 * PROBE_INTERVAL), 10);
            fast_path.hit();
        }
    }
}
