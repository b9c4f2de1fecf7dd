//! Operations for operators: recordings, statistics and circuits, and reopening keys.
//!
//! Reading requires one scope, reopening another.

mod circuits;
mod get;
mod recent;
mod reopen;
mod statistics;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use panpan_contract::operation::{OperationSpec, OperationType};
use panpan_failure::Failure;
pub use panpan_runtime::WATCH_SCOPE;
use panpan_runtime::ports::Outcomes;
use panpan_runtime::{Builder, Context, Handler};
use serde_json::Value;

/// The scope for reopening keys.
pub const OPERATE_SCOPE: &str = "panpan:operate";

/// Adds `calls/circuits`, and `calls/get`, `calls/recent`, `calls/statistics` and `calls/reopen` on a store.
pub fn calls(builder: Builder, outcomes: &Arc<dyn Outcomes>) -> Builder {
    builder
        .register(circuits::spec(), circuits::run)
        .register(get::spec(), on_store(outcomes, get::run))
        .register(recent::spec(), on_store(outcomes, recent::run))
        .register(statistics::spec(), on_store(outcomes, statistics::run))
        .register(reopen::spec(), on_store(outcomes, reopen::run))
}

/// A handler with access to the store.
fn on_store<Run>(
    outcomes: &Arc<dyn Outcomes>,
    run: fn(Context, Arc<dyn Outcomes>, Arc<Value>) -> Run,
) -> impl Handler
where
    Run: Future<Output = Result<Value, Failure>> + Send + 'static,
{
    let outcomes = outcomes.clone();
    move |context: Context, input: Arc<Value>| run(context, outcomes.clone(), input)
}

fn operation(name: &str, op_type: OperationType, scope: &str, description: &str) -> OperationSpec {
    let mut spec = crate::operation(name, op_type, description);
    spec.access_control.required_scopes = vec![scope.to_owned()];
    spec.idempotency.idempotent = op_type == OperationType::Query;
    spec
}
