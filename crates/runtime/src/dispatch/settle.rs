//! Stage settle: checks the code and the details of a failure against the contract.
//!
//! A handler may return declared codes and catalogue codes. Protocol codes it may only relay from another
//! gateway. For any other code the caller gets INTERNAL with the original code, and the log gets the rest.

use panpan_failure::catalogue::is_protocol_code;
use panpan_failure::{Failure, Kind, Redacted, codes};
use serde_json::{Map, Value};

use super::attempt::internal_error;
use super::raised::RaisedBy;
use super::redact::Cleaned;
use crate::registry::Operation;

/// A failure that the caller may see, and the cause for the private log.
pub(super) type Settled = (Redacted, Option<String>);

pub(super) fn settle(cleaned: Cleaned, strict: bool) -> Settled {
    let Cleaned {
        failure,
        raised_by,
        operation,
        private_cause,
        ..
    } = cleaned;
    let (RaisedBy::Handler, Some(operation)) = (raised_by, &operation) else {
        return (failure, private_cause);
    };
    match kind_of(&failure, operation) {
        // The handler cannot change the facts of a code, nor claim that its details were checked.
        Some(kind) => checked(failure.restated(kind), operation, private_cause, strict),
        None => undeclared(&failure, operation),
    }
}

/// The declared or catalogued kind of the code; `None` if the operation may not return it.
fn kind_of(failure: &Failure, operation: &Operation) -> Option<Kind> {
    let code = failure.code();
    if is_protocol_code(code.as_str()) && !operation.registration.relays {
        return None;
    }
    let declared = operation.declared(code).map(|it| it.kind.clone());
    let kind = failure.kind();
    // ERR_TRY_LATER keeps the status of the response.
    let keeps_status = code.as_str() == codes::ERR_TRY_LATER.code;
    let given = (keeps_status || kind.is_as_catalogued()).then(|| kind.clone());
    declared.or(given).or_else(|| Kind::of(code.as_str()))
}

/// Copies the members that the stage `stamp` filled in, except for the parameters.
pub(super) fn with_stamp_of(mut failure: Failure, original: &Failure) -> Failure {
    if let Some(source) = original.source() {
        failure = failure.with_source(source);
    }
    if let Some(operation) = original.operation() {
        failure = failure.with_operation(operation);
    }
    if let (Some(id), Some(at)) = (original.id(), original.at()) {
        failure = failure.stamped(id, at);
    }
    failure
}

/// Checks the details against their schema. A failure with invalid details keeps its code, unless strict.
fn checked(
    failure: Redacted,
    operation: &Operation,
    cause: Option<String>,
    strict: bool,
) -> Settled {
    let Some(schema) = operation.details_schema(&failure) else {
        return (failure, cause);
    };
    let problem = match schema {
        Ok(schema) if schema.accepts(&details(&failure)) => {
            return (failure.with_details_checked(), cause);
        }
        Ok(_) => format!(
            "the details of {} do not match their declared schema",
            failure.code()
        ),
        Err(broken) => format!(
            "the details schema of {} does not compile: {broken}",
            failure.code()
        ),
    };
    if strict {
        return (undeclared(&failure, operation).0, Some(problem));
    }
    (failure, cause.or(Some(problem)))
}

fn details(failure: &Failure) -> Value {
    failure
        .details()
        .map_or_else(|| Value::Object(Map::new()), |it| Value::Object(it.clone()))
}

/// INTERNAL in place of a code that the handler may not return. The details name the original code for the
/// author of the handler, unless it was INTERNAL itself.
fn undeclared(original: &Redacted, operation: &Operation) -> Settled {
    let name = operation.name();
    let failure = Failure::new(codes::INTERNAL).with_effect(original.effect());
    let failure = if original.code() == failure.code() {
        failure.with_message(internal_error(operation))
    } else {
        failure
            .with_message(format!(
                "operation {name} failed with a code that it may not return"
            ))
            .with_detail("original_code", original.code().as_str())
    };
    let mut cause = format!("{}: {}", original.code(), original.message());
    for step in original.causes() {
        cause.push_str("; caused by: ");
        cause.push_str(&step.message);
    }
    let mut failure = with_stamp_of(failure, original);
    if let Some(parameters) = original.parameters() {
        failure = failure.with_parameters(parameters.clone());
    }
    (failure.redacted(), Some(cause))
}
