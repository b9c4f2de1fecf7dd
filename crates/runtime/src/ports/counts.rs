//! Sums of calls by operation, code and hour: those of the gateway that wait for the store, and those of a store.

use std::collections::BTreeMap;

use jiff::Timestamp;
use panpan_failure::Code;

/// The number of calls of an operation within an hour that ended with one code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count {
    /// The operation.
    pub operation: String,
    /// The code of the failures; `None` for successes.
    pub code: Option<Code>,
    /// The start of the hour.
    pub hour: Timestamp,
    /// How many calls.
    pub calls: u64,
    /// How many of them took more than one attempt.
    pub retried: u64,
    /// How many of them were replayed.
    pub replayed: u64,
}

/// Sums of calls, ordered by operation, code and hour; success sorts before every code.
#[derive(Debug, Default)]
pub struct Counts(BTreeMap<String, BTreeMap<Ended, Calls>>);

/// The code of calls, and the start of their hour in milliseconds.
type Ended = (Option<Code>, i64);

/// Numbers of calls: all, those that took more than one attempt, and replayed ones.
#[derive(Clone, Copy, Debug, Default)]
pub struct Calls {
    /// How many calls.
    pub calls: u64,
    /// How many of them took more than one attempt.
    pub retried: u64,
    /// How many of them were replayed.
    pub replayed: u64,
}

const HOUR_MS: i64 = 60 * 60 * 1000;

impl Counts {
    /// The largest sum; it stays there.
    pub const LIMIT: u64 = 1 << 60;

    /// Adds calls at this time.
    pub fn add(&mut self, operation: &str, code: Option<&Code>, at: Timestamp, more: Calls) {
        let ended = (code.cloned(), hour_ms(at));
        // Looked up first, because `entry` would allocate the name for every call.
        let sums = match self.0.get_mut(operation) {
            Some(counts) => counts.entry(ended).or_default(),
            None => {
                let counts = self.0.entry(operation.to_owned()).or_default();
                counts.entry(ended).or_default()
            }
        };
        let sum = |one: u64, other: u64| one.saturating_add(other).min(Self::LIMIT);
        sums.calls = sum(sums.calls, more.calls);
        sums.retried = sum(sums.retried, more.retried);
        sums.replayed = sum(sums.replayed, more.replayed);
    }

    /// Adds a count, unless there are `limit` others already.
    pub fn add_count(&mut self, count: &Count, limit: usize) {
        let (code, at) = (count.code.as_ref(), count.hour);
        let is_known = || {
            let counts = self.0.get(&count.operation);
            counts.is_some_and(|it| it.contains_key(&(count.code.clone(), hour_ms(at))))
        };
        let len = || self.0.values().map(BTreeMap::len).sum::<usize>();
        if is_known() || len() < limit {
            let more = Calls {
                calls: count.calls,
                retried: count.retried,
                replayed: count.replayed,
            };
            self.add(&count.operation, code, at, more);
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The counts of all hours that start at `since` or later.
    pub fn since(&self, since: Timestamp) -> Vec<Count> {
        let since = since.as_millisecond();
        let all = self.0.iter();
        let all =
            all.flat_map(|(name, it)| it.iter().map(move |(ended, calls)| (name, ended, calls)));
        all.filter(|(_, (_, hour), _)| *hour >= since)
            .map(|(operation, (code, hour), calls)| Count {
                operation: operation.clone(),
                code: code.clone(),
                hour: Timestamp::from_millisecond(*hour).unwrap_or(Timestamp::MIN),
                calls: calls.calls,
                retried: calls.retried,
                replayed: calls.replayed,
            })
            .collect()
    }

    /// Takes all counts and starts over.
    pub fn take(&mut self) -> Vec<Count> {
        std::mem::take(self).since(Timestamp::MIN)
    }

    /// Deletes at most `limit` counts of hours before a time; returns how many.
    pub fn sweep(&mut self, before: Timestamp, limit: usize) -> u64 {
        let before = before.as_millisecond();
        let mut left = limit;
        for counts in self.0.values_mut() {
            counts.retain(|(_, hour), _| {
                let swept = left > 0 && *hour < before;
                left -= usize::from(swept);
                !swept
            });
        }
        self.0.retain(|_, counts| !counts.is_empty());
        (limit - left) as u64
    }
}

/// The start of the hour, so that all counts of one hour are added up.
fn hour_ms(time: Timestamp) -> i64 {
    let ms = time.as_millisecond();
    ms - ms.rem_euclid(HOUR_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_starts_at_or_before_its_times() {
        for (ms, hour) in [(0, 0), (HOUR_MS - 1, 0), (HOUR_MS, HOUR_MS), (-1, -HOUR_MS)] {
            assert_eq!(hour_ms(Timestamp::from_millisecond(ms).unwrap()), hour);
        }
    }
}
