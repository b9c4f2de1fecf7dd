//! Finds the cycle that new dependencies of a stored task would close.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use panpan_runtime::ports::StoreError;

use crate::ports::{Key, Rows};
use crate::task::TaskId;

/// A shortest cycle through a task that would depend on others; it begins and ends with the task. Reads only what the
/// task would wait for, directly or not.
pub(super) async fn new_cycle(
    rows: &mut dyn Rows,
    task: Key,
    on: &[Key],
) -> Result<Option<Vec<Key>>, StoreError> {
    // For each task that was reached, the one before it.
    let mut before: BTreeMap<Key, Key> = on.iter().map(|key| (*key, task)).collect();
    let mut next: BTreeSet<Key> = on.iter().copied().collect();
    while !next.is_empty() {
        let frontier: Vec<Key> = std::mem::take(&mut next).into_iter().collect();
        for edge in rows.dependencies(&frontier).await? {
            if edge.on == task {
                return Ok(Some(closed(task, edge.task, &before)));
            }
            if let Entry::Vacant(unseen) = before.entry(edge.on) {
                unseen.insert(edge.task);
                next.insert(edge.on);
            }
        }
    }
    Ok(None)
}

fn closed(task: Key, last: Key, before: &BTreeMap<Key, Key>) -> Vec<Key> {
    let back = |key: &Key| before.get(key).copied().filter(|it| *it != task);
    let mut cycle = vec![task];
    cycle.extend(std::iter::successors(Some(last), back));
    cycle.push(task);
    cycle.reverse();
    cycle
}

/// The ids of tasks, in their order.
pub(super) async fn ids_of(rows: &mut dyn Rows, keys: &[Key]) -> Result<Vec<TaskId>, StoreError> {
    let ids = rows.load(keys).await?.into_iter();
    let ids: BTreeMap<Key, TaskId> = ids.map(|row| (row.key, row.id)).collect();
    Ok(keys
        .iter()
        .filter_map(|key| ids.get(key).copied())
        .collect())
}
