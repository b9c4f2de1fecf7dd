//! Tasks in SQLite: the rows of the flow port, on the connection of a transaction.
//!
//! `rows` implements the port; `select` and `change` contain the SQL, and `columns` converts rows. Nothing here waits,
//! so every future is ready at once.

mod change;
mod columns;
mod rows;
mod select;

use futures_util::FutureExt as _;
use panpan_flow::ports::Work;
use panpan_runtime::ports::StoreError;
use rusqlite::Connection;

use super::errors::QueryError;
use rows::SqliteRows;

/// Runs work in a transaction that other jobs share: an error of the work rolls back its own writes only. Tasks are added
/// to a file of this size limit, if at all.
pub(super) fn write(
    connection: &mut Connection,
    work: &mut dyn Work,
    now_ms: i64,
    size_bytes: Option<u64>,
) -> Result<Result<(), StoreError>, QueryError> {
    execute(connection, "SAVEPOINT task_work")?;
    let done = run(connection, work, now_ms, size_bytes)?;
    if done.is_err() {
        execute(connection, "ROLLBACK TO task_work")?;
    }
    execute(connection, "RELEASE task_work")?;
    Ok(done)
}

/// Runs work that only reads, on one state of the file.
pub(super) fn read(
    connection: &mut Connection,
    work: &mut dyn Work,
    now_ms: i64,
) -> Result<Result<(), StoreError>, QueryError> {
    execute(connection, "BEGIN")?;
    let done = run(connection, work, now_ms, Some(u64::MAX));
    execute(connection, "COMMIT")?;
    done
}

/// An error of SQLite is returned as such if it may concern more than this work: it ends the whole transaction, and all
/// jobs in it fail.
fn run(
    connection: &mut Connection,
    work: &mut dyn Work,
    now_ms: i64,
    size_bytes: Option<u64>,
) -> Result<Result<(), StoreError>, QueryError> {
    let mut rows = SqliteRows::new(connection, now_ms, size_bytes);
    let done = work.run(&mut rows).now_or_never();
    let done = done.expect("rows in SQLite are read and written without waiting");
    match rows.into_error() {
        Some(error) if !error.concerns_one_row() && !error.breaks_a_constraint() => Err(error),
        _ => Ok(done),
    }
}

fn execute(connection: &Connection, sql: &str) -> Result<(), QueryError> {
    connection.prepare_cached(sql)?.execute([])?;
    Ok(())
}
