//! May this caller call it.
//!
//! Callers have no identity yet, so an operation with any restriction is refused with FORBIDDEN.

use std::sync::Arc;

use panpan_contract::operation::AccessControl;
use panpan_contract::{Failure, codes};
use serde_json::Value;

use super::raised::Raised;
use super::resolve::Resolved;
use crate::registry::Operation;

/// A call its caller may make.
pub(super) struct Authorized {
    pub(super) operation: Arc<Operation>,
    pub(super) input: Arc<Value>,
    _made_here: (),
}

pub(super) fn authorize(resolved: Resolved) -> Result<Authorized, Raised> {
    let Resolved {
        operation, input, ..
    } = resolved;
    let control = &operation.spec().access_control;
    if *control != AccessControl::default() {
        let refusal = forbidden(&operation, control);
        return Err(Raised::by_gateway(refusal, Some(operation)));
    }
    Ok(Authorized {
        operation,
        input,
        _made_here: (),
    })
}

fn forbidden(operation: &Operation, control: &AccessControl) -> Failure {
    let mut failure = Failure::new(codes::FORBIDDEN).with_message(format!(
        "operation {} needs an identity, and this call carries none",
        operation.name()
    ));
    if !control.required_scopes.is_empty() {
        failure = failure.with_detail("required_scopes", control.required_scopes.clone());
    }
    if let Some(any) = &control.required_scopes_any {
        failure = failure.with_detail("required_scopes_any", any.clone());
    }
    if let Some(resource) = &control.resource_type {
        failure = failure.with_detail("resource_type", resource.clone());
    }
    if let Some(action) = &control.resource_action {
        failure = failure.with_detail("resource_action", action.clone());
    }
    failure
}
