//! A failure that is not stamped, redacted and settled yet.

use std::sync::Arc;

use panpan_failure::Failure;

use crate::registry::Operation;

/// A failure with the context that the later stages need.
pub(super) struct Raised {
    pub(super) failure: Failure,
    pub(super) raised_by: RaisedBy,
    /// `None` when the operation was not found.
    pub(super) operation: Option<Arc<Operation>>,
    /// The cause for the private log.
    pub(super) private_cause: Option<String>,
}

/// Who raised a failure. Only the gateway may raise protocol codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RaisedBy {
    Gateway,
    Handler,
}

impl Raised {
    /// A refusal by the gateway, perhaps of an unknown operation.
    pub(super) fn refusal(failure: Failure, operation: Option<Arc<Operation>>) -> Self {
        Self {
            failure,
            raised_by: RaisedBy::Gateway,
            operation,
            private_cause: None,
        }
    }

    /// A refusal or another failure of the gateway.
    pub(super) fn by_gateway(failure: Failure, operation: &Arc<Operation>) -> Self {
        Self::refusal(failure, Some(operation.clone()))
    }

    /// A failure that a handler returned.
    pub(super) fn by_handler(failure: Failure, operation: &Arc<Operation>) -> Self {
        Self {
            raised_by: RaisedBy::Handler,
            ..Self::by_gateway(failure, operation)
        }
    }

    /// Adds a cause for the private log.
    pub(super) fn with_private_cause(mut self, cause: impl Into<String>) -> Self {
        self.private_cause = Some(cause.into());
        self
    }
}
