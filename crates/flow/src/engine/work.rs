//! What a worker does with tasks that it holds: extend, finish.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{Timestamp, ToSpan as _};
use panpan_runtime::ports::StoreError;

use super::changes::Changes;
use super::notice::notify;
use crate::ports::{Announced, Ending, Key, Row, Rows, StoredOutcome};
use crate::state::State;
use crate::step::{Announcement, TaskEvent};

/// The newest events of a flow that are kept, about: a flow is looked at when it rests, and with each heartbeat of its
/// tasks. The events of one run of the largest flow fit.
pub(super) const JOURNAL_EVENTS_LIMIT: usize = 500_000;

/// The newest generations of a task whose outcomes are kept.
pub const GENERATIONS_LIMIT: u32 = 100;

/// A held task. Only the newest epoch can end it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Lease {
    pub(crate) key: Key,
    pub(crate) epoch: u64,
}

impl Lease {
    pub(super) fn of(row: &Row) -> Self {
        Self {
            key: row.key,
            epoch: row.run.epoch,
        }
    }

    fn is_held(self, row: &Row) -> bool {
        row.run.is_held && row.run.state == State::InProgress && row.run.epoch == self.epoch
    }
}

/// The end of an attempt.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Finished {
    pub(crate) lease: Lease,
    pub(crate) ended: Ended,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ended {
    /// The task ended.
    With(Ending),
    /// Another attempt follows.
    Retry {
        /// How long it waits from now on, by the clock of the store.
        after_ms: u64,
        /// The failed attempts so far, as JSON.
        history: Arc<str>,
    },
    /// Nothing is known of it. The task stays held until its lease ends.
    Lost,
}

/// Says that a lease is still needed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Heartbeat {
    pub(crate) lease: Lease,
    /// The share of the work that is done, if the handler reported it.
    pub(crate) progress: Option<f64>,
}

/// What became of heartbeats. Those of locked tasks are in neither list.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Heartbeats {
    pub(crate) extended: Vec<Heartbeat>,
    pub(crate) lost: Vec<Lease>,
}

/// Extends leases. A task that another transaction has locked is left for the next time:
/// a caller that waits for one task must not lose the others.
pub(crate) async fn extend(
    rows: &mut dyn Rows,
    heartbeats: &[Heartbeat],
    lease_ms: u64,
) -> Result<Heartbeats, StoreError> {
    let until = later(rows.now(), lease_ms);
    let keys = keys_of(heartbeats.iter().map(|it| it.lease));
    let found = rows.load_unlocked(&keys).await?.into_iter();
    let mut found: BTreeMap<Key, Row> = found.map(|row| (row.key, row)).collect();
    let mut changes = Changes::new(rows);
    let (mut done, mut flows) = (Heartbeats::default(), BTreeSet::new());
    for heartbeat @ Heartbeat { lease, progress } in heartbeats {
        match found.remove(&lease.key) {
            Some(row) if lease.is_held(&row) => {
                flows.insert(row.flow);
                let progress = *progress;
                let extended = changes.apply(row, &TaskEvent::Extended { until, progress });
                extended.expect("an extension changes no state");
                done.extended.push(*heartbeat);
            }
            Some(_) => done.lost.push(*lease),
            None => {}
        }
    }
    changes.write().await?;
    for flow in flows {
        rows.trim_journal(flow, JOURNAL_EVENTS_LIMIT).await?;
    }
    Ok(done)
}

/// The leases that were lost, without changing anything.
pub(crate) async fn lost(rows: &mut dyn Rows, leases: &[Lease]) -> Result<Vec<Lease>, StoreError> {
    let found = rows.load(&keys_of(leases.iter().copied())).await?;
    let found: BTreeMap<Key, Row> = found.into_iter().map(|row| (row.key, row)).collect();
    let is_lost = |it: &&Lease| found.get(&it.key).is_none_or(|row| !it.is_held(row));
    Ok(leases.iter().filter(is_lost).copied().collect())
}

/// Ends attempts. Those whose lease was lost are left out: another process has the task, or a caller ended it. Returns
/// the flows that may rest now.
pub(crate) async fn finish(
    rows: &mut dyn Rows,
    finished: &[Finished],
) -> Result<Vec<Key>, StoreError> {
    let now = rows.now();
    let mut held = held(rows, finished.iter().map(|it| it.lease)).await?;
    let mut changes = Changes::new(rows);
    let (mut outcomes, mut histories) = (Vec::new(), Vec::new());
    for Finished { lease, ended } in finished {
        let Some(row) = held.remove(lease) else {
            continue;
        };
        match ended {
            Ended::Lost => {}
            Ended::Retry { after_ms, history } => {
                let at = later(now, *after_ms);
                let retried = changes.apply(row, &TaskEvent::RetryAt(at));
                retried.expect("a retry changes no state");
                histories.push((lease.key, Some(history.clone())));
            }
            Ended::With(ending) => {
                let (key, generation, attempts) = (row.key, row.run.generation, row.run.attempts);
                let had_history = attempts > 1;
                let ended = changes.apply(row, &event_of(ending));
                ended.expect("a held task is in progress and can end");
                outcomes.push(StoredOutcome {
                    key,
                    generation,
                    at: now,
                    attempts,
                    ending: ending.clone(),
                });
                histories.extend(had_history.then_some((key, None)));
            }
        }
    }
    let written = changes.write().await?;
    keep(rows, &outcomes).await?;
    rows.set_histories(&histories).await?;
    Ok(written.may_rest)
}

/// Keeps outcomes, and only the newest of each task.
pub(super) async fn keep(
    rows: &mut dyn Rows,
    outcomes: &[StoredOutcome],
) -> Result<(), StoreError> {
    rows.keep(outcomes).await?;
    for outcome in outcomes {
        if let Some(last @ 1..) = outcome.generation.checked_sub(GENERATIONS_LIMIT) {
            rows.forget_generations(outcome.key, last).await?;
        }
    }
    Ok(())
}

/// Appends an entry to the journals of flows that rest, and adds messages to their webhooks: no task of theirs can run
/// without another command. Returns whether it added messages. The last step of a transaction.
pub(crate) async fn rest(rows: &mut dyn Rows, flows: &[Key]) -> Result<bool, StoreError> {
    let roots = announce_rest(rows, flows).await?;
    notify(rows, &roots).await
}

/// Appends an entry to the journals of flows that rest, and returns their roots.
pub(super) async fn announce_rest(
    rows: &mut dyn Rows,
    flows: &[Key],
) -> Result<Vec<Row>, StoreError> {
    let roots = rows.at_rest(flows).await?;
    let now = rows.now();
    let announced = |row: &Row| Announced {
        flow: row.flow,
        task: None,
        at: now,
        what: Announcement::StatusUpdate,
        state: row.run.state,
        progress: row.run.progress,
    };
    let announced: Vec<Announced> = roots.iter().map(announced).collect();
    rows.announce(&announced).await?;
    for root in &roots {
        rows.trim_journal(root.key, JOURNAL_EVENTS_LIMIT).await?;
    }
    Ok(roots)
}

fn event_of(ending: &Ending) -> TaskEvent {
    match ending {
        Ending::Completed { .. } => TaskEvent::Completed,
        Ending::Failed { .. } => TaskEvent::Failed,
        Ending::Cancelled { .. } => TaskEvent::Cancelled,
    }
}

/// The held tasks among those of these leases, by the only lease of each that is valid.
async fn held(
    rows: &mut dyn Rows,
    leases: impl Iterator<Item = Lease>,
) -> Result<BTreeMap<Lease, Row>, StoreError> {
    let rows = rows.load(&keys_of(leases)).await?.into_iter();
    let with_lease = rows.map(|row| (Lease::of(&row), row));
    Ok(with_lease
        .filter(|(lease, row)| lease.is_held(row))
        .collect())
}

fn keys_of(leases: impl Iterator<Item = Lease>) -> Vec<Key> {
    let keys: BTreeSet<Key> = leases.map(|it| it.key).collect();
    keys.into_iter().collect()
}

/// A time in milliseconds from now.
pub(crate) fn later(now: Timestamp, ms: u64) -> Timestamp {
    let ms = i64::try_from(ms).unwrap_or(i64::MAX);
    now.checked_add(ms.milliseconds()).unwrap_or(Timestamp::MAX)
}
