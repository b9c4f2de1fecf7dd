//! `json/transform`: extracts, changes or validates JSON.
//!
//! It is pure: no I/O, and the same input gives the same output.

mod compare;
mod contract;
mod document;
mod members;
mod path;
mod problem;
mod schema;
#[cfg(test)]
mod tests;
mod transform;

use panpan_runtime::Builder;

/// Adds `json/transform` to a registry.
///
/// ```
/// let registry = panpan_operations::json(panpan_runtime::Registry::builder()).build().unwrap();
/// assert!(registry.get("json/transform").is_some());
/// ```
pub fn json(builder: Builder) -> Builder {
    builder.register(contract::spec(), transform::run)
}
