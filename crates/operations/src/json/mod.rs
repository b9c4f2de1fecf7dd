//! JSON: `json/transform` takes a document apart, changes its shape or checks it, without code.
//!
//! It reaches nothing outside and gives the same answer every time.

mod compare;
mod contract;
mod document;
mod path;
mod problem;
mod schema;
mod shape;
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
