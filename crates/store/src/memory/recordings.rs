//! Recordings of the store in memory.

use std::collections::{HashMap, VecDeque};

use jiff::Timestamp;
use panpan_contract::recording::Recording;
use uuid::Uuid;

use crate::SWEEP_LIMIT;

/// How many recordings the store in memory keeps; the oldest are deleted first.
pub const MEMORY_RECORDINGS_LIMIT: usize = 1000;

/// Recordings ordered by time, then by arrival.
///
/// They arrive almost in this order, so nearly all are added at the back and deleted at the front.
#[derive(Debug, Default)]
pub(super) struct Recordings {
    by_age: VecDeque<(Age, Recording)>,
    by_call: HashMap<Uuid, Age>,
    noted_total: u64,
}

type Age = (i64, u64);

impl Recordings {
    pub(super) fn note(&mut self, recording: Recording) {
        self.noted_total += 1;
        let age = (recording.at.as_microsecond(), self.noted_total);
        if let Some(replaced) = self.by_call.insert(recording.id, age)
            && let Ok(index) = self.index(replaced)
        {
            self.by_age.remove(index);
        }
        let newest = self.by_age.back().is_none_or(|(newest, _)| *newest < age);
        let index = if newest {
            self.by_age.len()
        } else {
            self.index(age).unwrap_or_else(|index| index)
        };
        self.by_age.insert(index, (age, recording));
        if self.by_age.len() > MEMORY_RECORDINGS_LIMIT {
            self.forget_oldest();
        }
    }

    pub(super) fn find(&self, call: Uuid) -> Option<Recording> {
        let index = self.index(*self.by_call.get(&call)?).ok()?;
        self.by_age
            .get(index)
            .map(|(_, recording)| recording.clone())
    }

    pub(super) fn recent(&self, limit: usize, failed_only: bool) -> Vec<Recording> {
        let newest_first = self.by_age.iter().rev().map(|(_, recording)| recording);
        newest_first
            .filter(|recording| !failed_only || recording.code().is_some())
            .take(limit)
            .cloned()
            .collect()
    }

    pub(super) fn sweep(&mut self, before: Timestamp) -> u64 {
        let before = before.as_microsecond();
        let mut swept = 0;
        while swept < SWEEP_LIMIT && self.oldest().is_some_and(|at| at < before) {
            self.forget_oldest();
            swept += 1;
        }
        swept as u64
    }

    /// The index of the recording of this age, or the index to insert it at.
    fn index(&self, age: Age) -> Result<usize, usize> {
        self.by_age.binary_search_by_key(&age, |(age, _)| *age)
    }

    fn oldest(&self) -> Option<i64> {
        self.by_age.front().map(|((at, _), _)| *at)
    }

    fn forget_oldest(&mut self) {
        if let Some((_, recording)) = self.by_age.pop_front() {
            self.by_call.remove(&recording.id);
        }
    }
}
