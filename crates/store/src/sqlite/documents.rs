//! SQL statements for documents.

use panpan_runtime::ports::{Applied, Change, Document};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::Value;

use super::errors::QueryError;
use super::json;

const GET: &str = "SELECT id, version, body FROM documents WHERE collection = ?1 AND id = ?2";

const LIST: &str = "
    SELECT id, version, body FROM documents WHERE collection = ?1 ORDER BY id LIMIT ?2";

const LIST_AFTER: &str = "
    SELECT id, version, body FROM documents WHERE collection = ?1 AND id > ?3 ORDER BY id LIMIT ?2";

const VERSION: &str = "SELECT version FROM documents WHERE collection = ?1 AND id = ?2";

const NEXT_VERSION: &str = "UPDATE versions SET last = last + 1 RETURNING last";

const PUT: &str = "
    INSERT INTO documents (collection, id, version, body) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (collection, id) DO UPDATE SET version = excluded.version, body = excluded.body";

const DELETE: &str = "DELETE FROM documents WHERE collection = ?1 AND id = ?2";

/// The document, if there is one.
pub(super) fn get(
    connection: &Connection,
    collection: &str,
    id: &str,
) -> Result<Option<Document>, QueryError> {
    let mut statement = connection.prepare_cached(GET)?;
    let mut rows = statement.query([collection, id])?;
    rows.next()?.map(document).transpose()
}

/// Documents in the order of their ids.
pub(super) fn list(
    connection: &Connection,
    collection: &str,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<Document>, QueryError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let sql = if after.is_some() { LIST_AFTER } else { LIST };
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = match after {
        Some(after) => statement.query(params![collection, limit, after])?,
        None => statement.query(params![collection, limit])?,
    };
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(document(row)?);
    }
    Ok(found)
}

fn document(row: &Row<'_>) -> Result<Document, QueryError> {
    let text = row
        .get_ref(2)?
        .as_str()
        .map_err(|_| QueryError::Unreadable)?;
    Ok(Document {
        id: row.get(0)?,
        version: row.get::<_, i64>(1)?.cast_unsigned(),
        body: json::read(text)?,
    })
}

/// Applies every change or none. A conflict rolls back this batch only, not other jobs in the same
/// transaction.
pub(super) fn apply(connection: &Connection, changes: &[Change]) -> Result<Applied, QueryError> {
    let run = |sql: &str| connection.prepare_cached(sql)?.execute([]);
    run("SAVEPOINT changes")?;
    let applied = apply_all(connection, changes)?;
    if matches!(applied, Applied::Conflict { .. }) {
        run("ROLLBACK TO changes")?;
    }
    run("RELEASE changes")?;
    Ok(applied)
}

fn apply_all(connection: &Connection, changes: &[Change]) -> Result<Applied, QueryError> {
    let mut versions = Vec::with_capacity(changes.len());
    for (number, change) in changes.iter().enumerate() {
        let found = version(connection, change)?;
        if !change.expect.is_met_by(found) {
            let change = number;
            return Ok(Applied::Conflict { change, found });
        }
        versions.push(apply_one(connection, change)?);
    }
    Ok(Applied::All(versions))
}

fn version(connection: &Connection, change: &Change) -> Result<Option<u64>, QueryError> {
    let mut statement = connection.prepare_cached(VERSION)?;
    let version = statement.query_row([&change.collection, &change.id], |row| row.get(0));
    Ok(version.optional()?.map(i64::cast_unsigned))
}

fn apply_one(connection: &Connection, change: &Change) -> Result<Option<u64>, QueryError> {
    let Some(body) = &change.body else {
        let mut delete = connection.prepare_cached(DELETE)?;
        delete.execute([&change.collection, &change.id])?;
        return Ok(None);
    };
    put(connection, change, body).map(Some)
}

fn put(connection: &Connection, change: &Change, body: &Value) -> Result<u64, QueryError> {
    let mut next_version = connection.prepare_cached(NEXT_VERSION)?;
    let version: i64 = next_version.query_row([], |row| row.get(0))?;
    let mut put = connection.prepare_cached(PUT)?;
    put.execute(params![
        change.collection,
        change.id,
        version,
        body.to_string()
    ])?;
    Ok(version.cast_unsigned())
}
