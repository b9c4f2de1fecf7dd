//! Checks tasks against the stored ones that they refer to.

use std::collections::{BTreeMap, BTreeSet};

use panpan_runtime::ports::StoreError;

use super::view::Visible;
use crate::error::TaskError;
use crate::plan::{KnownTask, Methods, Plan, ids_to_look_up};
use crate::ports::{Key, Row, Rows};
use crate::task::{ReadTask, TaskId};

/// A valid plan, and the stored tasks that it refers to.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) plan: Plan,
    pub(super) known: BTreeMap<TaskId, Row>,
}

/// Validates tasks, or returns all problems.
pub(super) async fn check(
    rows: &mut dyn Rows,
    visible: &Visible,
    tasks: Vec<ReadTask>,
    methods: &(dyn Methods + Send + Sync),
) -> Result<Checked, TaskError> {
    let known = known(rows, &tasks).await?;
    let find = |id: TaskId| {
        let (row, root) = known.get(&id)?;
        Some(KnownTask {
            root: *root,
            state: row.run.state,
            is_visible: visible.includes(row),
        })
    };
    let plan = Plan::new(tasks, &find, methods)?;
    let known = known.into_values().map(|(row, _)| (row.id, row));
    Ok(Checked {
        plan,
        known: known.collect(),
    })
}

/// The stored tasks that tasks refer to, each with the root of its flow.
async fn known(
    rows: &mut dyn Rows,
    tasks: &[ReadTask],
) -> Result<BTreeMap<TaskId, (Row, TaskId)>, StoreError> {
    let ids: Vec<TaskId> = ids_to_look_up(tasks).into_iter().collect();
    let found = rows.find(&ids).await?;
    let roots: BTreeSet<Key> = found.iter().map(|row| row.flow).collect();
    let roots: Vec<Key> = roots.into_iter().collect();
    let roots = rows.load(&roots).await?;
    let root_ids: BTreeMap<Key, TaskId> = roots.iter().map(|row| (row.key, row.id)).collect();
    let mut known: BTreeMap<TaskId, (Row, TaskId)> = BTreeMap::new();
    for row in found {
        let root = root_ids.get(&row.flow).copied().unwrap_or(row.id);
        known.insert(row.id, (row, root));
    }
    // The root of the flow that new tasks join.
    for root in roots {
        let id = root.id;
        known.entry(id).or_insert((root, id));
    }
    Ok(known)
}
