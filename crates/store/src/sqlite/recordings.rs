//! SQL statements for recordings, counts and sweeping.

use jiff::Timestamp;
use panpan_contract::recording::Recording;
use panpan_failure::Code;
use panpan_runtime::ports::{Count, Counts, Swept};
use rusqlite::{Connection, OptionalExtension, Row, params};
use uuid::Uuid;

use super::errors::QueryError;
use super::json;
use crate::SWEEP_LIMIT;
use crate::time::timestamp;

const WRITE: &str = "
    INSERT INTO recordings (call, at, operation, code, recording)
    VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT (call) DO UPDATE SET at = excluded.at, operation = excluded.operation,
        code = excluded.code, recording = excluded.recording";

const FIND: &str = "SELECT recording FROM recordings WHERE call = ?1";

const RECENT: &str = "SELECT recording FROM recordings ORDER BY at DESC, id DESC LIMIT ?1";

const RECENT_FAILED: &str = "
    SELECT recording FROM recordings WHERE code IS NOT NULL ORDER BY at DESC, id DESC LIMIT ?1";

const ADD: &str = "
    INSERT INTO counts (operation, code, hour, calls, retried, replayed)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (operation, code, hour) DO UPDATE SET
        calls = min(calls + excluded.calls, ?7),
        retried = min(retried + excluded.retried, ?7),
        replayed = min(replayed + excluded.replayed, ?7)";

const COUNTS: &str = "
    SELECT operation, code, hour, calls, retried, replayed FROM counts
    WHERE hour >= ?1 ORDER BY operation, code, hour";

const SWEEP_EARLIER: &str = "
    DELETE FROM earlier WHERE key IN (
        SELECT id FROM keys WHERE expires_at <= ?1 ORDER BY expires_at, id LIMIT ?2)";

const SWEEP_KEYS: &str = "
    DELETE FROM keys WHERE id IN (
        SELECT id FROM keys WHERE expires_at <= ?1 ORDER BY expires_at, id LIMIT ?2)";

const SWEEP_RECORDINGS: &str = "
    DELETE FROM recordings WHERE id IN (
        SELECT id FROM recordings WHERE at < ?1 ORDER BY at, id LIMIT ?2)";

const SWEEP_COUNTS: &str = "
    DELETE FROM counts WHERE id IN (
        SELECT id FROM counts WHERE hour < ?1 ORDER BY hour, id LIMIT ?2)";

/// Writes a recording; replaces an earlier recording of the same call.
pub(super) fn write(connection: &Connection, recording: &Recording) -> Result<(), QueryError> {
    let text = serde_json::to_string(recording).map_err(|_| QueryError::Unreadable)?;
    connection.prepare_cached(WRITE)?.execute(params![
        recording.id.as_bytes(),
        recording.at.as_microsecond(),
        recording.operation,
        recording.code().map(Code::as_str),
        text,
    ])?;
    Ok(())
}

/// The recording of a call.
pub(super) fn find(connection: &Connection, call: Uuid) -> Result<Option<Recording>, QueryError> {
    let mut statement = connection.prepare_cached(FIND)?;
    let text = statement.query_row([call.as_bytes()], |row| row.get::<_, String>(0));
    text.optional()?.map(|text| json::read(&text)).transpose()
}

/// The newest recordings; skips those that cannot be decoded.
pub(super) fn recent(
    connection: &Connection,
    limit: usize,
    failed_only: bool,
) -> Result<Vec<Recording>, QueryError> {
    let sql = if failed_only { RECENT_FAILED } else { RECENT };
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([i64::try_from(limit).unwrap_or(i64::MAX)])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let text = row
            .get_ref(0)?
            .as_str()
            .map_err(|_| QueryError::Unreadable)?;
        found.extend(json::read::<Recording>(text).ok());
    }
    Ok(found)
}

/// Adds a count to the stored count.
pub(super) fn add(connection: &Connection, count: &Count) -> Result<(), QueryError> {
    let bounded = |number: u64| number.min(Counts::LIMIT).cast_signed();
    connection.prepare_cached(ADD)?.execute(params![
        count.operation,
        count.code.as_ref().map_or("", Code::as_str),
        count.hour.as_millisecond(),
        bounded(count.calls),
        bounded(count.retried),
        bounded(count.replayed),
        Counts::LIMIT.cast_signed(),
    ])?;
    Ok(())
}

/// The counts of all hours that start at `since` or later.
pub(super) fn counts(connection: &Connection, since: Timestamp) -> Result<Vec<Count>, QueryError> {
    let mut statement = connection.prepare_cached(COUNTS)?;
    let mut rows = statement.query([since.as_millisecond()])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(count(row)?);
    }
    Ok(found)
}

fn count(row: &Row<'_>) -> Result<Count, QueryError> {
    let code: String = row.get(1)?;
    let code = Some(code).filter(|code| !code.is_empty());
    let code = code.map(Code::new).transpose();
    let number = |column| row.get::<_, i64>(column).map(i64::cast_unsigned);
    Ok(Count {
        operation: row.get(0)?,
        code: code.map_err(|_| QueryError::Unreadable)?,
        hour: timestamp(row.get(2)?),
        calls: number(3)?,
        retried: number(4)?,
        replayed: number(5)?,
    })
}

/// Deletes a bounded number of expired keys and of old recordings and counts.
pub(super) fn sweep(
    connection: &Connection,
    recordings_before: Timestamp,
    now_ms: i64,
) -> Result<Swept, QueryError> {
    let delete = |sql: &str, before: i64| -> Result<u64, QueryError> {
        let mut statement = connection.prepare_cached(sql)?;
        Ok(statement.execute(params![before, SWEEP_LIMIT as i64])? as u64)
    };
    delete(SWEEP_EARLIER, now_ms)?;
    Ok(Swept {
        keys: delete(SWEEP_KEYS, now_ms)?,
        recordings: delete(SWEEP_RECORDINGS, recordings_before.as_microsecond())?,
        counts: delete(SWEEP_COUNTS, recordings_before.as_millisecond())?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_use_an_index_and_never_sort() {
        let connection = Connection::open_in_memory().unwrap();
        crate::sqlite::schema::migrate(&connection).unwrap();
        for (sql, index) in [
            (FIND, "recordings_call"),
            (RECENT, "recordings_at"),
            (RECENT_FAILED, "recordings_failed"),
            (SWEEP_EARLIER, "keys_expiring"),
            (SWEEP_KEYS, "keys_expiring"),
            (SWEEP_RECORDINGS, "recordings_at"),
            (SWEEP_COUNTS, "counts_hour"),
        ] {
            let mut plan = connection
                .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
                .unwrap();
            let nulls = vec![rusqlite::types::Null; plan.parameter_count()];
            let steps = plan
                .query_map(rusqlite::params_from_iter(nulls), |row| {
                    row.get::<_, String>(3)
                })
                .unwrap();
            let plan: Vec<String> = steps.map(Result::unwrap).collect();
            let plan = plan.join("; ");
            assert!(
                plan.contains(index) && !plan.contains("TEMP B-TREE"),
                "{plan}"
            );
        }
    }
}
