//! Stage authorize: checks whether the caller may call the operation.
//!
//! Refuses with FORBIDDEN. For a call from another operation, the caller is the authority of that
//! operation.

use std::sync::Arc;

use panpan_contract::operation::AccessControl;
use panpan_failure::{Failure, codes};

use super::raised::Raised;
use super::request::Call;
use super::resolve::Resolved;
use crate::identity::{MissingAccess, missing_access};
use crate::registry::Operation;

/// A call that its caller may make.
pub(super) struct Authorized {
    pub(super) operation: Arc<Operation>,
    pub(super) call: Arc<Call>,
    _made_here: (),
}

pub(super) fn authorize(resolved: Resolved) -> Result<Authorized, Raised> {
    let (operation, call) = (resolved.operation, resolved.call);
    let control = &operation.spec().access_control;
    if let Some(missing) = missing_access(control, call.caller.as_deref()) {
        let refusal = forbidden(&operation, control, &missing);
        return Err(Raised::by_gateway(refusal, &operation));
    }
    Ok(Authorized {
        operation,
        call,
        _made_here: (),
    })
}

fn forbidden(operation: &Operation, control: &AccessControl, missing: &MissingAccess) -> Failure {
    let name = operation.name();
    let message = match missing {
        MissingAccess::Identity => {
            format!("operation {name} needs an identity, and this call carries none")
        }
        MissingAccess::Scope(scope) => {
            format!("operation {name} needs the scope {scope}, which the caller does not have")
        }
        MissingAccess::AnyScope(scopes) => format!(
            "operation {name} needs one of the scopes {}, and the caller has none of them",
            scopes.join(", ")
        ),
        MissingAccess::Resource { resource, action } => format!(
            "operation {name} needs a grant for {}{resource}, which the caller does not have",
            action
                .as_ref()
                .map_or_else(String::new, |action| format!("{action} on "))
        ),
    };
    let failure = Failure::new(codes::FORBIDDEN)
        .with_message(message)
        .with_detail("authenticated", *missing != MissingAccess::Identity);
    required(failure, control)
}

fn required(mut failure: Failure, control: &AccessControl) -> Failure {
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
