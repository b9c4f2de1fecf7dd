//! Opens the database file: checks that it is ours, configures connections, and identifies the file so
//! that a replaced file is noticed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::errors::OpenError;
use super::schema::{self, Owner};
use super::space;

/// The oldest accepted version of SQLite. Older versions can lose committed data with two connections.
pub const OLDEST_SQLITE: i32 = 3_051_003;

/// How long a writer waits for a lock that another process holds.
pub const BUSY_TIMEOUT_MS: u64 = 5000;

/// How long a reader waits for a lock. Short, because it blocks the caller's thread.
const READER_BUSY_TIMEOUT_MS: u64 = 250;

/// The delay between two attempts to get a lock where SQLite does not wait itself.
const LOCK_RETRY_DELAY: Duration = Duration::from_millis(10);

/// The size of the statement cache: more than there are statements, so each is prepared once per
/// connection.
const STATEMENTS: usize = 64;

/// How many pages of 4 KB the log has when it is checkpointed. Four times the default of SQLite: a page
/// that many calls change, such as a page of an index, is then copied once for all of them.
const LOG_PAGES: i64 = 4000;

/// The size that a grown log is truncated to after a checkpoint.
const LOG_BYTES: i64 = 64 * 1024 * 1024;

/// Checks that this version of SQLite is safe to use.
pub fn check_version(number: i32) -> Result<(), OpenError> {
    if number < OLDEST_SQLITE {
        return Err(OpenError::OldSqlite { found: number });
    }
    Ok(())
}

/// Options for opening a SQLite store.
#[derive(Clone, Copy, Debug)]
pub struct SqliteOptions {
    /// The largest size of the file in bytes; at least [`SMALLEST_SIZE_BYTES`](super::SMALLEST_SIZE_BYTES).
    /// The log next to it takes up to 64 MB more.
    pub size_bytes: u64,
    /// The durability of a commit; a test turns it off to prove that it notices.
    #[doc(hidden)]
    pub synchronous: Synchronous,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            size_bytes: space::DEFAULT_SIZE_BYTES,
            synchronous: Synchronous::default(),
        }
    }
}

/// The durability of a commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Synchronous {
    /// The data is on the disk.
    #[default]
    Full,
    /// The data is in the cache of the operating system: a planted defect, for tests only.
    Off,
}

/// The path, the options and the size limit of the database file.
#[derive(Debug)]
pub(super) struct DatabaseFile {
    pub(super) path: PathBuf,
    options: SqliteOptions,
    size_bytes: AtomicU64,
}

impl DatabaseFile {
    pub(super) fn new(path: PathBuf, options: SqliteOptions) -> Self {
        let size_bytes = options.size_bytes.max(space::SMALLEST_SIZE_BYTES);
        Self {
            path,
            options,
            size_bytes: AtomicU64::new(size_bytes),
        }
    }

    /// The largest size of the file, in bytes.
    pub(super) fn size_bytes(&self) -> u64 {
        self.size_bytes.load(Ordering::Acquire)
    }

    /// Changes the largest size of the file.
    pub(super) fn set_size_bytes(&self, size_bytes: u64) {
        self.size_bytes.store(size_bytes, Ordering::Release);
    }

    /// Opens a connection that writes. Creates the file and its folder only if `may_create`: a file
    /// that disappeared is not silently replaced, because all keys would be lost.
    pub(super) fn open_writer(&self, may_create: bool) -> Result<Connection, OpenError> {
        check_version(rusqlite::version_number())?;
        if self.path.is_dir() {
            return Err(OpenError::IsFolder(self.path.clone()));
        }
        if may_create {
            self.create_folder()?;
            self.create_file();
        }
        self.set_up(may_create)
    }

    fn set_up(&self, may_create: bool) -> Result<Connection, OpenError> {
        let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        flags.set(OpenFlags::SQLITE_OPEN_CREATE, may_create);
        let open_error = |error: rusqlite::Error| OpenError::of(self.path.clone(), &error);
        let connection = Connection::open_with_flags(&self.path, flags).map_err(open_error)?;
        connection
            .busy_timeout(Duration::from_millis(BUSY_TIMEOUT_MS))
            .map_err(open_error)?;
        if connection.is_readonly("main").map_err(open_error)? {
            return Err(OpenError::NotWritable(self.path.clone()));
        }
        self.check_owner(schema::owner(&connection).map_err(open_error)?)?;
        self.configure(&connection).map_err(open_error)?;
        schema::migrate(&connection).map_err(open_error)?;
        Ok(connection)
    }

    /// Opens a connection that only reads.
    pub(super) fn open_reader(&self) -> Result<Connection, OpenError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags);
        let connection = connection.and_then(|it| set_up_reader(&it).map(|()| it));
        connection.map_err(|error| OpenError::of(self.path.clone(), &error))
    }

    /// The device and inode of the file; `None` if it does not exist or the system has no inodes.
    pub(super) fn identity(&self) -> Option<(u64, u64)> {
        identity(&self.path)
    }

    /// The path of the reserve file.
    pub(super) fn reserve_path(&self) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push("-reserve");
        path.into()
    }

    fn create_folder(&self) -> Result<(), OpenError> {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        if folder.as_os_str().is_empty() {
            return Ok(());
        }
        let missing: Vec<&Path> = folder.ancestors().take_while(|it| !it.exists()).collect();
        create_private_folder(folder)
            .map_err(|source| OpenError::Folder(self.path.clone(), source))?;
        missing
            .into_iter()
            .filter_map(Path::parent)
            .for_each(sync_folder);
        Ok(())
    }

    /// Creates the file so that only its owner can read it. If that fails, SQLite reports the reason.
    fn create_file(&self) {
        drop(private_file_options().create_new(true).open(&self.path));
    }

    fn check_owner(&self, owner: Owner) -> Result<(), OpenError> {
        let path = self.path.clone();
        match owner {
            Owner::Ours => Ok(()),
            Owner::OtherApplication => Err(OpenError::OtherApplication(path)),
            Owner::NewerVersion { found, known } => {
                Err(OpenError::NewerVersion { path, found, known })
            }
        }
    }

    fn configure(&self, connection: &Connection) -> rusqlite::Result<()> {
        switch_to_log(connection)?;
        let synchronous = match self.options.synchronous {
            Synchronous::Full => "FULL",
            Synchronous::Off => "OFF",
        };
        connection.pragma_update(None, "synchronous", synchronous)?;
        connection.pragma_update(None, "journal_size_limit", LOG_BYTES)?;
        connection.pragma_update(None, "wal_autocheckpoint", LOG_PAGES)?;
        space::limit(connection, self.size_bytes())?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        Ok(())
    }
}

/// Options that create a file for its owner only.
pub(super) fn private_file_options() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn set_up_reader(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(Duration::from_millis(READER_BUSY_TIMEOUT_MS))?;
    connection.pragma_update(None, "query_only", true)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(())
}

/// Creates a folder and its missing parents, accessible to the owner only.
fn create_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Makes new entries of a folder durable. SQLite syncs the folder of the file only. Errors are ignored:
/// there is no other way to make the entries durable.
fn sync_folder(folder: &Path) {
    let here = Path::new(".");
    let folder = if folder.as_os_str().is_empty() {
        here
    } else {
        folder
    };
    if let Ok(folder) = fs::File::open(folder) {
        let _ = folder.sync_all();
    }
}

/// Turns on write-ahead logging. Two processes that create a file at the same time can both find it
/// locked here, and SQLite does not wait in this case.
fn switch_to_log(connection: &Connection) -> rusqlite::Result<()> {
    let end = Instant::now() + Duration::from_millis(BUSY_TIMEOUT_MS);
    loop {
        let mode = connection
            .pragma_update_and_check(None, "journal_mode", "wal", |row| row.get::<_, String>(0));
        match mode {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(_) => return Err(wal_unsupported()),
            Err(error) if is_busy(&error) && Instant::now() < end => {
                std::thread::sleep(LOCK_RETRY_DELAY);
            }
            Err(error) => return Err(error),
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}

fn wal_unsupported() -> rusqlite::Error {
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR);
    let reason = "the file system has no shared memory for a write-ahead log";
    rusqlite::Error::SqliteFailure(code, Some(reason.to_owned()))
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(_: &Path) -> Option<(u64, u64)> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sqlite_that_can_lose_commits_is_refused() {
        for (number, good) in [
            (3_051_002, false),
            (3_051_003, true),
            (3_040_001, false),
            (4_000_000, true),
            (rusqlite::version_number(), true),
        ] {
            assert_eq!(check_version(number).is_ok(), good, "{number}");
        }
        let refused = check_version(3_051_002).unwrap_err().to_string();
        assert!(refused.contains("3.51.2") && refused.contains("3.51.3"));
    }
}
