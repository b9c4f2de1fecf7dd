//! Counts of calls by operation, outcome and hour, until the store takes them.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use panpan_failure::Code;

use crate::ports::Count;

/// What calls ended with since the last time it was emptied.
#[derive(Debug, Default)]
pub(crate) struct Tally(Mutex<BTreeMap<String, OfOperation>>);

/// By what calls ended with, and the hour.
type OfOperation = BTreeMap<(Option<Code>, Timestamp), Counted>;

#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    calls: u64,
    retried: u64,
    replayed: u64,
}

/// How a call came to its outcome.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Way {
    pub(crate) retried: bool,
    pub(crate) replayed: bool,
}

impl Tally {
    /// Counts calls that came to the same outcome in the same way.
    pub(crate) fn add(
        &self,
        operation: &str,
        code: Option<&Code>,
        at: Timestamp,
        way: Way,
        calls: u64,
    ) {
        let mut tally = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = (code.cloned(), hour_of(at));
        // Looked up first: an entry would need a name of its own for every call.
        let counted = match tally.get_mut(operation) {
            Some(counts) => counts.entry(ended).or_default(),
            None => {
                let counts = tally.entry(operation.to_owned()).or_default();
                counts.entry(ended).or_default()
            }
        };
        counted.calls += calls;
        counted.retried += if way.retried { calls } else { 0 };
        counted.replayed += if way.replayed { calls } else { 0 };
    }

    /// Gives everything away and starts anew.
    pub(crate) fn empty(&self) -> Vec<Count> {
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
