//! Periodic maintenance: hands counts to the store and deletes expired data.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use jiff::{SignedDuration, Timestamp};

use super::{Dispatcher, ONE_CALL};
use crate::lock::lock;
use crate::ports::{Calls, StoreError, Swept};
use crate::registry::Registry;

/// The maximum number of sweeps in one run.
const SWEEPS_LIMIT: u32 = 100;

impl Dispatcher {
    /// Hands counts to the store and lets it delete expired keys, recordings and counts. Call it every few
    /// seconds, and once before the process exits.
    pub async fn maintain(&self) -> Result<Swept, StoreError> {
        self.collect_successes();
        let outcomes = &self.ports().outcomes;
        let repeated = self.0.repeated_failures.take_counted();
        repeated.into_iter().for_each(|it| outcomes.note(it));
        let counts = lock(&self.0.tally).take();
        if !counts.is_empty() {
            outcomes.count(counts);
        }
        // Deleting may work even if writing failed.
        let flushed = outcomes.flush().await;
        let kept_ms = self.0.settings.recordings_keep_ms;
        let kept = SignedDuration::from_millis(i64::try_from(kept_ms).unwrap_or(i64::MAX));
        let before = self.ports().clock.now().saturating_sub(kept);
        let swept = self.sweep(before.unwrap_or(Timestamp::MIN)).await;
        flushed.and(swept)
    }

    /// Sweeps until nothing is left: one sweep deletes a bounded amount.
    async fn sweep(&self, recordings_before: Timestamp) -> Result<Swept, StoreError> {
        let mut all = Swept::default();
        for _ in 0..SWEEPS_LIMIT {
            let swept = self.ports().outcomes.sweep(recordings_before).await?;
            if swept == Swept::default() {
                break;
            }
            all.keys += swept.keys;
            all.recordings += swept.recordings;
            all.counts += swept.counts;
        }
        Ok(all)
    }

    /// Moves the success counts of the operations to the tally.
    fn collect_successes(&self) {
        let now = self.ports().clock.now();
        let collect = |registry: &Registry| {
            for operation in registry.operations() {
                let calls = operation.successes.swap(0, Ordering::Relaxed);
                if calls > 0 {
                    let name = operation.name().as_str();
                    let calls = Calls { calls, ..ONE_CALL };
                    self.count(name, None, now, calls);
                }
            }
        };
        collect(&self.0.registry.load());
        let mut retired = lock(&self.0.retired);
        retired.iter().for_each(|registry| collect(registry));
        retired.retain(is_still_used);
    }
}

/// Whether a call that began with this registry may still run.
fn is_still_used(registry: &Arc<Registry>) -> bool {
    registry
        .operations()
        .any(|operation| Arc::strong_count(operation) > 2)
}
