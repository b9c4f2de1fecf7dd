//! How large the file may become, and what gives way when it cannot grow: first the oldest recordings, then a
//! reserve that is there for outcomes and tokens alone.
//!
//! The reserve is twofold: so many pages beyond the size of the file, and a file beside it that is deleted when
//! the disk is full.

use std::fs;
use std::io::{self, Read as _};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use panpan_runtime::ports::StoreState;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::errors::Trouble;
use super::open::{Place, private};

/// How large the file may become when nothing else is said, in bytes.
pub const DEFAULT_SIZE_BYTES: u64 = 1024 * 1024 * 1024;

/// The least size that is of use, in bytes.
pub const SMALLEST_SIZE_BYTES: u64 = 16 * 1024 * 1024;

/// The part of the file that recordings may take.
const RECORDINGS_PART: u64 = 4;

/// How much further recordings are cut back than they have to be, as a part of what they may take: cutting
/// them back a little with every batch would cost more.
const CUT_PART: u64 = 16;

/// What is kept in reserve, in bytes.
pub const RESERVE_BYTES: u64 = 4 * 1024 * 1024;

/// How much has to be free before the reserve is no longer needed, in bytes.
const SLACK_BYTES: u64 = 256 * 1024;

/// How many recordings are deleted at once.
const DELETED_AT_ONCE: u64 = 64;

const RECORDINGS: &str = "SELECT recordings FROM sizes";

const DELETE_OLDEST: &str = "
    DELETE FROM recordings WHERE id IN (SELECT id FROM recordings ORDER BY at, id LIMIT ?1)";

/// How many bytes recordings may take in a file of this size.
pub(super) fn recordings_limit(size_bytes: u64) -> u64 {
    size_bytes / RECORDINGS_PART
}

/// Lets the file of a connection grow to this size and no further.
pub(super) fn limit(connection: &Connection, size_bytes: u64) -> rusqlite::Result<()> {
    let pages = size_bytes / number(connection, "page_size")?.max(1);
    let pages = u32::try_from(pages).unwrap_or(u32::MAX - 1);
    connection.pragma_update(None, "max_page_count", pages.max(1))
}

/// Deletes the oldest recordings if all of them take more than they may. Tells how many bytes of the file are
/// in use, and how many of them by recordings.
pub(super) fn cut_back(connection: &Connection, limit_bytes: u64) -> Result<(u64, u64), Trouble> {
    if recordings(connection)? > limit_bytes {
        delete_oldest(connection, limit_bytes - limit_bytes / CUT_PART)?;
    }
    look(connection)
}

/// Gives the reserve up: the file may grow by as much, and so may everything on its disk.
pub(super) fn give_up(connection: &Connection, place: &Place) -> Result<(), Trouble> {
    // What is not there any more was given up by another process.
    let _ = fs::remove_file(place.reserve());
    let size_bytes = place.size_bytes().max(file_bytes(connection)?);
    Ok(limit(connection, size_bytes.saturating_add(RESERVE_BYTES))?)
}

/// Puts the reserve back, for which the oldest recordings give way; `false` when there is no room for it.
pub(super) fn put_back(connection: &Connection, place: &Place) -> Result<bool, Trouble> {
    let size_bytes = place.size_bytes();
    let (used, recordings) = look(connection)?;
    let lacking = used.saturating_add(SLACK_BYTES).saturating_sub(size_bytes);
    if lacking > 0 {
        delete_oldest(connection, recordings.saturating_sub(lacking))?;
        if look(connection)?.0 > size_bytes {
            return Ok(false);
        }
    }
    limit(connection, size_bytes)?;
    Ok(make(place))
}

/// Makes the file that is kept in reserve, of real bytes; `false` when there is no room for it. Where it cannot
/// be made for another reason, the store does without.
fn make(place: &Place) -> bool {
    let path = place.reserve();
    if fs::metadata(&path).is_ok_and(|it| it.len() == RESERVE_BYTES) {
        return true;
    }
    let opened = private().create(true).truncate(true).open(&path);
    let made = opened.and_then(|mut file| {
        io::copy(&mut io::repeat(0).take(RESERVE_BYTES), &mut file)?;
        file.sync_all()
    });
    let is_full = made.is_err_and(|error| error.kind() == io::ErrorKind::StorageFull);
    if is_full {
        let _ = fs::remove_file(&path);
    }
    !is_full
}

/// How large the file is, in bytes.
pub(super) fn file_bytes(connection: &Connection) -> rusqlite::Result<u64> {
    Ok(number(connection, "page_count")? * number(connection, "page_size")?)
}

/// How many bytes of the file are in use, and how many of them by recordings.
fn look(connection: &Connection) -> Result<(u64, u64), Trouble> {
    let pages = number(connection, "page_count")?;
    let used = pages.saturating_sub(number(connection, "freelist_count")?);
    let page_bytes = number(connection, "page_size")?;
    Ok((used * page_bytes, recordings(connection)?))
}

fn recordings(connection: &Connection) -> Result<u64, Trouble> {
    let mut statement = connection.prepare_cached(RECORDINGS)?;
    let taken: i64 = statement.query_row([], |row| row.get(0))?;
    Ok(u64::try_from(taken).unwrap_or_default())
}

/// Deletes the oldest recordings until those that are left take so much at most.
fn delete_oldest(connection: &Connection, left_bytes: u64) -> Result<(), Trouble> {
    let behaviour = TransactionBehavior::Immediate;
    let transaction = Transaction::new_unchecked(connection, behaviour)?;
    while recordings(&transaction)? > left_bytes {
        let mut delete = transaction.prepare_cached(DELETE_OLDEST)?;
        if delete.execute([DELETED_AT_ONCE.cast_signed()])? == 0 {
            break;
        }
    }
    Ok(transaction.commit()?)
}

fn number(connection: &Connection, pragma: &str) -> rusqlite::Result<u64> {
    let mut statement = connection.prepare_cached(&format!("PRAGMA {pragma}"))?;
    let number: i64 = statement.query_row([], |row| row.get(0))?;
    Ok(u64::try_from(number).unwrap_or_default())
}

/// What is known about the room in the file: the writer finds out, and anyone may ask.
#[derive(Debug, Default)]
pub(super) struct Gauge {
    used: AtomicU64,
    recordings: AtomicU64,
    /// Whether the reserve was given up.
    is_full: AtomicBool,
}

impl Gauge {
    pub(super) fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Acquire)
    }

    pub(super) fn set_full(&self, is_full: bool) {
        self.is_full.store(is_full, Ordering::Release);
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
