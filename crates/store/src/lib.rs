//! Stores for outcomes, recordings, counts and documents: in memory and in SQLite.
//!
//! Implements the ports of the runtime. This is the only crate that contains SQL. It stores, compares
//! and changes state atomically; the runtime decides what a state means for a call. One test suite
//! (`tests/suite`) runs against every store.

mod memory;
mod ports;
mod sqlite;
mod time;

pub use memory::{MEMORY_OUTCOMES_BYTES_LIMIT, MEMORY_RECORDINGS_LIMIT, MEMORY_TASKS_BYTES_LIMIT, MemoryStore};
pub use ports::memory_ports;
#[doc(hidden)]
pub use sqlite::Synchronous;
pub use sqlite::{
    BUSY_TIMEOUT_MS, DEFAULT_SIZE_BYTES, NOTES_LIMIT, OLDEST_SQLITE, OpenError, RESERVE_BYTES,
    SMALLEST_SIZE_BYTES, SqliteOptions, SqliteStore, check_version,
};

/// The most keys, and the most recordings, and the most counts that one sweep deletes.
pub const SWEEP_LIMIT: usize = 500;
