//! How often the identical call of one caller has failed in a row.
//!
//! A caller that is told to wait and repeat is told to wait longer each time, and at last to ask a person.
//! This is about callers, not about the service: circuits have counts of their own.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use super::milliseconds_between;
use super::request::Call;

/// How long a row is remembered after its last failure; longer than any delay it leads to.
const REMEMBERED_MS: u64 = 120_000;

/// How many rows are remembered at most; what goes beyond is not counted.
const ROWS_LIMIT: usize = 4096;

/// Rows of failures, by operation, caller and input.
#[derive(Debug, Default)]
pub(super) struct Rows {
    rows: Mutex<HashMap<u64, Row>>,
    /// Most calls go well, and need not look.
    has_rows: AtomicBool,
    hasher: RandomState,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    calls: u32,
    last: Timestamp,
}

impl Rows {
    /// Counts a call that failed and may be repeated; tells how often it has in a row.
    pub(super) fn failed(&self, operation: &str, call: &Call, now: Timestamp) -> u32 {
        self.count(self.place(operation, call), now)
    }

    /// Ends a row: the call was answered in another way.
    pub(super) fn ended(&self, operation: &str, call: &Call) {
        if self.has_rows.load(Ordering::Relaxed) {
            self.end(self.place(operation, call));
        }
    }

    fn place(&self, operation: &str, call: &Call) -> u64 {
        let caller = call.caller.as_ref().map(|it| it.id.as_str());
        self.hasher.hash_one((operation, caller, &*call.input))
    }

    fn count(&self, place: u64, now: Timestamp) -> u32 {
        let mut rows = self.rows();
        if rows.len() >= ROWS_LIMIT {
            rows.retain(|_, row| row.is_remembered(now));
        }
        let before = rows.get(&place).filter(|row| row.is_remembered(now));
        let calls = before.map_or(0, |row| row.calls).saturating_add(1);
        if rows.len() < ROWS_LIMIT || rows.contains_key(&place) {
            rows.insert(place, Row { calls, last: now });
            self.has_rows.store(true, Ordering::Relaxed);
        }
        calls
    }

    fn end(&self, place: u64) {
        let mut rows = self.rows();
        rows.remove(&place);
        self.has_rows.store(!rows.is_empty(), Ordering::Relaxed);
    }

    fn rows(&self) -> MutexGuard<'_, HashMap<u64, Row>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Row {
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
    fn a_row_ends_with_another_answer() {
        let rows = Rows::default();
        assert_eq!(rows.count(1, at(0)), 1);
        assert_eq!(rows.count(1, at(1)), 2);
        assert_eq!(rows.count(2, at(1)), 1);
        rows.end(1);
        assert_eq!(rows.count(1, at(2)), 1);
        assert_eq!(rows.count(2, at(2)), 2);
    }

    #[test]
    fn a_row_is_forgotten_after_a_while() {
        let rows = Rows::default();
        assert_eq!(rows.count(1, at(0)), 1);
        assert_eq!(rows.count(1, at(119)), 2);
        assert_eq!(rows.count(1, at(239)), 1);
    }

    #[test]
    fn only_so_many_rows_are_remembered() {
        let rows = Rows::default();
        for place in 0..ROWS_LIMIT as u64 + 10 {
            rows.count(place, at(0));
        }
        assert_eq!(rows.rows().len(), ROWS_LIMIT);
        let new = u64::MAX;
        assert_eq!((rows.count(new, at(0)), rows.count(new, at(0))), (1, 1));
        assert_eq!((rows.count(new, at(121)), rows.count(new, at(122))), (1, 2));
    }
}
