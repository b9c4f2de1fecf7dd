//! Failures in memory: the newest up to a limit, gone when the process ends.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use panpan_contract::Redacted;
use panpan_runtime::BoxFuture;
use panpan_runtime::ports::Outcomes;

/// How many failures are kept unless somebody says otherwise.
pub const MEMORY_FAILURES_LIMIT: usize = 1000;

/// Keeps the newest failures and forgets the oldest.
#[derive(Debug)]
pub struct MemoryOutcomes {
    limit: usize,
    failures: Mutex<VecDeque<Redacted>>,
}

impl MemoryOutcomes {
    /// Room for this many failures.
    pub fn with_limit(limit: usize) -> Self {
        Self {
            limit,
            failures: Mutex::default(),
        }
    }

    /// A thread that panicked in between leaves the list whole: each change is a single step.
    fn failures(&self) -> MutexGuard<'_, VecDeque<Redacted>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for MemoryOutcomes {
    fn default() -> Self {
        Self::with_limit(MEMORY_FAILURES_LIMIT)
    }
}

impl Outcomes for MemoryOutcomes {
    fn record(&self, failure: &Redacted) {
        let mut failures = self.failures();
        failures.push_front(failure.clone());
        failures.truncate(self.limit);
    }

    fn recent(&self, limit: usize) -> BoxFuture<'_, Vec<Redacted>> {
        let newest = self.failures().iter().take(limit).cloned().collect();
        Box::pin(std::future::ready(newest))
    }
}

#[cfg(test)]
mod tests {
    use panpan_contract::{Failure, codes};

    use super::*;

    async fn kept(store_limit: usize, recorded: usize, asked: usize) -> Vec<String> {
        let store = MemoryOutcomes::with_limit(store_limit);
        for number in 1..=recorded {
            let failure = Failure::new(codes::ERR_TIMEOUT).with_message(number.to_string());
            store.record(&failure.redacted());
        }
        let recent = store.recent(asked).await;
        recent
            .iter()
            .map(|failure| failure.message().to_owned())
            .collect()
    }

    #[tokio::test]
    async fn the_newest_come_first_and_the_oldest_are_forgotten() {
        for (store_limit, recorded, asked, expected) in [
            (3, 0, 9, &[][..]),
            (3, 3, 9, &["3", "2", "1"]),
            (3, 4, 9, &["4", "3", "2"]),
            (3, 4, 1, &["4"]),
            (0, 4, 9, &[]),
        ] {
            assert_eq!(kept(store_limit, recorded, asked).await, expected);
        }
    }
}
