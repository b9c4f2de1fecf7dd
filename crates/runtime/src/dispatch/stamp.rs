//! Stage stamp: adds the id, time, source, operation and parameters to a failure, and whether the caller may
//! repeat the call.
//!
//! Fills in only members that the failure does not have.

use jiff::Timestamp;
use panpan_contract::operation::NAME_LENGTH_LIMIT;
use panpan_failure::{Effect, Failure, Repeat, codes, size};
use serde_json::{Map, Value};

use super::claim::{gets_generated_key, may_be_repeated_by_caller};
use super::raised::{Raised, RaisedBy};
use super::request::Call;
use crate::idempotency::IdempotencyKey;
use crate::ports::Ids;
use crate::registry::Operation;

/// The source of failures that the gateway raised.
pub const GATEWAY: &str = "gateway";

/// The member of the details that names the idempotency key of the call.
pub(super) const KEY_DETAIL: &str = "idempotency_key";

/// The largest input that a failure shows as its parameters, in bytes of JSON.
pub const PARAMETERS_BYTES_LIMIT: usize = 16 * 1024;

/// The name that the caller requested, truncated to the maximum length of a name.
pub(super) fn requested_name(name: &str) -> String {
    name.chars().take(NAME_LENGTH_LIMIT).collect()
}

/// A failure with its id, time, source and operation.
pub(super) struct Stamped {
    pub(super) raised: Raised,
    /// Whether its parameters are the input of the call.
    pub(super) shows_input: bool,
    _made_here: (),
}

pub(super) fn stamp(mut raised: Raised, call: &Call, ids: &dyn Ids, at: Timestamp) -> Stamped {
    let mut failure = raised.failure.stamped(ids.new_id(), at);
    let requested;
    let operation = match &raised.operation {
        Some(operation) => operation.name().as_str(),
        None => {
            requested = requested_name(&call.operation);
            &requested
        }
    };
    if failure.source().is_none() {
        failure = failure.with_source(match raised.raised_by {
            RaisedBy::Gateway => GATEWAY,
            RaisedBy::Handler => operation,
        });
    }
    // A call that could not be decoded has no operation name.
    if failure.operation().is_none() && !operation.is_empty() {
        failure = failure.with_operation(operation);
    }
    let mut shows_input = false;
    if let (None, Some(parameters)) = (failure.parameters(), parameters(call)) {
        failure = failure.with_parameters(parameters);
        shows_input = true;
    }
    if let Some(operation) = &raised.operation {
        let by_gateway = raised.raised_by == RaisedBy::Gateway;
        // A call that cannot succeed and had no effect needs no statement about repeating.
        if failure.retryable() || failure.effect() != Effect::None {
            let repeat = repeat(&failure, by_gateway, operation, call);
            failure = failure.with_repeat(repeat);
        }
        if let Some(key) = key_for_details(&failure, operation, call) {
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

/// Whether the caller may repeat the call. A service or handler can only forbid it. Another panpan may also
/// allow it: it knows the operation, and it received the key of the caller.
pub(super) fn repeat(
    failure: &Failure,
    by_gateway: bool,
    operation: &Operation,
    call: &Call,
) -> Repeat {
    let is_relayed = failure.attempts().is_some();
    match failure.repeat() {
        Some(refused @ (Repeat::Refused | Repeat::Frozen)) => refused,
        Some(Repeat::OnlyWithoutEffect | Repeat::WithKey) if is_relayed => {
            Repeat::OnlyWithoutEffect
        }
        _ if may_be_repeated_by_caller(operation, call) => Repeat::Allowed,
        Some(Repeat::Allowed) if by_gateway => Repeat::Allowed,
        Some(Repeat::Allowed) if is_relayed && call.caller_key().is_some() => Repeat::Allowed,
        _ if gets_generated_key(operation, call) => Repeat::WithKey,
        _ => Repeat::OnlyWithoutEffect,
    }
}

/// The key that the details name: the caller sent it, or the service recognises it and applies a repeated call only
/// once. A generated key that the service does not get would only invite to repeat the call with it.
pub(super) fn key_for_details(
    failure: &Failure,
    operation: &Operation,
    call: &Call,
) -> Option<IdempotencyKey> {
    let is_unknown = failure.code().as_str() == codes::ERR_OUTCOME_UNKNOWN.code;
    let may_have_happened = failure.effect() == Effect::Unknown;
    match &call.key {
        Some(key) if is_unknown && call.caller_key().is_some() => Some(key.clone()),
        key if may_have_happened && gets_generated_key(operation, call) => {
            Some(key.clone().unwrap_or_else(|| call.service_key()))
        }
        _ => None,
    }
}

/// The input, unless it is too large.
fn parameters(call: &Call) -> Option<Map<String, Value>> {
    let members = call.input.as_object()?;
    size::fits(&call.input, PARAMETERS_BYTES_LIMIT).then(|| members.clone())
}
