//! A call as a protocol decoded it, and the state that it carries through the stages.

use std::any::Any;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use panpan_contract::operation::OperationName;
use panpan_contract::retry::{Attempt, RetryPolicy};
use panpan_redact::Opaque;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::claim::generated_key;
use super::input_options::InputOptions;
use crate::credentials::Credentials;
use crate::handler::{AskClient, ReportProgress};
use crate::idempotency::IdempotencyKey;
use crate::identity::{Identity, StateOwner};
use crate::lock::lock;
use crate::ports::{Before, Scope};
use crate::registry::Operation;
use crate::time::later;
use crate::trace::Trace;

/// A decoded call. Its debug form does not show the input.
#[derive(Clone)]
pub struct CallRequest {
    /// The name of the operation, as the caller wrote it.
    pub operation: String,
    /// The input, not validated yet.
    pub input: Arc<Value>,
    /// The argument that contained the input, such as `input`, if the caller sent other arguments too.
    pub input_argument: Option<&'static str>,
    /// Where the call comes from.
    pub origin: Origin,
    /// The identity of the caller, if it is known.
    pub caller: Option<Arc<Identity>>,
    /// The owner of the state that the call leaves at a stateful service. An operation that calls another passes on
    /// the owner of its own call.
    pub owner: StateOwner,
    /// The idempotency key.
    pub key: Option<IdempotencyKey>,
    /// Whether the gateway generated the key because the caller sent none. The caller can repeat the call
    /// with it only after a failure named it.
    pub key_is_generated: bool,
    /// The key for services that recognise keys, if the call has none. By default one is made from the id of the
    /// call.
    pub service_key: Option<IdempotencyKey>,
    /// How to treat a key that another call holds.
    pub in_flight: InFlight,
    /// The seed for the jitter of retry delays.
    pub retry_seed: Option<i64>,
    /// How long the caller waits for all attempts together.
    pub timeout_ms: Option<u64>,
    /// Cancels the call, with or without a key.
    pub abort: Option<CancellationToken>,
    /// Receives progress and log messages.
    pub progress: Option<Arc<dyn ReportProgress>>,
    /// Sends questions to the client, if it accepts them.
    pub client: Option<Arc<dyn AskClient>>,
    /// The trace that the call belongs to.
    pub trace: Option<Trace>,
    /// Members that the caller addressed to the service behind the operation, not interpreted here.
    pub meta: Option<Arc<Map<String, Value>>>,
    /// Secrets that the caller sent for the upstream, by name.
    pub caller_secrets: Option<Credentials>,
    /// The concurrency slot of the call, released by dropping it when the call ends. A call with a key keeps
    /// its slot after the caller has left.
    pub slot: Option<Arc<dyn Any + Send + Sync>>,
    /// Whether the call is counted but not recorded: its input is confidential, also to those who may read recordings.
    pub unrecorded: bool,
}

/// Where a call comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// From a client; it cannot see internal operations.
    Wire,
    /// From this process, such as the command line or a task.
    Internal,
    /// From another operation.
    Operation {
        /// The operations that it was registered to call.
        reach: Arc<BTreeSet<OperationName>>,
        /// How many operations are between this call and the first one.
        depth: u32,
    },
}

/// The maximum depth of nested operation calls.
pub const CALL_DEPTH_LIMIT: u32 = 32;

impl Origin {
    /// How many operations are between this call and the first one.
    pub(crate) fn depth(&self) -> u32 {
        match self {
            Origin::Wire | Origin::Internal => 0,
            Origin::Operation { depth, .. } => *depth,
        }
    }
}

/// How to treat a key that another call holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InFlight {
    /// Refuse the call.
    #[default]
    Refuse,
    /// Wait for the outcome of the other call until the deadline.
    Wait,
}

/// What a task passes to `Dispatcher::dispatch_task` with each attempt.
///
/// The owner of the task holds the lease, waits between attempts, and keeps the outcome.
#[derive(Clone, Debug, Default)]
pub struct TaskState {
    /// How the earlier attempts ended.
    pub history: Vec<Attempt>,
    /// The scope from which the downstream key is derived, unless the input has a key.
    pub scope: Option<Scope>,
    /// The retry policy of the task, if it has its own.
    pub policy: Option<RetryPolicy>,
    /// How often a process stopped during an attempt, if it did so in the last one: that attempt may have taken
    /// effect.
    pub abandoned: Option<u32>,
}

impl TaskState {
    /// The state before the first attempt, with this scope.
    pub(super) fn of_scope(scope: Option<Scope>) -> Self {
        Self {
            scope,
            ..Self::default()
        }
    }

    /// The history as that of a key. Attempts are counted by the history of the task.
    pub(super) fn before(&self) -> Before {
        match self.abandoned {
            Some(recoveries) => Before::Abandoned {
                attempts: 0,
                recoveries,
            },
            None => Before::Nothing,
        }
    }
}

impl CallRequest {
    /// A call from a client without an identity.
    pub fn from_wire(operation: impl Into<String>, input: impl Into<Arc<Value>>) -> Self {
        Self {
            operation: operation.into(),
            input: input.into(),
            input_argument: None,
            origin: Origin::Wire,
            caller: None,
            owner: StateOwner::Anyone,
            key: None,
            key_is_generated: false,
            service_key: None,
            in_flight: InFlight::default(),
            retry_seed: None,
            timeout_ms: None,
            abort: None,
            progress: None,
            client: None,
            trace: None,
            meta: None,
            caller_secrets: None,
            slot: None,
            unrecorded: false,
        }
    }

    /// Adds a key.
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

/// A call on its way through the stages: the request, and what the stages need besides.
pub(crate) struct Call {
    request: CallRequest,
    pub(crate) id: Uuid,
    pub(crate) at: Timestamp,
    /// The operation of that name, whether or not the caller may see it.
    pub(super) named: Option<Arc<Operation>>,
    pub(super) input_options: InputOptions,
    /// What the last attempt returned in addition to its output.
    pub(crate) extra: Mutex<Option<Box<Value>>>,
}

impl Deref for Call {
    type Target = CallRequest;

    fn deref(&self) -> &CallRequest {
        &self.request
    }
}

impl Call {
    /// The key that the caller sent.
    pub(super) fn caller_key(&self) -> Option<&IdempotencyKey> {
        self.key.as_ref().filter(|_| !self.key_is_generated)
    }

    /// The key that a service gets if the call has none.
    pub(super) fn service_key(&self) -> IdempotencyKey {
        let stated = self.service_key.clone();
        stated.unwrap_or_else(|| generated_key(self.id))
    }

    /// Whether the caller has cancelled it.
    pub(super) fn is_aborted(&self) -> bool {
        self.abort
            .as_ref()
            .is_some_and(CancellationToken::is_cancelled)
    }

    /// The deadline that the caller set, if any. A call from another operation has none: its timeout is the
    /// rest of the time of that operation.
    pub(crate) fn caller_deadline(&self) -> Option<Timestamp> {
        let is_nested = matches!(self.origin, Origin::Operation { .. });
        let timeout_ms = self.timeout_ms.filter(|_| !is_nested)?;
        Some(later(self.at, timeout_ms))
    }

    pub(super) fn of(
        request: CallRequest,
        named: Option<Arc<Operation>>,
        input_options: InputOptions,
        id: Uuid,
        at: Timestamp,
    ) -> Self {
        Self {
            request,
            id,
            at,
            named,
            input_options,
            extra: Mutex::default(),
        }
    }

    /// The name of its caller.
    pub(crate) fn caller_id(&self) -> Option<&str> {
        self.caller.as_ref().map(|it| it.id.as_str())
    }

    pub(super) fn take_extra(&self) -> Option<Box<Value>> {
        lock(&self.extra).take()
    }
}
