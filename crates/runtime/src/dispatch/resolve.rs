//! Which operation is meant.
//!
//! Refuses with NOT_FOUND, also for internal operations called from outside: that they exist is
//! nobody's business there. An operation that calls another finds only what it was registered to call.

use std::sync::Arc;

use panpan_contract::operation::Visibility;
use panpan_failure::catalogue::nearest;
use panpan_failure::{Failure, codes};

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
        Origin::Internal => true,
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

/// The names that were most likely meant: written in another way, or misspelled. An operation of another
/// service is never meant, nor one that does something else to the same thing.
pub fn meant<'a>(asked: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let asked = Spelled::of(asked);
    let known = known.filter(|it| asked.may_mean(it));
    if asked.namespace.is_some() {
        return nearest(&asked.whole, known);
    }
    // Written without its service.
    let known: Vec<&str> = known.collect();
    let near = nearest(&asked.whole, known.iter().map(|it| last_part(it)));
    let mut named: Vec<(usize, &str)> = Vec::new();
    for name in known {
        let nearness = near.iter().position(|it| *it == last_part(name));
        named.extend(nearness.map(|nearness| (nearness, name)));
    }
    named.sort_by_key(|(nearness, _)| *nearness);
    let named = named.into_iter().map(|(_, name)| name);
    named.take(MEANT_LIMIT).collect()
}

/// How many operations a name without its service may mean.
const MEANT_LIMIT: usize = 3;

/// The name of an operation or tool without its service.
fn last_part(name: &str) -> &str {
    let without_steps = name.rsplit_once('/').map_or(name, |(_, last)| last);
    let parts = without_steps.rsplit_once("__");
    parts.map_or(without_steps, |(_, last)| last)
}

/// A name in its parts, whether it is written as an operation's or as a tool's.
struct Spelled {
    whole: String,
    namespace: Option<String>,
    /// What it does: the first word of its last part.
    verb: String,
}

impl Spelled {
    fn of(name: &str) -> Self {
        let whole = name.replace("__", "/");
        let (namespace, last) = match whole.rsplit_once('/') {
            Some((namespace, last)) => (Some(namespace.to_owned()), last),
            None => (None, whole.as_str()),
        };
        let verb_ends = |it: char| !it.is_lowercase();
        let verb = last.split(verb_ends).next().unwrap_or_default().to_owned();
        Self {
            namespace,
            verb,
            whole,
        }
    }

    fn may_mean(&self, candidate: &str) -> bool {
        let theirs = Self::of(candidate);
        let same_service = match (&self.namespace, &theirs.namespace) {
            (Some(ours), Some(theirs)) => !nearest(ours, [theirs.as_str()]).is_empty(),
            _ => true,
        };
        same_service && is_slip(&self.verb, &theirs.verb)
    }
}

/// Whether a word is another with a slip of the pen in it. Short words that begin differently mean
/// different things: get, set.
fn is_slip(word: &str, other: &str) -> bool {
    const SHORT: usize = 4;
    let is_long = word.len() > SHORT && other.len() > SHORT;
    let begins_alike = word.chars().next() == other.chars().next();
    word == other || ((is_long || begins_alike) && !nearest(word, [other]).is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_misspelled_name_of_the_same_service_is_meant() {
        let known = [
            "shop/createOrder",
            "shop/deleteOrder",
            "shop/getOrder",
            "shop/list_orders",
            "store/getOrder",
        ];
        for (asked, expected) in [
            ("shop__getOrder", &["shop/getOrder"][..]),
            ("shop/getOrders", &["shop/getOrder"]),
            ("shop/deletOrder", &["shop/deleteOrder"]),
            ("shp/getOrder", &["shop/getOrder"]),
            ("shop/list_order", &["shop/list_orders"]),
            ("shop/setOrder", &[]),
            ("shop/removeOrder", &[]),
            ("shop/updateOrder", &[]),
            ("shop/addOrder", &[]),
            ("warehouse/getOrder", &[]),
            ("getOrder", &["shop/getOrder", "store/getOrder"]),
            ("list_order", &["shop/list_orders"]),
            ("removeOrder", &[]),
        ] {
            assert_eq!(meant(asked, known.into_iter()), expected, "{asked}");
        }
    }
}
