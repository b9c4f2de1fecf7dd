//! SQL statements that read tasks.

use std::sync::Arc;

use jiff::Timestamp;
use panpan_flow::ports::{
    Announced, Edge, Failures, Filter, JournalPage, Key, Page, ResultSizes, Row, StoredDefinition,
    StoredOutcome,
};
use panpan_flow::{Announcement, Priority, State, TaskId};
use rusqlite::types::Value;
use rusqlite::{Connection, Params, params, params_from_iter};

use super::super::errors::QueryError;
use super::columns::{outcome, row, state, task_id, tasks};
use crate::time::timestamp;

const BY_ID: &str = tasks!("WHERE id = ?1");
const BY_KEY: &str = tasks!("WHERE key = ?1");
const READY: &str = tasks!(
    "WHERE queued = 1 AND aside IS NULL AND (?2 IS NULL OR flow = ?2) \
     ORDER BY priority, turn, key LIMIT ?1"
);
const LIST: &str = tasks!("");

const DEFINITION: &str = "SELECT task, text, authority FROM task_definitions WHERE task = ?1";

/// The edges from a task to its dependencies.
pub(super) const DEPENDENCIES: &str = "
    SELECT task, depends_on, required FROM task_dependencies WHERE task = ?1 ORDER BY row";

/// The edges from dependents to a task.
pub(super) const DEPENDENTS: &str = "
    SELECT task, depends_on, required FROM task_dependencies WHERE depends_on = ?1";

const OUTCOME: &str = "
    SELECT o.task, o.generation, o.at, o.attempts, o.state, o.error, o.text
    FROM task_outcomes o JOIN tasks t ON t.key = o.task AND t.generation = o.generation
    WHERE o.task = ?1";

const RESULT_SIZE: &str = "
    SELECT o.task, octet_length(o.text)
    FROM task_outcomes o JOIN tasks t ON t.key = o.task AND t.generation = o.generation
    WHERE o.task = ?1 AND o.state = 2";

const GENERATIONS: &str = "
    SELECT task, generation, at, attempts, state, error, text
    FROM task_outcomes WHERE task = ?1 AND generation > ?2 ORDER BY generation LIMIT ?3";

const HISTORY: &str = "SELECT task, text FROM task_histories WHERE task = ?1";

const NEXT_DUE: &str = "SELECT min(due_at) FROM tasks WHERE queued = 2";

/// The smallest turn of ready tasks of a priority, also of those that are set aside.
macro_rules! first_turn {
    ($priority:literal) => {
        concat!(
            "(SELECT min(turn) FROM ( \
                SELECT min(turn) AS turn FROM tasks AS ready \
                WHERE ready.queued = 1 AND ready.aside IS NULL AND ready.priority = ",
            $priority,
            " UNION ALL SELECT min(turn) FROM tasks AS ready \
                WHERE ready.aside IS NOT NULL AND ready.priority = ",
            $priority,
            "))"
        )
    };
}
pub(super) use first_turn;

/// Without the name of the index, another one would be used for a flow without statistics.
const NEXT_TURN: &str = concat!(
    "SELECT 1 + max(coalesce(",
    first_turn!("?2"),
    ", 0), coalesce((SELECT max(turn) FROM tasks INDEXED BY tasks_active \
        WHERE flow = ?1 AND queued != 0 AND queued = 1 AND priority = ?2), 0))"
);

/// Seeks from one group to the next: a group can have many tasks.
const GROUPS_ASIDE: &str = "
    WITH RECURSIVE groups (name) AS (
        SELECT min(aside) FROM tasks WHERE aside IS NOT NULL
        UNION ALL
        SELECT (SELECT min(aside) FROM tasks WHERE aside > groups.name) FROM groups
        WHERE groups.name IS NOT NULL)
    SELECT name FROM groups WHERE name IS NOT NULL";

const AT_REST: &str = tasks!(
    "AS root WHERE key = ?1
     AND NOT EXISTS (SELECT 1 FROM tasks WHERE flow = root.key AND queued != 0)"
);

const FAILURES: &str = "
    SELECT t.id, o.error FROM tasks t JOIN task_outcomes o
        ON o.task = t.key AND o.generation = t.generation
    WHERE t.flow = ?1 AND t.state = ?3 ORDER BY t.key LIMIT ?2";

const RESTING: &str = "
    SELECT key FROM tasks AS root WHERE flow = key AND updated_at < ?1 AND NOT EXISTS (
        SELECT 1 FROM tasks WHERE flow = root.key AND (queued != 0 OR state = 1 OR updated_at >= ?1))
    ORDER BY updated_at, key LIMIT ?2";

const ANNOUNCEMENTS: &str = "
    SELECT number, flow, task, at, what, state, progress FROM task_journal
    WHERE flow = ?1 AND number > ?2 ORDER BY number LIMIT ?3";

const LAST_ANNOUNCED: &str = "SELECT max(number) FROM task_journal WHERE flow = ?1";

/// The tasks with these ids.
pub(super) fn by_id(connection: &Connection, ids: &[TaskId]) -> Result<Vec<Row>, QueryError> {
    each(
        connection,
        BY_ID,
        ids.iter().map(|id| [id.uuid().into_bytes()]),
        row,
    )
}

/// The tasks with these keys.
pub(super) fn by_key(connection: &Connection, keys: &[Key]) -> Result<Vec<Row>, QueryError> {
    of_each_key(connection, BY_KEY, keys, row)
}

/// Tasks that meet a condition.
pub(super) fn list(
    connection: &Connection,
    filter: &Filter,
    page: Page,
) -> Result<Vec<Row>, QueryError> {
    let (condition, mut values) = condition(filter);
    let number = |it: u64| Value::from(i64::try_from(it).unwrap_or(i64::MAX));
    values.extend([number(page.limit), number(page.offset)]);
    let sql = format!("{LIST} {condition} ORDER BY key LIMIT ? OFFSET ?");
    all(connection, &sql, params_from_iter(values), row)
}

/// How many tasks meet a condition, by state.
pub(super) fn count(connection: &Connection, filter: &Filter) -> Result<[u64; 5], QueryError> {
    let (condition, values) = condition(filter);
    let sql = format!("SELECT state, count(*) FROM tasks {condition} GROUP BY state");
    let pair = |row: &rusqlite::Row<'_>| Ok((state(row.get(0)?)?, row.get::<_, i64>(1)?));
    let mut counts = [0; 5];
    for (state, count) in all(connection, &sql, params_from_iter(values), pair)? {
        counts[usize::from(state.number())] = count.cast_unsigned();
    }
    Ok(counts)
}

fn condition(filter: &Filter) -> (String, Vec<Value>) {
    let Filter {
        owner,
        state,
        user_id,
        flow,
        parent,
        roots,
    } = filter;
    let (mut parts, mut values) = (Vec::new(), Vec::new());
    let mut part = |sql, value| {
        parts.push(sql);
        values.push(value);
    };
    if let Some(owner) = owner {
        part("owner IS ?", owner.as_deref().map(str::to_owned).into());
    }
    if let Some(state) = state {
        part("state = ?", state.number().into());
    }
    if let Some(user_id) = user_id {
        part("user_id = ?", user_id.clone().into());
    }
    if let Some(flow) = flow {
        part("flow = ?", flow.0.into());
    }
    if let Some(parent) = parent {
        part("parent = ?", parent.0.into());
    }
    if *roots {
        parts.push("flow = key");
    }
    match parts.is_empty() {
        true => (String::new(), values),
        false => (format!("WHERE {}", parts.join(" AND ")), values),
    }
}

/// The definitions of tasks.
pub(super) fn definitions(
    connection: &Connection,
    keys: &[Key],
) -> Result<Vec<StoredDefinition>, QueryError> {
    of_each_key(connection, DEFINITION, keys, |row| {
        let (key, text) = text_of_task(row)?;
        let authority = row.get(2)?;
        Ok(StoredDefinition {
            key,
            text,
            authority,
        })
    })
}

/// The edges of tasks in one direction.
pub(super) fn edges(
    connection: &Connection,
    sql: &str,
    keys: &[Key],
) -> Result<Vec<Edge>, QueryError> {
    of_each_key(connection, sql, keys, |row| {
        Ok(Edge {
            task: Key(row.get(0)?),
            on: Key(row.get(1)?),
            required: row.get(2)?,
        })
    })
}

/// The current outcomes of tasks.
pub(super) fn outcomes(
    connection: &Connection,
    keys: &[Key],
) -> Result<Vec<StoredOutcome>, QueryError> {
    of_each_key(connection, OUTCOME, keys, outcome)
}

/// The bytes of the current results of those tasks that are completed.
pub(super) fn result_sizes(
    connection: &Connection,
    keys: &[Key],
) -> Result<ResultSizes, QueryError> {
    of_each_key(connection, RESULT_SIZE, keys, |row| {
        let bytes: i64 = row.get(1)?;
        let bytes = usize::try_from(bytes).map_err(|_| QueryError::Unreadable)?;
        Ok((Key(row.get(0)?), bytes))
    })
}

/// The first outcomes of a task after a generation.
pub(super) fn generations(
    connection: &Connection,
    key: Key,
    after: u32,
    limit: usize,
) -> Result<Vec<StoredOutcome>, QueryError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    all(
        connection,
        GENERATIONS,
        params![key.0, after, limit],
        outcome,
    )
}

/// The histories of tasks.
pub(super) fn histories(
    connection: &Connection,
    keys: &[Key],
) -> Result<Vec<(Key, Arc<str>)>, QueryError> {
    of_each_key(connection, HISTORY, keys, text_of_task)
}

/// The first ready tasks, of all flows or of one.
pub(super) fn ready(
    connection: &Connection,
    limit: usize,
    flow: Option<Key>,
) -> Result<Vec<Row>, QueryError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let flow = flow.map(|it| it.0);
    all(connection, READY, params![limit, flow], row)
}

/// The groups that have tasks aside.
pub(super) fn groups_aside(connection: &Connection) -> Result<Vec<Arc<str>>, QueryError> {
    all(connection, GROUPS_ASIDE, [], |row| Ok(row.get(0)?))
}

/// When the next waiting task can be claimed.
pub(super) fn next_due(connection: &Connection) -> Result<Option<Timestamp>, QueryError> {
    let mut statement = connection.prepare_cached(NEXT_DUE)?;
    let due: Option<i64> = statement.query_row([], |row| row.get(0))?;
    Ok(due.map(timestamp))
}

/// The turn of the next task that becomes ready, for each of these flows and priorities.
pub(super) fn next_turns(
    connection: &Connection,
    queues: &[(Key, Priority)],
) -> Result<Vec<i64>, QueryError> {
    let queues = queues
        .iter()
        .map(|(flow, priority)| (flow.0, priority.number()));
    each(connection, NEXT_TURN, queues, |row| Ok(row.get(0)?))
}

/// The roots of those of these flows none of whose tasks is queued.
pub(super) fn at_rest(connection: &Connection, flows: &[Key]) -> Result<Vec<Row>, QueryError> {
    of_each_key(connection, AT_REST, flows, row)
}

/// The first failed tasks of a flow, with their messages.
pub(super) fn failures(
    connection: &Connection,
    flow: Key,
    limit: usize,
) -> Result<Failures, QueryError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let failed = State::Failed.number();
    all(
        connection,
        FAILURES,
        params![flow.0, limit, failed],
        |row| Ok((task_id(row.get(0)?)?, row.get(1)?)),
    )
}

/// Flows that rest and have not changed since a time.
pub(super) fn resting(
    connection: &Connection,
    since: Timestamp,
    limit: usize,
) -> Result<Vec<Key>, QueryError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let parameters = [since.as_millisecond(), limit];
    all(connection, RESTING, parameters, |row| Ok(Key(row.get(0)?)))
}

/// The number of the last entry of a journal.
pub(super) fn last_announced(connection: &Connection, flow: Key) -> Result<u64, QueryError> {
    let mut statement = connection.prepare_cached(LAST_ANNOUNCED)?;
    let last: Option<i64> = statement.query_row([flow.0], |row| row.get(0))?;
    Ok(last.unwrap_or_default().cast_unsigned())
}

/// Entries of a journal.
pub(super) fn announcements(
    connection: &Connection,
    flow: Key,
    after: u64,
    limit: usize,
) -> Result<JournalPage, QueryError> {
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    all(connection, ANNOUNCEMENTS, [flow.0, after, limit], |row| {
        let number: i64 = row.get(0)?;
        let task: Option<[u8; 16]> = row.get(2)?;
        let what = Announcement::from_number(row.get(4)?);
        let announced = Announced {
            flow: Key(row.get(1)?),
            task: task.map(task_id).transpose()?,
            at: timestamp(row.get(3)?),
            what: what.ok_or(QueryError::Unreadable)?,
            state: state(row.get(5)?)?,
            progress: row.get(6)?,
        };
        Ok((number.cast_unsigned(), announced))
    })
}

/// Runs a query with each of these parameters.
fn each<T, P: Params>(
    connection: &Connection,
    sql: &str,
    parameters: impl Iterator<Item = P>,
    read: impl Fn(&rusqlite::Row<'_>) -> Result<T, QueryError>,
) -> Result<Vec<T>, QueryError> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut found = Vec::new();
    for parameters in parameters {
        let mut rows = statement.query(parameters)?;
        while let Some(row) = rows.next()? {
            found.push(read(row)?);
        }
    }
    Ok(found)
}

fn of_each_key<T>(
    connection: &Connection,
    sql: &str,
    keys: &[Key],
    read: impl Fn(&rusqlite::Row<'_>) -> Result<T, QueryError>,
) -> Result<Vec<T>, QueryError> {
    each(connection, sql, keys.iter().map(|key| [key.0]), read)
}

fn all<T>(
    connection: &Connection,
    sql: &str,
    parameters: impl Params,
    read: impl Fn(&rusqlite::Row<'_>) -> Result<T, QueryError>,
) -> Result<Vec<T>, QueryError> {
    each(connection, sql, std::iter::once(parameters), read)
}

fn text_of_task(row: &rusqlite::Row<'_>) -> Result<(Key, Arc<str>), QueryError> {
    Ok((Key(row.get(0)?), row.get(1)?))
}
