//! Counts how often the identical call of one caller failed in a row.
//!
//! The advised delay grows with the streak, and a long streak adds the advice to ask a person. Circuits
//! count failures of the service separately.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;

use super::request::Call;
use crate::lock::lock;
use crate::time::milliseconds_between;

/// How long a streak is remembered after its last failure; longer than any delay that it leads to.
const REMEMBERED_MS: u64 = 120_000;

/// The maximum number of streaks; further ones are not counted.
const STREAKS_LIMIT: usize = 4096;

/// Streaks by operation, caller and input.
#[derive(Debug, Default)]
pub(super) struct FailureStreaks {
    streaks: Mutex<HashMap<u64, Streak>>,
    /// Lets successful calls skip the lock.
    has_streaks: AtomicBool,
    hasher: RandomState,
}

#[derive(Clone, Copy, Debug)]
struct Streak {
    calls: u32,
    last: Timestamp,
}

impl FailureStreaks {
    /// Counts a failed call that may be repeated, and returns the length of its streak.
    pub(super) fn failed(&self, operation: &str, call: &Call, now: Timestamp) -> u32 {
        self.count(self.hash(operation, call), now)
    }

    /// Ends the streak of a call.
    pub(super) fn ended(&self, operation: &str, call: &Call) {
        if self.has_streaks.load(Ordering::Relaxed) {
            self.end(self.hash(operation, call));
        }
    }

    fn hash(&self, operation: &str, call: &Call) -> u64 {
        let caller = call.caller_id();
        self.hasher.hash_one((operation, caller, &*call.input))
    }

    fn count(&self, hash: u64, now: Timestamp) -> u32 {
        let mut streaks = lock(&self.streaks);
        if streaks.len() >= STREAKS_LIMIT {
            streaks.retain(|_, streak| streak.is_remembered(now));
        }
        let before = streaks
            .get(&hash)
            .filter(|streak| streak.is_remembered(now));
        let calls = before.map_or(0, |streak| streak.calls).saturating_add(1);
        if streaks.len() < STREAKS_LIMIT || streaks.contains_key(&hash) {
            streaks.insert(hash, Streak { calls, last: now });
            self.has_streaks.store(true, Ordering::Relaxed);
        }
        calls
    }

    fn end(&self, hash: u64) {
        let mut streaks = lock(&self.streaks);
        streaks.remove(&hash);
        self.has_streaks
            .store(!streaks.is_empty(), Ordering::Relaxed);
    }
}

impl Streak {
    fn is_remembered(self, now: Timestamp) -> bool {
        milliseconds_between(self.last, now) < REMEMBERED_MS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn a_streak_ends_with_a_success() {
        let streaks = FailureStreaks::default();
        assert_eq!(streaks.count(1, at(0)), 1);
        assert_eq!(streaks.count(1, at(1)), 2);
        assert_eq!(streaks.count(2, at(1)), 1);
        streaks.end(1);
        assert_eq!(streaks.count(1, at(2)), 1);
        assert_eq!(streaks.count(2, at(2)), 2);
    }

    #[test]
    fn a_streak_expires() {
        let streaks = FailureStreaks::default();
        assert_eq!(streaks.count(1, at(0)), 1);
        assert_eq!(streaks.count(1, at(119)), 2);
        assert_eq!(streaks.count(1, at(239)), 1);
    }

    #[test]
    fn the_number_of_streaks_is_limited() {
        let streaks = FailureStreaks::default();
        for hash in 0..STREAKS_LIMIT as u64 + 10 {
            streaks.count(hash, at(0));
        }
        assert_eq!(lock(&streaks.streaks).len(), STREAKS_LIMIT);
        let new = u64::MAX;
        assert_eq!(
            (streaks.count(new, at(0)), streaks.count(new, at(0))),
            (1, 1)
        );
        assert_eq!(
            (streaks.count(new, at(121)), streaks.count(new, at(122))),
            (1, 2)
        );
    }
}
