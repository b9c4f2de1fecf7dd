//! Is the code one the operation may answer, and do the details fit their schema.
//!
//! A handler may answer what its operation declares and what the catalogue knows, except the codes
//! of the protocol, which it may at most pass on from another gateway. Everything else is a defect of
//! the handler: the caller sees INTERNAL with the original code, the log the rest.

use panpan_failure::catalogue::is_protocol_code;
use panpan_failure::{Failure, Kind, Redacted, codes};
use serde_json::{Map, Value};

use super::attempt::stopped_by_a_defect;
use super::raised::Speaker;
use super::redact::Cleaned;
use crate::registry::Operation;

/// A failure the caller may see.
pub(super) struct Settled {
    pub(super) failure: Redacted,
    pub(super) private_cause: Option<String>,
    _made_here: (),
}

impl Settled {
    fn of(failure: Redacted, private_cause: Option<String>) -> Self {
        Self {
            failure,
            private_cause,
            _made_here: (),
        }
    }
}

pub(super) fn settle(cleaned: Cleaned, strict: bool) -> Settled {
    let Cleaned {
        failure,
        speaker,
        operation,
        private_cause,
        ..
    } = cleaned;
    let (Speaker::Handler, Some(operation)) = (speaker, &operation) else {
        return Settled::of(failure, private_cause);
    };
    match meant(&failure, operation) {
        // Neither the facts of a code nor whether its details were checked is the handler's to say.
        Some(kind) => checked(failure.restated(kind), operation, private_cause, strict),
        None => undeclared(&failure, operation),
    }
}

/// The facts of the code as they were declared or catalogued; `None` when it is not to be answered.
fn meant(failure: &Failure, operation: &Operation) -> Option<Kind> {
    let code = failure.code();
    if is_protocol_code(code.as_str()) && !operation.relays() {
        return None;
    }
    let declared = operation.declared(code).map(|it| it.kind.clone());
    let kind = failure.kind();
    // This code is for answers of any status, and keeps theirs.
    let keeps_status = code.as_str() == codes::ERR_TRY_LATER.code;
    let said = (keeps_status || kind.is_as_catalogued()).then(|| kind.clone());
    declared.or(said).or_else(|| Kind::of(code.as_str()))
}

/// Copies what the room `stamp` filled in.
fn origin_of(mut failure: Failure, said: &Failure) -> Failure {
    if let Some(source) = said.source() {
        failure = failure.with_source(source);
    }
    if let Some(operation) = said.operation() {
        failure = failure.with_operation(operation);
    }
    if let Some(parameters) = said.parameters() {
        failure = failure.with_parameters(parameters.clone());
    }
    if let (Some(id), Some(at)) = (said.id(), said.at()) {
        failure = failure.stamped(id, at);
    }
    failure
}

/// Details that break their schema keep their code: the caller can still act on it.
fn checked(
    failure: Redacted,
    operation: &Operation,
    cause: Option<String>,
    strict: bool,
) -> Settled {
    let Some(schema) = operation.details_schema(&failure) else {
        return Settled::of(failure, cause);
    };
    let broken = match schema {
        Ok(schema) if schema.accepts(&details(&failure)) => {
            return Settled::of(failure.with_details_checked(), cause);
        }
        Ok(_) => format!(
            "the details of {} do not fit their declared schema",
            failure.code()
        ),
        Err(broken) => format!(
            "the details schema of {} does not compile: {broken}",
            failure.code()
        ),
    };
    if strict {
        let settled = undeclared(&failure, operation);
        return Settled {
            private_cause: Some(broken),
            ..settled
        };
    }
    Settled::of(failure, cause.or(Some(broken)))
}

fn details(failure: &Failure) -> Value {
    failure
        .details()
        .map_or_else(|| Value::Object(Map::new()), |it| Value::Object(it.clone()))
}

/// A handler that answers INTERNAL had an error without a code; any other code it may not answer is
/// named, so that its author finds it.
fn undeclared(said: &Redacted, operation: &Operation) -> Settled {
    let name = operation.name();
    let failure = Failure::new(codes::INTERNAL).with_effect(said.effect());
    let failure = if said.code() == failure.code() {
        failure.with_message(stopped_by_a_defect(operation))
    } else {
        failure
            .with_message(format!(
                "operation {name} failed with a code it may not answer"
            ))
            .with_detail("original_code", said.code().as_str())
    };
    let mut cause = format!("{}: {}", said.code(), said.message());
    for step in said.causes() {
        cause.push_str("; caused by: ");
        cause.push_str(&step.message);
    }
    Settled::of(origin_of(failure, said).redacted(), Some(cause))
}
