//! Bounds the number of recordings, and tells how much space the tables take.
//!
//! PostgreSQL has no size limit of its own: the operator gives it a disk.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use panpan_runtime::ports::StoreState;
use tokio_postgres::types::Type;

use super::errors::QueryError;
use super::session::Session;
use super::text::{column, number};

/// The most recordings that a PostgreSQL store keeps between two sweeps; a sweep deletes the oldest beyond it.
pub const POSTGRES_RECORDINGS_LIMIT: u64 = 250_000;

/// How many recordings one statement deletes.
const TRIM_BATCH: u64 = 2048;

/// How many such statements one sweep runs: more than can be written between two sweeps.
const TRIM_ROUNDS: usize = 16;

// Ids rise with every recording, so there are at most as many recordings as ids in use. Counting rows would read
// the whole table.
const TRIM: &str = "
    WITH due AS MATERIALIZED (
        SELECT id FROM panpan.recordings
        WHERE id <= (SELECT max(id) FROM panpan.recordings) - $1
        ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED),
    deleted AS (DELETE FROM panpan.recordings USING due WHERE recordings.id = due.id RETURNING 1)
    SELECT count(*) FROM deleted";

const SIZES: &str = "
    SELECT sum(pg_total_relation_size(pg_class.oid))::bigint,
           sum(pg_total_relation_size(pg_class.oid)) FILTER (WHERE relname = 'recordings')::bigint
    FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace
    WHERE nspname = 'panpan' AND relkind = 'r'";

/// Deletes the oldest recordings beyond the limit; returns how many.
pub(super) async fn trim_recordings(session: &Session, limit: u64) -> Result<u64, QueryError> {
    let (limit, batch) = (limit.cast_signed(), TRIM_BATCH.cast_signed());
    let parameters = [(&limit as _, Type::INT8), (&batch as _, Type::INT8)];
    let mut trimmed = 0;
    for _ in 0..TRIM_ROUNDS {
        let rows = session.rows(TRIM, &parameters).await?;
        let deleted: u64 = number(rows.first().ok_or(QueryError::Unreadable)?, 0)?;
        trimmed += deleted;
        if deleted < TRIM_BATCH {
            break;
        }
    }
    Ok(trimmed)
}

/// The bytes that all tables take, and those that recordings take.
pub(super) async fn sizes(session: &Session) -> Result<(u64, u64), QueryError> {
    let rows = session.rows(SIZES, &[]).await?;
    let row = rows.first().ok_or(QueryError::Unreadable)?;
    let size = |bytes: Option<i64>| u64::try_from(bytes.unwrap_or(0)).unwrap_or(0);
    Ok((size(column(row, 0)?), size(column(row, 1)?)))
}

/// The last known use of space, read by any thread.
#[derive(Debug, Default)]
pub(super) struct Gauge {
    used: AtomicU64,
    recordings: AtomicU64,
    /// Whether the last write failed because the disk of the database is full.
    is_full: AtomicBool,
}

impl Gauge {
    pub(super) fn set_full(&self, is_full: bool) {
        self.is_full.store(is_full, Ordering::Relaxed);
    }

    pub(super) fn set_used(&self, (used, recordings): (u64, u64)) {
        self.used.store(used, Ordering::Relaxed);
        self.recordings.store(recordings, Ordering::Relaxed);
    }

    pub(super) fn state(&self) -> StoreState {
        StoreState {
            used_bytes: self.used.load(Ordering::Relaxed),
            recordings_bytes: self.recordings.load(Ordering::Relaxed),
            is_full: self.is_full.load(Ordering::Relaxed),
            ..StoreState::default()
        }
    }
}
