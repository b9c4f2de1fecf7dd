//! Converts rows of the database to those of the port.

use panpan_flow::ports::{Ending, Key, Row, StoredOutcome};
use panpan_flow::{Priority, Queued, Run, State, TaskId};

use super::super::errors::QueryError;
use crate::time::timestamp;

/// The columns that [`row`] reads.
macro_rules! tasks {
    ($rest:literal) => {
        concat!(
            "SELECT key, id, flow, parent, owner, priority, turn, created_at, has_references, state, generation, \
             epoch, attempts, recoveries, is_held, is_released, waiting, queued, due_at, progress, updated_at, \
             started_at, completed_at, operation FROM tasks ",
            $rest
        )
    };
}
pub(super) use tasks;

/// A task.
pub(super) fn row(row: &rusqlite::Row<'_>) -> Result<Row, QueryError> {
    let time = |column| Ok::<_, rusqlite::Error>(timestamp(row.get(column)?));
    let optional_time = |column| {
        let time: Option<i64> = row.get(column)?;
        Ok::<_, rusqlite::Error>(time.map(timestamp))
    };
    let queued = Queued::from_parts(row.get(17)?, optional_time(18)?);
    let priority: u8 = row.get(5)?;
    Ok(Row {
        key: Key(row.get(0)?),
        id: task_id(row.get(1)?)?,
        flow: Key(row.get(2)?),
        parent: row.get::<_, Option<i64>>(3)?.map(Key),
        owner: row.get(4)?,
        priority: Priority::try_from(priority).map_err(|_| QueryError::Unreadable)?,
        turn: row.get(6)?,
        created_at: time(7)?,
        has_references: row.get(8)?,
        operation: row.get(23)?,
        run: Run {
            state: state(row.get(9)?)?,
            generation: row.get(10)?,
            epoch: row.get::<_, i64>(11)?.cast_unsigned(),
            attempts: row.get(12)?,
            recoveries: row.get(13)?,
            is_held: row.get(14)?,
            is_released: row.get(15)?,
            waiting: row.get(16)?,
            queued: queued.ok_or(QueryError::Unreadable)?,
            progress: row.get(19)?,
            updated_at: time(20)?,
            started_at: optional_time(21)?,
            completed_at: optional_time(22)?,
        },
    })
}

/// An outcome: task, generation, at, attempts, state, error, text.
pub(super) fn outcome(row: &rusqlite::Row<'_>) -> Result<StoredOutcome, QueryError> {
    let ending = Ending::from_parts(state(row.get(4)?)?, row.get(5)?, row.get(6)?);
    Ok(StoredOutcome {
        key: Key(row.get(0)?),
        generation: row.get(1)?,
        at: timestamp(row.get(2)?),
        attempts: row.get(3)?,
        ending: ending.ok_or(QueryError::Unreadable)?,
    })
}

/// The state with a number.
pub(super) fn state(number: u8) -> Result<State, QueryError> {
    State::from_number(number).ok_or(QueryError::Unreadable)
}

/// The id of a task.
pub(super) fn task_id(bytes: [u8; 16]) -> Result<TaskId, QueryError> {
    let id = uuid::Uuid::from_bytes(bytes);
    TaskId::try_from(id).map_err(|_| QueryError::Unreadable)
}
