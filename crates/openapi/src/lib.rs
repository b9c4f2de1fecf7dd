//! Between OpenAPI documents and contracts, as pure functions over JSON values.
//!
//! So far one direction and one part: the failures an operation's `responses` declare. Reading files
//! and fetching documents happens elsewhere; a reference that leads out of the document is a problem,
//! never a fetch.

mod reference;
mod responses;

pub use reference::{DEFINITIONS_LIMIT, REFERENCES_LIMIT, SCHEMA_DEPTH_LIMIT};
pub use responses::{Imported, Problem, error_definitions};
