//! Checks tasks against the stored ones that they refer to.

use std::collections::{BTreeMap, BTreeSet};

use panpan_runtime::ports::StoreError;

use super::caller::{Caller, FlowAuthority};
use crate::error::TaskError;
use crate::plan::{KnownTask, Plan, Problems, TREE_LEVELS_LIMIT, ids_to_look_up};
use crate::ports::{Key, Row, Rows};
use crate::task::{ReadTask, TaskId};

/// A valid plan, and the stored tasks that it refers to.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) plan: Plan,
    pub(super) known: BTreeMap<TaskId, Row>,
    /// The authority with which the tasks run.
    pub(super) authority: FlowAuthority,
}

/// Validates tasks, or returns all problems with those that are known already. They are tasks of the flow with this root,
/// or join that of their parents, or are a new one.
pub(super) async fn check(
    rows: &mut dyn Rows,
    caller: &Caller,
    root: Option<&Row>,
    tasks: Vec<ReadTask>,
    problems: Problems,
) -> Result<Checked, TaskError> {
    let visible = &caller.visible;
    let known = known(rows, &tasks).await?;
    let parents: BTreeSet<TaskId> = tasks.iter().filter_map(|it| it.task.parent).collect();
    let parents = parents.iter().filter_map(|id| known.get(id));
    let parents = parents.filter(|(row, _)| visible.includes(row));
    let parents: Vec<&(Row, TaskId)> = parents.collect();
    let joined = parents.first().and_then(|(_, root)| known.get(root));
    let joined = joined.map(|(row, _)| row);
    let authority = caller.authority_in(rows, root.or(joined)).await?;
    let methods = caller.authorities.methods(authority.text.as_deref());
    let parents = parents.into_iter().map(|(row, _)| row.clone());
    let levels = levels(rows, parents.collect()).await?;
    let find = |id: TaskId| {
        let (row, root) = known.get(&id)?;
        Some(KnownTask {
            root: *root,
            level: levels.get(&row.key).copied().unwrap_or_default(),
            state: row.run.state,
            is_visible: visible.includes(row),
        })
    };
    let plan = Plan::with_problems(tasks, &find, &*methods, problems)?;
    let known = known.into_values().map(|(row, _)| (row.id, row));
    Ok(Checked {
        plan,
        known: known.collect(),
        authority,
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

/// The levels of stored tasks in their trees.
async fn levels(rows: &mut dyn Rows, tasks: Vec<Row>) -> Result<BTreeMap<Key, usize>, StoreError> {
    let keys: Vec<Key> = tasks.iter().map(|row| row.key).collect();
    let mut parents: BTreeMap<Key, Option<Key>> = BTreeMap::new();
    let mut next = tasks;
    while !next.is_empty() {
        parents.extend(next.iter().map(|row| (row.key, row.parent)));
        let above: BTreeSet<Key> = next.iter().filter_map(|row| row.parent).collect();
        let above = above.into_iter().filter(|key| !parents.contains_key(key));
        let above: Vec<Key> = above.collect();
        next = match above.is_empty() {
            true => Vec::new(),
            false => rows.load(&above).await?,
        };
    }
    let level = |key: &Key| {
        let above = |key: &Key| parents.get(key).copied().flatten();
        let path = std::iter::successors(Some(*key), above);
        path.take(TREE_LEVELS_LIMIT + 1).count()
    };
    Ok(keys.iter().map(|key| (*key, level(key))).collect())
}
