//! Tasks whose last outcome is unknown: if they run again, they may take effect twice.

use std::collections::BTreeMap;

use panpan_failure::{Effect, Failure};
use panpan_runtime::ports::StoreError;

use super::caller::CallableMethods;
use crate::kept::read_kept;
use crate::ports::{Ending, Key, Row, Rows, StoredOutcome};
use crate::state::State;
use crate::task::TaskId;

/// How many tasks are listed.
const LISTED_LIMIT: usize = 100;

/// How many outcomes are read at once.
const READ_AT_ONCE: usize = 32;

/// Whether the outcome has to be read to know: the task started a change and did not complete.
pub(super) fn may_be_unknown(row: &Row, methods: &CallableMethods) -> bool {
    let operation = row.operation.as_deref();
    let changes = operation.is_some_and(|it| methods.changes(it));
    let is_incomplete = matches!(row.run.state, State::Failed | State::Cancelled);
    changes && is_incomplete && row.run.attempts > 0
}

/// The first of these tasks that may have taken effect.
pub(super) async fn with_unknown_outcome(
    rows: &mut dyn Rows,
    tasks: &[&Row],
) -> Result<Vec<TaskId>, StoreError> {
    let mut unknown = Vec::new();
    for some in tasks.chunks(READ_AT_ONCE) {
        let keys: Vec<Key> = some.iter().map(|row| row.key).collect();
        let outcomes = rows.outcomes(&keys).await?.into_iter();
        let outcomes: BTreeMap<Key, StoredOutcome> = outcomes.map(|it| (it.key, it)).collect();
        let is_unknown = |row: &&&Row| {
            let outcome = outcomes.get(&row.key);
            outcome.is_some_and(|it| may_have_happened(&it.ending))
        };
        unknown.extend(some.iter().filter(is_unknown).map(|row| row.id));
        if unknown.len() >= LISTED_LIMIT {
            break;
        }
    }
    unknown.truncate(LISTED_LIMIT);
    Ok(unknown)
}

/// Whether a task that ended like this may have taken effect. One that was cancelled while it ran may have.
fn may_have_happened(ending: &Ending) -> bool {
    match ending {
        Ending::Completed { .. } => false,
        Ending::Cancelled { .. } => true,
        Ending::Failed { failure, .. } => {
            let kept = read_kept(failure).ok();
            let failure = kept.and_then(|it| Failure::from_canonical(it.value).ok());
            failure.is_none_or(|it| it.effect() != Effect::None)
        }
    }
}
