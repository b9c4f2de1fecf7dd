//! A store in one SQLite file: durable when it answers, and shared by processes of one machine.
//!
//! One thread writes and commits what waits together; reads run on the caller's thread. SQL stands
//! with what it is about, in `keys`, `found`, `recordings` and `documents`.

mod documents;
mod errors;
mod foresight;
mod found;
mod job;
mod json;
mod keys;
mod open;
mod outcome;
mod queue;
mod readers;
mod recordings;
mod room;
mod schema;
mod store;
mod writer;

pub use errors::OpenError;
pub use open::{BUSY_TIMEOUT_MS, OLDEST_SQLITE, SqliteOptions, Synchronous, check_version};
pub use queue::NOTES_LIMIT;
pub use room::{DEFAULT_SIZE_BYTES, RESERVE_BYTES, SMALLEST_SIZE_BYTES};
pub use store::SqliteStore;
