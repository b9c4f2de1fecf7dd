//! Claims tasks for a worker: those that may run, in their order, with everything they need.
//!
//! Limits of flows and operations are those of one process. A task whose flow or operation is full is set aside in the
//! store, so that it is read once and not with every claim, and is recalled when there is room.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use panpan_runtime::ports::StoreError;

use super::changes::Changes;
use super::work::{Lease, later};
use crate::limits::{Group, Room};
use crate::ports::{Ending, Key, Row, Rows, StoredDefinition};
use crate::references::may_have_references;
use crate::step::TaskEvent;
use crate::task::{TaskId, original_with_result};

/// The most tasks whose time has come that one claim makes ready.
const PROMOTED_AT_ONCE: usize = 256;

/// How many ready tasks are read at once if some of them may have to be set aside.
const READ_AT_ONCE: usize = 256;

/// How often one claim reads ready tasks.
const READS_LIMIT: usize = 8;

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

/// What a claim found.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Claimed {
    pub(crate) tasks: Vec<ClaimedTask>,
    /// Whether another claim may find more.
    pub(crate) may_have_more: bool,
    /// How many ready tasks were read.
    pub(crate) read: usize,
}

/// Claims at most `limit` tasks for which there is room, by priority and turn.
pub(crate) async fn claim(
    rows: &mut dyn Rows,
    limit: usize,
    lease_ms: u64,
    mut room: Room,
) -> Result<Claimed, StoreError> {
    rows.promote(PROMOTED_AT_ONCE).await?;
    let event = TaskEvent::Claimed {
        until: later(rows.now(), lease_ms),
    };
    let (mut held, mut read, mut may_have_more) = (Vec::new(), 0, true);
    for _ in 0..READS_LIMIT {
        let recalled = recall(rows, &room, limit).await?;
        let left = limit - held.len();
        let page = match room.is_limited() {
            true => left.max(READ_AT_ONCE),
            false => left,
        };
        let ready = rows.ready(page).await?;
        read += ready.len();
        let is_last = ready.len() < page;
        let picked = pick(ready, left, &mut room, &recalled);
        held.extend(hold(rows, picked.taken, &event).await?);
        for (group, keys) in &picked.aside {
            rows.set_aside(keys, &group.to_string()).await?;
        }
        if held.len() >= limit {
            break;
        }
        if picked.aside.is_empty() {
            may_have_more = !is_last;
            break;
        }
    }
    Ok(Claimed {
        tasks: with_contents(rows, held).await?,
        may_have_more,
        read,
    })
}

/// Recalls tasks of groups that have room.
async fn recall(
    rows: &mut dyn Rows,
    room: &Room,
    limit: usize,
) -> Result<BTreeSet<Key>, StoreError> {
    let mut recalled = BTreeSet::new();
    for name in rows.groups_aside().await? {
        let left = Group::from_name(&name).map_or(usize::MAX, |group| room.left(&group));
        if left > 0 {
            recalled.extend(rows.recall(&name, left.min(limit)).await?);
        }
    }
    Ok(recalled)
}

/// Ready tasks, sorted by whether there is room.
#[derive(Debug, Default)]
struct Picked {
    taken: Vec<Row>,
    aside: BTreeMap<Group, Vec<Key>>,
}

fn pick(ready: Vec<Row>, limit: usize, room: &mut Room, recalled: &BTreeSet<Key>) -> Picked {
    let mut picked = Picked::default();
    let mut may_take = true;
    for row in ready {
        if picked.taken.len() == limit {
            break;
        }
        match room.full(&row) {
            Some(full) => {
                // Another task of the group that it was recalled from may run before those that follow here.
                may_take &= !recalled.contains(&row.key);
                picked.aside.entry(full).or_default().push(row.key);
            }
            None if may_take => {
                room.take(&row);
                picked.taken.push(row);
            }
            None => {}
        }
    }
    picked
}

/// Holds tasks; returns each with whether a process stopped while it held the task.
async fn hold(
    rows: &mut dyn Rows,
    taken: Vec<Row>,
    event: &TaskEvent,
) -> Result<Vec<(Row, bool)>, StoreError> {
    let mut held = Vec::with_capacity(taken.len());
    let mut changes = Changes::new(rows);
    for before in taken {
        let was_abandoned = before.run.is_held;
        // A task that is ready and has ended is a damaged row; it stays where it is.
        if let Ok(row) = changes.apply(before, event) {
            held.push((row, was_abandoned));
        }
    }
    changes.write().await?;
    Ok(held)
}

async fn with_contents(
    rows: &mut dyn Rows,
    claimed: Vec<(Row, bool)>,
) -> Result<Vec<ClaimedTask>, StoreError> {
    if claimed.is_empty() {
        return Ok(Vec::new());
    }
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
