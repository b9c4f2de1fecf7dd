//! Maps errors to codes: one table per source.
//!
//! Pure lookups. `panpan-upstream` reads responses and selects the table.

mod io;
mod json;
mod llm;
mod network;
mod rows;
mod statements;
mod words;

pub use io::io_failure;
pub use json::JsonFailure;
pub use llm::{LlmFailure, ProviderAnswer};
pub use network::NetworkFailure;
pub(crate) use rows::rows;
pub use statements::{
    Condition, Demand, Expectation, InputMembers, STATEMENTS_BYTES_LIMIT, Statements,
    declared_statements, expectation, statements,
};
pub use words::category_of_words;

use crate::kind::Kind;

/// The kind for an HTTP status; `None` for statuses that are not failures.
///
/// A status without its own code becomes `ERR_HTTP_<status>`: a client error below 500, a retryable server
/// error from 500.
pub fn http_status(status: u16) -> Option<Kind> {
    panpan_catalogue::for_status(status).map(Kind::from)
}
