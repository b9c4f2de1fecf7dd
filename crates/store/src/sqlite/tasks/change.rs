//! SQL statements that change tasks.

use std::sync::Arc;

use panpan_flow::Announcement;
use panpan_flow::ports::{Announced, Edge, Key, NewRow, Redefined, Row, StoredOutcome};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::super::errors::QueryError;
use super::select::first_turn;

const RESERVE: &str = "UPDATE task_keys SET last = last + ?1 RETURNING last";

const INSERT: &str = "
    INSERT INTO tasks (key, id, flow, parent, owner, user_id, priority, turn, created_at,
        has_references, state, generation, epoch, attempts, recoveries, is_held, is_released,
        waiting, queued, due_at, progress, updated_at, started_at, completed_at, operation)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19,
        ?20, ?21, ?22, ?23, ?24, ?25)";

const DEFINE: &str = "INSERT INTO task_definitions (task, text, authority) VALUES (?1, ?2, ?3)";

const DEPEND: &str = "
    INSERT INTO task_dependencies (task, depends_on, required) VALUES (?1, ?2, ?3)";

const SAVE: &str = "
    UPDATE tasks SET aside = NULL, turn = ?2, state = ?3, generation = ?4, epoch = ?5, attempts = ?6,
        recoveries = ?7, is_held = ?8, is_released = ?9, waiting = ?10, queued = ?11, due_at = ?12,
        progress = ?13, updated_at = ?14, started_at = ?15, completed_at = ?16
    WHERE key = ?1";

const REDEFINE: &str = "UPDATE task_definitions SET text = ?2 WHERE task = ?1";

const REORDER: &str = "
    UPDATE tasks SET priority = ?2, user_id = ?3, operation = ?4 WHERE key = ?1";

const AUTHORIZE: &str = "
    UPDATE task_definitions SET authority = ?2
    WHERE task IN (SELECT key FROM tasks WHERE flow = ?1) AND authority IS NOT ?2";

const MARK_REFERENCED: &str = "UPDATE tasks SET has_references = 1 WHERE key = ?1";

const DELETES: [&str; 5] = [
    "DELETE FROM tasks WHERE key = ?1",
    "DELETE FROM task_definitions WHERE task = ?1",
    "DELETE FROM task_dependencies WHERE task = ?1",
    "DELETE FROM task_outcomes WHERE task = ?1",
    "DELETE FROM task_histories WHERE task = ?1",
];

const DELETE_JOURNAL: &str = "DELETE FROM task_journal WHERE flow = ?1";

const KEEP: &str = "
    INSERT INTO task_outcomes (task, generation, at, attempts, state, error, text)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

const SET_HISTORY: &str = "
    INSERT INTO task_histories (task, text) VALUES (?1, ?2)
    ON CONFLICT (task) DO UPDATE SET text = excluded.text";

const PROMOTE: &str = concat!(
    "UPDATE tasks SET queued = 1, due_at = NULL, turn = coalesce(",
    first_turn!("tasks.priority"),
    ", 1) WHERE key IN (
        SELECT key FROM tasks WHERE queued = 2 AND due_at <= ?1 ORDER BY due_at LIMIT ?2)"
);

const SET_ASIDE: &str = "UPDATE tasks SET aside = ?2 WHERE key = ?1 AND queued = 1";

const RECALL: &str = "
    UPDATE tasks SET aside = NULL WHERE key IN (
        SELECT key FROM tasks WHERE aside = ?1 ORDER BY priority, turn, key LIMIT ?2)
    RETURNING key";

const ANNOUNCE: &str = "
    INSERT INTO task_journal (flow, task, at, what, state, progress)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

const LAST_TO_DROP: &str = "
    SELECT number FROM task_journal WHERE flow = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2";

const DROP_JOURNAL: &str = "DELETE FROM task_journal WHERE flow = ?1 AND number < ?2";

const MARK_DROPPED: &str = "UPDATE task_journal SET what = ?2 WHERE number = ?1";

/// New keys.
pub(super) fn reserve(connection: &Connection, count: usize) -> Result<Vec<Key>, QueryError> {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(RESERVE)?;
    let last: i64 = statement.query_row([count], |row| row.get(0))?;
    Ok((last - count + 1..=last).map(Key).collect())
}

/// Adds tasks with their definitions and dependencies.
pub(super) fn insert(connection: &Connection, tasks: &[NewRow]) -> Result<(), QueryError> {
    let mut insert = connection.prepare_cached(INSERT)?;
    let mut define = connection.prepare_cached(DEFINE)?;
    let mut depend = connection.prepare_cached(DEPEND)?;
    for task in tasks {
        let (row, run) = (&task.row, &task.row.run);
        let (queued, due_at) = run.queued.parts();
        insert.execute(params![
            row.key.0,
            row.id.uuid().into_bytes(),
            row.flow.0,
            row.parent.map(|it| it.0),
            row.owner.as_deref(),
            task.user_id,
            row.priority.number(),
            row.turn,
            row.created_at.as_millisecond(),
            row.has_references,
            run.state.number(),
            run.generation,
            run.epoch.cast_signed(),
            run.attempts,
            run.recoveries,
            run.is_held,
            run.is_released,
            run.waiting,
            queued,
            due_at.map(|it| it.as_millisecond()),
            run.progress,
            run.updated_at.as_millisecond(),
            run.started_at.map(|it| it.as_millisecond()),
            run.completed_at.map(|it| it.as_millisecond()),
            row.operation,
        ])?;
        define.execute(params![row.key.0, task.definition, task.authority])?;
        for edge in &task.dependencies {
            depend.execute(params![edge.task.0, edge.on.0, edge.required])?;
        }
    }
    Ok(())
}

/// Writes the turns and runs of tasks.
pub(super) fn save(connection: &Connection, rows: &[Row]) -> Result<(), QueryError> {
    let mut save = connection.prepare_cached(SAVE)?;
    for row in rows {
        let run = &row.run;
        let (queued, due_at) = run.queued.parts();
        save.execute(params![
            row.key.0,
            row.turn,
            run.state.number(),
            run.generation,
            run.epoch.cast_signed(),
            run.attempts,
            run.recoveries,
            run.is_held,
            run.is_released,
            run.waiting,
            queued,
            due_at.map(|it| it.as_millisecond()),
            run.progress,
            run.updated_at.as_millisecond(),
            run.started_at.map(|it| it.as_millisecond()),
            run.completed_at.map(|it| it.as_millisecond()),
        ])?;
    }
    Ok(())
}

/// Replaces a definition.
pub(super) fn redefine(
    connection: &Connection,
    key: Key,
    redefined: &Redefined,
) -> Result<(), QueryError> {
    let mut statement = connection.prepare_cached(REDEFINE)?;
    statement.execute(params![key.0, redefined.definition])?;
    connection.prepare_cached(REORDER)?.execute(params![
        key.0,
        redefined.priority.number(),
        redefined.user_id,
        redefined.operation,
    ])?;
    Ok(())
}

/// Replaces the authority of a flow.
pub(super) fn authorize(
    connection: &Connection,
    flow: Key,
    authority: Option<&str>,
) -> Result<(), QueryError> {
    let mut statement = connection.prepare_cached(AUTHORIZE)?;
    statement.execute(params![flow.0, authority])?;
    Ok(())
}

/// Notes that other tasks refer to these as their originals.
pub(super) fn mark_referenced(connection: &Connection, keys: &[Key]) -> Result<(), QueryError> {
    let mut statement = connection.prepare_cached(MARK_REFERENCED)?;
    for key in keys {
        statement.execute([key.0])?;
    }
    Ok(())
}

/// Deletes tasks. With its root, the journal of a flow is deleted.
pub(super) fn delete(connection: &Connection, keys: &[Key]) -> Result<(), QueryError> {
    for sql in DELETES.into_iter().chain([DELETE_JOURNAL]) {
        let mut statement = connection.prepare_cached(sql)?;
        for key in keys {
            statement.execute([key.0])?;
        }
    }
    Ok(())
}

/// Replaces the dependencies of a task.
pub(super) fn replace_dependencies(
    connection: &Connection,
    task: Key,
    edges: &[Edge],
) -> Result<(), QueryError> {
    let delete = "DELETE FROM task_dependencies WHERE task = ?1";
    connection.prepare_cached(delete)?.execute([task.0])?;
    let mut depend = connection.prepare_cached(DEPEND)?;
    for edge in edges {
        depend.execute(params![edge.task.0, edge.on.0, edge.required])?;
    }
    Ok(())
}

/// Keeps outcomes.
pub(super) fn keep(connection: &Connection, outcomes: &[StoredOutcome]) -> Result<(), QueryError> {
    let mut keep = connection.prepare_cached(KEEP)?;
    for outcome in outcomes {
        let (error, text) = outcome.ending.parts();
        keep.execute(params![
            outcome.key.0,
            outcome.generation,
            outcome.at.as_millisecond(),
            outcome.attempts,
            outcome.ending.state().number(),
            error,
            text,
        ])?;
    }
    Ok(())
}

/// Deletes the outcomes of a task up to a generation.
pub(super) fn forget_generations(
    connection: &Connection,
    key: Key,
    last: u32,
) -> Result<(), QueryError> {
    let sql = "DELETE FROM task_outcomes WHERE task = ?1 AND generation <= ?2";
    connection
        .prepare_cached(sql)?
        .execute(params![key.0, last])?;
    Ok(())
}

/// Replaces or deletes the histories of tasks.
pub(super) fn set_histories(
    connection: &Connection,
    histories: &[(Key, Option<Arc<str>>)],
) -> Result<(), QueryError> {
    let mut set = connection.prepare_cached(SET_HISTORY)?;
    let mut delete = connection.prepare_cached("DELETE FROM task_histories WHERE task = ?1")?;
    for (key, history) in histories {
        match history {
            Some(text) => set.execute(params![key.0, text])?,
            None => delete.execute([key.0])?,
        };
    }
    Ok(())
}

/// Makes tasks ready whose time has come.
pub(super) fn promote(
    connection: &Connection,
    limit: usize,
    now_ms: i64,
) -> Result<(), QueryError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    connection
        .prepare_cached(PROMOTE)?
        .execute([now_ms, limit])?;
    Ok(())
}

/// Sets ready tasks aside.
pub(super) fn set_aside(
    connection: &Connection,
    keys: &[Key],
    group: &str,
) -> Result<(), QueryError> {
    let mut statement = connection.prepare_cached(SET_ASIDE)?;
    for key in keys {
        statement.execute(params![key.0, group])?;
    }
    Ok(())
}

/// Returns tasks of a group to the other ready ones.
pub(super) fn recall(
    connection: &Connection,
    group: &str,
    limit: usize,
) -> Result<Vec<Key>, QueryError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(RECALL)?;
    let recalled = statement.query_map(params![group, limit], |row| row.get(0).map(Key))?;
    Ok(recalled.collect::<Result<_, _>>()?)
}

/// Appends entries to journals.
pub(super) fn announce(connection: &Connection, announced: &[Announced]) -> Result<(), QueryError> {
    let mut statement = connection.prepare_cached(ANNOUNCE)?;
    for entry in announced {
        statement.execute(params![
            entry.flow.0,
            entry.task.map(|id| id.uuid().into_bytes()),
            entry.at.as_millisecond(),
            entry.what.number(),
            entry.state.number(),
            entry.progress,
        ])?;
    }
    Ok(())
}

/// Drops the oldest entries of a journal.
pub(super) fn trim_journal(
    connection: &Connection,
    flow: Key,
    keep: usize,
) -> Result<(), QueryError> {
    let keep = i64::try_from(keep).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(LAST_TO_DROP)?;
    let last = statement.query_row([flow.0, keep], |row| row.get::<_, i64>(0));
    if let Some(last) = last.optional()? {
        let mut drop = connection.prepare_cached(DROP_JOURNAL)?;
        drop.execute([flow.0, last])?;
        let mut mark = connection.prepare_cached(MARK_DROPPED)?;
        mark.execute(params![last, Announcement::Dropped.number()])?;
    }
    Ok(())
}
