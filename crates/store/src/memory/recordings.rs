//! Recordings in memory.

use std::collections::{HashMap, VecDeque};

use jiff::Timestamp;
use panpan_contract::recording::Recording;
use uuid::Uuid;

use crate::SWEEP_LIMIT;

/// How many recordings a store in memory keeps: the newest.
pub const MEMORY_RECORDINGS_LIMIT: usize = 1000;

/// Recordings by age; those of the same time in the order they came.
///
/// They come in about that order, so that nearly all are added at one end and forgotten at the other.
#[derive(Debug, Default)]
pub(super) struct Recordings {
    by_age: VecDeque<(Age, Recording)>,
    by_call: HashMap<Uuid, Age>,
    taken: u64,
}

type Age = (i64, u64);

impl Recordings {
    pub(super) fn note(&mut self, recording: Recording) {
        self.taken += 1;
        let age = (recording.at.as_microsecond(), self.taken);
        if let Some(replaced) = self.by_call.insert(recording.id, age)
            && let Ok(place) = self.place(replaced)
        {
            self.by_age.remove(place);
        }
        let newest = self.by_age.back().is_none_or(|(newest, _)| *newest < age);
        let place = if newest {
            self.by_age.len()
        } else {
            self.place(age).unwrap_or_else(|place| place)
        };
        self.by_age.insert(place, (age, recording));
        if self.by_age.len() > MEMORY_RECORDINGS_LIMIT {
            self.forget_oldest();
        }
    }

    pub(super) fn find(&self, call: Uuid) -> Option<Recording> {
        let place = self.place(*self.by_call.get(&call)?).ok()?;
        self.by_age
            .get(place)
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

    /// Where the recording of this age is, or would be.
    fn place(&self, age: Age) -> Result<usize, usize> {
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
