//! SQL statements for recordings, counts and sweeping.

use std::collections::HashMap;

use jiff::Timestamp;
use panpan_contract::recording::Recording;
use panpan_failure::Code;
use panpan_runtime::json;
use panpan_runtime::ports::{Count, Counts, Swept};
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::errors::QueryError;
use super::session::{Parameter, Session};
use super::text::{column, now, number, without_nul};
use crate::SWEEP_LIMIT;
use crate::time::timestamp;

// Gateways that share the database add to the same counts: they lock them in the order of the counts.
const WRITE: &str = "
    WITH noted AS (
        INSERT INTO panpan.recordings (call, at, operation, code, recording)
        SELECT call, at, operation, code, recording
        FROM unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::text[], $5::text[], $6::text[])
            AS noted (number, call, at, operation, code, recording)
        ORDER BY number
        ON CONFLICT (call) DO UPDATE SET at = excluded.at, operation = excluded.operation,
            code = excluded.code, recording = excluded.recording)
    INSERT INTO panpan.counts AS known (operation, code, hour, calls, retried, replayed)
    SELECT operation, code, hour, calls, retried, replayed
    FROM unnest($7::text[], $8::text[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[])
        AS added (operation, code, hour, calls, retried, replayed)
    ORDER BY operation COLLATE \"C\", code COLLATE \"C\", hour
    ON CONFLICT (operation, code, hour) DO UPDATE SET
        calls = least(known.calls + excluded.calls, $13),
        retried = least(known.retried + excluded.retried, $13),
        replayed = least(known.replayed + excluded.replayed, $13)";

const FIND: &str = "SELECT recording FROM panpan.recordings WHERE call = $1";

const RECENT: &str = "
    SELECT recording FROM panpan.recordings ORDER BY at DESC, id DESC LIMIT $1";

const RECENT_FAILED: &str = "
    SELECT recording FROM panpan.recordings WHERE code IS NOT NULL ORDER BY at DESC, id DESC LIMIT $1";

const COUNTS: &str = "
    SELECT operation, code, hour, calls, retried, replayed FROM panpan.counts
    WHERE hour >= $1 ORDER BY operation, code, hour";

// Of several gateways that sweep at the same time, each deletes other rows.
const SWEEP_KEYS: &str = concat!(
    "
    WITH due AS MATERIALIZED (
        SELECT scope FROM panpan.keys WHERE expires_at <= ", now!(), "
        ORDER BY expires_at, scope LIMIT $2 FOR UPDATE SKIP LOCKED),
    deleted AS (DELETE FROM panpan.keys USING due WHERE keys.scope = due.scope RETURNING keys.scope),
    forgotten AS (DELETE FROM panpan.earlier USING deleted WHERE earlier.scope = deleted.scope)
    SELECT count(*) FROM deleted"
);

const SWEEP_RECORDINGS: &str = "
    WITH due AS MATERIALIZED (
        SELECT id FROM panpan.recordings WHERE at < $1 ORDER BY at, id LIMIT $2 FOR UPDATE SKIP LOCKED),
    deleted AS (DELETE FROM panpan.recordings USING due WHERE recordings.id = due.id RETURNING 1)
    SELECT count(*) FROM deleted";

const SWEEP_COUNTS: &str = "
    WITH due AS MATERIALIZED (
        SELECT operation, code, hour FROM panpan.counts WHERE hour < $1
        ORDER BY hour, operation, code LIMIT $2 FOR UPDATE SKIP LOCKED),
    deleted AS (DELETE FROM panpan.counts USING due WHERE counts.operation = due.operation
        AND counts.code = due.code AND counts.hour = due.hour RETURNING 1)
    SELECT count(*) FROM deleted";

/// Recordings as columns. One statement writes a call once, so of two recordings of a call the later one is kept.
#[derive(Default)]
pub(super) struct RecordingRows {
    numbers: Vec<i64>,
    calls: Vec<Uuid>,
    times: Vec<i64>,
    operations: Vec<String>,
    codes: Vec<Option<String>>,
    recordings: Vec<String>,
}

impl RecordingRows {
    /// The rows of numbered recordings.
    pub(super) fn of<'a>(
        recordings: impl Iterator<Item = (usize, &'a Recording)>,
    ) -> Result<Self, QueryError> {
        let mut rows = Self::default();
        let mut known: HashMap<Uuid, usize> = HashMap::new();
        for (number, recording) in recordings {
            let text = serde_json::to_string(recording).map_err(|_| QueryError::Unreadable)?;
            let code = recording.code().map(|code| code.as_str().to_owned());
            let next = rows.calls.len();
            let index = *known.entry(recording.id).or_insert(next);
            if index == next {
                rows.numbers.push(i64::try_from(number).unwrap_or(i64::MAX));
                rows.calls.push(recording.id);
                rows.times.push(recording.at.as_microsecond());
                rows.operations.push(without_nul(&recording.operation));
                rows.codes.push(code);
                rows.recordings.push(text);
            } else {
                rows.times[index] = recording.at.as_microsecond();
                rows.operations[index] = without_nul(&recording.operation);
                rows.codes[index] = code;
                rows.recordings[index] = text;
            }
        }
        Ok(rows)
    }

    /// The six parameters.
    pub(super) fn parameters(&self) -> [Parameter<'_>; 6] {
        [
            (&self.numbers, Type::INT8_ARRAY),
            (&self.calls, Type::UUID_ARRAY),
            (&self.times, Type::INT8_ARRAY),
            (&self.operations, Type::TEXT_ARRAY),
            (&self.codes, Type::TEXT_ARRAY),
            (&self.recordings, Type::TEXT_ARRAY),
        ]
    }
}

/// Writes recordings, replacing earlier recordings of the same calls, and adds counts, in one transaction.
pub(super) async fn write(
    session: &Session,
    notes: &[Recording],
    counts: &[Count],
) -> Result<(), QueryError> {
    let notes = RecordingRows::of(notes.iter().enumerate())?;
    let code = |it: &Count| it.code.as_ref().map_or("", Code::as_str).to_owned();
    let operations: Vec<String> = counts.iter().map(|it| without_nul(&it.operation)).collect();
    let codes: Vec<String> = counts.iter().map(code).collect();
    let hours: Vec<i64> = counts.iter().map(|it| it.hour.as_millisecond()).collect();
    let numbers = |of: fn(&Count) -> u64| -> Vec<i64> {
        let bounded = counts.iter().map(|it| of(it).min(Counts::LIMIT));
        bounded.map(u64::cast_signed).collect()
    };
    let (calls, retried) = (numbers(|it| it.calls), numbers(|it| it.retried));
    let (replayed, limit) = (numbers(|it| it.replayed), Counts::LIMIT.cast_signed());
    let mut parameters = notes.parameters().to_vec();
    parameters.extend([
        (&operations as _, Type::TEXT_ARRAY),
        (&codes as _, Type::TEXT_ARRAY),
        (&hours as _, Type::INT8_ARRAY),
        (&calls as _, Type::INT8_ARRAY),
        (&retried as _, Type::INT8_ARRAY),
        (&replayed as _, Type::INT8_ARRAY),
        (&limit as _, Type::INT8),
    ]);
    session.rows(WRITE, &parameters).await.map(drop)
}

/// The recording of a call.
pub(super) async fn find(session: &Session, call: Uuid) -> Result<Option<Recording>, QueryError> {
    let rows = session.rows(FIND, &[(&call, Type::UUID)]).await?;
    let recording = rows.first().map(|row| {
        let text: &str = column(row, 0)?;
        json::read(text).map_err(|_| QueryError::Unreadable)
    });
    recording.transpose()
}

/// The newest recordings; skips those that cannot be decoded.
pub(super) async fn recent(
    session: &Session,
    limit: usize,
    failed_only: bool,
) -> Result<Vec<Recording>, QueryError> {
    let sql = if failed_only { RECENT_FAILED } else { RECENT };
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = session.rows(sql, &[(&limit, Type::INT8)]).await?;
    let mut found = Vec::with_capacity(rows.len());
    for row in &rows {
        let text: &str = column(row, 0)?;
        found.extend(json::read::<Recording>(text).ok());
    }
    Ok(found)
}

/// The counts of all hours that start at `since` or later.
pub(super) async fn counts(session: &Session, since: Timestamp) -> Result<Vec<Count>, QueryError> {
    let since = since.as_millisecond();
    let rows = session.rows(COUNTS, &[(&since, Type::INT8)]).await?;
    rows.iter().map(count).collect()
}

fn count(row: &Row) -> Result<Count, QueryError> {
    let code: &str = column(row, 1)?;
    let code = Some(code).filter(|code| !code.is_empty());
    let code = code.map(|code| Code::new(code.to_owned())).transpose();
    Ok(Count {
        operation: column(row, 0)?,
        code: code.map_err(|_| QueryError::Unreadable)?,
        hour: timestamp(column(row, 2)?),
        calls: number(row, 3)?,
        retried: number(row, 4)?,
        replayed: number(row, 5)?,
    })
}

/// Deletes a bounded number of expired keys and of old recordings and counts.
pub(super) async fn sweep(
    session: &Session,
    recordings_before: Timestamp,
) -> Result<Swept, QueryError> {
    let limit = SWEEP_LIMIT as i64;
    let delete = async |sql: &str, before: Option<i64>| -> Result<u64, QueryError> {
        let parameters = [(&before as _, Type::INT8), (&limit as _, Type::INT8)];
        let rows = session.rows(sql, &parameters).await?;
        number(rows.first().ok_or(QueryError::Unreadable)?, 0)
    };
    let (recordings_us, counts_ms) = (
        recordings_before.as_microsecond(),
        recordings_before.as_millisecond(),
    );
    Ok(Swept {
        keys: delete(SWEEP_KEYS, session.now_ms()).await?,
        recordings: delete(SWEEP_RECORDINGS, Some(recordings_us)).await?,
        counts: delete(SWEEP_COUNTS, Some(counts_ms)).await?,
    })
}
