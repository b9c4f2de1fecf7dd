//! Deletes flows that have rested for long.

use jiff::{Timestamp, ToSpan as _};
use panpan_runtime::ports::StoreError;

use super::view::whole_flow;
use crate::ports::{Key, Rows};

/// How long a flow is kept after its last change, unless a setting says otherwise: 7 days.
pub const FLOWS_KEPT_MS: u64 = 7 * 24 * 60 * 60 * 1000;

/// The most flows that one transaction deletes.
pub const FLOWS_SWEPT_AT_ONCE: usize = 100;

/// A transaction that has deleted this many tasks deletes no further flow. A flow is deleted as a whole.
const TASKS_AT_ONCE: usize = 10_000;

/// What one transaction deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Swept {
    pub(crate) flows: u64,
    /// Whether more flows may have to be deleted.
    pub(crate) may_have_more: bool,
}

/// Deletes flows none of whose tasks can run without another command, if nothing has changed for this long.
pub(crate) async fn sweep(rows: &mut dyn Rows, keep_ms: u64) -> Result<Swept, StoreError> {
    let keep_ms = i64::try_from(keep_ms).unwrap_or(i64::MAX);
    let since = rows.now().checked_sub(keep_ms.milliseconds());
    let since = since.unwrap_or(Timestamp::MIN);
    let resting = rows.resting(since, FLOWS_SWEPT_AT_ONCE).await?;
    let (mut flows, mut tasks) = (0, 0);
    for flow in &resting {
        let all = whole_flow(rows, *flow).await?;
        let keys: Vec<Key> = all.iter().map(|row| row.key).collect();
        rows.delete(&keys).await?;
        flows += 1;
        tasks += keys.len();
        if tasks >= TASKS_AT_ONCE {
            break;
        }
    }
    let is_cut_off = flows < resting.len();
    Ok(Swept {
        flows: flows as u64,
        may_have_more: is_cut_off || resting.len() == FLOWS_SWEPT_AT_ONCE,
    })
}
