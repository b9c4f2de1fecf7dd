//! A store in one SQLite file: durable when a method returns, and shared by the processes of one machine.
//!
//! One thread writes, with group commit; reads run on the caller's thread. The SQL is in `keys`,
//! `lookup`, `recordings`, `documents`, `tasks` and `space`.

mod documents;
mod errors;
mod job;
mod json;
mod keys;
mod lookup;
mod open;
mod queue;
mod readers;
mod recordings;
mod schema;
mod space;
mod store;
mod tasks;
mod writer;

pub use errors::OpenError;
pub use open::{BUSY_TIMEOUT_MS, OLDEST_SQLITE, SqliteOptions, Synchronous, check_version};
pub use space::{DEFAULT_SIZE_BYTES, RESERVE_BYTES, SMALLEST_SIZE_BYTES};
pub use store::SqliteStore;
