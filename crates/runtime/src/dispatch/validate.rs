//! Can the operation be called this way, and does the input fit its schema.
//!
//! Refuses with INVALID_OPERATION_TYPE, or with INVALID_INPUT and everything that does not fit.

use std::sync::Arc;

use panpan_contract::failure::Violation;
use panpan_contract::operation::OperationType;
use panpan_contract::{Failure, codes};
use serde_json::Value;

use super::authorize::Authorized;
use super::raised::Raised;
use crate::registry::Operation;
use crate::schema::{Checked, VIOLATIONS_LIMIT};

/// A call with input the handler can rely on.
pub(super) struct Validated {
    pub(super) operation: Arc<Operation>,
    pub(super) input: Arc<Value>,
    _made_here: (),
}

pub(super) fn validate(authorized: Authorized) -> Result<Validated, Raised> {
    let Authorized {
        operation, input, ..
    } = authorized;
    if operation.spec().op_type == OperationType::Subscription {
        return Err(Raised::by_gateway(streams(&operation), Some(operation)));
    }
    let checked = match operation.input_schema() {
        Ok(schema) => schema.check(&input),
        Err(broken) => {
            let cause = format!("the input schema does not compile: {broken}");
            return Err(defect(operation, cause));
        }
    };
    if checked.violations.is_empty() {
        return Ok(Validated {
            operation,
            input,
            _made_here: (),
        });
    }
    Err(Raised::by_gateway(unfit(checked), Some(operation)))
}

fn streams(operation: &Operation) -> Failure {
    Failure::new(codes::INVALID_OPERATION_TYPE)
        .with_message(format!(
            "operation {} gives a stream of items and cannot be called for one answer",
            operation.name()
        ))
        .with_detail("op_type", "subscription")
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
        (0, _) => String::new(),
        (count, false) => format!(", and {count} more"),
        (count, true) => format!(", and more than {count} others"),
    };
    format!("input does not match the schema{place}: {what}{others}")
}
