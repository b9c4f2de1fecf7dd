//! A worker by hand, for tests that control the order of events. Not part of the interface of this crate.

use std::sync::Arc;

use panpan_runtime::Registry;
use panpan_runtime::ports::StoreError;

use crate::engine::{self, Claimed, ClaimedTask, Ended, Finished, Heartbeat, Lease};
use crate::limits::{Offered, Room, TaskLimits};
use crate::ports::{self, Ending, Row, Tasks};
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

impl Held {
    fn of(task: &ClaimedTask) -> Self {
        Self {
            id: task.row.id,
            lease: task.lease,
        }
    }
}

/// How an attempt ends.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// The task ends.
    With(Ending),
    /// Another attempt follows after this time, in milliseconds.
    RetryIn(u64),
}

impl HandWorker {
    /// A worker of this store.
    pub fn new(tasks: Arc<dyn Tasks>) -> Self {
        Self(tasks)
    }

    /// Claims at most `limit` tasks, in the order in which they run.
    pub async fn claim(&self, limit: usize, lease_ms: u64) -> Result<Vec<Held>, StoreError> {
        let claimed = ports::write(&*self.0, move |rows| {
            Box::pin(
                async move { engine::claim(rows, limit, lease_ms, Room::default(), None).await },
            )
        });
        Ok(claimed.await?.tasks.iter().map(Held::of).collect())
    }

    /// Ends attempts in one transaction. Those of lost tasks change nothing.
    pub async fn finish(&self, ended: Vec<(Held, End)>) -> Result<(), StoreError> {
        let finished = ended.into_iter().map(|(held, end)| Finished {
            lease: held.lease,
            ended: match end {
                End::With(ending) => Ended::With(ending),
                End::RetryIn(after_ms) => Ended::Retry {
                    after_ms,
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

    /// Drops the oldest events of a flow.
    pub async fn trim_journal(&self, root: TaskId, keep: usize) -> Result<(), StoreError> {
        let trimmed = ports::write(&*self.0, move |rows| {
            Box::pin(async move {
                for row in rows.find(&[root]).await? {
                    rows.trim_journal(row.key, keep).await?;
                }
                Ok(())
            })
        });
        trimmed.await
    }

    /// Extends a lease, and returns whether it was still held.
    pub async fn extend(
        &self,
        held: Held,
        progress: Option<f64>,
        lease_ms: u64,
    ) -> Result<bool, StoreError> {
        let heartbeats = [Heartbeat {
            lease: held.lease,
            progress,
        }];
        let done = ports::write(&*self.0, move |rows| {
            Box::pin(async move { engine::extend(rows, &heartbeats, lease_ms).await })
        });
        Ok(!done.await?.extended.is_empty())
    }
}

/// A worker by hand that keeps limits, as one process does.
#[derive(Debug)]
pub struct LimitedWorker {
    worker: HandWorker,
    limits: Arc<TaskLimits>,
    offered: Offered,
    running: Vec<(Held, Row, usize)>,
    read: usize,
}

impl LimitedWorker {
    /// A worker of this store with these limits.
    pub fn new(tasks: Arc<dyn Tasks>, limits: TaskLimits) -> Self {
        Self {
            worker: HandWorker::new(tasks),
            limits: Arc::new(limits),
            offered: Offered::All,
            running: Vec::new(),
            read: 0,
        }
    }

    /// The same worker, in a process that offers these operations.
    #[must_use]
    pub fn offering(mut self, registry: Arc<Registry>) -> Self {
        self.offered = Offered::In(registry);
        self
    }

    /// Claims at most `limit` tasks for which there is room, in the order in which they run.
    pub async fn claim(&mut self, limit: usize, lease_ms: u64) -> Result<Vec<Held>, StoreError> {
        let mut held = Vec::new();
        let mut may_have_more = true;
        while may_have_more && held.len() < limit {
            let claimed = self.transact(limit - held.len(), lease_ms).await?;
            (may_have_more, self.read) = (claimed.may_have_more, self.read + claimed.read);
            for task in claimed.tasks {
                held.push(Held::of(&task));
                let bytes = task.contents.bytes();
                self.running.push((Held::of(&task), task.row, bytes));
            }
        }
        Ok(held)
    }

    async fn transact(&self, limit: usize, lease_ms: u64) -> Result<Claimed, StoreError> {
        let running = self.running.iter().map(|(_, row, bytes)| (row, *bytes));
        let room = Room::beside(self.limits.clone(), running).offering(self.offered.clone());
        let claimed = ports::write(&*self.worker.0, move |rows| {
            let room = room.clone();
            Box::pin(async move { engine::claim(rows, limit, lease_ms, room, None).await })
        });
        claimed.await
    }

    /// Ends a task that this worker holds.
    pub async fn finish(&mut self, held: Held, end: End) -> Result<(), StoreError> {
        self.running.retain(|(it, ..)| *it != held);
        self.worker.finish(vec![(held, end)]).await
    }

    /// How many ready tasks all claims have read.
    pub fn rows_read(&self) -> usize {
        self.read
    }
}
