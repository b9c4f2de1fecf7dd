//! Adds the tasks of a plan.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use super::check::{Checked, check};
use super::view::Visible;
use crate::error::TaskError;
use crate::plan::Methods;
use crate::ports::{Edge, Key, NewRow, Row, Rows};
use crate::step::{Run, TaskEvent, is_satisfied, step};
use crate::task::{Dependency, NewTask, ReadTask, TaskId};

/// Whether new tasks run at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Release {
    /// As soon as their dependencies allow.
    Now,
    /// When a caller executes them.
    Later,
}

/// The caller that creates tasks.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Creator {
    /// The name of the caller.
    pub(crate) owner: Option<Arc<str>>,
    /// The authority with which the tasks run, as JSON.
    pub(crate) authority: Option<Arc<str>>,
}

/// Added tasks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Created {
    /// The root of the flow.
    pub(crate) root: TaskId,
    /// The tasks, in the order of the plan.
    pub(crate) ids: Vec<TaskId>,
    /// When they were added.
    pub(crate) at: Timestamp,
}

/// Validates tasks and adds them, all or none.
pub(crate) async fn create(
    rows: &mut dyn Rows,
    caller: (&Creator, &Visible),
    tasks: Vec<ReadTask>,
    methods: &(dyn Methods + Send + Sync),
    release: Release,
) -> Result<Created, TaskError> {
    let (creator, visible) = caller;
    let Checked { plan, known } = check(rows, visible, tasks, methods).await?;
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
        creator,
        release,
        now: rows.now(),
    };
    let flow = new.key(plan.root()).unwrap_or(keys[0]);
    // Turns are counted within each priority, so that flows take turns there.
    let mut turns = rows.turns().await?;
    let new_rows = tasks.iter().zip(&keys).map(|(task, key)| {
        let turn = &mut turns[usize::from(task.definition.priority.number())];
        *turn += 1;
        new.row(task, *key, flow, *turn)
    });
    let new_rows: Vec<NewRow> = new_rows.collect();
    rows.insert(&new_rows).await?;
    let originals = new.originals.iter().filter_map(|id| known.get(id));
    let originals: Vec<Key> = originals.map(|row| row.key).collect();
    rows.mark_referenced(&originals).await?;
    Ok(Created {
        root: plan.root(),
        ids,
        at: new.now,
    })
}

/// What the rows of new tasks are made of.
struct New<'a> {
    /// The keys of the new tasks.
    keys: BTreeMap<TaskId, Key>,
    /// The stored tasks that they refer to.
    known: &'a BTreeMap<TaskId, Row>,
    /// The originals of copies, links and archives among them.
    originals: BTreeSet<TaskId>,
    creator: &'a Creator,
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
            stored.is_none_or(|row| !is_satisfied(it.required, row.run.state))
        };
        let waiting = task.dependencies.iter().filter(is_unsatisfied).count();
        let run = Run::new(u32::try_from(waiting).unwrap_or(u32::MAX), self.now);
        if self.release == Release::Later {
            return run;
        }
        let released = step(&run, &TaskEvent::Released, self.now);
        released.expect("a release changes no state").0
    }

    fn row(&self, task: &NewTask, key: Key, flow: Key, turn: i64) -> NewRow {
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
                owner: self.creator.owner.clone(),
                priority: task.definition.priority,
                turn,
                created_at: self.now,
                has_references: self.originals.contains(&task.id),
                operation: task.definition.operation(),
                run: self.run(task),
            },
            definition: task.definition.to_text().into(),
            authority: self.creator.authority.clone(),
            user_id: task.definition.user_id().map(str::to_owned),
            dependencies: task.dependencies.iter().map(edge).collect(),
        }
    }
}
