//! Gives turns to tasks that become ready: the order in which tasks of the same priority run.
//!
//! A task goes behind the ready tasks of its flow, one to a turn, and a flow without ready tasks begins one turn after
//! the first ready task of all. So flows take turns, and no turn is given that is not greater than the first one that
//! waits: a ready task waits only for the finite number of tasks with smaller turns.

use std::collections::BTreeMap;

use panpan_runtime::ports::StoreError;

use crate::ports::{Key, Row, Rows};
use crate::task::Priority;

/// Gives turns to tasks that become ready in this transaction, in this order within a flow.
pub(super) async fn give_turns(
    rows: &mut dyn Rows,
    ready: impl Iterator<Item = &mut Row> + Send,
) -> Result<(), StoreError> {
    let mut queues: BTreeMap<(Key, Priority), Vec<&mut Row>> = BTreeMap::new();
    for row in ready {
        queues
            .entry((row.flow, row.priority))
            .or_default()
            .push(row);
    }
    if queues.is_empty() {
        return Ok(());
    }
    let names: Vec<(Key, Priority)> = queues.keys().copied().collect();
    let next = rows.next_turns(&names).await?;
    for (queue, next) in queues.into_values().zip(next) {
        for (row, turn) in queue.into_iter().zip(next..) {
            row.turn = turn;
        }
    }
    Ok(())
}
