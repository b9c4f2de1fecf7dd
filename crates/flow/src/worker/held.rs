//! The tasks that a worker holds, and what goes on while they run: leases are extended, progress is written, and handlers
//! of tasks that were lost or cancelled elsewhere are stopped.
//!
//! None of it waits for the transactions that claim and end tasks.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use panpan_runtime::CancellationToken;
use panpan_runtime::ports::{Clock, StoreError};

use super::attempt::TaskProgress;
use crate::engine::{self, Heartbeat, Lease, later};
use crate::limits::{Offered, RUNNING_BYTES_LIMIT, Room, TaskLimits};
use crate::ports::{self, Key, Row, Tasks};
use crate::task::TaskId;

/// How often tasks are looked after while they run.
const LOOK_MS: u64 = 1000;

/// A lease is extended when a third of it has passed.
const HEARTBEATS_PER_LEASE: u64 = 3;

/// How often the store learns that this process still offers what others have set aside.
const KEEP_OFFERED_MS: u64 = 60_000;

/// The tasks that a worker holds.
#[derive(Debug, Default)]
pub(super) struct HeldTasks(Mutex<BTreeMap<Key, HeldTask>>);

/// A task that a worker holds.
#[derive(Debug)]
pub(super) struct HeldTask {
    pub(super) row: Row,
    pub(super) lease: Lease,
    /// The bytes that it was claimed with.
    pub(super) bytes: usize,
    pub(super) stop: CancellationToken,
    pub(super) progress: Arc<TaskProgress>,
    /// The progress that is stored.
    pub(super) stored_progress: Option<f64>,
    /// Whether the attempt has ended. It is held until that is written.
    pub(super) has_ended: bool,
}

impl HeldTasks {
    /// Adds a task. If this process held it before, that attempt is stopped: it cannot end the task any more.
    pub(super) fn add(&self, task: HeldTask) {
        if let Some(lost) = self.lock().insert(task.lease.key, task) {
            lost.stop.cancel();
        }
    }

    /// Notes that an attempt has ended; returns its task, unless this process has lost it and claimed it again.
    pub(super) fn end(&self, lease: Lease) -> Option<TaskId> {
        let mut held = self.lock();
        let task = held.get_mut(&lease.key).filter(|it| it.lease == lease)?;
        task.has_ended = true;
        Some(task.row.id)
    }

    /// Removes attempts whose end is written.
    pub(super) fn remove(&self, ended: impl Iterator<Item = Lease>) {
        let mut held = self.lock();
        for lease in ended {
            if held.get(&lease.key).is_some_and(|it| it.lease == lease) {
                held.remove(&lease.key);
            }
        }
    }

    /// How many tasks run.
    pub(super) fn running(&self) -> usize {
        self.lock().values().filter(|it| !it.has_ended).count()
    }

    /// The room beside the running tasks.
    pub(super) fn room(&self, limits: Arc<TaskLimits>) -> Room {
        let held = self.lock();
        let running = held.values().filter(|it| !it.has_ended);
        Room::beside(limits, running.map(|it| (&it.row, it.bytes)))
    }

    /// Whether the running tasks have so many bytes that no other one is claimed.
    pub(super) fn is_full(&self) -> bool {
        let held = self.lock();
        let running = held.values().filter(|it| !it.has_ended);
        running.map(|it| it.bytes).sum::<usize>() >= RUNNING_BYTES_LIMIT
    }

    fn leases(&self) -> Vec<Lease> {
        self.lock().values().map(|it| it.lease).collect()
    }

    /// Tasks whose progress is not stored yet.
    fn unwritten_progress(&self) -> Vec<Heartbeat> {
        let held = self.lock();
        let running = held.values().filter(|it| !it.has_ended);
        let heartbeats = running.filter_map(|task| {
            let progress = task.progress.share();
            let is_new = progress > task.stored_progress;
            is_new.then_some(Heartbeat {
                lease: task.lease,
                progress,
            })
        });
        heartbeats.collect()
    }

    fn progress_written(&self, written: &[Heartbeat]) {
        let mut held = self.lock();
        for Heartbeat { lease, progress } in written {
            let task = held.get_mut(&lease.key);
            if let Some(task) = task.filter(|it| it.lease == *lease) {
                task.stored_progress = *progress;
            }
        }
    }

    /// Stops the handlers whose leases were lost. This process may hold the same task with a newer lease meanwhile.
    fn stop(&self, lost: &[Lease]) {
        let held = self.lock();
        for lease in lost {
            let task = held.get(&lease.key).filter(|it| it.lease == *lease);
            task.inspect(|it| it.stop.cancel());
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, HeldTask>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks after held tasks, as long as it is polled.
#[derive(Debug)]
pub(super) struct Keeper {
    pub(super) held: Arc<HeldTasks>,
    pub(super) tasks: Arc<dyn Tasks>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) lease_ms: u64,
}

impl Keeper {
    /// Extends leases in time, and learns soon of those that were lost.
    pub(super) async fn keep_leases(&self) {
        let heartbeat_ms = self.lease_ms / HEARTBEATS_PER_LEASE;
        let mut heartbeat_at = later(self.clock.now(), heartbeat_ms);
        loop {
            self.clock.sleep(LOOK_MS.min(heartbeat_ms).max(1)).await;
            let leases = self.held.leases();
            let now = self.clock.now();
            let is_due = now >= heartbeat_at;
            if leases.is_empty() {
                continue;
            }
            let looked = match is_due {
                true => self.extend(leases).await,
                false => self.find_lost(leases).await,
            };
            match looked {
                Ok(lost) => {
                    self.held.stop(&lost);
                    if is_due {
                        heartbeat_at = later(now, heartbeat_ms);
                    }
                }
                Err(error) if is_due => {
                    tracing::warn!(%error, "leases of tasks cannot be extended; trying again");
                }
                // The next look may succeed.
                Err(_) => {}
            }
        }
    }

    async fn extend(&self, leases: Vec<Lease>) -> Result<Vec<Lease>, StoreError> {
        let heartbeats = leases.into_iter().map(|lease| Heartbeat {
            lease,
            progress: None,
        });
        let (heartbeats, lease_ms): (Arc<[Heartbeat]>, u64) = (heartbeats.collect(), self.lease_ms);
        let lost = ports::write_at_once(&*self.tasks, move |rows| {
            let heartbeats = heartbeats.clone();
            Box::pin(async move { engine::extend(rows, &heartbeats, lease_ms).await })
        });
        Ok(lost.await?.lost)
    }

    async fn find_lost(&self, leases: Vec<Lease>) -> Result<Vec<Lease>, StoreError> {
        let leases: Arc<[Lease]> = leases.into();
        let lost = ports::read_at_once(&*self.tasks, move |rows| {
            let leases = leases.clone();
            Box::pin(async move { engine::lost(rows, &leases).await })
        });
        lost.await
    }

    /// Writes progress that has changed.
    pub(super) async fn write_progress(&self) {
        loop {
            self.clock.sleep(LOOK_MS).await;
            let changed: Arc<[Heartbeat]> = self.held.unwritten_progress().into();
            if changed.is_empty() {
                continue;
            }
            let lease_ms = self.lease_ms;
            let written = ports::write(&*self.tasks, move |rows| {
                let changed = changed.clone();
                Box::pin(async move { engine::extend(rows, &changed, lease_ms).await })
            });
            // Progress that cannot be written is written with the next one.
            if let Ok(written) = written.await {
                self.held.stop(&written.lost);
                self.held.progress_written(&written.extended);
            }
        }
    }

    /// Keeps tasks from failing that others have set aside because they do not offer the operation.
    pub(super) async fn keep_offered(&self, offered: impl Fn() -> Offered) {
        let mut at = later(self.clock.now(), KEEP_OFFERED_MS);
        loop {
            self.clock.sleep(until(self.clock.now(), at)).await;
            let room = Room::default().offering(offered());
            let kept = ports::write(&*self.tasks, move |rows| {
                let room = room.clone();
                Box::pin(async move { engine::keep_offered(rows, &room).await })
            });
            if !kept.await.unwrap_or(false) {
                at = later(self.clock.now(), KEEP_OFFERED_MS);
            }
        }
    }
}

/// Milliseconds until a time, rounded up: a sleep that ends too early would only be repeated.
pub(super) fn until(now: Timestamp, time: Timestamp) -> u64 {
    let nanoseconds = time.duration_since(now).as_nanos().max(0);
    u64::try_from(nanoseconds.unsigned_abs().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::Run;
    use crate::task::Priority;

    fn row() -> Row {
        let now = Timestamp::UNIX_EPOCH;
        Row {
            key: Key(1),
            id: TaskId::from_random(uuid::Uuid::nil()),
            flow: Key(1),
            parent: None,
            owner: None,
            priority: Priority::NORMAL,
            turn: 0,
            created_at: now,
            has_references: false,
            operation: None,
            run: Run::new(0, now),
        }
    }

    #[test]
    fn a_task_that_is_held_again_is_not_stopped_for_its_earlier_lease() {
        let held = HeldTasks::default();
        let stop = CancellationToken::new();
        let lease = |epoch| Lease { key: Key(1), epoch };
        held.add(HeldTask {
            row: row(),
            lease: lease(3),
            bytes: 0,
            stop: stop.clone(),
            progress: Arc::default(),
            stored_progress: None,
            has_ended: false,
        });
        held.stop(&[lease(1)]);
        assert!(!stop.is_cancelled());
        held.stop(&[lease(3)]);
        assert!(stop.is_cancelled());
    }
}
