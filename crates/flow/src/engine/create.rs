//! Adds the tasks of a plan.

use std::collections::BTreeMap;
use std::sync::Arc;

use panpan_runtime::ports::StoreError;

use crate::plan::Plan;
use crate::ports::{Edge, Key, NewRow, Row, Rows};
use crate::step::{Event, Run, is_satisfied, step};
use crate::task::{NewTask, TaskId};

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
}

/// Adds all tasks of a plan. `known` are the stored tasks that it refers to.
pub(crate) async fn create(
    rows: &mut dyn Rows,
    plan: &Plan,
    known: &BTreeMap<TaskId, Row>,
    creator: &Creator,
    release: Release,
) -> Result<Created, StoreError> {
    let tasks = plan.tasks();
    let keys = rows.reserve(tasks.len()).await?;
    let turns = rows.turns().await?;
    let ids: Vec<TaskId> = tasks.iter().map(|task| task.id).collect();
    let new: BTreeMap<TaskId, Key> = ids.iter().copied().zip(keys.iter().copied()).collect();
    let key_of = |id: TaskId| new.get(&id).copied().or_else(|| Some(known.get(&id)?.key));
    let flow = key_of(plan.root()).unwrap_or(keys[0]);
    let now = rows.now();
    // Turns are counted within each priority, so that flows take turns there.
    let mut next_turns = turns;
    let new_row = |(task, key): (&NewTask, &Key)| {
        let edge = |dependency: &crate::task::Dependency| Edge {
            task: *key,
            on: key_of(dependency.id).unwrap_or(*key),
            required: dependency.required,
        };
        let dependencies: Vec<Edge> = task.dependencies.iter().map(edge).collect();
        let is_unsatisfied = |it: &&crate::task::Dependency| {
            let stored = known.get(&it.id);
            stored.is_none_or(|row| !is_satisfied(it.required, row.run.state))
        };
        let waiting = task.dependencies.iter().filter(is_unsatisfied).count();
        let mut run = Run::new(u32::try_from(waiting).unwrap_or(u32::MAX), now);
        if release == Release::Now {
            let released = step(&run, &Event::Released, now);
            run = released.expect("a release changes no state").0;
        }
        let turn = &mut next_turns[usize::from(task.definition.priority.number())];
        *turn += 1;
        NewRow {
            row: Row {
                key: *key,
                id: task.id,
                flow,
                parent: task.parent.and_then(key_of),
                owner: creator.owner.clone(),
                priority: task.definition.priority,
                turn: *turn,
                created_at: now,
                has_references: false,
                run,
            },
            definition: task.definition.to_text().into(),
            authority: creator.authority.clone(),
            user_id: task.definition.user_id().map(str::to_owned),
            dependencies,
        }
    };
    let new_rows: Vec<NewRow> = tasks.iter().zip(&keys).map(new_row).collect();
    rows.insert(&new_rows).await?;
    Ok(Created {
        root: plan.root(),
        ids,
    })
}
