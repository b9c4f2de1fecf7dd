//! Demo operations: `demo/echo` always succeeds, `demo/fail` fails on request, `demo/divide` declares its
//! own codes, `demo/flaky` fails for a while, `demo/order` must run only once, `demo/wait` takes time and
//! `demo/count` streams items.

mod count;
mod divide;
mod echo;
mod fail;
mod flaky;
mod order;
#[cfg(test)]
mod tests;
mod wait;

use panpan_contract::operation::{OperationSpec, OperationType};
use panpan_runtime::{Builder, Registration};

use crate::operation;

/// Adds the demo operations to a registry.
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
        .register(flaky::spec(), flaky::run)
        .register(order::spec(), order::run)
        .register(wait::spec(), wait::run)
        .add(Registration::streaming(count::spec(), count::open))
}

/// A deterministic query.
fn query(name: &str, description: &str) -> OperationSpec {
    let mut spec = operation(name, OperationType::Query, description);
    spec.deterministic = true;
    spec.idempotency.idempotent = true;
    spec
}
