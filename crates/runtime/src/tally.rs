//! Counts calls by operation, code and hour until they are stored.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use panpan_failure::Code;

use crate::ports::Count;

/// The counts since they were last taken.
#[derive(Debug, Default)]
pub(crate) struct Tally(Mutex<BTreeMap<String, OfOperation>>);

/// Counts by code and hour.
type OfOperation = BTreeMap<(Option<Code>, Timestamp), Counted>;

#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    calls: u64,
    retried: u64,
    replayed: u64,
}

/// Whether a call was retried or replayed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CallFlags {
    pub(crate) retried: bool,
    pub(crate) replayed: bool,
}

impl Tally {
    /// Counts calls with the same outcome and flags.
    pub(crate) fn add(
        &self,
        operation: &str,
        code: Option<&Code>,
        at: Timestamp,
        flags: CallFlags,
        calls: u64,
    ) {
        let mut tally = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = (code.cloned(), hour_of(at));
        // Looked up first, because `entry` would allocate the name for every call.
        let counted = match tally.get_mut(operation) {
            Some(counts) => counts.entry(ended).or_default(),
            None => {
                let counts = tally.entry(operation.to_owned()).or_default();
                counts.entry(ended).or_default()
            }
        };
        counted.calls += calls;
        counted.retried += if flags.retried { calls } else { 0 };
        counted.replayed += if flags.replayed { calls } else { 0 };
    }

    /// Takes all counts and starts over.
    pub(crate) fn take(&self) -> Vec<Count> {
        let mut tally = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = std::mem::take(&mut *tally).into_iter();
        taken
            .flat_map(|(operation, counts)| {
                counts
                    .into_iter()
                    .map(move |((code, hour), counted)| Count {
                        operation: operation.clone(),
                        code,
                        hour,
                        calls: counted.calls,
                        retried: counted.retried,
                        replayed: counted.replayed,
                    })
            })
            .collect()
    }
}

fn hour_of(at: Timestamp) -> Timestamp {
    let second = at.as_second();
    Timestamp::from_second(second - second.rem_euclid(3600)).unwrap_or(at)
}
