//! A store in a PostgreSQL database: durable when a method returns, and shared by any number of gateways.
//!
//! One thread runs the connections for calls, called lanes. Requests for keys that wait at the same time are sent
//! as one statement with arrays, so that many callers share one round trip and one commit. The SQL is in `keys`,
//! `lookup`, `recordings`, `documents` and `schema`. Leases and expiry use the clock of the database.
//!
//! Tasks have lanes of their own, on another thread: see `tasks`.

mod address;
mod documents;
mod errors;
mod job;
mod keys;
mod lane;
mod lookup;
mod queue;
mod recordings;
mod schema;
mod session;
mod space;
mod store;
mod tasks;
mod text;
mod tls;

pub use address::{PostgresAddress, PostgresAddressError};
pub use errors::PostgresOpenError;
pub use schema::OLDEST_POSTGRES;
pub use space::POSTGRES_RECORDINGS_LIMIT;
pub use store::{PostgresOptions, PostgresStore};
