//! Limits the size of the file. When the file cannot grow, the oldest recordings are deleted first; then a
//! reserve is released, for outcomes and tokens only.
//!
//! The reserve has two parts: pages beyond the size limit of the file, and a reserve file next to it that is
//! deleted when the disk is full.

use std::fs;
use std::io::{self, Read as _};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use panpan_runtime::ports::StoreState;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::errors::QueryError;
use super::open::{DatabaseFile, private_file_options};
use crate::notes::RETRY_DELAY;

/// The default size limit of the file, in bytes.
pub const DEFAULT_SIZE_BYTES: u64 = 1024 * 1024 * 1024;

/// The smallest size limit that is accepted, in bytes.
pub const SMALLEST_SIZE_BYTES: u64 = 16 * 1024 * 1024;

/// Recordings may take this fraction of the file: one quarter.
const RECORDINGS_DIVISOR: u64 = 4;

/// Tasks are added while all but recordings takes less than this fraction of the file: one half.
const TASKS_DIVISOR: u64 = 2;

/// Trimming deletes this fraction of the limit more than needed, because trimming a little with every batch
/// would cost more.
const TRIM_DIVISOR: u64 = 16;

/// The size of the reserve, in bytes.
pub const RESERVE_BYTES: u64 = 4 * 1024 * 1024;

/// How much space has to be free before the reserve is restored, in bytes.
const SLACK_BYTES: u64 = 256 * 1024;

/// How many recordings one statement deletes.
const DELETE_BATCH: u64 = 64;

const RECORDINGS_BYTES: &str = "SELECT recordings FROM sizes";

const DELETE_OLDEST: &str = "
    DELETE FROM recordings WHERE id IN (SELECT id FROM recordings ORDER BY at, id LIMIT ?1)";

/// How many bytes recordings may take in a file with this size limit.
pub(super) fn recordings_limit(size_bytes: u64) -> u64 {
    size_bytes / RECORDINGS_DIVISOR
}

/// Whether this many more bytes of tasks fit into the part of the file that tasks may fill. The rest is for the outcomes
/// of keys and of running tasks, and for tokens.
pub(super) fn has_room_for_tasks(
    connection: &Connection,
    size_bytes: u64,
    bytes: u64,
) -> Result<bool, QueryError> {
    let (used, recordings) = used_bytes(connection)?;
    let kept = used.saturating_sub(recordings);
    Ok(kept.saturating_add(bytes) < size_bytes / TASKS_DIVISOR)
}

/// Sets the size limit of the file for this connection.
pub(super) fn limit(connection: &Connection, size_bytes: u64) -> rusqlite::Result<()> {
    let pages = size_bytes / pragma(connection, "page_size")?.max(1);
    let pages = u32::try_from(pages).unwrap_or(u32::MAX - 1);
    connection.pragma_update(None, "max_page_count", pages.max(1))
}

/// Deletes the oldest recordings if they exceed their limit. Returns the bytes of the file in use, and how
/// many of them recordings take.
pub(super) fn trim_recordings(
    connection: &Connection,
    limit_bytes: u64,
) -> Result<(u64, u64), QueryError> {
    if recordings_bytes(connection)? > limit_bytes {
        delete_oldest(connection, limit_bytes - limit_bytes / TRIM_DIVISOR)?;
    }
    used_bytes(connection)
}

/// Releases the reserve: the file may grow by its size, and the disk has more space.
pub(super) fn release_reserve(
    connection: &Connection,
    file: &DatabaseFile,
) -> Result<(), QueryError> {
    // A missing reserve file was released by another process.
    let _ = fs::remove_file(file.reserve_path());
    let size_bytes = file.size_bytes().saturating_add(RESERVE_BYTES);
    Ok(limit(connection, size_bytes)?)
}

/// Restores the reserve, deleting the oldest recordings if needed; `false` if there is no space for it.
pub(super) fn restore_reserve(
    connection: &Connection,
    file: &DatabaseFile,
) -> Result<bool, QueryError> {
    let size_bytes = file.size_bytes();
    let (used, recordings) = used_bytes(connection)?;
    let lacking = used.saturating_add(SLACK_BYTES).saturating_sub(size_bytes);
    if lacking > 0 {
        delete_oldest(connection, recordings.saturating_sub(lacking))?;
        if used_bytes(connection)?.0 > size_bytes {
            return Ok(false);
        }
    }
    limit(connection, size_bytes)?;
    Ok(create_reserve_file(file))
}

/// Creates the reserve file, with real bytes; `false` if there is no space for it. If it cannot be created for
/// another reason, the store works without it.
fn create_reserve_file(file: &DatabaseFile) -> bool {
    let path = file.reserve_path();
    if fs::metadata(&path).is_ok_and(|it| it.len() == RESERVE_BYTES) {
        return true;
    }
    let opened = private_file_options()
        .create(true)
        .truncate(true)
        .open(&path);
    let written = opened.and_then(|mut file| {
        io::copy(&mut io::repeat(0).take(RESERVE_BYTES), &mut file)?;
        file.sync_all()
    });
    let is_full = written.is_err_and(|error| error.kind() == io::ErrorKind::StorageFull);
    if is_full {
        let _ = fs::remove_file(&path);
    }
    !is_full
}

/// The size of the file, in bytes.
pub(super) fn file_bytes(connection: &Connection) -> rusqlite::Result<u64> {
    Ok(pragma(connection, "page_count")? * pragma(connection, "page_size")?)
}

/// The bytes of the file in use, and how many of them recordings take.
fn used_bytes(connection: &Connection) -> Result<(u64, u64), QueryError> {
    let pages = pragma(connection, "page_count")?;
    let used = pages.saturating_sub(pragma(connection, "freelist_count")?);
    let page_bytes = pragma(connection, "page_size")?;
    Ok((used * page_bytes, recordings_bytes(connection)?))
}

fn recordings_bytes(connection: &Connection) -> Result<u64, QueryError> {
    let mut statement = connection.prepare_cached(RECORDINGS_BYTES)?;
    let taken: i64 = statement.query_row([], |row| row.get(0))?;
    Ok(u64::try_from(taken).unwrap_or_default())
}

/// Deletes the oldest recordings until the rest takes at most `left_bytes`.
fn delete_oldest(connection: &Connection, left_bytes: u64) -> Result<(), QueryError> {
    let behaviour = TransactionBehavior::Immediate;
    let transaction = Transaction::new_unchecked(connection, behaviour)?;
    while recordings_bytes(&transaction)? > left_bytes {
        let mut delete = transaction.prepare_cached(DELETE_OLDEST)?;
        if delete.execute([DELETE_BATCH.cast_signed()])? == 0 {
            break;
        }
    }
    Ok(transaction.commit()?)
}

fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<u64> {
    let mut statement = connection.prepare_cached(&format!("PRAGMA {name}"))?;
    let number: i64 = statement.query_row([], |row| row.get(0))?;
    Ok(u64::try_from(number).unwrap_or_default())
}

/// The last known use of space in the file: updated by the writer, read by any thread.
#[derive(Debug, Default)]
pub(super) struct Gauge {
    used: AtomicU64,
    recordings: AtomicU64,
    /// Whether the reserve is released.
    is_full: AtomicBool,
    /// When it was last released.
    released_at: Mutex<Option<Instant>>,
}

impl Gauge {
    pub(super) fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Acquire)
    }

    pub(super) fn set_full(&self, is_full: bool) {
        self.is_full.store(is_full, Ordering::Release);
    }

    /// Notes that the reserve was released.
    pub(super) fn set_released(&self) {
        self.set_full(true);
        *self.released_at() = Some(Instant::now());
    }

    /// Whether tasks may be added: not while the reserve is released, and not soon afterwards, because every attempt would
    /// release it again.
    pub(super) fn admits_tasks(&self) -> bool {
        let is_past = |at: Instant| at.elapsed() >= RETRY_DELAY;
        !self.is_full() && self.released_at().is_none_or(is_past)
    }

    fn released_at(&self) -> MutexGuard<'_, Option<Instant>> {
        self.released_at
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_used(&self, used: u64, recordings: u64) {
        self.used.store(used, Ordering::Relaxed);
        self.recordings.store(recordings, Ordering::Relaxed);
    }

    pub(super) fn state(&self, size_bytes: u64) -> StoreState {
        StoreState {
            used_bytes: self.used.load(Ordering::Relaxed),
            limit_bytes: Some(size_bytes),
            recordings_bytes: self.recordings.load(Ordering::Relaxed),
            recordings_limit_bytes: Some(recordings_limit(size_bytes)),
            is_full: self.is_full(),
        }
    }
}
