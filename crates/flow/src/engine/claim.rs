//! Claims tasks for a worker: those that may run, in their order, with everything they need.
//!
//! Limits of owners, flows and operations are those of one process, and so are the operations that it offers. A task whose
//! owner, flow or operation is full is set aside in the store, so that it is read once and not with every claim, and is recalled
//! when there is room. `contents` reads what tasks need.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use panpan_runtime::ports::StoreError;

use super::changes::Changes;
use super::contents::{Contents, prepare};
use super::work::{Lease, later};
use crate::limits::{Group, Room};
use crate::ports::{Key, Row, Rows};
use crate::step::TaskEvent;
use crate::task::TaskId;

/// The most tasks whose time has come that one claim makes ready.
const PROMOTED_AT_ONCE: usize = 256;

/// How many ready tasks are read at once if some of them may have to be set aside.
const READ_AT_ONCE: usize = 256;

/// How often one claim reads ready tasks.
const READS_LIMIT: usize = 8;

/// The most tasks that one transaction keeps from failing.
const KEPT_AT_ONCE: usize = 10_000;

/// A task that this process holds, with everything it needs to run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ClaimedTask {
    pub(crate) lease: Lease,
    pub(crate) row: Row,
    pub(crate) contents: Contents,
    /// The failed attempts of this generation, as JSON.
    pub(crate) history: Option<Arc<str>>,
    /// Whether a process stopped while it held the task.
    pub(crate) was_abandoned: bool,
    /// Whether no process has offered its operation for so long that it fails.
    pub(crate) is_given_up: bool,
}

/// What a claim found.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Claimed {
    pub(crate) tasks: Vec<ClaimedTask>,
    /// Whether another claim may find more.
    pub(crate) may_have_more: bool,
    /// How many ready tasks were read.
    pub(crate) read: usize,
    /// Groups that were recalled for nothing: this process does not offer the operations of their tasks.
    pub(crate) not_offered: BTreeSet<Arc<str>>,
}

/// Claims at most `limit` tasks for which there is room, by priority and turn: of all flows, or of the flow with this
/// root.
pub(crate) async fn claim(
    rows: &mut dyn Rows,
    limit: usize,
    lease_ms: u64,
    mut room: Room,
    only_flow: Option<TaskId>,
) -> Result<Claimed, StoreError> {
    let flow = match only_flow {
        None => None,
        Some(root) => match rows.find(&[root]).await?.pop() {
            Some(root) => Some(root.flow),
            None => return Ok(Claimed::default()),
        },
    };
    rows.promote(PROMOTED_AT_ONCE).await?;
    let mut claimed = Claimed {
        may_have_more: true,
        ..Claimed::default()
    };
    let mut may_set_aside = room.is_limited();
    for _ in 0..READS_LIMIT {
        let recalled = recall(rows, &room, limit - claimed.tasks.len()).await?;
        hold_given_up(rows, &recalled, lease_ms, &mut room, &mut claimed.tasks).await?;
        let left = limit - claimed.tasks.len();
        if left == 0 {
            break;
        }
        let page = match may_set_aside {
            true => left.max(READ_AT_ONCE),
            false => left,
        };
        let ready = rows.ready(page, flow).await?;
        claimed.read += ready.len();
        let is_last = ready.len() < page;
        let picked = pick(ready, left, &mut room, &recalled, rows.now());
        let held = &mut claimed.tasks;
        let is_cut_off = hold(rows, picked.taken, lease_ms, &mut room, held).await?;
        for (group, keys) in &picked.aside {
            rows.set_aside(keys, &group.to_string()).await?;
        }
        for group in picked.not_offered {
            room.skip(group.clone());
            claimed.not_offered.insert(group);
        }
        if is_cut_off || claimed.tasks.len() >= limit {
            break;
        }
        if picked.aside.is_empty() {
            claimed.may_have_more = !is_last;
            break;
        }
        may_set_aside = true;
    }
    add_histories(rows, &mut claimed.tasks).await?;
    Ok(claimed)
}

/// Shows that this process offers operations whose tasks another one has set aside, so that they do not fail while this
/// one has no room for them. Returns whether there may be more.
pub(crate) async fn keep_offered(rows: &mut dyn Rows, room: &Room) -> Result<bool, StoreError> {
    let (now, mut left) = (rows.now(), KEPT_AT_ONCE);
    for name in rows.groups_aside().await? {
        if let Some(Group::Missing { operation, .. }) = Group::from_name(&name)
            && room.still_offers(&name, now)
        {
            let keys = rows.recall(&name, left).await?;
            let group = Group::missing(operation, now).to_string();
            rows.set_aside(&keys, &group).await?;
            left -= keys.len();
        }
        if left == 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Tasks that were set aside and are no longer.
#[derive(Debug, Default)]
struct Recalled {
    /// The names of their groups.
    groups: BTreeMap<Key, Arc<str>>,
    /// Those whose operation no process offers; they are not among the others.
    given_up: Vec<Key>,
}

/// Recalls tasks of groups that have room, and at most `limit` tasks whose operation no process has offered for long.
async fn recall(rows: &mut dyn Rows, room: &Room, limit: usize) -> Result<Recalled, StoreError> {
    let (mut recalled, now) = (Recalled::default(), rows.now());
    for name in rows.groups_aside().await? {
        let free = room.free_in(&name);
        if free > 0 {
            let keys = rows.recall(&name, free.min(limit)).await?;
            let groups = keys.into_iter().map(|key| (key, name.clone()));
            recalled.groups.extend(groups);
        } else if room.gives_up(&name, now) {
            let left = limit - recalled.given_up.len();
            recalled.given_up.extend(rows.recall(&name, left).await?);
        }
    }
    Ok(recalled)
}

/// Ready tasks, sorted by whether there is room.
#[derive(Debug, Default)]
struct Picked {
    taken: Vec<Row>,
    aside: BTreeMap<Group, Vec<Key>>,
    /// Groups that were recalled for nothing.
    not_offered: BTreeSet<Arc<str>>,
}

fn pick(
    ready: Vec<Row>,
    limit: usize,
    room: &mut Room,
    recalled: &Recalled,
    now: Timestamp,
) -> Picked {
    let mut picked = Picked::default();
    let mut may_take = true;
    for row in ready {
        if picked.taken.len() == limit {
            break;
        }
        let recalled_from = recalled.groups.get(&row.key);
        match room.full(&row, now) {
            Some(full) => {
                if let (Group::Missing { .. }, Some(group)) = (&full, recalled_from) {
                    picked.not_offered.insert(group.clone());
                }
                // Another task of the group that it was recalled from may run before those that follow here.
                may_take &= recalled_from.is_none();
                picked.aside.entry(full).or_default().push(row.key);
            }
            None if may_take => {
                room.take(&row);
                picked.taken.push(row);
            }
            None => {}
        }
    }
    for row in &picked.taken {
        if let Some(group) = recalled.groups.get(&row.key) {
            picked.not_offered.remove(group);
        }
    }
    picked
}

/// Holds tasks as far as their contents are not too large together. Returns whether some were left out.
async fn hold(
    rows: &mut dyn Rows,
    taken: Vec<Row>,
    lease_ms: u64,
    room: &mut Room,
    held: &mut Vec<ClaimedTask>,
) -> Result<bool, StoreError> {
    let count = taken.len();
    let prepared = prepare(rows, taken, room).await?;
    let is_cut_off = prepared.len() < count;
    let until = later(rows.now(), lease_ms);
    let mut changes = Changes::new(rows);
    for (before, contents) in prepared {
        let was_abandoned = before.run.is_held;
        // A task that is ready and has ended is a damaged row; it stays where it is.
        if let Ok(row) = changes.apply(before, &TaskEvent::Claimed { until }) {
            held.push(ClaimedTask {
                lease: Lease::of(&row),
                row,
                contents,
                history: None,
                was_abandoned,
                is_given_up: false,
            });
        }
    }
    changes.write().await?;
    Ok(is_cut_off)
}

/// Holds tasks that fail because no process offers their operation.
async fn hold_given_up(
    rows: &mut dyn Rows,
    recalled: &Recalled,
    lease_ms: u64,
    room: &mut Room,
    held: &mut Vec<ClaimedTask>,
) -> Result<(), StoreError> {
    if recalled.given_up.is_empty() {
        return Ok(());
    }
    let first = held.len();
    let given_up = rows.load(&recalled.given_up).await?;
    hold(rows, given_up, lease_ms, room, held).await?;
    for task in &mut held[first..] {
        task.is_given_up = true;
    }
    Ok(())
}

/// Adds the failed attempts to tasks that had some.
async fn add_histories(rows: &mut dyn Rows, tasks: &mut [ClaimedTask]) -> Result<(), StoreError> {
    let repeated = tasks.iter().filter(|it| it.row.run.attempts > 1);
    let repeated: Vec<Key> = repeated.map(|it| it.row.key).collect();
    if repeated.is_empty() {
        return Ok(());
    }
    let histories: BTreeMap<Key, Arc<str>> = rows.histories(&repeated).await?.into_iter().collect();
    for task in tasks {
        task.history = histories.get(&task.row.key).cloned();
    }
    Ok(())
}
