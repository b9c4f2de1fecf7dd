//! Recordings in memory.

use std::collections::BTreeMap;

use jiff::Timestamp;
use panpan_contract::recording::Recording;
use uuid::Uuid;

use crate::SWEEP_LIMIT;

/// How many recordings a store in memory keeps: the newest.
pub const MEMORY_RECORDINGS_LIMIT: usize = 1000;

/// Recordings by age; those of the same time in the order they came.
#[derive(Debug, Default)]
pub(super) struct Recordings {
    by_age: BTreeMap<Age, Recording>,
    by_call: BTreeMap<Uuid, Age>,
    taken: u64,
}

type Age = (i64, u64);

impl Recordings {
    pub(super) fn note(&mut self, recording: Recording) {
        self.taken += 1;
        let age = (recording.at.as_microsecond(), self.taken);
        if let Some(replaced) = self.by_call.insert(recording.id, age) {
            self.by_age.remove(&replaced);
        }
        self.by_age.insert(age, recording);
        if self.by_age.len() > MEMORY_RECORDINGS_LIMIT {
            self.forget_oldest();
        }
    }

    pub(super) fn find(&self, call: Uuid) -> Option<Recording> {
        let age = self.by_call.get(&call)?;
        self.by_age.get(age).cloned()
    }

    pub(super) fn recent(&self, limit: usize, failed_only: bool) -> Vec<Recording> {
        let newest_first = self.by_age.values().rev();
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

    fn oldest(&self) -> Option<i64> {
        self.by_age.first_key_value().map(|((at, _), _)| *at)
    }

    fn forget_oldest(&mut self) {
        if let Some((_, recording)) = self.by_age.pop_first() {
            self.by_call.remove(&recording.id);
        }
    }
}
