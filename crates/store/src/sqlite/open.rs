//! Opening the file: which files are ours, how connections are set up, and whether the file is still
//! where it was.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::errors::OpenError;
use super::room;
use super::schema::{self, Recognised};

/// The oldest SQLite that is used: older ones can lose what two connections committed.
pub const OLDEST_SQLITE: i32 = 3_051_003;

/// How long a writer waits for the lock another process holds.
pub const BUSY_TIMEOUT_MS: u64 = 5000;

/// How long a reader waits. Short, since it waits on the caller's thread; and readers seldom have to.
const READER_BUSY_TIMEOUT_MS: u64 = 250;

/// How long it takes until a lock is asked for again where SQLite does not wait by itself.
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// More statements than there are, so that each is prepared once per connection.
const STATEMENTS: usize = 64;

/// With how many pages of 4 KB the log is written into the file. Four times what SQLite does by itself:
/// a page that many calls change, as those of an index are, is then carried over once for all of them.
const LOG_PAGES: i64 = 4000;

/// What a log that grew is cut back to when it was written into the file.
const LOG_BYTES: i64 = 64 * 1024 * 1024;

/// Whether this SQLite may be used.
pub fn check_version(number: i32) -> Result<(), OpenError> {
    if number < OLDEST_SQLITE {
        return Err(OpenError::OldSqlite { found: number });
    }
    Ok(())
}

/// How a store is opened.
#[derive(Clone, Copy, Debug)]
pub struct SqliteOptions {
    /// How large the file may become, in bytes; at least [`SMALLEST_SIZE_BYTES`](super::SMALLEST_SIZE_BYTES).
    /// Its log beside it takes up to 64 MB more.
    pub size_bytes: u64,
    /// How sure a commit is; only for proofs that take something away.
    #[doc(hidden)]
    pub synchronous: Synchronous,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            size_bytes: room::DEFAULT_SIZE_BYTES,
            synchronous: Synchronous::default(),
        }
    }
}

/// How sure a commit is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Synchronous {
    /// It is on the disk.
    #[default]
    Full,
    /// It is with the system: a defect, planted to see that its absence would be noticed.
    Off,
}

/// Where the file is.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) path: PathBuf,
    options: SqliteOptions,
    size_bytes: AtomicU64,
}

impl Place {
    pub(super) fn new(path: PathBuf, options: SqliteOptions) -> Self {
        let size_bytes = options.size_bytes.max(room::SMALLEST_SIZE_BYTES);
        Self {
            path,
            options,
            size_bytes: AtomicU64::new(size_bytes),
        }
    }

    /// How large the file may become, in bytes.
    pub(super) fn size_bytes(&self) -> u64 {
        self.size_bytes.load(Ordering::Acquire)
    }

    /// Lets it become so large from now on.
    pub(super) fn set_size_bytes(&self, size_bytes: u64) {
        self.size_bytes.store(size_bytes, Ordering::Release);
    }

    /// A connection that writes. The file and its folder are made only if `may_create`: a file that
    /// went away is not silently begun anew, since all keys would be forgotten.
    pub(super) fn open_writer(&self, may_create: bool) -> Result<Connection, OpenError> {
        check_version(rusqlite::version_number())?;
        if self.path.is_dir() {
            let path = self.path.clone();
            return Err(OpenError::IsFolder { path });
        }
        if may_create {
            self.make_folder()?;
            self.make_file();
        }
        self.set_up(may_create)
    }

    fn set_up(&self, may_create: bool) -> Result<Connection, OpenError> {
        let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        flags.set(OpenFlags::SQLITE_OPEN_CREATE, may_create);
        let said = |error: rusqlite::Error| OpenError::of(self.path.clone(), &error);
        let connection = Connection::open_with_flags(&self.path, flags).map_err(said)?;
        connection
            .busy_timeout(Duration::from_millis(BUSY_TIMEOUT_MS))
            .map_err(said)?;
        if connection.is_readonly("main").map_err(said)? {
            let path = self.path.clone();
            return Err(OpenError::NotWritable { path });
        }
        self.check_owner(schema::recognise(&connection).map_err(said)?)?;
        self.make_durable(&connection).map_err(said)?;
        schema::migrate(&connection).map_err(said)?;
        Ok(connection)
    }

    /// A connection that only reads.
    pub(super) fn open_reader(&self) -> Result<Connection, OpenError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let said = |error: rusqlite::Error| OpenError::of(self.path.clone(), &error);
        let connection = Connection::open_with_flags(&self.path, flags).map_err(said)?;
        set_up_reader(&connection).map_err(said)?;
        Ok(connection)
    }

    /// Which file lies there now; `None` when there is none, or when the system cannot tell.
    pub(super) fn identity(&self) -> Option<(u64, u64)> {
        identity(&self.path)
    }

    /// The file that is kept in reserve.
    pub(super) fn reserve(&self) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push("-reserve");
        path.into()
    }

    fn make_folder(&self) -> Result<(), OpenError> {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        if folder.as_os_str().is_empty() {
            return Ok(());
        }
        let made: Vec<&Path> = folder.ancestors().take_while(|it| !it.exists()).collect();
        make_private(folder).map_err(|source| OpenError::Folder {
            path: self.path.clone(),
            source,
        })?;
        made.into_iter()
            .filter_map(Path::parent)
            .for_each(sync_folder);
        Ok(())
    }

    /// What is kept is private: nobody else may read a file that is made here. If it cannot be made,
    /// SQLite finds out why.
    fn make_file(&self) {
        drop(private().create_new(true).open(&self.path));
    }

    fn check_owner(&self, recognised: Recognised) -> Result<(), OpenError> {
        let path = self.path.clone();
        match recognised {
            Recognised::Ours => Ok(()),
            Recognised::OtherApplication => Err(OpenError::OtherApplication { path }),
            Recognised::NewerVersion { found, known } => {
                Err(OpenError::NewerVersion { path, found, known })
            }
        }
    }

    fn make_durable(&self, connection: &Connection) -> rusqlite::Result<()> {
        switch_to_log(connection)?;
        let synchronous = match self.options.synchronous {
            Synchronous::Full => "FULL",
            Synchronous::Off => "OFF",
        };
        connection.pragma_update(None, "synchronous", synchronous)?;
        connection.pragma_update(None, "journal_size_limit", LOG_BYTES)?;
        connection.pragma_update(None, "wal_autocheckpoint", LOG_PAGES)?;
        room::limit(connection, self.size_bytes())?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        Ok(())
    }
}

/// How a file of the store is made: for its owner alone.
pub(super) fn private() -> fs::OpenOptions {
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

/// Makes a folder, and those above it that are missing, into which nobody else may look.
fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Makes what was made in a folder durable. SQLite does so for the file's own folder and no further;
/// where the system cannot, nothing more can be done.
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

/// Two processes that begin a file together may each find it locked here, and SQLite does not wait.
fn switch_to_log(connection: &Connection) -> rusqlite::Result<()> {
    let end = Instant::now() + Duration::from_millis(BUSY_TIMEOUT_MS);
    loop {
        let mode = connection
            .pragma_update_and_check(None, "journal_mode", "wal", |row| row.get::<_, String>(0));
        match mode {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(_) => return Err(no_log()),
            Err(error) if is_busy(&error) && Instant::now() < end => {
                std::thread::sleep(LOCK_PAUSE);
            }
            Err(error) => return Err(error),
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}

fn no_log() -> rusqlite::Error {
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR);
    let reason = "its file system has no shared memory for a write-ahead log";
    rusqlite::Error::SqliteFailure(code, Some(reason.to_owned()))
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let found = fs::metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn identity(_: &Path) -> Option<(u64, u64)> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_sqlite_that_can_lose_commits_is_refused() {
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
