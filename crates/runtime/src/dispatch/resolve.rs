//! Stage resolve: finds the operation by name.
//!
//! Refuses with NOT_FOUND, also for internal operations, so that clients cannot discover them. An
//! operation that calls another finds only the operations that it was registered to call.

use std::sync::Arc;

use panpan_failure::catalogue::nearest;
use panpan_failure::{Failure, codes};

use super::raised::Raised;
use super::request::{CALL_DEPTH_LIMIT, Call, Origin};
use super::stamp::requested_name;
use crate::registry::{Operation, Registry};

/// A call of an operation that its caller can see.
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
            Err(Raised::by_gateway(failure, operation))
        }
        Some(operation) => Ok(Resolved {
            operation: operation.clone(),
            call,
            _made_here: (),
        }),
        None => Err(Raised::refusal(not_found(&registry(), &call), None)),
    }
}

pub(super) fn is_visible(operation: &Operation, origin: &Origin) -> bool {
    match origin {
        Origin::Wire => operation.is_external(),
        Origin::Internal => true,
        Origin::Operation { reach, .. } => reach.contains(operation.name()),
    }
}

/// Stops operations that call each other in a cycle before they overflow the stack.
fn too_deep(operation: &Operation) -> Failure {
    Failure::new(codes::ERR_RESOURCE_EXHAUSTED)
        .with_message(format!(
            "operation {} exceeds the limit of {CALL_DEPTH_LIMIT} nested operation calls",
            operation.name()
        ))
        .with_detail("call_depth_limit", CALL_DEPTH_LIMIT)
        .with_actions(["Break the cycle of operations that call each other"])
}

fn not_found(registry: &Registry, call: &Call) -> Failure {
    let callable = registry
        .operations()
        .filter(|operation| is_visible(operation, &call.origin))
        // Operations that the caller may not call are not suggested.
        .filter(|operation| operation.admits(call.caller.as_deref()))
        .map(|operation| operation.name().as_str());
    operation_not_found(&call.operation, callable, "Call")
}

/// NOT_FOUND for an unknown operation, with similar names. `verb` starts the action for the nearest one,
/// such as `Call`.
pub fn operation_not_found<'a>(
    name: &str,
    known: impl Iterator<Item = &'a str>,
    verb: &str,
) -> Failure {
    let requested = requested_name(name);
    let near = similar_names(&requested, known);
    let failure = Failure::new(codes::NOT_FOUND)
        .with_message(format!("there is no operation {requested}"))
        .with_detail("operation", requested);
    let Some(nearest) = near.first() else {
        return failure;
    };
    let mut actions = vec![format!("{verb} {nearest} if that is what you meant")];
    actions.extend(failure.recovery().required_actions.iter().cloned());
    failure
        .with_detail("nearest", near.clone())
        .with_actions(actions)
}

/// The known names that differ from a requested one only in spelling or notation. Names of another service
/// and names with another verb never match.
pub fn similar_names<'a>(requested: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let known: Vec<&str> = known.collect();
    let same = known.iter().filter(|it| is_other_notation(requested, it));
    let same: Vec<&str> = same.take(SIMILAR_NAMES_LIMIT).copied().collect();
    if !same.is_empty() {
        return same;
    }
    let requested = NameParts::of(requested);
    let known = known.into_iter().filter(|it| requested.may_mean(it));
    if requested.namespace.is_some() {
        return nearest(&requested.whole, known);
    }
    // The caller left out the service.
    let known: Vec<&str> = known.collect();
    let near = nearest(&requested.whole, known.iter().map(|it| last_part(it)));
    let mut named: Vec<(usize, &str)> = Vec::new();
    for name in known {
        let nearness = near.iter().position(|it| *it == last_part(name));
        named.extend(nearness.map(|nearness| (nearness, name)));
    }
    named.sort_by_key(|(nearness, _)| *nearness);
    let named = named.into_iter().map(|(_, name)| name);
    named.take(SIMILAR_NAMES_LIMIT).collect()
}

/// How many operations are suggested for a name without a service, or in another notation.
const SIMILAR_NAMES_LIMIT: usize = 3;

/// Whether two names differ only in case and in the characters between their words: demo.echo, demo/echo.
fn is_other_notation(name: &str, other: &str) -> bool {
    let letters = |name: &str| -> String {
        let letters = name.chars().filter(|it| it.is_alphanumeric());
        letters.flat_map(char::to_lowercase).collect()
    };
    let name = letters(name);
    !name.is_empty() && name == letters(other)
}

/// The name of an operation or tool without its service.
fn last_part(name: &str) -> &str {
    let after_slash = name.rsplit_once('/').map_or(name, |(_, last)| last);
    let parts = after_slash.rsplit_once("__");
    parts.map_or(after_slash, |(_, last)| last)
}

/// The parts of an operation name or a tool name.
struct NameParts {
    whole: String,
    namespace: Option<String>,
    /// The first word of its last part.
    verb: String,
}

impl NameParts {
    fn of(name: &str) -> Self {
        let mut whole = name.replace("__", "/");
        if !whole.contains('/') {
            whole = whole.replacen('.', "/", 1);
        }
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
        same_service && is_misspelling(&self.verb, &theirs.verb)
    }
}

/// Whether one word is a misspelling of the other. Short words that begin differently are different words:
/// get, set.
fn is_misspelling(word: &str, other: &str) -> bool {
    const SHORT: usize = 4;
    let is_long = word.len() > SHORT && other.len() > SHORT;
    let begins_alike = word.chars().next() == other.chars().next();
    let adds_first_letter = |long: &str, short: &str| {
        let rest = long.chars().next().map(|it| &long[it.len_utf8()..]);
        short.len() >= SHORT && rest == Some(short)
    };
    let is_long = is_long || adds_first_letter(word, other) || adds_first_letter(other, word);
    word == other || ((is_long || begins_alike) && !nearest(word, [other]).is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_misspelled_names_of_the_same_service_are_similar() {
        let known = [
            "shop/createOrder",
            "shop/deleteOrder",
            "shop/getOrder",
            "shop/list_orders",
            "store/getOrder",
        ];
        for (requested, expected) in [
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
            ("shop.getOrder", &["shop/getOrder"]),
            ("shop.getOrdr", &["shop/getOrder"]),
            ("shop/GetOrder", &["shop/getOrder"]),
            ("shop_get_order", &["shop/getOrder"]),
            ("shop/xlist_orders", &["shop/list_orders"]),
            ("shop/ist_orders", &[]),
        ] {
            let found = similar_names(requested, known.into_iter());
            assert_eq!(found, expected, "{requested}");
        }
    }
}
