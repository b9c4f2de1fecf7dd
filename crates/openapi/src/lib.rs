//! Between OpenAPI documents and contracts, as pure functions over JSON values.
//!
//! From a document come the failures an operation's `responses` declare; to a document go the
//! operations a server offers. Reading files and fetching documents happens elsewhere; a reference
//! that leads out of the document is a problem, never a fetch.

mod export;
mod reference;
mod responses;

pub use export::{About, export};
pub use reference::{DEFINITIONS_LIMIT, REFERENCES_LIMIT, SCHEMA_DEPTH_LIMIT};
pub use responses::{Imported, Problem, error_definitions};
