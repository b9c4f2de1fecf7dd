//! Secrets leave the failure, and what callers must not see leaves for the log.
//!
//! The rules are the contract's, what the operation's schemas mark as sensitive, and what the operation
//! proves itself with.

use std::sync::Arc;

use panpan_contract::operation::{OperationSpec, Redaction};
use panpan_failure::{Failure, Marked, Redacted, codes};
use panpan_redact::Redactor;

use super::raised::{Raised, Speaker};
use super::request::Call;
use super::stamp::Stamped;
use crate::registry::Operation;

/// A failure with nothing secret in it.
pub(super) struct Cleaned {
    pub(super) failure: Redacted,
    pub(super) speaker: Speaker,
    pub(super) operation: Option<Arc<Operation>>,
    pub(super) private_cause: Option<String>,
    _made_here: (),
}

pub(super) fn redact(stamped: Stamped, call: &Call) -> Cleaned {
    let shows_input = stamped.shows_input;
    let Raised {
        failure,
        speaker,
        operation,
        private_cause,
    } = stamped.raised;
    let failure = match (&operation, speaker) {
        (Some(operation), Speaker::Handler) => wordless(failure, operation.spec()),
        _ => failure,
    };
    let marked = operation
        .as_deref()
        .map_or_else(Marked::default, |operation| Marked {
            parameters: Some(operation.input_markers()),
            details: operation.details_markers(&failure),
        });
    // What an operation proves itself with may come back in what the other side says.
    let mut redactor = operation
        .as_deref()
        .map_or_else(Redactor::new, |it| it.credentials().redactor());
    // Parameters that are the input teach its secrets themselves.
    if !shows_input {
        redactor.learn_value(&call.input, marked.parameters);
    }
    if let Some(brought) = &call.brought {
        brought.teach(&mut redactor);
    }
    let private_cause =
        private_cause.map(|cause| cleaned_like(&failure, cause, redactor.clone(), marked));
    Cleaned {
        failure: failure.redacted_by(redactor, marked),
        speaker,
        operation,
        private_cause,
        _made_here: (),
    }
}

/// What a handler said without the words of the service behind it, where the operator asks for that.
fn wordless(failure: Failure, spec: &OperationSpec) -> Failure {
    let is_declared = |text: &str| {
        // A long description is passed on in part.
        let text = text.trim_end_matches('…');
        let mut declared = spec.error_schemas.iter();
        declared.any(|it| it.description.trim().starts_with(text))
    };
    match spec.redaction {
        Some(Redaction::Strict) => failure.without_free_text(is_declared),
        Some(Redaction::Found) | None => failure,
    }
}

/// A text cleaned as if it were this failure's message: what is secret among the parameters is
/// secret in it too.
fn cleaned_like(failure: &Failure, text: String, redactor: Redactor, marked: Marked<'_>) -> String {
    let mut carrier = Failure::new(codes::INTERNAL).with_message(text);
    if let Some(parameters) = failure.parameters() {
        carrier = carrier.with_parameters(parameters.clone());
    }
    carrier.redacted_by(redactor, marked).message().to_owned()
}
