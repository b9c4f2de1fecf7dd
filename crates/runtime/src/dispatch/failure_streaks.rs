//! Counts how often the identical call of one caller failed in a row.
//!
//! The advised delay grows with the streak, and a long streak adds the advice to ask a person. It also grows with the
//! time for which a host is not reached, by whatever call. Circuits count failures of the service separately.

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

/// Streaks by operation, caller and input, and of hosts that are not reached.
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
    first: Timestamp,
    last: Timestamp,
}

impl FailureStreaks {
    /// Counts a failed call whose condition may pass, and returns the length of its streak.
    pub(super) fn failed(&self, operation: &str, call: &Call, now: Timestamp) -> u32 {
        self.count(self.hash(operation, call), now).calls
    }

    /// The length of the streak of a call.
    pub(super) fn current(&self, operation: &str, call: &Call, now: Timestamp) -> u32 {
        let hash = self.hash(operation, call);
        let streaks = lock(&self.streaks);
        let streak = streaks.get(&hash).filter(|it| it.is_remembered(now));
        streak.map_or(0, |it| it.calls)
    }

    /// Remembers that the host of a service was not reached, and returns for how long that has been so, in
    /// milliseconds.
    pub(super) fn not_reached(&self, service: &str, now: Timestamp) -> u64 {
        let streak = self.count(self.hash_of_host(service), now);
        milliseconds_between(streak.first, now)
    }

    /// Forgets that the host of a service was not reached.
    pub(super) fn reached(&self, service: &str) {
        if self.has_streaks.load(Ordering::Relaxed) {
            self.end(self.hash_of_host(service));
        }
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

    fn hash_of_host(&self, service: &str) -> u64 {
        self.hasher.hash_one(("host", service))
    }

    fn count(&self, hash: u64, now: Timestamp) -> Streak {
        let mut streaks = lock(&self.streaks);
        if streaks.len() >= STREAKS_LIMIT {
            streaks.retain(|_, streak| streak.is_remembered(now));
        }
        let before = streaks
            .get(&hash)
            .filter(|streak| streak.is_remembered(now));
        let streak = Streak {
            calls: before.map_or(0, |it| it.calls).saturating_add(1),
            first: before.map_or(now, |it| it.first),
            last: now,
        };
        if streaks.len() < STREAKS_LIMIT || streaks.contains_key(&hash) {
            streaks.insert(hash, streak);
            self.has_streaks.store(true, Ordering::Relaxed);
        }
        streak
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

    fn calls(streaks: &FailureStreaks, hash: u64, now: Timestamp) -> u32 {
        streaks.count(hash, now).calls
    }

    #[test]
    fn a_host_is_remembered_since_it_was_first_not_reached() {
        let streaks = FailureStreaks::default();
        for (service, second, expected_ms) in [
            ("a", 0, 0),
            ("a", 10, 10_000),
            ("b", 10, 0),
            ("a", 60, 60_000),
        ] {
            assert_eq!(streaks.not_reached(service, at(second)), expected_ms);
        }
        streaks.reached("a");
        assert_eq!(streaks.not_reached("a", at(61)), 0);
        assert_eq!(streaks.not_reached("b", at(61)), 51_000);
    }

    #[test]
    fn a_streak_ends_with_a_success() {
        let streaks = FailureStreaks::default();
        assert_eq!(calls(&streaks, 1, at(0)), 1);
        assert_eq!(calls(&streaks, 1, at(1)), 2);
        assert_eq!(calls(&streaks, 2, at(1)), 1);
        streaks.end(1);
        assert_eq!(calls(&streaks, 1, at(2)), 1);
        assert_eq!(calls(&streaks, 2, at(2)), 2);
    }

    #[test]
    fn a_streak_expires() {
        let streaks = FailureStreaks::default();
        assert_eq!(calls(&streaks, 1, at(0)), 1);
        assert_eq!(calls(&streaks, 1, at(119)), 2);
        assert_eq!(calls(&streaks, 1, at(239)), 1);
    }

    #[test]
    fn the_number_of_streaks_is_limited() {
        let streaks = FailureStreaks::default();
        for hash in 0..STREAKS_LIMIT as u64 + 10 {
            calls(&streaks, hash, at(0));
        }
        assert_eq!(lock(&streaks.streaks).len(), STREAKS_LIMIT);
        let new = u64::MAX;
        assert_eq!(
            (calls(&streaks, new, at(0)), calls(&streaks, new, at(0))),
            (1, 1)
        );
        assert_eq!(
            (calls(&streaks, new, at(121)), calls(&streaks, new, at(122))),
            (1, 2)
        );
    }
}
