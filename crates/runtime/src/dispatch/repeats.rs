//! How many failures are recorded, and which are only counted.
//!
//! A caller that runs into a failure a thousand times a second would otherwise fill the store with it.
//! Of the failures of one operation with one code, the first [`RECORDED`] that a caller meets within
//! [`WINDOW_MS`] are recorded, so that a person finds each by its id; the others raise the count of the
//! last of these.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use panpan_contract::recording::Recording;
use panpan_failure::Code;

use super::milliseconds_between;

/// How many failures are recorded within a window.
pub(super) const RECORDED: u32 = 10;

/// How long failures are counted together.
pub(super) const WINDOW_MS: u64 = 1000;

/// How many different failures are watched at most; what goes beyond is recorded.
const WATCHED: usize = 1024;

/// The failures recorded last, one for each operation, code and caller.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    recent: Mutex<HashMap<u64, Recent>>,
    hasher: RandomState,
}

#[derive(Debug)]
struct Recent {
    /// The last that was recorded.
    recording: Recording,
    since: Timestamp,
    recorded: u32,
}

impl Repeats {
    /// Counts a failure with one like it; `false` when it has to be recorded.
    pub(super) fn count(
        &self,
        operation: &str,
        code: &Code,
        caller: Option<&str>,
        at: Timestamp,
    ) -> bool {
        let place = self.place(operation, code, caller);
        match self.recent().get_mut(&place) {
            Some(recent) if recent.recorded >= RECORDED && recent.covers(at) => {
                recent.recording.repeats += 1;
                true
            }
            _ => false,
        }
    }

    /// Watches for failures like one that is recorded. Gives back the one watched before, if others were
    /// counted with it: it is to be recorded again, with its count.
    pub(super) fn watch(&self, recording: &Recording) -> Option<Recording> {
        let caller = recording.caller.as_deref();
        let place = self.place(&recording.operation, recording.code()?, caller);
        let mut recent = self.recent();
        let is_full = recent.len() >= WATCHED;
        match recent.entry(place) {
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

    /// Gives away all recordings that others were counted with, and starts anew.
    pub(super) fn empty(&self) -> Vec<Recording> {
        let recent = std::mem::take(&mut *self.recent());
        let all = recent.into_values().map(|it| it.recording);
        all.filter(|it| it.repeats > 0).collect()
    }

    /// Two that share a place are counted together, which is as rare as equal hashes of 64 bits are.
    fn place(&self, operation: &str, code: &Code, caller: Option<&str>) -> u64 {
        self.hasher.hash_one((operation, code.as_str(), caller))
    }

    fn recent(&self) -> MutexGuard<'_, HashMap<u64, Recent>> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// Whether a failure of this time belongs to its window.
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

    /// Tells whether a failure was recorded, and with which count another was recorded again.
    fn meet(
        repeats: &Repeats,
        operation: &str,
        caller: &str,
        at: Timestamp,
    ) -> (bool, Option<u64>) {
        let failure = Failure::new(codes::TIMEOUT).redacted();
        if repeats.count(operation, failure.code(), Some(caller), at) {
            return (false, None);
        }
        let again = repeats.watch(&Recording {
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
        let repeats = Repeats::default();
        let recorded = (0..999).filter(|it| meet(&repeats, "a/b", "ann", at(*it)).0);
        assert_eq!(recorded.count(), 10);
        // The next second begins with a recording of its own, and the count is kept.
        assert_eq!(meet(&repeats, "a/b", "ann", at(1000)), (true, Some(989)));
        assert!(repeats.empty().is_empty(), "nothing was counted since");
    }

    #[test]
    fn a_flood_hides_no_failure_of_another_operation_or_caller() {
        let repeats = Repeats::default();
        for _ in 0..100 {
            meet(&repeats, "a/b", "ann", at(0));
        }
        assert!(meet(&repeats, "a/c", "ann", at(0)).0);
        assert!(meet(&repeats, "a/b", "bob", at(0)).0);
        assert!(!meet(&repeats, "a/b", "ann", at(0)).0);
    }

    #[test]
    fn what_was_counted_is_given_away_once() {
        let repeats = Repeats::default();
        for _ in 0..12 {
            meet(&repeats, "a/b", "ann", at(0));
        }
        let given: Vec<u64> = repeats.empty().iter().map(|it| it.repeats).collect();
        assert_eq!(given, [2]);
        assert!(repeats.empty().is_empty());
        assert_eq!(meet(&repeats, "a/b", "ann", at(1)), (true, None));
    }

    #[test]
    fn only_so_many_different_failures_are_watched() {
        let repeats = Repeats::default();
        for number in 0..2 * WATCHED {
            assert!(meet(&repeats, "a/b", &number.to_string(), at(0)).0);
        }
        assert_eq!(repeats.recent().len(), WATCHED);
    }
}
