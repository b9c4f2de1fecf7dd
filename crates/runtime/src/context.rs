//! The call as its handler sees it: its facts, its deadline, and calls of other operations.

mod questions;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use jiff::Timestamp;
use panpan_contract::operation::OperationName;
use panpan_failure::{Effect, Redacted};
use panpan_redact::{Redactor, Secret};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::credentials::Credentials;
use crate::dispatch::{
    Answer, Call, CallRequest, DEFAULT_TIMEOUT_MS, Dispatcher, Origin, is_harmless, worse,
};
use crate::handler::Progress;
use crate::idempotency::IdempotencyKey;
use crate::identity::{Identity, StateOwner};
use crate::lock::lock;
use crate::ports::Scope;
use crate::registry::Operation;
use crate::retry::OpenCircuit;
use crate::time::{milliseconds_between, stated_ms};
use crate::trace::Trace;
pub use questions::EXTENDED_ATTEMPT_LIMIT_MS;
use questions::Pauses;

/// The call as its handler sees it. Clones refer to the same call.
#[derive(Clone)]
pub struct Context(Arc<Inner>);

struct Inner {
    dispatcher: Dispatcher,
    operation: Arc<Operation>,
    call: Arc<Call>,
    scope: Option<Scope>,
    attempt: u32,
    began: Timestamp,
    deadline: Timestamp,
    /// Created on demand: most handlers never need it.
    cancellation: OnceLock<CancellationToken>,
    /// The combined effect of the operations that it called.
    calls: Mutex<Effect>,
    pauses: Mutex<Pauses>,
    has_responded: AtomicBool,
    /// Knows the secrets of the input; created with the first message.
    redactor: OnceLock<Box<Redactor>>,
}

/// Cancels the background work of a handler when its attempt ends.
pub(crate) struct CancelOnDrop(Context);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(token) = self.0.0.cancellation.get() {
            token.cancel();
        }
    }
}

impl Context {
    pub(crate) fn new(
        dispatcher: &Dispatcher,
        operation: &Arc<Operation>,
        call: &Arc<Call>,
        scope: Option<Scope>,
        attempt: u32,
        (began, deadline): (Timestamp, Timestamp),
    ) -> Self {
        Self(Arc::new(Inner {
            dispatcher: dispatcher.clone(),
            operation: operation.clone(),
            call: call.clone(),
            scope,
            attempt,
            began,
            deadline,
            cancellation: OnceLock::new(),
            calls: Mutex::new(Effect::None),
            pauses: Mutex::default(),
            has_responded: AtomicBool::new(false),
            redactor: OnceLock::new(),
        }))
    }

    pub(crate) fn cancel_on_drop(&self) -> CancelOnDrop {
        CancelOnDrop(self.clone())
    }

    /// The name of the operation.
    pub fn operation(&self) -> &OperationName {
        self.0.operation.name()
    }

    /// The id of the call, the same for all its attempts.
    pub fn call_id(&self) -> Uuid {
        self.0.call.id
    }

    /// The number of this attempt, starting at 1; earlier calls with the same key count too.
    pub fn attempt(&self) -> u32 {
        self.0.attempt
    }

    /// The caller; for a call from another operation, the authority of that operation.
    pub fn caller(&self) -> Option<&Identity> {
        self.0.call.caller.as_deref()
    }

    /// The caller, unless it is another operation, whose authority acts for many callers.
    pub fn direct_caller(&self) -> Option<&Identity> {
        self.caller().filter(|_| self.0.call.origin.depth() == 0)
    }

    /// The owner of the state that the call leaves at a stateful service.
    pub fn state_owner(&self) -> &StateOwner {
        &self.0.call.owner
    }

    /// Sets the value that is returned in addition to the outcome, for protocols that can carry it.
    pub fn set_extra(&self, extra: Option<Value>) {
        *lock(&self.0.call.extra) = extra.map(Box::new);
    }

    /// Notes that the upstream itself is healthy, whatever the failure of this attempt says: it is about something
    /// behind the upstream, and does not count for its circuits.
    pub fn note_response(&self) {
        self.0.has_responded.store(true, Ordering::Relaxed);
    }

    pub(crate) fn has_responded(&self) -> bool {
        self.0.has_responded.load(Ordering::Relaxed)
    }

    /// The trace of the call, to be passed to the upstream.
    pub fn trace(&self) -> Option<Trace> {
        self.0.call.trace
    }

    /// The members that the caller addressed to the service behind this operation.
    pub fn meta(&self) -> Option<&Map<String, Value>> {
        self.0.call.meta.as_deref()
    }

    /// The time now.
    pub fn now(&self) -> Timestamp {
        self.0.dispatcher.ports().clock.now()
    }

    /// The deadline of the attempt. It moves while a question to the client is open, and with
    /// [`reset_timeout`](Self::reset_timeout).
    pub fn deadline(&self) -> Timestamp {
        self.deadline_at(self.now())
    }

    /// The time until the deadline.
    pub fn remaining_ms(&self) -> u64 {
        let now = self.now();
        milliseconds_between(now, self.deadline_at(now))
    }

    /// The timeout that the operation or the caller set, if nearly all of it is left; otherwise the remaining
    /// time.
    pub fn allowed_ms(&self) -> u64 {
        let of_operation = self.0.operation.spec().timeout_ms;
        let timeouts = [
            self.0.call.timeout_ms,
            Some(of_operation.unwrap_or(DEFAULT_TIMEOUT_MS)),
        ];
        stated_ms(self.remaining_ms(), timeouts)
    }

    /// Sleeps.
    pub async fn sleep(&self, duration_ms: u64) {
        self.0.dispatcher.ports().clock.sleep(duration_ms).await;
    }

    /// Fires when the attempt ends or the call is aborted: for background work of the handler. The future of
    /// the handler itself is dropped.
    pub fn cancellation(&self) -> &CancellationToken {
        self.0
            .cancellation
            .get_or_init(|| match &self.0.call.abort {
                Some(abort) => abort.child_token(),
                None => CancellationToken::new(),
            })
    }

    /// Reports progress to the caller. Secrets are redacted from the message, including those of the input.
    pub fn report(&self, mut progress: Progress) {
        let Some(sink) = &self.0.call.progress else {
            return;
        };
        if let Some(message) = &mut progress.message {
            *message = self.redactor().text(message).into_owned();
        }
        sink.report(progress);
    }

    /// Passes a log line of a service to the caller, as the params of `notifications/message`. Secrets are
    /// redacted.
    pub fn log(&self, mut line: Value) {
        if let Some(sink) = &self.0.call.progress {
            self.redactor().value(&mut line);
            sink.log(line);
        }
    }

    /// The lowest level of log lines that the caller wants for this call, if it set one.
    pub fn log_level(&self) -> Option<String> {
        self.0.call.progress.as_ref()?.log_level()
    }

    /// Redacts the secrets of this call in a value.
    pub fn redact(&self, value: &mut Value) {
        self.redactor().value(value);
    }

    fn redactor(&self) -> &Redactor {
        self.0.redactor.get_or_init(|| {
            let mut redactor = Redactor::new();
            redactor.learn_value(&self.0.call.input, Some(self.0.operation.input_markers()));
            self.0
                .operation
                .registration
                .credentials
                .teach(&mut redactor);
            Box::new(redactor)
        })
    }

    /// The idempotency key to send to the upstream, if the call has a key. It is the same for all attempts and
    /// does not reveal the key of the caller.
    pub fn downstream_key(&self) -> Option<String> {
        self.0.scope.as_ref().map(Scope::downstream_key)
    }

    /// A secret that the caller sent. Operations that this one calls do not get it.
    pub fn caller_secret(&self, name: &str) -> Option<&Secret<String>> {
        self.0.call.caller_secrets.as_ref()?.get(name)
    }

    /// The credentials of the operation for its upstream.
    pub fn credentials(&self) -> &Credentials {
        &self.0.operation.registration.credentials
    }

    /// The operations that this caller may call, ordered by name.
    pub fn callable(&self) -> Vec<Arc<Operation>> {
        self.0.dispatcher.callable(self.caller())
    }

    /// The operations that a caller with another identity may call, ordered by name.
    pub fn callable_by(&self, identity: Option<&Identity>) -> Vec<Arc<Operation>> {
        self.0.dispatcher.callable(identity)
    }

    /// The circuits of all operations that are not closed.
    pub fn open_circuits(&self) -> Vec<OpenCircuit> {
        self.0.dispatcher.open_circuits(|_| true)
    }

    /// Calls another operation.
    ///
    /// This operation has to be registered to call it. The call has the authority of this operation, not that
    /// of its caller, and ends when this attempt ends.
    pub async fn call(
        &self,
        operation: &str,
        input: impl Into<Arc<Value>>,
    ) -> Result<Value, Redacted> {
        self.compose(CallRequest::from_wire(operation, input)).await
    }

    /// Calls another operation with an idempotency key.
    ///
    /// The key belongs to the authority of this operation, which all its callers share. A key derived from
    /// [`downstream_key`](Self::downstream_key) is distinct for each of them; a key chosen by a caller is not.
    pub async fn call_keyed(
        &self,
        operation: &str,
        input: impl Into<Arc<Value>>,
        key: IdempotencyKey,
    ) -> Result<Value, Redacted> {
        let request = CallRequest::from_wire(operation, input);
        self.compose(request.keyed(key)).await
    }

    /// Calls another operation with an idempotency key, as [`call_keyed`](Self::call_keyed) does, and records neither the
    /// input nor the failure.
    pub async fn call_unrecorded(
        &self,
        operation: &str,
        input: impl Into<Arc<Value>>,
        key: IdempotencyKey,
    ) -> Result<Value, Redacted> {
        let request = CallRequest {
            unrecorded: true,
            ..CallRequest::from_wire(operation, input)
        };
        self.compose(request.keyed(key)).await
    }

    async fn compose(&self, request: CallRequest) -> Result<Value, Redacted> {
        let composition = &self.0.operation.registration.composition;
        let is_tracked =
            request.key.is_none() && self.may_do_harm(&request.operation, &request.input);
        let request = CallRequest {
            origin: Origin::Operation {
                reach: composition.reach.clone(),
                depth: self.0.call.origin.depth() + 1,
            },
            caller: composition.authority.clone(),
            owner: self.0.call.owner.clone(),
            retry_seed: self.0.call.retry_seed,
            timeout_ms: Some(self.remaining_ms()),
            abort: Some(self.cancellation().clone()),
            client: self.can_ask().then(|| Arc::new(self.clone()) as _),
            trace: self.trace(),
            slot: self.0.call.slot.clone(),
            ..request
        };
        // On the heap, because calls may be recursive.
        let work = Box::pin(self.0.dispatcher.dispatch(request));
        let answer = if is_tracked {
            let tracked = TrackedCall {
                context: self,
                effect: Effect::Unknown,
            };
            tracked.after(work.await)
        } else {
            work.await
        };
        answer.into_value()
    }

    /// Whether repeating a call without a key could do harm.
    fn may_do_harm(&self, operation: &str, input: &Value) -> bool {
        let registry = self.0.dispatcher.registry();
        let callee = registry.get(operation);
        callee.is_some_and(|callee| !is_harmless(callee, input))
    }

    /// The combined effect of the operations that it called.
    pub(crate) fn effect_of_calls(&self) -> Effect {
        *lock(&self.0.calls)
    }
}

/// Adds the effect of a call to its context when dropped; unknown, if the call did not end.
struct TrackedCall<'a> {
    context: &'a Context,
    effect: Effect,
}

impl TrackedCall<'_> {
    fn after(mut self, answer: Answer) -> Answer {
        self.effect = match &answer.outcome {
            Ok(_) => Effect::Applied,
            Err(failure) => failure.effect(),
        };
        answer
    }
}

impl Drop for TrackedCall<'_> {
    fn drop(&mut self) {
        let mut calls = lock(&self.context.0.calls);
        *calls = worse(*calls, self.effect);
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Context")
            .field("operation", self.operation())
            .field("call", &self.call_id())
            .field("attempt", &self.attempt())
            .finish_non_exhaustive()
    }
}
