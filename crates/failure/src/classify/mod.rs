//! From what went wrong underneath to a code: one table per source.
//!
//! Pure look-ups. Reading a response off a socket and choosing which table applies is done upstream.

mod io;
mod json;
mod llm;
mod network;
mod statements;
mod words;

pub use io::io_failure;
pub use json::JsonFailure;
pub use llm::{LlmFailure, ProviderAnswer};
pub use network::NetworkFailure;
pub use statements::{
    Condition, Demand, Expectation, InputMembers, STATEMENTS_BYTES_LIMIT, Statements,
    declared_statements, expectation, statements,
};
pub use words::category_of_words;

use crate::kind::Kind;

/// The kind of failure an HTTP status means; `None` for statuses that are not failures.
///
/// A status without a code of its own becomes `ERR_HTTP_<status>`: a client error below 500, a
/// retryable server error from 500 on.
pub fn http_status(status: u16) -> Option<Kind> {
    panpan_catalogue::for_status(status).map(Kind::from)
}
