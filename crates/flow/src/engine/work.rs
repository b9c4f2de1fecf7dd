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
pub const JOURNAL_EVENTS_LIMIT: usize = 500_000;

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

/// A lease that is still needed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Extended {
    pub(crate) lease: Lease,
    /// The share of the work that is done, if the handler reported it.
    pub(crate) progress: Option<f64>,
}

/// Extends leases; returns those that were lost.
pub(crate) async fn extend(
    rows: &mut dyn Rows,
    extended: &[Extended],
    lease_ms: u64,
) -> Result<Vec<Key>, StoreError> {
    let until = later(rows.now(), lease_ms);
    let leases = extended.iter().map(|it| it.lease);
    let mut held = held(rows, leases).await?;
    let mut changes = Changes::new(rows);
    let (mut lost, mut flows) = (Vec::new(), BTreeSet::new());
    for Extended { lease, progress } in extended {
        match held.remove(lease) {
            Some(row) => {
                flows.insert(row.flow);
                let progress = *progress;
                let extended = changes.apply(row, &TaskEvent::Extended { until, progress });
                extended.expect("an extension changes no state");
            }
            None => lost.push(lease.key),
        }
    }
    changes.write().await?;
    for flow in flows {
        rows.trim_journal(flow, JOURNAL_EVENTS_LIMIT).await?;
    }
    Ok(lost)
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
    rows.keep(&outcomes).await?;
    rows.set_histories(&histories).await?;
    Ok(written.may_rest)
}

/// Appends an entry to the journals of flows that rest, and tells their webhooks: no task of theirs can run without
/// another command. Returns whether it added tasks that send messages. The last step of a transaction.
pub(crate) async fn rest(rows: &mut dyn Rows, flows: &[Key]) -> Result<bool, StoreError> {
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
    notify(rows, &roots).await
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
    let keys: BTreeSet<Key> = leases.map(|it| it.key).collect();
    let keys: Vec<Key> = keys.into_iter().collect();
    let is_held = |row: &Row| row.run.is_held && row.run.state == State::InProgress;
    let rows = rows.load(&keys).await?.into_iter().filter(is_held);
    let with_lease = rows.map(|row| (Lease::of(&row), row));
    Ok(with_lease.collect())
}

/// A time in milliseconds from now.
pub(crate) fn later(now: Timestamp, ms: u64) -> Timestamp {
    let ms = i64::try_from(ms).unwrap_or(i64::MAX);
    now.checked_add(ms.milliseconds()).unwrap_or(Timestamp::MAX)
}
