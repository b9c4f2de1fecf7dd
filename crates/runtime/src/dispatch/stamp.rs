//! Who speaks, what was tried, which occurrence this is, when, and whether its caller may repeat it.
//!
//! Fills in only what the failure does not say itself.

use panpan_contract::operation::NAME_LENGTH_LIMIT;
use panpan_failure::{Effect, Failure, Repeat, codes, size};
use serde_json::{Map, Value};

use super::claim::{is_sent_a_key, made_key, may_be_repeated_by_caller};
use super::raised::{Raised, Speaker};
use super::request::Call;
use crate::idempotency::IdempotencyKey;
use crate::ports::{Clock, Ids};
use crate::registry::Operation;

/// The source of failures that are the gateway's own.
pub const GATEWAY: &str = "gateway";

/// Under which name among the details a failure names the idempotency key of its call.
pub(super) const KEY_DETAIL: &str = "idempotency_key";

/// The largest input shown as a failure's parameters, in bytes of JSON; a larger one is left out.
pub const PARAMETERS_BYTES_LIMIT: usize = 16 * 1024;

/// A name as the caller wrote it, no longer than a name can be.
pub(super) fn asked_name(name: &str) -> String {
    name.chars().take(NAME_LENGTH_LIMIT).collect()
}

/// A failure that says where it comes from.
pub(super) struct Stamped {
    pub(super) raised: Raised,
    /// Whether its parameters are the whole input of the call.
    pub(super) shows_input: bool,
    _made_here: (),
}

pub(super) fn stamp(mut raised: Raised, call: &Call, ids: &dyn Ids, clock: &dyn Clock) -> Stamped {
    let mut failure = raised.failure.stamped(ids.new_id(), clock.now());
    let asked;
    let operation = match &raised.operation {
        Some(operation) => operation.name().as_str(),
        None => {
            asked = asked_name(&call.operation);
            &asked
        }
    };
    if failure.source().is_none() {
        failure = failure.with_source(match raised.speaker {
            Speaker::Gateway => GATEWAY,
            Speaker::Handler => operation,
        });
    }
    // What could not be read as a call asked for nothing in particular.
    if failure.operation().is_none() && !operation.is_empty() {
        failure = failure.with_operation(operation);
    }
    let mut shows_input = false;
    if let (None, Some(parameters)) = (failure.parameters(), parameters(call)) {
        failure = failure.with_parameters(parameters);
        shows_input = true;
    }
    if let Some(operation) = &raised.operation {
        let by_gateway = raised.speaker == Speaker::Gateway;
        // Nothing is said about repeating what can neither succeed nor have happened.
        if failure.retryable() || failure.effect() != Effect::None {
            let repeat = repeat(&failure, by_gateway, operation, call);
            failure = failure.with_repeat(repeat);
        }
        if let Some(key) = key_to_name(&failure, operation, call) {
            failure = failure.with_detail(KEY_DETAIL, key.as_str());
        }
    }
    raised.failure = failure;
    Stamped {
        raised,
        shows_input,
        _made_here: (),
    }
}

/// Whether the caller may repeat the call. What a service or a handler says about repeating counts only
/// where it forbids it. Another panpan knows the operation, and the key it was given is the caller's.
pub(super) fn repeat(
    failure: &Failure,
    by_gateway: bool,
    operation: &Operation,
    call: &Call,
) -> Repeat {
    let is_relayed = failure.attempts().is_some();
    match failure.repeat() {
        Some(refused @ (Repeat::Refused | Repeat::Frozen)) => refused,
        Some(known @ Repeat::OnlyWithoutEffect) if is_relayed => known,
        _ if may_be_repeated_by_caller(operation, call) => Repeat::Allowed,
        Some(Repeat::Allowed) if by_gateway => Repeat::Allowed,
        Some(Repeat::Allowed) if is_relayed && call.stated_key().is_some() => Repeat::Allowed,
        _ => Repeat::OnlyWithoutEffect,
    }
}

/// The key a caller has to know that did not give it: an operator can find the call by it, and a service
/// that recognises keys does nothing twice when the call is repeated with it.
fn key_to_name(failure: &Failure, operation: &Operation, call: &Call) -> Option<IdempotencyKey> {
    let is_unknown = failure.code().as_str() == codes::ERR_OUTCOME_UNKNOWN.code;
    let may_have_happened = failure.effect() == Effect::Unknown;
    match &call.key {
        Some(key) if is_unknown => Some(key.clone()),
        key if may_have_happened && is_sent_a_key(operation, call) => {
            Some(key.clone().unwrap_or_else(|| made_key(call.id)))
        }
        _ => None,
    }
}

/// The input, unless it is large.
fn parameters(call: &Call) -> Option<Map<String, Value>> {
    let members = call.input.as_object()?;
    size::fits(&call.input, PARAMETERS_BYTES_LIMIT).then(|| members.clone())
}
