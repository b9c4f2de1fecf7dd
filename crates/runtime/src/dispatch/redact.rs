//! Stage redact: removes secrets from a failure and from its private cause.
//!
//! Besides the general rules, it removes values that the schemas mark as sensitive, the credentials of the
//! operation, and the secrets that the caller sent.

use std::sync::Arc;

use panpan_contract::operation::{OperationSpec, Redaction};
use panpan_failure::{Failure, Marked, Redacted, codes};
use panpan_redact::Redactor;

use super::raised::{Raised, RaisedBy};
use super::request::Call;
use super::stamp::Stamped;
use crate::registry::Operation;

/// A failure without secrets.
pub(super) struct Cleaned {
    pub(super) failure: Redacted,
    pub(super) raised_by: RaisedBy,
    pub(super) operation: Option<Arc<Operation>>,
    pub(super) private_cause: Option<String>,
    _made_here: (),
}

pub(super) fn redact(stamped: Stamped, call: &Call) -> Cleaned {
    let shows_input = stamped.shows_input;
    let Raised {
        failure,
        raised_by,
        operation,
        private_cause,
    } = stamped.raised;
    let failure = match (&operation, raised_by) {
        (Some(operation), RaisedBy::Handler) => without_service_text(failure, operation.spec()),
        _ => failure,
    };
    let marked = operation
        .as_deref()
        .map_or_else(Marked::default, |operation| Marked {
            parameters: Some(operation.input_markers()),
            details: operation.details_markers(&failure),
        });
    // A service may echo the credentials of the operation in its error text.
    let mut redactor = operation
        .as_deref()
        .map_or_else(Redactor::new, |it| it.registration.credentials.redactor());
    // If the parameters are the input, the redactor learns its secrets from them.
    if !shows_input {
        redactor.learn_value(&call.input, marked.parameters);
    }
    if let Some(secrets) = &call.caller_secrets {
        secrets.teach(&mut redactor);
    }
    let private_cause =
        private_cause.map(|cause| redact_cause(&failure, cause, redactor.clone(), marked));
    Cleaned {
        failure: failure.redacted_by(redactor, marked),
        raised_by,
        operation,
        private_cause,
        _made_here: (),
    }
}

/// Removes the error text of the service, if the operator chose strict redaction.
fn without_service_text(failure: Failure, spec: &OperationSpec) -> Failure {
    let is_declared = |text: &str| {
        // A long description is truncated.
        let text = text.trim_end_matches('…');
        let mut declared = spec.error_schemas.iter();
        declared.any(|it| it.description.trim().starts_with(text))
    };
    match spec.redaction {
        Some(Redaction::Strict) => failure.without_free_text(is_declared),
        Some(Redaction::Found) | None => failure,
    }
}

/// Redacts the private cause like the message of the failure, with the secrets among its parameters.
fn redact_cause(failure: &Failure, text: String, redactor: Redactor, marked: Marked<'_>) -> String {
    let mut carrier = Failure::new(codes::INTERNAL).with_message(text);
    if let Some(parameters) = failure.parameters() {
        carrier = carrier.with_parameters(parameters.clone());
    }
    carrier.redacted_by(redactor, marked).message().to_owned()
}
