//! Limits how many equal failures are recorded.
//!
//! A caller that hits a failure a thousand times a second would otherwise fill the store. For each
//! operation, code and caller, the first [`RECORDED`] failures within [`WINDOW_MS`] are recorded, so that
//! an operator finds each by its id. The others only raise the count of the last recorded one.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Mutex;

use jiff::Timestamp;
use panpan_contract::recording::Recording;
use panpan_failure::Code;

use crate::lock::lock;
use crate::time::milliseconds_between;

/// How many equal failures are recorded within a window.
pub(super) const RECORDED: u32 = 10;

/// The length of a window.
pub(super) const WINDOW_MS: u64 = 1000;

/// How many different failures are tracked; all others are recorded.
const TRACKED_LIMIT: usize = 1024;

/// The last recorded failure of each operation, code and caller.
#[derive(Debug, Default)]
pub(super) struct RepeatedFailures {
    recent: Mutex<HashMap<u64, Recent>>,
    hasher: RandomState,
}

#[derive(Debug)]
struct Recent {
    /// The last recorded failure.
    recording: Recording,
    since: Timestamp,
    recorded: u32,
}

impl RepeatedFailures {
    /// Counts a failure with the last equal one; `false` if it has to be recorded.
    pub(super) fn count(
        &self,
        operation: &str,
        code: &Code,
        caller: Option<&str>,
        at: Timestamp,
    ) -> bool {
        let hash = self.hash(operation, code, caller);
        match lock(&self.recent).get_mut(&hash) {
            Some(recent) if recent.recorded >= RECORDED && recent.covers(at) => {
                recent.recording.repeats += 1;
                true
            }
            _ => false,
        }
    }

    /// Tracks a recorded failure. Returns the one tracked before if it counted others: it has to be recorded
    /// again, with its count.
    pub(super) fn track(&self, recording: &Recording) -> Option<Recording> {
        let caller = recording.caller.as_deref();
        let hash = self.hash(&recording.operation, recording.code()?, caller);
        let mut recent = lock(&self.recent);
        let is_full = recent.len() >= TRACKED_LIMIT;
        match recent.entry(hash) {
            Entry::Vacant(_) if is_full => None,
            Entry::Vacant(vacant) => {
                vacant.insert(Recent::of(recording));
                None
            }
            Entry::Occupied(mut recent) if recent.get().covers(recording.at) => {
                let recent = recent.get_mut();
                recent.recorded += 1;
                let before = std::mem::replace(&mut recent.recording, recording.clone());
                (before.repeats > 0).then_some(before)
            }
            Entry::Occupied(mut recent) => {
                let before = recent.insert(Recent::of(recording)).recording;
                (before.repeats > 0).then_some(before)
            }
        }
    }

    /// Takes all recordings that counted others, and starts over.
    pub(super) fn take_counted(&self) -> Vec<Recording> {
        let recent = std::mem::take(&mut *lock(&self.recent));
        let all = recent.into_values().map(|it| it.recording);
        all.filter(|it| it.repeats > 0).collect()
    }

    /// Failures with equal hashes are counted together, which is rare with 64 bits.
    fn hash(&self, operation: &str, code: &Code, caller: Option<&str>) -> u64 {
        self.hasher.hash_one((operation, code.as_str(), caller))
    }
}

impl Recent {
    fn of(recording: &Recording) -> Self {
        Self {
            recording: recording.clone(),
            since: recording.at,
            recorded: 1,
        }
    }

    /// Whether a failure at this time belongs to its window.
    fn covers(&self, at: Timestamp) -> bool {
        milliseconds_between(self.since, at) < WINDOW_MS
    }
}

#[cfg(test)]
mod tests {
    use panpan_contract::recording::RecordedOutcome;
    use panpan_contract::retry::Terms;
    use panpan_failure::{Failure, codes};
    use uuid::Uuid;

    use super::*;

    fn at(milliseconds: i64) -> Timestamp {
        Timestamp::from_millisecond(milliseconds).unwrap()
    }

    /// Returns whether the failure was recorded, and the count of a failure that was recorded again.
    fn fail(
        failures: &RepeatedFailures,
        operation: &str,
        caller: &str,
        at: Timestamp,
    ) -> (bool, Option<u64>) {
        let failure = Failure::new(codes::TIMEOUT).redacted();
        if failures.count(operation, failure.code(), Some(caller), at) {
            return (false, None);
        }
        let again = failures.track(&Recording {
            id: Uuid::new_v4(),
            at,
            operation: operation.to_owned(),
            caller: Some(caller.to_owned()),
            input: None,
            retry_seed: 0,
            terms: Terms::NONE,
            earlier: Vec::new(),
            steps: Vec::new(),
            items: None,
            repeats: 0,
            outcome: RecordedOutcome::Failed(failure),
        });
        (true, again.map(|it| it.repeats))
    }

    #[test]
    fn a_thousand_failures_within_a_second_are_ten_recordings_and_a_count() {
        let failures = RepeatedFailures::default();
        let recorded = (0..999).filter(|it| fail(&failures, "a/b", "ann", at(*it)).0);
        assert_eq!(recorded.count(), 10);
        // The next window starts with a new recording, and the count is kept.
        assert_eq!(fail(&failures, "a/b", "ann", at(1000)), (true, Some(989)));
        assert!(
            failures.take_counted().is_empty(),
            "no failure was counted since"
        );
    }

    #[test]
    fn repeated_failures_do_not_hide_those_of_another_operation_or_caller() {
        let failures = RepeatedFailures::default();
        for _ in 0..100 {
            fail(&failures, "a/b", "ann", at(0));
        }
        assert!(fail(&failures, "a/c", "ann", at(0)).0);
        assert!(fail(&failures, "a/b", "bob", at(0)).0);
        assert!(!fail(&failures, "a/b", "ann", at(0)).0);
    }

    #[test]
    fn counted_failures_are_taken_once() {
        let failures = RepeatedFailures::default();
        for _ in 0..12 {
            fail(&failures, "a/b", "ann", at(0));
        }
        let taken: Vec<u64> = failures
            .take_counted()
            .iter()
            .map(|it| it.repeats)
            .collect();
        assert_eq!(taken, [2]);
        assert!(failures.take_counted().is_empty());
        assert_eq!(fail(&failures, "a/b", "ann", at(1)), (true, None));
    }

    #[test]
    fn the_number_of_tracked_failures_is_limited() {
        let failures = RepeatedFailures::default();
        for number in 0..2 * TRACKED_LIMIT {
            assert!(fail(&failures, "a/b", &number.to_string(), at(0)).0);
        }
        assert_eq!(lock(&failures.recent).len(), TRACKED_LIMIT);
    }
}
