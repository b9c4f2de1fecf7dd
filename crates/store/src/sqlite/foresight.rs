//! Whether to look for an outcome before asking the writer for a key.
//!
//! A look answers a repeat at once and without the writer; before a new key it is wasted, and takes as
//! long as the claim itself. Calls come in runs of either kind, so that the last ones tell about the
//! next. A wrong guess costs time and nothing else: the writer finds whatever is there.

use std::sync::atomic::{AtomicU32, Ordering};

/// After so many new keys in a row the next is taken for a new one.
const RUN: u32 = 32;

/// Every so many-th claim looks first all the same.
const NOW_AND_THEN: u32 = 16;

/// What the last claims were.
#[derive(Debug, Default)]
pub(super) struct Foresight {
    new_in_a_row: AtomicU32,
}

impl Foresight {
    /// Whether a claim should look first.
    pub(super) fn should_look(&self) -> bool {
        let new = self.new_in_a_row.fetch_add(1, Ordering::Relaxed);
        new < RUN || new.is_multiple_of(NOW_AND_THEN)
    }

    /// The key was not a new one.
    pub(super) fn was_known(&self) {
        self.new_in_a_row.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_run_of_new_keys_looks_are_rare_until_a_known_one_comes() {
        let foresight = Foresight::default();
        let looks = |claims: u32| (0..claims).filter(|_| foresight.should_look()).count();
        for _ in 0..2 {
            assert_eq!(looks(RUN), 32);
            assert_eq!(looks(10 * NOW_AND_THEN), 10);
            foresight.was_known();
        }
    }
}
