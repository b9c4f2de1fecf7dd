//! Converts between the rows of the port and those of the database.

use std::error::Error;
use std::sync::Arc;

use jiff::Timestamp;
use panpan_flow::ports::{Announced, Edge, Ending, Key, Row, StoredDefinition, StoredOutcome};
use panpan_flow::{Announcement, Priority, Queued, Run, State, TaskId};
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use uuid::Uuid;

use super::super::errors::QueryError;
use super::super::session::Value;
use super::super::text::{column, number, text};
use crate::time::timestamp;

/// The columns that [`row`] reads.
macro_rules! tasks {
    ($rest:literal) => {
        concat!(
            "SELECT runs.key, tasks.id, runs.flow, tasks.parent, tasks.owner, runs.priority, runs.turn, \
             tasks.created_at, tasks.has_references, runs.state, runs.generation, runs.epoch, runs.attempts, \
             runs.recoveries, runs.is_held, runs.is_released, runs.waiting, runs.queued, runs.due_at, runs.progress, \
             runs.updated_at, runs.started_at, runs.completed_at, tasks.operation \
             FROM panpan.task_runs AS runs JOIN panpan.tasks AS tasks ON tasks.key = runs.key ",
            $rest
        )
    };
}
pub(super) use tasks;

/// A text that is shared with its owner while it is sent.
#[derive(Debug)]
pub(super) struct SharedText(pub(super) Arc<str>);

impl ToSql for SharedText {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        (&*self.0).to_sql(kind, out)
    }

    fn accepts(kind: &Type) -> bool {
        <&str as ToSql>::accepts(kind)
    }

    to_sql_checked!();
}

/// A parameter: an array with a value of each of these.
pub(super) fn array<R, T>(of: &[R], value: impl Fn(&R) -> T) -> Value
where
    T: ToSql + Send + Sync + 'static,
{
    Box::new(of.iter().map(value).collect::<Vec<T>>())
}

/// A parameter: keys.
pub(super) fn keys(keys: &[Key]) -> Value {
    array(keys, |key| key.0)
}

/// A parameter: a limit.
pub(super) fn limit(limit: usize) -> Value {
    Box::new(i64::try_from(limit).unwrap_or(i64::MAX))
}

/// A name, which may contain the character NUL.
pub(super) fn bytes(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

/// The arrays of what changes while tasks run, except for their keys: turns and runs.
pub(super) fn runs<R>(of: &[R], row: impl Fn(&R) -> &Row + Copy) -> Vec<Value> {
    let time = |time: Option<Timestamp>| time.map(|it| it.as_millisecond());
    vec![
        array(of, |it| row(it).turn),
        array(of, |it| i64::from(row(it).run.generation)),
        array(of, |it| row(it).run.epoch.cast_signed()),
        array(of, |it| i64::from(row(it).run.attempts)),
        array(of, |it| i64::from(row(it).run.recoveries)),
        array(of, |it| i64::from(row(it).run.waiting)),
        array(of, move |it| time(row(it).run.queued.parts().1)),
        array(of, |it| row(it).run.progress),
        array(of, |it| row(it).run.updated_at.as_millisecond()),
        array(of, move |it| time(row(it).run.started_at)),
        array(of, move |it| time(row(it).run.completed_at)),
        array(of, |it| state_number(row(it).run.state)),
        array(of, |it| i16::from(row(it).run.queued.parts().0)),
        array(of, |it| row(it).run.is_held),
        array(of, |it| row(it).run.is_released),
    ]
}

/// The number of a priority in the database.
pub(super) fn priority_number(priority: Priority) -> i16 {
    i16::from(priority.number())
}

/// The number of a state in the database.
pub(super) fn state_number(state: State) -> i16 {
    i16::from(state.number())
}

/// The number of an announcement in the database.
pub(super) fn announcement_number(what: Announcement) -> i16 {
    i16::from(what.number())
}

/// A small number, which the database has no type for.
fn small(columns: &Columns, at: usize) -> Result<u8, QueryError> {
    u8::try_from(column::<i16>(columns, at)?).map_err(|_| QueryError::Unreadable)
}

/// A state.
pub(super) fn state(columns: &Columns, at: usize) -> Result<State, QueryError> {
    State::from_number(small(columns, at)?).ok_or(QueryError::Unreadable)
}

type Columns = tokio_postgres::Row;

/// A task.
pub(super) fn row(columns: &Columns) -> Result<Row, QueryError> {
    let time = |at| Ok::<_, QueryError>(timestamp(column(columns, at)?));
    let optional_time = |at| {
        let time: Option<i64> = column(columns, at)?;
        Ok::<_, QueryError>(time.map(timestamp))
    };
    let queued = Queued::from_parts(small(columns, 17)?, optional_time(18)?);
    let name = |at| {
        let name: Option<&[u8]> = column(columns, at)?;
        Ok::<_, QueryError>(name.map(text).transpose()?.map(Arc::from))
    };
    Ok(Row {
        key: key(columns, 0)?,
        id: task_id(column(columns, 1)?)?,
        flow: key(columns, 2)?,
        parent: column::<Option<i64>>(columns, 3)?.map(Key),
        owner: name(4)?,
        priority: Priority::try_from(small(columns, 5)?).map_err(|_| QueryError::Unreadable)?,
        turn: column(columns, 6)?,
        created_at: time(7)?,
        has_references: column(columns, 8)?,
        operation: name(23)?,
        run: Run {
            state: state(columns, 9)?,
            generation: number(columns, 10)?,
            epoch: column::<i64>(columns, 11)?.cast_unsigned(),
            attempts: number(columns, 12)?,
            recoveries: number(columns, 13)?,
            is_held: column(columns, 14)?,
            is_released: column(columns, 15)?,
            waiting: number(columns, 16)?,
            queued: queued.ok_or(QueryError::Unreadable)?,
            progress: column(columns, 19)?,
            updated_at: time(20)?,
            started_at: optional_time(21)?,
            completed_at: optional_time(22)?,
        },
    })
}

/// The size of a text: task, bytes.
pub(super) fn size(columns: &Columns) -> Result<(Key, usize), QueryError> {
    let bytes: i64 = column(columns, 1)?;
    let bytes = usize::try_from(bytes).map_err(|_| QueryError::Unreadable)?;
    Ok((key(columns, 0)?, bytes))
}

/// A key.
pub(super) fn key(columns: &Columns, at: usize) -> Result<Key, QueryError> {
    column(columns, at).map(Key)
}

fn task_id(id: Uuid) -> Result<TaskId, QueryError> {
    TaskId::try_from(id).map_err(|_| QueryError::Unreadable)
}

/// A definition: task, text, authority.
pub(super) fn definition(columns: &Columns) -> Result<StoredDefinition, QueryError> {
    let (key, text) = text_of_task(columns)?;
    let authority: Option<&str> = column(columns, 2)?;
    Ok(StoredDefinition {
        key,
        text,
        authority: authority.map(Into::into),
    })
}

/// A task and a text of it.
pub(super) fn text_of_task(columns: &Columns) -> Result<(Key, Arc<str>), QueryError> {
    let text: &str = column(columns, 1)?;
    Ok((key(columns, 0)?, text.into()))
}

/// An edge: task, depends_on, required.
pub(super) fn edge(columns: &Columns) -> Result<Edge, QueryError> {
    Ok(Edge {
        task: key(columns, 0)?,
        on: key(columns, 1)?,
        required: column(columns, 2)?,
    })
}

/// An outcome: task, generation, at, attempts, state, error, text.
pub(super) fn outcome(columns: &Columns) -> Result<StoredOutcome, QueryError> {
    let (error, kept): (Option<&[u8]>, Option<&str>) = (column(columns, 5)?, column(columns, 6)?);
    let error = error.map(text).transpose()?.map(Arc::from);
    let ending = Ending::from_parts(state(columns, 4)?, error, kept.map(Arc::from));
    Ok(StoredOutcome {
        key: key(columns, 0)?,
        generation: number(columns, 1)?,
        at: timestamp(column(columns, 2)?),
        attempts: number(columns, 3)?,
        ending: ending.ok_or(QueryError::Unreadable)?,
    })
}

/// A failed task: id, error.
pub(super) fn failure(columns: &Columns) -> Result<(TaskId, Arc<str>), QueryError> {
    let error = text(column(columns, 1)?)?;
    Ok((task_id(column(columns, 0)?)?, error.into()))
}

/// An entry of a journal: number, flow, task, at, what, state, progress.
pub(super) fn entry(columns: &Columns) -> Result<(u64, Announced), QueryError> {
    let task: Option<Uuid> = column(columns, 2)?;
    let what = Announcement::from_number(small(columns, 4)?);
    let announced = Announced {
        flow: key(columns, 1)?,
        task: task.map(task_id).transpose()?,
        at: timestamp(column(columns, 3)?),
        what: what.ok_or(QueryError::Unreadable)?,
        state: state(columns, 5)?,
        progress: column(columns, 6)?,
    };
    Ok((number(columns, 0)?, announced))
}
