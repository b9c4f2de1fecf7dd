//! Which operation is meant.
//!
//! Refuses with NOT_FOUND, also for internal operations called from outside: that they exist is
//! nobody's business there. An operation that calls another finds only what it was registered to call.

use std::sync::Arc;

use panpan_contract::catalogue::nearest;
use panpan_contract::operation::Visibility;
use panpan_contract::{Failure, codes};

use super::raised::Raised;
use super::request::{CALL_DEPTH_LIMIT, Call, Origin};
use super::stamp::asked_name;
use crate::identity::lacking;
use crate::registry::{Operation, Registry};

/// A call whose operation exists for its caller.
pub(super) struct Resolved {
    pub(super) operation: Arc<Operation>,
    pub(super) call: Arc<Call>,
    _made_here: (),
}

pub(super) fn resolve(
    call: Arc<Call>,
    registry: impl FnOnce() -> Arc<Registry>,
) -> Result<Resolved, Raised> {
    let found = call.named.as_ref();
    let found = found.filter(|operation| is_visible(operation, &call.origin));
    match found {
        Some(operation) if call.origin.depth() > CALL_DEPTH_LIMIT => {
            let failure = too_deep(operation);
            Err(Raised::by_gateway(failure, Some(operation.clone())))
        }
        Some(operation) => Ok(Resolved {
            operation: operation.clone(),
            call,
            _made_here: (),
        }),
        None => Err(Raised::by_gateway(not_found(&registry(), &call), None)),
    }
}

pub(super) fn is_visible(operation: &Operation, origin: &Origin) -> bool {
    match origin {
        Origin::Wire => operation.spec().visibility == Visibility::External,
        Origin::House => true,
        Origin::Operation { reach, .. } => reach.contains(operation.name()),
    }
}

/// Operations that call each other in a circle would otherwise end only with the stack.
fn too_deep(operation: &Operation) -> Failure {
    Failure::new(codes::ERR_RESOURCE_EXHAUSTED)
        .with_message(format!(
            "operation {} is called by operations that call each other more than {CALL_DEPTH_LIMIT} deep",
            operation.name()
        ))
        .with_detail("call_depth_limit", CALL_DEPTH_LIMIT)
        .with_actions(["Have the operations not call each other in a circle"])
}

fn not_found(registry: &Registry, call: &Call) -> Failure {
    let callable = registry
        .operations()
        .filter(|operation| is_visible(operation, &call.origin))
        // What the caller may not call is not suggested either.
        .filter(|operation| {
            let control = &operation.spec().access_control;
            lacking(control, call.caller.as_deref()).is_none()
        })
        .map(|operation| operation.name().as_str());
    absent(&call.operation, callable, "Call")
}

/// The failure for a name nothing answers to, with the names that could be meant and what to do with them.
pub fn absent<'a>(name: &str, known: impl Iterator<Item = &'a str>, instead: &str) -> Failure {
    let asked = asked_name(name);
    let near = meant(&asked, known);
    let failure = Failure::new(codes::NOT_FOUND)
        .with_message(format!("there is no operation {asked}"))
        .with_detail("operation", asked);
    let Some(nearest) = near.first() else {
        return failure;
    };
    let mut actions = vec![format!("{instead} {nearest} if that is what you meant")];
    actions.extend(failure.recovery().required_actions.iter().cloned());
    failure
        .with_detail("nearest", near.clone())
        .with_actions(actions)
}

/// The names that were most likely meant: written as the name of a tool, or misspelled. An operation of
/// another service is never meant.
fn meant<'a>(asked: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let asked = asked.replacen("__", "/", 1);
    let namespace = asked.split_once('/').map(|(namespace, _)| namespace);
    let is_near = |candidate: &&str| match (namespace, candidate.split_once('/')) {
        (Some(asked), Some((theirs, _))) => !nearest(asked, [theirs]).is_empty(),
        _ => true,
    };
    nearest(&asked, known.filter(is_near))
}
