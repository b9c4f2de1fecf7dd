//! Can the operation be called this way, and does the input fit its schema.
//!
//! Refuses with INVALID_OPERATION_TYPE, or with INVALID_INPUT and everything that does not fit.

use std::sync::Arc;

use jiff::Timestamp;
use panpan_contract::operation::OperationType;
use panpan_failure::{Failure, Violation, codes};

use super::authorize::Authorized;
use super::later;
use super::raised::Raised;
use super::request::Call;
use crate::registry::Operation;
use crate::schema::{Checked, VIOLATIONS_LIMIT};

/// How long an attempt may take when its operation does not say.
pub const DEFAULT_TIMEOUT_MS: u64 = 30_000;

/// How long a call may take, all attempts together, when its caller does not say; at least as long as
/// one attempt.
pub const DEFAULT_CALL_TIMEOUT_MS: u64 = 60_000;

/// How long after a call began another attempt may start, when its operation does not say. Clients that
/// give up after five seconds are common: they get the failure and when to come back, not a time-out.
pub const DEFAULT_PATIENCE_MS: u64 = 4_000;

/// A call with input the handler can rely on.
pub(super) struct Validated {
    pub(super) operation: Arc<Operation>,
    pub(super) call: Arc<Call>,
    /// When the caller stops waiting.
    pub(super) deadline: Timestamp,
    _made_here: (),
}

/// What a caller expects to get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    Answer,
    Stream,
}

pub(super) fn validate(authorized: Authorized, expected: Expected) -> Result<Validated, Raised> {
    let Authorized {
        operation, call, ..
    } = authorized;
    let gives = match operation.spec().op_type {
        OperationType::Subscription => Expected::Stream,
        OperationType::Query | OperationType::Mutation => Expected::Answer,
    };
    if gives != expected {
        let failure = wrong_type(&operation, gives);
        return Err(Raised::by_gateway(failure, Some(operation)));
    }
    let mut checked = match operation.input_schema() {
        Ok(schema) => schema.check_input(&operation.spec().input_schema, &call.input),
        Err(broken) => {
            let cause = format!("the input schema does not compile: {broken}");
            return Err(defect(operation, cause));
        }
    };
    let steering = call.steering.violations.iter();
    checked.violations.extend(steering.cloned());
    if !checked.violations.is_empty() {
        return Err(Raised::by_gateway(unfit(checked), Some(operation)));
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

/// How long one attempt may take.
pub(super) fn attempt_timeout_ms(operation: &Operation) -> u64 {
    operation.spec().timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS)
}

/// Until when another attempt of a call may start.
pub(super) fn patient_until(operation: &Operation, call: &Call) -> Timestamp {
    let patience_ms = operation.spec().patience_ms;
    later(call.at, patience_ms.unwrap_or(DEFAULT_PATIENCE_MS))
}

fn wrong_type(operation: &Operation, gives: Expected) -> Failure {
    let name = operation.name();
    let (message, op_type) = match gives {
        Expected::Stream => (
            format!("operation {name} gives a stream of items and cannot be called for one answer"),
            "subscription",
        ),
        Expected::Answer => (
            format!("operation {name} gives one answer and cannot be subscribed to"),
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

fn defect(operation: Arc<Operation>, cause: String) -> Raised {
    let failure = Failure::new(codes::INTERNAL).with_message(format!(
        "operation {} has a defect and cannot be called",
        operation.name()
    ));
    Raised::by_gateway(failure, Some(operation)).privately(cause)
}

fn unfit(checked: Checked) -> Failure {
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

/// The first violation in full, and how many others there are.
fn sentence(violations: &[Violation], more: bool) -> String {
    let Some(first) = violations.first() else {
        return "input does not match the schema".to_owned();
    };
    let place = if first.pointer.is_empty() {
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
    format!("input does not match the schema{place}: {what}{others}")
}
