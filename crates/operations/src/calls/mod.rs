//! For people who watch and operate a gateway: what became of a call, how often calls fail, and setting
//! a key free whose outcome a person has looked into.
//!
//! None of it is open to everyone: watching needs one scope, operating another.

mod get;
mod reopen;
mod statistics;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use panpan_contract::failure::Alternative;
use panpan_contract::operation::{OperationName, OperationSpec, OperationType};
use panpan_contract::{Failure, codes};
use panpan_runtime::Builder;
use panpan_runtime::ports::{Outcomes, StoreError};

/// The scope that lets a caller see recordings and counts.
pub const WATCH_SCOPE: &str = "panpan:watch";
/// The scope that lets a caller set keys free.
pub const OPERATE_SCOPE: &str = "panpan:operate";

/// Adds `calls/get`, `calls/recent`, `calls/statistics` and `calls/reopen` over a store.
pub fn calls(builder: Builder, outcomes: &Arc<dyn Outcomes>) -> Builder {
    let builder = get::add(builder, outcomes);
    let builder = statistics::add(builder, outcomes);
    reopen::add(builder, outcomes)
}

fn operation(name: &str, op_type: OperationType, scope: &str, description: &str) -> OperationSpec {
    let name = OperationName::new(name).expect("the names of the operations are well formed");
    let mut spec = OperationSpec::new(name, op_type);
    spec.description = Some(description.to_owned());
    spec.access_control.required_scopes = vec![scope.to_owned()];
    spec.idempotency.idempotent = op_type == OperationType::Query;
    spec
}

/// The store did not answer.
fn unavailable(error: &StoreError) -> Failure {
    Failure::new(codes::ERR_STORE_UNAVAILABLE)
        .with_message(error.to_string())
        .with_detail("reason", error.word())
        .with_alternatives([Alternative::from(error.advice())])
}
