//! How many calls of an operation have failed in a row for one caller.
//!
//! A caller that is told to wait and repeat is told to wait longer each time, and at last to ask a person.
//! This is about callers, not about the service: circuits have counts of their own.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use super::milliseconds_between;

/// How long a row is remembered after its last failure; longer than any delay it leads to.
const REMEMBERED_MS: u64 = 120_000;

/// How many rows are remembered at most; what goes beyond is not counted.
const ROWS_LIMIT: usize = 4096;

/// Rows of failures, by operation and caller.
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
    /// Counts a call that failed and may be repeated; tells how many there are in a row.
    pub(super) fn failed(&self, operation: &str, caller: Option<&str>, now: Timestamp) -> u32 {
        let place = self.place(operation, caller);
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

    /// Ends a row: the operation answered something else.
    pub(super) fn ended(&self, operation: &str, caller: Option<&str>) {
        if self.has_rows.load(Ordering::Relaxed) {
            let place = self.place(operation, caller);
            let mut rows = self.rows();
            rows.remove(&place);
            self.has_rows.store(!rows.is_empty(), Ordering::Relaxed);
        }
    }

    fn place(&self, operation: &str, caller: Option<&str>) -> u64 {
        self.hasher.hash_one((operation, caller))
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
    fn a_row_is_of_one_operation_and_one_caller_and_ends_with_another_answer() {
        let rows = Rows::default();
        let ann = Some("ann");
        assert_eq!(rows.failed("a/b", ann, at(0)), 1);
        assert_eq!(rows.failed("a/b", ann, at(1)), 2);
        assert_eq!(rows.failed("a/b", None, at(1)), 1);
        assert_eq!(rows.failed("a/c", ann, at(1)), 1);
        rows.ended("a/b", ann);
        assert_eq!(rows.failed("a/b", ann, at(2)), 1);
        assert_eq!(rows.failed("a/b", None, at(2)), 2);
    }

    #[test]
    fn a_row_is_forgotten_after_a_while() {
        let rows = Rows::default();
        assert_eq!(rows.failed("a/b", None, at(0)), 1);
        assert_eq!(rows.failed("a/b", None, at(119)), 2);
        assert_eq!(rows.failed("a/b", None, at(239)), 1);
    }

    #[test]
    fn only_so_many_rows_are_remembered() {
        let rows = Rows::default();
        for number in 0..ROWS_LIMIT + 10 {
            rows.failed(&number.to_string(), None, at(0));
        }
        assert_eq!(rows.rows().len(), ROWS_LIMIT);
        assert_eq!(rows.failed("new", None, at(0)), 1);
        assert_eq!(rows.failed("new", None, at(0)), 1);
        assert_eq!(rows.failed("new", None, at(121)), 1);
        assert_eq!(rows.failed("new", None, at(122)), 2);
    }
}
