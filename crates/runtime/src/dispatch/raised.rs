//! A failure on its way to the caller, not yet safe to show.

use std::sync::Arc;

use panpan_failure::Failure;

use crate::registry::Operation;

/// A failure with what the later rooms have to know about it.
pub(super) struct Raised {
    pub(super) failure: Failure,
    pub(super) speaker: Speaker,
    /// `None` when the operation was not found.
    pub(super) operation: Option<Arc<Operation>>,
    /// What callers must not see.
    pub(super) private_cause: Option<String>,
}

/// Whose failure it is. The protocol's codes are only the gateway's to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaker {
    Gateway,
    Handler,
}

impl Raised {
    /// A refusal, or a failure of the runtime itself.
    pub(super) fn by_gateway(failure: Failure, operation: Option<Arc<Operation>>) -> Self {
        Self {
            failure,
            speaker: Speaker::Gateway,
            operation,
            private_cause: None,
        }
    }

    /// What a handler returned.
    pub(super) fn by_handler(failure: Failure, operation: Arc<Operation>) -> Self {
        Self {
            failure,
            speaker: Speaker::Handler,
            operation: Some(operation),
            private_cause: None,
        }
    }

    /// Adds what only the log may hold.
    pub(super) fn privately(mut self, cause: impl Into<String>) -> Self {
        self.private_cause = Some(cause.into());
        self
    }
}
