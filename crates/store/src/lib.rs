//! Where things are kept: implements the ports of the runtime, in memory and in SQLite.
//!
//! The only crate that knows SQL. What a state means for a call is decided in the runtime; here it is
//! kept, compared and changed in single steps. One suite (`tests/suite`) holds for every store.

mod counts;
mod expected;
mod memory;
mod ports;
mod sqlite;
mod time;

pub use memory::{MEMORY_OUTCOMES_BYTES_LIMIT, MEMORY_RECORDINGS_LIMIT, MemoryStore};
pub use ports::memory_ports;
#[doc(hidden)]
pub use sqlite::Synchronous;
pub use sqlite::{
    BUSY_TIMEOUT_MS, DEFAULT_SIZE_BYTES, NOTES_LIMIT, OLDEST_SQLITE, OpenError, RESERVE_BYTES,
    SMALLEST_SIZE_BYTES, SqliteOptions, SqliteStore, check_version,
};

/// How many keys, how many recordings and how many counts one sweep deletes at most.
pub const SWEEP_LIMIT: usize = 500;

/// The most a count adds up to; more is not counted.
const COUNT_LIMIT: u64 = 1 << 60;
