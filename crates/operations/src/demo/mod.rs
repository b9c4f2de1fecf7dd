//! The demonstration: `demo/echo` always succeeds, `demo/fail` fails on request, `demo/divide` fails
//! with codes of its own.

mod divide;
mod echo;
mod fail;
#[cfg(test)]
mod tests;

use panpan_contract::operation::{OperationName, OperationSpec, OperationType};
use panpan_runtime::Builder;

/// Adds the demonstration to a registry.
///
/// ```
/// let registry = panpan_operations::demo(panpan_runtime::Registry::builder()).build().unwrap();
/// assert!(registry.get("demo/divide").is_some());
/// ```
pub fn demo(builder: Builder) -> Builder {
    builder
        .register(echo::spec(), echo::run)
        .register(fail::spec(), fail::run)
        .register(divide::spec(), divide::run)
}

/// A query of the demonstration that gives the same answer every time.
fn query(name: &str, description: &str) -> OperationSpec {
    let name = OperationName::new(name).expect("the names of the demonstration are well formed");
    let mut spec = OperationSpec::new(name, OperationType::Query);
    spec.description = Some(description.to_owned());
    spec.deterministic = true;
    spec.idempotency.idempotent = true;
    spec
}
