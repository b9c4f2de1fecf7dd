//! Stores for outcomes, recordings, counts and documents: in memory, in SQLite and in PostgreSQL.
//!
//! Implements the ports of the runtime. This is the only crate that contains SQL. It stores, compares
//! and changes state atomically; the runtime decides what a state means for a call. One test suite
//! (`tests/suite`) runs against every store.

mod end_of_thread;
mod fast_path;
mod memory;
mod notes;
mod outcome;
mod ports;
mod postgres;
mod sqlite;
mod time;

pub use memory::{
    MEMORY_OUTCOMES_BYTES_LIMIT, MEMORY_RECORDINGS_LIMIT, MEMORY_TASKS_BYTES_LIMIT, MemoryStore,
};
pub use notes::NOTES_LIMIT;
pub use ports::memory_ports;
pub use postgres::{
    OLDEST_POSTGRES, POSTGRES_RECORDINGS_LIMIT, PostgresAddress, PostgresAddressError,
    PostgresOpenError, PostgresOptions, PostgresStore,
};
#[doc(hidden)]
pub use sqlite::Synchronous;
pub use sqlite::{
    BUSY_TIMEOUT_MS, DEFAULT_SIZE_BYTES, OLDEST_SQLITE, OpenError, RESERVE_BYTES,
    SMALLEST_SIZE_BYTES, SqliteOptions, SqliteStore, check_version,
};

/// The most keys, and the most recordings, and the most counts that one sweep deletes.
pub const SWEEP_LIMIT: usize = 500;
