//! What a worker does with tasks: claim, extend, finish.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{Timestamp, ToSpan as _};
use panpan_runtime::ports::StoreError;

use super::changes::Changes;
use crate::ports::{Announced, Ending, Key, Row, Rows, StoredDefinition, StoredOutcome};
use crate::references::may_have_references;
use crate::state::State;
use crate::step::{Announcement, TaskEvent};
use crate::task::{TaskId, original_with_result};

/// The most tasks whose time has come that one claim makes ready.
const PROMOTED_AT_ONCE: usize = 256;

/// How many ready tasks of all flows are searched for those of one. If more are ahead of it, it waits for their workers.
const READY_SEARCHED: usize = 10_000;

/// A held task. Only the newest epoch can end it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Lease {
    pub(crate) key: Key,
    pub(crate) epoch: u64,
}

impl Lease {
    fn of(row: &Row) -> Self {
        Self {
            key: row.key,
            epoch: row.run.epoch,
        }
    }
}

/// A task that this process holds, with everything it needs to run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ClaimedTask {
    pub(crate) lease: Lease,
    pub(crate) row: Row,
    /// The definition, as JSON.
    pub(crate) definition: Arc<str>,
    /// The authority with which it runs, as JSON.
    pub(crate) authority: Option<Arc<str>>,
    /// The failed attempts of this generation, as JSON.
    pub(crate) history: Option<Arc<str>>,
    /// Whether a process stopped while it held the task.
    pub(crate) was_abandoned: bool,
    /// The results of its dependencies, if its inputs may refer to them; `None` for one without a result.
    pub(crate) results: BTreeMap<TaskId, Option<Arc<str>>>,
    /// The result of the original of a link or an archive, if it is completed.
    pub(crate) original: Option<Arc<str>>,
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
        at: Timestamp,
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

/// Claims at most `limit` tasks, by priority and turn: of all flows, or of the flow with this root.
pub(crate) async fn claim(
    rows: &mut dyn Rows,
    limit: usize,
    lease_ms: u64,
    only_flow: Option<TaskId>,
) -> Result<Vec<ClaimedTask>, StoreError> {
    rows.promote(PROMOTED_AT_ONCE).await?;
    let ready = match only_flow {
        None => rows.ready(limit).await?,
        Some(root) => ready_of(rows, root, limit).await?,
    };
    if ready.is_empty() {
        return Ok(Vec::new());
    }
    let event = TaskEvent::Claimed {
        until: later(rows.now(), lease_ms),
    };
    let mut changes = Changes::new(rows);
    let mut claimed = Vec::with_capacity(ready.len());
    for before in ready {
        let was_abandoned = before.run.is_held;
        // A task that is ready and has ended is a damaged row; it stays where it is.
        if let Ok(row) = changes.apply(before, &event) {
            claimed.push((row, was_abandoned));
        }
    }
    changes.write().await?;
    with_contents(rows, claimed).await
}

/// The first tasks of a flow that are ready.
async fn ready_of(rows: &mut dyn Rows, root: TaskId, limit: usize) -> Result<Vec<Row>, StoreError> {
    let Some(root) = rows.find(&[root]).await?.pop() else {
        return Ok(Vec::new());
    };
    let ready = rows.ready(READY_SEARCHED).await?.into_iter();
    let ready = ready.filter(|row| row.flow == root.flow);
    Ok(ready.take(limit).collect())
}

async fn with_contents(
    rows: &mut dyn Rows,
    claimed: Vec<(Row, bool)>,
) -> Result<Vec<ClaimedTask>, StoreError> {
    let keys: Vec<Key> = claimed.iter().map(|(row, _)| row.key).collect();
    let definitions = rows.definitions(&keys).await?;
    let mut definitions: BTreeMap<Key, StoredDefinition> =
        definitions.into_iter().map(|it| (it.key, it)).collect();
    let is_repeated = |(row, _): &&(Row, bool)| row.run.attempts > 1;
    let repeated: Vec<Key> = claimed
        .iter()
        .filter(is_repeated)
        .map(|(row, _)| row.key)
        .collect();
    let histories: BTreeMap<Key, Arc<str>> = match repeated.is_empty() {
        true => BTreeMap::new(),
        false => rows.histories(&repeated).await?.into_iter().collect(),
    };
    let refers = |key: &&Key| {
        definitions
            .get(key)
            .is_some_and(|it| may_have_references(&it.text))
    };
    let referring: Vec<Key> = keys.iter().filter(refers).copied().collect();
    let mut results = results_of_dependencies(rows, &referring).await?;
    let mut originals = results_of_originals(rows, &definitions).await?;
    let tasks = claimed.into_iter().map(|(row, was_abandoned)| {
        let stored = definitions.remove(&row.key);
        let (definition, authority) =
            stored.map_or_else(Default::default, |it| (it.text, it.authority));
        ClaimedTask {
            lease: Lease::of(&row),
            definition,
            authority,
            history: histories.get(&row.key).cloned(),
            was_abandoned,
            results: results.remove(&row.key).unwrap_or_default(),
            original: originals.remove(&row.key),
            row,
        }
    });
    Ok(tasks.collect())
}

type Results = BTreeMap<TaskId, Option<Arc<str>>>;

async fn results_of_dependencies(
    rows: &mut dyn Rows,
    referring: &[Key],
) -> Result<BTreeMap<Key, Results>, StoreError> {
    let mut results: BTreeMap<Key, Results> = BTreeMap::new();
    if referring.is_empty() {
        return Ok(results);
    }
    let edges = rows.dependencies(referring).await?;
    let mut on: Vec<Key> = edges.iter().map(|edge| edge.on).collect();
    on.sort_unstable();
    on.dedup();
    let ids = rows.load(&on).await?;
    let ids: BTreeMap<Key, TaskId> = ids.into_iter().map(|row| (row.key, row.id)).collect();
    let outcomes = completed(rows, &on).await?;
    for edge in edges {
        if let Some(id) = ids.get(&edge.on) {
            let of_task = results.entry(edge.task).or_default();
            of_task.insert(*id, outcomes.get(&edge.on).cloned());
        }
    }
    Ok(results)
}

/// The results of the originals of links and archives, by the key of the link or archive.
async fn results_of_originals(
    rows: &mut dyn Rows,
    definitions: &BTreeMap<Key, StoredDefinition>,
) -> Result<BTreeMap<Key, Arc<str>>, StoreError> {
    let original = |it: &StoredDefinition| Some((it.key, original_with_result(&it.text)?));
    let originals: Vec<(Key, TaskId)> = definitions.values().filter_map(original).collect();
    if originals.is_empty() {
        return Ok(BTreeMap::new());
    }
    let ids: Vec<TaskId> = originals.iter().map(|(_, id)| *id).collect();
    let found = rows.find(&ids).await?.into_iter();
    let found: BTreeMap<TaskId, Key> = found.map(|row| (row.id, row.key)).collect();
    let keys: Vec<Key> = found.values().copied().collect();
    let results = completed(rows, &keys).await?;
    let result = |(key, id): (Key, TaskId)| Some((key, results.get(found.get(&id)?)?.clone()));
    Ok(originals.into_iter().filter_map(result).collect())
}

/// The results of those tasks that are completed.
async fn completed(
    rows: &mut dyn Rows,
    keys: &[Key],
) -> Result<BTreeMap<Key, Arc<str>>, StoreError> {
    let outcomes = rows.outcomes(keys).await?.into_iter();
    let results = outcomes.filter_map(|it| match it.ending {
        Ending::Completed { result } => Some((it.key, result)),
        Ending::Failed { .. } | Ending::Cancelled { .. } => None,
    });
    Ok(results.collect())
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
    let mut lost = Vec::new();
    for Extended { lease, progress } in extended {
        match held.remove(lease) {
            Some(row) => {
                let progress = *progress;
                let extended = changes.apply(row, &TaskEvent::Extended { until, progress });
                extended.expect("an extension changes no state");
            }
            None => lost.push(lease.key),
        }
    }
    changes.write().await?;
    Ok(lost)
}

/// Ends attempts. Those whose lease was lost are left out: another process has the task, or a caller ended it. Returns
/// the flows of tasks that ended.
pub(crate) async fn finish(
    rows: &mut dyn Rows,
    finished: &[Finished],
) -> Result<Vec<Key>, StoreError> {
    let now = rows.now();
    let mut held = held(rows, finished.iter().map(|it| it.lease)).await?;
    let mut changes = Changes::new(rows);
    let (mut outcomes, mut histories, mut flows) = (Vec::new(), Vec::new(), Vec::new());
    for Finished { lease, ended } in finished {
        let Some(row) = held.remove(lease) else {
            continue;
        };
        match ended {
            Ended::Lost => {}
            Ended::Retry { at, history } => {
                let retried = changes.apply(row, &TaskEvent::RetryAt(*at));
                retried.expect("a retry changes no state");
                histories.push((lease.key, Some(history.clone())));
            }
            Ended::With(ending) => {
                let (key, generation, attempts) = (row.key, row.run.generation, row.run.attempts);
                let had_history = attempts > 1;
                let ended = changes.apply(row, &event_of(ending));
                let row = ended.expect("a held task is in progress and can end");
                flows.push(row.flow);
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
    changes.write().await?;
    rows.keep(&outcomes).await?;
    rows.set_histories(&histories).await?;
    flows.sort_unstable();
    flows.dedup();
    Ok(flows)
}

/// Appends an entry to the journals of flows that rest: no task of theirs can run without another command. Returns
/// these flows. The last step of a transaction.
pub(crate) async fn rest(rows: &mut dyn Rows, flows: &[Key]) -> Result<Vec<Row>, StoreError> {
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
