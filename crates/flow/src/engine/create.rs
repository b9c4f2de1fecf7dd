//! Adds the tasks of a plan.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use panpan_runtime::ports::StoreError;

use super::archive;
use super::caller::{Caller, FlowAuthority};
use super::changes::announced;
use super::check::{Checked, check};
use super::turns::give_turns;
use super::work::{announce_rest, rest};
use crate::error::TaskError;
use crate::plan::Problems;
use crate::ports::{Edge, Key, NewRow, Row, Rows};
use crate::state::State;
use crate::step::{Queued, Run, is_satisfied};
use crate::task::{Dependency, NewTask, ReadTask, TaskId};

/// Whether new tasks run at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Release {
    /// As soon as their dependencies allow.
    Now,
    /// When a caller executes them.
    Later,
}

/// Added tasks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Created {
    /// The root of the flow.
    pub(crate) root: TaskId,
    /// The tasks, in the order of the plan.
    pub(crate) ids: Vec<TaskId>,
    /// The number of the last event of the flow before.
    pub(crate) events_after: u64,
    /// When they were added.
    pub(crate) at: Timestamp,
    /// Those of them that are completed from the start.
    pub(crate) archives: BTreeSet<TaskId>,
}

impl Created {
    /// The state of an added task.
    pub(crate) fn state(&self, id: TaskId) -> State {
        match self.archives.contains(&id) {
            true => State::Completed,
            false => State::Pending,
        }
    }
}

/// Validates tasks and adds them, all or none. The problems are those that are known already.
pub(crate) async fn create(
    rows: &mut dyn Rows,
    caller: &Caller,
    mut tasks: Vec<ReadTask>,
    mut problems: Problems,
    release: Release,
) -> Result<Created, TaskError> {
    archive::take_inputs(rows, caller, &mut tasks, &mut problems).await?;
    add(rows, caller, tasks, problems, release).await
}

/// The same for archives that have their inputs already.
pub(super) async fn add(
    rows: &mut dyn Rows,
    caller: &Caller,
    tasks: Vec<ReadTask>,
    problems: Problems,
    release: Release,
) -> Result<Created, TaskError> {
    let checked = check(rows, caller, None, tasks, problems).await?;
    let Checked {
        plan,
        known,
        authority,
    } = checked;
    let tasks = plan.tasks();
    let keys = rows.reserve(tasks.len()).await?;
    let ids: Vec<TaskId> = tasks.iter().map(|task| task.id).collect();
    let originals = tasks
        .iter()
        .filter_map(|it| it.definition.origin.original());
    let new = New {
        keys: ids.iter().copied().zip(keys.iter().copied()).collect(),
        known: &known,
        originals: originals.collect(),
        archives: archive::archives(tasks),
        authority: &authority,
        release,
        now: rows.now(),
    };
    let flow = new.key(plan.root()).unwrap_or(keys[0]);
    let new_rows = tasks.iter().zip(&keys);
    let new_rows = new_rows.map(|(task, key)| new.row(task, *key, flow));
    let mut new_rows: Vec<NewRow> = new_rows.collect();
    let ready = new_rows.iter_mut().map(|new| &mut new.row);
    give_turns(rows, ready.filter(|row| row.run.queued == Queued::Ready)).await?;
    let bytes = new_rows.iter().map(|new| new.definition.len()).sum();
    rows.admit(bytes).await?;
    authority.store(rows).await?;
    rows.insert(&new_rows).await?;
    archive::take_results(rows, tasks, &new_rows, &known).await?;
    let originals = new.originals.iter().filter_map(|id| known.get(id));
    let originals: Vec<Key> = originals.map(|row| row.key).collect();
    rows.mark_referenced(&originals).await?;
    let events_after = match plan.is_new_flow() {
        true => {
            announce_complete(rows, flow, release, &new_rows).await?;
            0
        }
        false => announce_joined(rows, flow, release, &new_rows).await?,
    };
    Ok(Created {
        root: plan.root(),
        ids,
        events_after,
        at: new.now,
        archives: new.archives,
    })
}

/// A new flow in which nothing is left to do rests at once. The last step of a transaction.
async fn announce_complete(
    rows: &mut dyn Rows,
    flow: Key,
    release: Release,
    new: &[NewRow],
) -> Result<(), StoreError> {
    let is_complete = new.iter().all(|it| it.row.run.state == State::Completed);
    match (is_complete, release) {
        (false, _) => Ok(()),
        (true, Release::Now) => rest(rows, &[flow]).await.map(drop),
        (true, Release::Later) => announce_rest(rows, &[flow]).await.map(drop),
    }
}

/// Notes in the journal that released tasks have joined the flow, and that it rests if they are blocked, so that a reader
/// that waits for them gets an end. Returns the number of the last entry before. The last step of a transaction.
async fn announce_joined(
    rows: &mut dyn Rows,
    flow: Key,
    release: Release,
    new: &[NewRow],
) -> Result<u64, StoreError> {
    let is_ready = |it: &&NewRow| it.row.run.queued == Queued::Ready;
    let ready = new.iter().find(is_ready).or(new.first());
    let entry: Vec<_> = match release {
        Release::Now => ready.map(|it| announced(&it.row)).into_iter().collect(),
        Release::Later => Vec::new(),
    };
    rows.announce(&entry).await?;
    let last = rows.last_announced(flow).await?;
    if release == Release::Now {
        rest(rows, &[flow]).await?;
    }
    Ok(last.saturating_sub(entry.len() as u64))
}

/// What the rows of new tasks are made of.
struct New<'a> {
    /// The keys of the new tasks.
    keys: BTreeMap<TaskId, Key>,
    /// The stored tasks that they refer to.
    known: &'a BTreeMap<TaskId, Row>,
    /// The originals of copies, links and archives among them.
    originals: BTreeSet<TaskId>,
    /// The archives among the new tasks.
    archives: BTreeSet<TaskId>,
    authority: &'a FlowAuthority,
    release: Release,
    now: Timestamp,
}

impl New<'_> {
    fn key(&self, id: TaskId) -> Option<Key> {
        let known = || Some(self.known.get(&id)?.key);
        self.keys.get(&id).copied().or_else(known)
    }

    fn run(&self, task: &NewTask) -> Run {
        let is_unsatisfied = |it: &&Dependency| {
            let stored = self.known.get(&it.id);
            let is_open = stored.is_none_or(|row| !is_satisfied(it.required, row.run.state));
            is_open && !self.archives.contains(&it.id)
        };
        let waiting = task.dependencies.iter().filter(is_unsatisfied).count();
        let waiting = u32::try_from(waiting).unwrap_or(u32::MAX);
        if self.archives.contains(&task.id) {
            return archive::completed(Run::new(waiting, self.now), self.now);
        }
        match self.release {
            Release::Now => Run::released(waiting, self.now),
            Release::Later => Run::new(waiting, self.now),
        }
    }

    fn row(&self, task: &NewTask, key: Key, flow: Key) -> NewRow {
        let edge = |dependency: &Dependency| Edge {
            task: key,
            on: self.key(dependency.id).unwrap_or(key),
            required: dependency.required,
        };
        NewRow {
            row: Row {
                key,
                id: task.id,
                flow,
                parent: task.parent.and_then(|it| self.key(it)),
                owner: self.authority.owner.clone(),
                priority: task.definition.priority,
                turn: 0,
                created_at: self.now,
                has_references: self.originals.contains(&task.id),
                operation: task.definition.operation(),
                run: self.run(task),
            },
            definition: task.definition.to_text().into(),
            authority: self.authority.text.clone(),
            user_id: task.definition.user_id().map(str::to_owned),
            dependencies: task.dependencies.iter().map(edge).collect(),
        }
    }
}
