//! Sixth room: secrets leave the failure, and what callers must not see leaves for the log.
//!
//! The rules are the contract's.

use std::sync::Arc;

use panpan_contract::{Failure, Redacted, codes};

use super::raised::{Raised, Speaker};
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

pub(super) fn redact(stamped: Stamped) -> Cleaned {
    let Raised {
        failure,
        speaker,
        operation,
        private_cause,
    } = stamped.raised;
    let private_cause = private_cause.map(|cause| cleaned_like(&failure, cause));
    Cleaned {
        failure: failure.redacted(),
        speaker,
        operation,
        private_cause,
        _made_here: (),
    }
}

/// A text cleaned as if it were this failure's message: what is secret among the parameters is
/// secret in it too.
fn cleaned_like(failure: &Failure, text: String) -> String {
    let mut carrier = Failure::new(codes::INTERNAL).with_message(text);
    if let Some(parameters) = failure.parameters() {
        carrier = carrier.with_parameters(parameters.clone());
    }
    carrier.redacted().message().to_owned()
}
