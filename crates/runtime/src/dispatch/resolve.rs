//! Which operation is meant.
//!
//! Refuses with NOT_FOUND, also for internal operations called from outside: that they exist is
//! nobody's business there.

use std::sync::Arc;

use panpan_contract::catalogue::nearest;
use panpan_contract::failure::Alternative;
use panpan_contract::operation::Visibility;
use panpan_contract::{Failure, codes};
use serde_json::Value;

use super::Origin;
use super::raised::Raised;
use super::stamp::asked_name;
use crate::registry::{Operation, Registry};

/// A call whose operation exists for its caller.
pub(super) struct Resolved {
    pub(super) operation: Arc<Operation>,
    pub(super) input: Arc<Value>,
    _made_here: (),
}

pub(super) fn resolve(
    registry: &Registry,
    name: &str,
    origin: Origin,
    input: Arc<Value>,
) -> Result<Resolved, Raised> {
    let found = registry
        .get(name)
        .filter(|operation| is_visible(operation, origin));
    match found {
        Some(operation) => Ok(Resolved {
            operation: operation.clone(),
            input,
            _made_here: (),
        }),
        None => Err(Raised::by_gateway(not_found(registry, name, origin), None)),
    }
}

fn is_visible(operation: &Operation, origin: Origin) -> bool {
    origin == Origin::Operation || operation.spec().visibility == Visibility::External
}

fn not_found(registry: &Registry, name: &str, origin: Origin) -> Failure {
    let visible = registry
        .operations()
        .filter(|operation| is_visible(operation, origin))
        .map(|operation| operation.name().as_str());
    let near = nearest(name, visible);
    let asked = asked_name(name);
    let failure = Failure::new(codes::NOT_FOUND)
        .with_message(format!("there is no operation {asked}"))
        .with_detail("operation", asked);
    if near.is_empty() {
        return failure;
    }
    let instead = near
        .iter()
        .map(|name| Alternative::from(format!("call {name}").as_str()));
    failure
        .with_detail("nearest", near.clone())
        .with_alternatives(instead)
}
