//! The one way through the house, for every call from every protocol.
//!
//! ```text
//! resolve → authorize → validate → attempt → output
//!     └─────────┴───────────┴─────────┴──→ stamp → redact → settle → failure
//! ```
//!
//! Each room consumes what the room before gave and returns the next type, whose fields no other room
//! can make: the order is a fact of compilation. A refusal drops forward to stamp; nothing climbs.
//! Stamping comes before redaction, because a secret among the parameters has to be known before the
//! message can be cleaned of it.
//!
//! Three rooms are not built yet. `claim` will stand between validate and attempt, and replay the
//! outcome of a key already used; `decide` after settle, and send a retryable failure back to attempt;
//! `record` at the end, and keep keyed outcomes durably before the reply. Until then there is one
//! attempt per call, and finished failures are handed to [`Outcomes`] for people who watch.

mod attempt;
mod authorize;
mod raised;
mod redact;
mod resolve;
mod settle;
mod stamp;
#[cfg(test)]
mod tests;
mod validate;

use std::sync::Arc;

use panpan_contract::Redacted;
use serde_json::Value;

use crate::ports::{Clock, Ids, Outcomes, PrivateLog};
use crate::registry::Registry;
use raised::Raised;
use stamp::Tried;

pub use attempt::DEFAULT_TIMEOUT_MS;
pub use stamp::{GATEWAY, PARAMETERS_BYTES_LIMIT};

/// A call as a protocol hands it in.
#[derive(Clone, Debug, PartialEq)]
pub struct CallRequest {
    /// The name of the operation, as the caller wrote it.
    pub operation: String,
    /// The input, not yet checked.
    pub input: Value,
    /// Where the call comes from.
    pub origin: Origin,
}

/// Where a call comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// From outside: internal operations do not exist for it.
    Wire,
    /// From another operation.
    Operation,
}

impl CallRequest {
    /// A call from outside.
    pub fn from_wire(operation: impl Into<String>, input: Value) -> Self {
        Self {
            operation: operation.into(),
            input,
            origin: Origin::Wire,
        }
    }
}

/// Walks calls through the rooms.
#[derive(Clone, Debug)]
pub struct Dispatcher {
    registry: Arc<Registry>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    outcomes: Arc<dyn Outcomes>,
    log: Arc<dyn PrivateLog>,
}

impl Dispatcher {
    /// A dispatcher over a registry, with everything it needs from outside.
    pub fn new(
        registry: Arc<Registry>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn Ids>,
        outcomes: Arc<dyn Outcomes>,
        log: Arc<dyn PrivateLog>,
    ) -> Self {
        Self {
            registry,
            clock,
            ids,
            outcomes,
            log,
        }
    }

    /// The operations it serves.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Serves one call: its output, or a failure with nothing secret in it.
    ///
    /// Refuses with NOT_FOUND, FORBIDDEN, INVALID_OPERATION_TYPE, INVALID_INPUT; adds TIMEOUT,
    /// ERR_OUTCOME_UNKNOWN and INTERNAL to what the handler answers.
    pub async fn dispatch(&self, request: CallRequest) -> Result<Value, Redacted> {
        let input = Arc::new(request.input);
        let tried = Tried::new(&request.operation, input.clone());
        let outcome = self.walk(&request.operation, request.origin, input).await;
        outcome.map_err(|raised| self.finish(raised, &tried))
    }

    async fn walk(&self, name: &str, origin: Origin, input: Arc<Value>) -> Result<Value, Raised> {
        let resolved = resolve::resolve(&self.registry, name, origin, input)?;
        let authorized = authorize::authorize(resolved)?;
        let validated = validate::validate(authorized)?;
        attempt::attempt(validated, &*self.clock).await
    }

    fn finish(&self, raised: Raised, tried: &Tried) -> Redacted {
        let stamped = stamp::stamp(raised, tried, &*self.ids, &*self.clock);
        let settled = settle::settle(redact::redact(stamped));
        if let (Some(id), Some(cause)) = (settled.failure.id(), &settled.private_cause) {
            let operation = settled.failure.operation().unwrap_or_default();
            self.log.note(id, operation, cause);
        }
        self.outcomes.record(&settled.failure);
        settled.failure
    }
}
