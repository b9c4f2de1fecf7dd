//! Contracts as data: operations and the failures they declare, contract files, retry policies,
//! circuits, and recordings of calls.
//!
//! No async, no I/O, no clock and no randomness. The failure model is in `panpan-failure`.

pub mod binding;
mod canonical_json;
pub mod circuit;
pub mod contract_file;
pub mod operation;
pub mod path;
pub mod recording;
pub mod retry;
pub mod undeclared;

pub use canonical_json::{canonical_json, digest, hex};
pub use panpan_redact::schema;
