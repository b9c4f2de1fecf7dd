//! What can go wrong with a file: when it is opened, for people ([`OpenError`]), and while it is used,
//! as the port says it.

use std::io;
use std::path::PathBuf;

use panpan_runtime::ports::StoreError;
use rusqlite::ErrorCode;

/// A store could not be opened; the sentence says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The SQLite this program was built with can lose what it committed.
    #[error(
        "SQLite {} can lose what it committed: build with SQLite {} or newer",
        version_text(*found),
        version_text(super::OLDEST_SQLITE)
    )]
    OldSqlite {
        /// Its number, such as 3051002 for 3.51.2.
        found: i32,
    },
    /// The folder of the file is missing and cannot be made.
    #[error("the folder of {} cannot be made; make it, or name another place", path.display())]
    Folder {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// There is a folder where the file should be.
    #[error("{} is a folder: name a file in it", path.display())]
    IsFolder {
        /// The folder.
        path: PathBuf,
    },
    /// The file or its folder cannot be written to.
    #[error("{} cannot be written to: change the permissions of the file and of its folder", path.display())]
    NotWritable {
        /// The file.
        path: PathBuf,
    },
    /// The file is there, but it is no database.
    #[error("{} is not a database: name another file, or move this one away", path.display())]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// The file is the database of another program.
    #[error("{} belongs to another program: name another file", path.display())]
    OtherApplication {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by a newer version of this program.
    #[error(
        "{} has version {found}, and this program knows versions up to {known}: use the newer program",
        path.display()
    )]
    NewerVersion {
        /// The file.
        path: PathBuf,
        /// The version of the file.
        found: i64,
        /// The newest version that is known.
        known: i64,
    },
    /// Another process holds the lock of the file.
    #[error("{} is locked by another process: end that process, or wait for it", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// There is no room for the file.
    #[error("there is no room for {}: free some on its disk", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// The file is a database that cannot be read.
    #[error(
        "{} is damaged: put a backup in its place, or move it and its -wal file away",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// Anything else.
    #[error("{} cannot be opened ({reason}): make its place reachable and writable", path.display())]
    Unreachable {
        /// The file.
        path: PathBuf,
        /// What was said.
        reason: String,
    },
}

impl OpenError {
    /// The error for what SQLite said about this file.
    pub(super) fn of(path: PathBuf, error: &rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Self::NotADatabase { path },
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
                Self::NotWritable { path }
            }
            _ => match store_error(error) {
                StoreError::Full => Self::Full { path },
                StoreError::Locked => Self::Locked { path },
                StoreError::Damaged => Self::Damaged { path },
                StoreError::Unreachable | StoreError::Slow | StoreError::Closed => {
                    Self::Unreachable {
                        path,
                        reason: error.to_string(),
                    }
                }
            },
        }
    }

    /// The same, for callers of a store that has to be opened again.
    pub(super) fn as_store_error(&self) -> StoreError {
        match self {
            Self::Full { .. } => StoreError::Full,
            Self::Locked { .. } => StoreError::Locked,
            Self::Damaged { .. } | Self::NotADatabase { .. } => StoreError::Damaged,
            _ => StoreError::Unreachable,
        }
    }
}

/// Why a step on a connection did not succeed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// What was read is not what is ever written.
    #[error("what was read cannot be understood")]
    Unreadable,
}

impl Trouble {
    /// Whether it is about what one row holds, and not about the file.
    pub(super) fn is_of_one_row(&self) -> bool {
        use rusqlite::Error;
        matches!(
            self,
            Trouble::Unreadable
                | Trouble::Sqlite(
                    Error::FromSqlConversionFailure(..)
                        | Error::IntegralValueOutOfRange(..)
                        | Error::InvalidColumnType(..)
                        | Error::Utf8Error(..)
                )
        )
    }
}

impl From<Trouble> for StoreError {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Sqlite(error) => store_error(&error),
            Trouble::Unreadable => StoreError::Damaged,
        }
    }
}

fn store_error(error: &rusqlite::Error) -> StoreError {
    use rusqlite::Error;
    match error {
        // The index of the log could not grow: SQLite knows no other word for that.
        Error::SqliteFailure(failure, _)
            if failure.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE =>
        {
            StoreError::Full
        }
        Error::SqliteFailure(failure, _) => match failure.code {
            ErrorCode::DiskFull => StoreError::Full,
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => StoreError::Locked,
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => StoreError::Damaged,
            _ => StoreError::Unreachable,
        },
        // The file holds something else than what was written into it.
        Error::FromSqlConversionFailure(..)
        | Error::IntegralValueOutOfRange(..)
        | Error::InvalidColumnType(..)
        | Error::Utf8Error(..)
        | Error::QueryReturnedNoRows => StoreError::Damaged,
        _ => StoreError::Unreachable,
    }
}

/// A version number of SQLite as people write it.
fn version_text(number: i32) -> String {
    let (major, minor, patch) = (number / 1_000_000, number / 1000 % 1000, number % 1000);
    format!("{major}.{minor}.{patch}")
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[test]
    fn what_sqlite_says_is_said_in_the_words_of_the_port() {
        for (code, expected) in [
            (ffi::SQLITE_FULL, StoreError::Full),
            (ffi::SQLITE_IOERR_SHMSIZE, StoreError::Full),
            (ffi::SQLITE_BUSY, StoreError::Locked),
            (ffi::SQLITE_BUSY_SNAPSHOT, StoreError::Locked),
            (ffi::SQLITE_LOCKED, StoreError::Locked),
            (ffi::SQLITE_CORRUPT, StoreError::Damaged),
            (ffi::SQLITE_CORRUPT_INDEX, StoreError::Damaged),
            (ffi::SQLITE_NOTADB, StoreError::Damaged),
            (ffi::SQLITE_IOERR, StoreError::Unreachable),
            (ffi::SQLITE_IOERR_FSYNC, StoreError::Unreachable),
            (ffi::SQLITE_CANTOPEN, StoreError::Unreachable),
            (ffi::SQLITE_READONLY_DBMOVED, StoreError::Unreachable),
            (ffi::SQLITE_ERROR, StoreError::Unreachable),
        ] {
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            assert_eq!(store_error(&error), expected, "{code}");
        }
        assert_eq!(StoreError::from(Trouble::Unreadable), StoreError::Damaged);
    }
}
