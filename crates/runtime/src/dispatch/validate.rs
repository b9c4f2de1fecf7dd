//! Stage validate: checks the type of the operation and the input against its schema, and sets the deadline.
//!
//! Refuses with INVALID_OPERATION_TYPE, or with INVALID_INPUT and all violations.

use std::sync::Arc;

use jiff::Timestamp;
use panpan_contract::operation::OperationType;
use panpan_failure::{Failure, Violation, codes};

use super::authorize::Authorized;
use super::raised::Raised;
use super::request::Call;
use crate::registry::Operation;
use crate::schema::{Checked, VIOLATIONS_LIMIT};
use crate::time::later;

/// The timeout of one attempt, unless the operation sets another.
pub const DEFAULT_TIMEOUT_MS: u64 = 30_000;

/// The timeout of a call with all its attempts, unless the caller sets another; never shorter than the
/// timeout of one attempt.
pub const DEFAULT_CALL_TIMEOUT_MS: u64 = 60_000;

/// The patience, unless the operation sets another. Many clients give up after five seconds; with this
/// default they get the failure and its delay instead of a timeout.
pub const DEFAULT_PATIENCE_MS: u64 = 4_000;

/// A call whose input matches the schema.
pub(super) struct Validated {
    pub(super) operation: Arc<Operation>,
    pub(super) call: Arc<Call>,
    /// When the caller stops waiting.
    pub(super) deadline: Timestamp,
    _made_here: (),
}

/// The kind of result that the caller expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    Answer,
    Stream,
}

pub(super) fn validate(authorized: Authorized, expected: Expected) -> Result<Validated, Raised> {
    let (operation, call) = (authorized.operation, authorized.call);
    let returns = match operation.spec().op_type {
        OperationType::Subscription => Expected::Stream,
        OperationType::Query | OperationType::Mutation => Expected::Answer,
    };
    if returns != expected {
        let failure = wrong_type(&operation, returns);
        return Err(Raised::by_gateway(failure, &operation));
    }
    if returns == Expected::Stream && call.caller_key().is_some() {
        let failure = key_of_stream(&operation);
        return Err(Raised::by_gateway(failure, &operation));
    }
    let mut checked = match operation.input_schema() {
        Ok(schema) => schema.check_input(&operation.spec().input_schema, &call.input),
        Err(broken) => {
            let cause = format!("the input schema does not compile: {broken}");
            return Err(invalid_schema(operation, cause));
        }
    };
    let in_options = call.input_options.violations.iter();
    checked.violations.extend(in_options.cloned());
    if !checked.violations.is_empty() {
        return Err(Raised::by_gateway(invalid_input(checked), &operation));
    }
    Ok(Validated {
        deadline: deadline(&operation, &call),
        operation,
        call,
        _made_here: (),
    })
}

fn deadline(operation: &Operation, call: &Call) -> Timestamp {
    let attempt_ms = attempt_timeout_ms(operation);
    let call_ms = call.timeout_ms;
    later(
        call.at,
        call_ms.unwrap_or(attempt_ms.max(DEFAULT_CALL_TIMEOUT_MS)),
    )
}

/// The timeout of one attempt.
pub(super) fn attempt_timeout_ms(operation: &Operation) -> u64 {
    operation.spec().timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS)
}

/// When the patience ends: no later attempt may start.
pub(super) fn patient_until(operation: &Operation, call: &Call) -> Timestamp {
    let patience_ms = operation.spec().patience_ms;
    later(call.at, patience_ms.unwrap_or(DEFAULT_PATIENCE_MS))
}

fn wrong_type(operation: &Operation, returns: Expected) -> Failure {
    let name = operation.name();
    let (message, op_type) = match returns {
        Expected::Stream => (
            format!("operation {name} returns a stream of items and has to be subscribed to"),
            "subscription",
        ),
        Expected::Answer => (
            format!("operation {name} returns one response and cannot be subscribed to"),
            match operation.spec().op_type {
                OperationType::Query => "query",
                _ => "mutation",
            },
        ),
    };
    Failure::new(codes::INVALID_OPERATION_TYPE)
        .with_message(message)
        .with_detail("op_type", op_type)
}

/// A stream has no outcome that a key could keep, and a key is never ignored.
fn key_of_stream(operation: &Operation) -> Failure {
    let message = format!(
        "operation {} returns a stream of items, which an idempotency key cannot keep; nothing was started",
        operation.name()
    );
    Failure::new(codes::INVALID_REQUEST)
        .with_message(message)
        .with_actions(["Subscribe again without an idempotency key"])
}

fn invalid_schema(operation: Arc<Operation>, cause: String) -> Raised {
    let failure = Failure::new(codes::INTERNAL).with_message(format!(
        "operation {} cannot be called because of an internal error",
        operation.name()
    ));
    Raised::by_gateway(failure, &operation).with_private_cause(cause)
}

fn invalid_input(checked: Checked) -> Failure {
    let message = sentence(&checked.violations, checked.more);
    let failure = Failure::new(codes::INVALID_INPUT)
        .with_message(message)
        .with_violations(checked.violations);
    if checked.more {
        failure.with_detail("violations_limit", VIOLATIONS_LIMIT)
    } else {
        failure
    }
}

/// The first violation, and how many others there are.
fn sentence(violations: &[Violation], more: bool) -> String {
    let Some(first) = violations.first() else {
        return "input does not match the schema".to_owned();
    };
    let location = if first.pointer.is_empty() {
        String::new()
    } else {
        format!(" at {}", first.pointer)
    };
    let what = match (&first.expected, &first.actual) {
        (Some(expected), Some(actual)) => format!("expected {expected}, found {actual}"),
        (Some(expected), None) => format!("expected {expected}"),
        _ => first.reason.clone(),
    };
    let others = match (violations.len() - 1, more) {
        (0, false) => String::new(),
        (0, true) => ", and perhaps more".to_owned(),
        (count, false) => format!(", and {count} more"),
        (count, true) => format!(", and more than {count} others"),
    };
    format!("input does not match the schema{location}: {what}{others}")
}
