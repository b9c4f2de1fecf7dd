//! A worker by hand, for tests that control the order of events. Not part of the interface of this crate.

use std::sync::Arc;

use jiff::Timestamp;
use panpan_runtime::ports::StoreError;

use crate::engine::{self, Ended, Extended, Finished, Lease};
use crate::ports::{self, Ending, Tasks};
use crate::task::TaskId;

/// Claims and ends tasks of a store without running them.
#[derive(Clone, Debug)]
pub struct HandWorker(Arc<dyn Tasks>);

/// A task that was claimed. It may be lost since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The task.
    pub id: TaskId,
    lease: Lease,
}

/// How an attempt ends.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// The task ends.
    With(Ending),
    /// Another attempt follows.
    RetryAt(Timestamp),
}

impl HandWorker {
    /// A worker of this store.
    pub fn new(tasks: Arc<dyn Tasks>) -> Self {
        Self(tasks)
    }

    /// Claims at most `limit` tasks, in the order in which they run.
    pub async fn claim(&self, limit: usize, lease_ms: u64) -> Result<Vec<Held>, StoreError> {
        let claimed = ports::write(&*self.0, move |rows| {
            Box::pin(async move { engine::claim(rows, limit, lease_ms, None).await })
        });
        let held = claimed.await?.into_iter().map(|task| Held {
            id: task.row.id,
            lease: task.lease,
        });
        Ok(held.collect())
    }

    /// Ends attempts in one transaction. Those of lost tasks change nothing.
    pub async fn finish(&self, ended: Vec<(Held, End)>) -> Result<(), StoreError> {
        let finished = ended.into_iter().map(|(held, end)| Finished {
            lease: held.lease,
            ended: match end {
                End::With(ending) => Ended::With(ending),
                End::RetryAt(at) => Ended::Retry {
                    at,
                    history: "[]".into(),
                },
            },
        });
        let finished: Arc<[Finished]> = finished.collect();
        let written = ports::write(&*self.0, move |rows| {
            let finished = finished.clone();
            Box::pin(async move { engine::finish(rows, &finished).await })
        });
        written.await.map(drop)
    }

    /// Extends a lease, and returns whether it was still held.
    pub async fn extend(
        &self,
        held: Held,
        progress: Option<f64>,
        lease_ms: u64,
    ) -> Result<bool, StoreError> {
        let extended = [Extended {
            lease: held.lease,
            progress,
        }];
        let lost = ports::write(&*self.0, move |rows| {
            Box::pin(async move { engine::extend(rows, &extended, lease_ms).await })
        });
        Ok(lost.await?.is_empty())
    }
}
