//! A call as it is handed in, and what it carries through the rooms.

use std::any::Any;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use panpan_contract::operation::OperationName;
use panpan_contract::retry::Attempt;
use panpan_redact::Opaque;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::later;
use super::steer::Steering;
use crate::credentials::Credentials;
use crate::handler::{AskPerson, ReportProgress};
use crate::idempotency::IdempotencyKey;
use crate::identity::{Identity, StateOwner};
use crate::ports::Scope;
use crate::registry::Operation;
use crate::trace::Trace;

/// A call as a protocol hands it in. Its debug form does not show the input.
#[derive(Clone)]
pub struct CallRequest {
    /// The name of the operation, as the caller wrote it.
    pub operation: String,
    /// The input, not yet checked.
    pub input: Arc<Value>,
    /// The argument that held the input, such as `input`, where the caller sent other arguments too.
    pub input_stands_in: Option<&'static str>,
    /// Where the call comes from.
    pub origin: Origin,
    /// Who calls, if that is known.
    pub caller: Option<Arc<Identity>>,
    /// Who owns what the call leaves at a service that keeps state: the first caller, also where an operation calls
    /// another.
    pub owner: StateOwner,
    /// The name of the piece of work.
    pub key: Option<IdempotencyKey>,
    /// Whether the gateway made the key because the caller gave none. The caller cannot repeat the call
    /// under it before a failure names it.
    pub key_is_made: bool,
    /// What to do when the same piece of work is under way.
    pub in_flight: InFlight,
    /// What to jitter delays with.
    pub retry_seed: Option<i64>,
    /// How long the caller waits, all attempts together.
    pub timeout_ms: Option<u64>,
    /// Stops the work when it fires, keyed or not.
    pub abort: Option<CancellationToken>,
    /// Where to tell how far the work is.
    pub progress: Option<Arc<dyn ReportProgress>>,
    /// How to ask the person behind the call, if that can be done.
    pub person: Option<Arc<dyn AskPerson>>,
    /// The trace the call belongs to.
    pub trace: Option<Trace>,
    /// Secrets the caller brought along for whoever does the work, by name.
    pub brought: Option<Credentials>,
    /// The place the call takes up, given back by dropping it when the work has ended: work with a key
    /// keeps its place after its caller has left.
    pub place: Option<Arc<dyn Any + Send + Sync>>,
}

/// Where a call comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// From outside: internal operations do not exist for it.
    Wire,
    /// From this process, such as the command line or a task.
    Internal,
    /// From another operation, which reaches only these.
    Operation {
        /// The operations it was registered to call.
        reach: Arc<BTreeSet<OperationName>>,
        /// How many operations stand between it and whoever called first.
        depth: u32,
    },
}

/// How deep operations may call each other.
pub const CALL_DEPTH_LIMIT: u32 = 32;

impl Origin {
    /// How many operations stand between the call and whoever called first.
    pub(crate) fn depth(&self) -> u32 {
        match self {
            Origin::Wire | Origin::Internal => 0,
            Origin::Operation { depth, .. } => *depth,
        }
    }
}

/// What to do when the same piece of work is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InFlight {
    /// Say so.
    #[default]
    Refuse,
    /// Wait for its outcome, as long as the caller waits.
    Wait,
}

/// What a task brings along when it enters with one attempt at a time.
///
/// Whoever brings it holds the lease on the work, waits between the attempts, and keeps the outcome.
#[derive(Clone, Debug, Default)]
pub struct Held {
    /// How the earlier attempts ended.
    pub history: Vec<Attempt>,
    /// What the downstream key is made from.
    pub scope: Option<Scope>,
}

impl CallRequest {
    /// A call from outside by nobody in particular.
    pub fn from_wire(operation: impl Into<String>, input: impl Into<Arc<Value>>) -> Self {
        Self {
            operation: operation.into(),
            input: input.into(),
            input_stands_in: None,
            origin: Origin::Wire,
            caller: None,
            owner: StateOwner::Anyone,
            key: None,
            key_is_made: false,
            in_flight: InFlight::default(),
            retry_seed: None,
            timeout_ms: None,
            abort: None,
            progress: None,
            person: None,
            trace: None,
            brought: None,
            place: None,
        }
    }

    /// The same call under a key.
    pub fn keyed(mut self, key: IdempotencyKey) -> Self {
        self.key = Some(key);
        self
    }
}

impl fmt::Debug for CallRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CallRequest")
            .field("operation", &self.operation)
            .field("input", &Opaque(&self.input))
            .field("origin", &self.origin)
            .field("caller", &self.caller)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

/// A call on its way through the rooms.
pub(crate) struct Call {
    pub(crate) id: Uuid,
    pub(crate) at: Timestamp,
    pub(crate) operation: String,
    /// What goes by that name. Whether it is there for the caller is another question.
    pub(crate) named: Option<Arc<Operation>>,
    pub(crate) input: Arc<Value>,
    pub(crate) input_stands_in: Option<&'static str>,
    pub(crate) origin: Origin,
    pub(crate) caller: Option<Arc<Identity>>,
    pub(crate) owner: StateOwner,
    pub(crate) key: Option<IdempotencyKey>,
    pub(crate) key_is_made: bool,
    pub(crate) in_flight: InFlight,
    pub(crate) retry_seed: Option<i64>,
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) abort: Option<CancellationToken>,
    pub(crate) progress: Option<Arc<dyn ReportProgress>>,
    pub(crate) person: Option<Arc<dyn AskPerson>>,
    pub(crate) trace: Option<Trace>,
    pub(crate) brought: Option<Credentials>,
    pub(crate) place: Option<Arc<dyn Any + Send + Sync>>,
    pub(crate) steering: Steering,
    /// What the last attempt gave beside its output.
    pub(crate) beside: Mutex<Option<Box<Value>>>,
}

impl Call {
    /// The key its caller gave, with which the same caller can repeat it.
    pub(super) fn stated_key(&self) -> Option<&IdempotencyKey> {
        self.key.as_ref().filter(|_| !self.key_is_made)
    }

    /// Whether its caller has stopped it.
    pub(super) fn is_aborted(&self) -> bool {
        self.abort
            .as_ref()
            .is_some_and(CancellationToken::is_cancelled)
    }

    /// When its caller stops waiting, if it said so itself. What an operation says to one it calls is what
    /// is left of its own time, and ends with that.
    pub(crate) fn stated_deadline(&self) -> Option<Timestamp> {
        let is_composed = matches!(self.origin, Origin::Operation { .. });
        let stated_ms = self.timeout_ms.filter(|_| !is_composed)?;
        Some(later(self.at, stated_ms))
    }

    pub(super) fn of(
        request: CallRequest,
        named: Option<Arc<Operation>>,
        steering: Steering,
        id: Uuid,
        at: Timestamp,
    ) -> Self {
        Self {
            named,
            id,
            at,
            operation: request.operation,
            input: request.input,
            origin: request.origin,
            caller: request.caller,
            owner: request.owner,
            key: request.key,
            input_stands_in: request.input_stands_in,
            key_is_made: request.key_is_made,
            in_flight: request.in_flight,
            retry_seed: request.retry_seed,
            timeout_ms: request.timeout_ms,
            abort: request.abort,
            progress: request.progress,
            person: request.person,
            trace: request.trace,
            brought: request.brought,
            place: request.place,
            steering,
            beside: Mutex::default(),
        }
    }

    pub(super) fn take_beside(&self) -> Option<Box<Value>> {
        let mut beside = self.beside.lock().unwrap_or_else(PoisonError::into_inner);
        beside.take()
    }
}
