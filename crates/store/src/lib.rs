//! Where things are kept: implements the ports of the runtime, in memory and in SQLite.
//!
//! The only crate that knows SQL. What a state means for a call is decided in the runtime; here it is
//! kept, compared and changed in single steps. One suite (`tests/suite`) holds for every store.

mod counts;
mod expected;
mod memory;
mod sqlite;
mod time;
mod world;

pub use memory::{MEMORY_OUTCOMES_BYTES_LIMIT, MEMORY_RECORDINGS_LIMIT, MemoryStore};
pub use sqlite::{
    BUSY_TIMEOUT_MS, NOTES_LIMIT, OLDEST_SQLITE, OpenError, SqliteStore, check_version,
};
#[doc(hidden)]
pub use sqlite::{SqliteOptions, Synchronous};
pub use world::memory_world;

/// How many keys, how many recordings and how many counts one sweep deletes at most.
pub const SWEEP_LIMIT: usize = 500;

/// The most a count adds up to; more is not counted.
const COUNT_LIMIT: u64 = 1 << 60;
