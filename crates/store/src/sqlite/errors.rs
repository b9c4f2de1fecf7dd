//! Errors of the SQLite store: [`OpenError`] for the operator who starts the program, [`QueryError`]
//! inside the crate, and their translation into the errors of the port.

use std::io;
use std::path::PathBuf;

use panpan_runtime::ports::StoreError;
use rusqlite::ErrorCode;

/// The store could not be opened. The message says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The linked SQLite has a bug that loses committed data.
    #[error(
        "SQLite {} can lose committed data: build with SQLite {} or newer",
        version_text(*found),
        version_text(super::OLDEST_SQLITE)
    )]
    OldSqlite {
        /// The version number, such as 3051002 for 3.51.2.
        found: i32,
    },
    /// The folder of the file is missing and cannot be created.
    #[error("cannot create the folder of {}: create it, or use another path", .0.display())]
    Folder(PathBuf, #[source] io::Error),
    /// The path is a folder.
    #[error("{} is a folder: name a file in it", .0.display())]
    IsFolder(PathBuf),
    /// The file or its folder is not writable.
    #[error("{} is not writable: change the permissions of the file and its folder", .0.display())]
    NotWritable(PathBuf),
    /// The file is not a SQLite database.
    #[error("{} is not a database: name another file, or move this one away", .0.display())]
    NotADatabase(PathBuf),
    /// The file is the database of another program.
    #[error("{} belongs to another program: name another file", .0.display())]
    OtherApplication(PathBuf),
    /// The file was written by a newer version of this program.
    #[error(
        "{} has schema version {found}, but this program supports up to {known}: use a newer version of the program",
        path.display()
    )]
    NewerVersion {
        /// The file.
        path: PathBuf,
        /// The schema version of the file.
        found: i64,
        /// The newest schema version that this program supports.
        known: i64,
    },
    /// Another process holds the lock of the file.
    #[error("{} is locked by another process: end that process, or wait for it", .0.display())]
    Locked(PathBuf),
    /// The disk is full.
    #[error("no disk space for {}: free some space", .0.display())]
    Full(PathBuf),
    /// The database is corrupt.
    #[error(
        "{} is damaged: restore a backup, or move it and its -wal file away",
        .0.display()
    )]
    Damaged(PathBuf),
    /// The file cannot be opened for another reason.
    #[error("cannot open {} ({}): make the path reachable and writable", .0.display(), .1)]
    Unreachable(PathBuf, String),
}

impl OpenError {
    /// Translates an error of SQLite about this file.
    pub(super) fn of(path: PathBuf, error: &rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Self::NotADatabase(path),
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
                Self::NotWritable(path)
            }
            _ => match store_error(error) {
                StoreError::Full => Self::Full(path),
                StoreError::Locked => Self::Locked(path),
                StoreError::Damaged => Self::Damaged(path),
                _ => Self::Unreachable(path, error.to_string()),
            },
        }
    }

    /// The error of the port, when a running store fails to reopen its file.
    pub(super) fn as_store_error(&self) -> StoreError {
        match self {
            Self::Full { .. } => StoreError::Full,
            Self::Locked { .. } => StoreError::Locked,
            Self::Damaged { .. } | Self::NotADatabase { .. } => StoreError::Damaged,
            _ => StoreError::Unreachable,
        }
    }
}

/// A statement failed, or returned data that cannot be decoded.
#[derive(Debug, thiserror::Error)]
pub(super) enum QueryError {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// A stored value is not one that the store writes.
    #[error("a stored value cannot be decoded")]
    Unreadable,
}

impl QueryError {
    /// Whether a constraint refused a statement, such as the index of unique ids.
    pub(super) fn breaks_a_constraint(&self) -> bool {
        let code = match self {
            QueryError::Sqlite(error) => error.sqlite_error_code(),
            QueryError::Unreadable => None,
        };
        code == Some(ErrorCode::ConstraintViolation)
    }

    /// Whether the error is about the contents of one row rather than about the file.
    pub(super) fn concerns_one_row(&self) -> bool {
        use rusqlite::Error;
        matches!(
            self,
            QueryError::Unreadable
                | QueryError::Sqlite(
                    Error::FromSqlConversionFailure(..)
                        | Error::IntegralValueOutOfRange(..)
                        | Error::InvalidColumnType(..)
                        | Error::Utf8Error(..)
                )
        )
    }
}

impl From<QueryError> for StoreError {
    fn from(error: QueryError) -> Self {
        StoreError::from(&error)
    }
}

impl From<&QueryError> for StoreError {
    fn from(error: &QueryError) -> Self {
        match error {
            QueryError::Sqlite(error) => store_error(error),
            QueryError::Unreadable => StoreError::Damaged,
        }
    }
}

fn store_error(error: &rusqlite::Error) -> StoreError {
    use rusqlite::Error;
    match error {
        // The shared-memory index of the log could not grow, which means that the disk is full.
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
        // The row contains values that the store never writes.
        Error::FromSqlConversionFailure(..)
        | Error::IntegralValueOutOfRange(..)
        | Error::InvalidColumnType(..)
        | Error::Utf8Error(..)
        | Error::QueryReturnedNoRows => StoreError::Damaged,
        _ => StoreError::Unreachable,
    }
}

/// A SQLite version number in dotted form.
fn version_text(number: i32) -> String {
    let (major, minor, patch) = (number / 1_000_000, number / 1000 % 1000, number % 1000);
    format!("{major}.{minor}.{patch}")
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[test]
    fn sqlite_errors_become_errors_of_the_port() {
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
        assert_eq!(
            StoreError::from(QueryError::Unreadable),
            StoreError::Damaged
        );
    }
}
