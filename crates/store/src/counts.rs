//! Sums of counts: the counts of the store in memory, and the counts that wait to be written to SQLite.

use std::collections::BTreeMap;

use jiff::Timestamp;
use panpan_failure::Code;
use panpan_runtime::ports::Count;

use crate::time::{hour_ms, timestamp};
use crate::{COUNT_LIMIT, SWEEP_LIMIT};

/// Counts by operation, code and hour; success sorts before every code.
#[derive(Debug, Default)]
pub(crate) struct Counts(BTreeMap<(String, Option<Code>, i64), Totals>);

#[derive(Debug, Default)]
struct Totals {
    calls: u64,
    retried: u64,
    replayed: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, count: Count) {
        let key = (count.operation, count.code, hour_ms(count.hour));
        let totals = self.0.entry(key).or_default();
        totals.calls = sum(totals.calls, count.calls);
        totals.retried = sum(totals.retried, count.retried);
        totals.replayed = sum(totals.replayed, count.replayed);
    }

    /// The number of distinct counts (operation, code and hour).
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is a count with the same operation, code and hour.
    pub(crate) fn contains(&self, count: &Count) -> bool {
        let key = (
            count.operation.clone(),
            count.code.clone(),
            hour_ms(count.hour),
        );
        self.0.contains_key(&key)
    }

    pub(crate) fn since(&self, since: Timestamp) -> Vec<Count> {
        let since = since.as_millisecond();
        let rows = self.0.iter().filter(|((_, _, hour), _)| *hour >= since);
        rows.map(|((operation, code, hour), totals)| Count {
            operation: operation.clone(),
            code: code.clone(),
            hour: timestamp(*hour),
            calls: totals.calls,
            retried: totals.retried,
            replayed: totals.replayed,
        })
        .collect()
    }

    pub(crate) fn sweep(&mut self, before: Timestamp) -> u64 {
        let before = before.as_millisecond();
        let mut left = SWEEP_LIMIT;
        self.0.retain(|(_, _, hour), _| {
            let swept = left > 0 && *hour < before;
            left -= usize::from(swept);
            !swept
        });
        (SWEEP_LIMIT - left) as u64
    }
}

fn sum(total: u64, more: u64) -> u64 {
    total.saturating_add(more).min(COUNT_LIMIT)
}
