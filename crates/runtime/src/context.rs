//! What a handler is told about the call it serves, and what it may do on its behalf.

mod asking;

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use jiff::Timestamp;
use panpan_contract::operation::OperationName;
use panpan_failure::{Effect, Redacted};
use panpan_redact::{Redactor, Secret};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::credentials::Credentials;
use crate::dispatch::{
    Answer, Call, CallRequest, DEFAULT_TIMEOUT_MS, Dispatcher, Origin, is_harmless,
    milliseconds_between, worse,
};
use crate::handler::Progress;
use crate::idempotency::IdempotencyKey;
use crate::identity::{Identity, StateOwner};
use crate::ports::Scope;
use crate::registry::Operation;
use crate::retry::OpenCircuit;
use crate::trace::Trace;
pub use asking::SIGNS_OF_LIFE_LIMIT_MS;
use asking::{Relayed, Waited};

/// The call as its handler sees it. Clones are the same call.
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
    /// Made when somebody asks for it: most handlers never do.
    cancellation: OnceLock<CancellationToken>,
    /// What the operations it called may have left behind.
    calls: Mutex<Effect>,
    waited: Mutex<Waited>,
    /// Knows the secrets of the input; made with the first message.
    redactor: OnceLock<Box<Redactor>>,
}

/// Cancels what a handler started once its attempt is over, however it ended.
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
            waited: Mutex::default(),
            redactor: OnceLock::new(),
        }))
    }

    pub(crate) fn cancel_on_drop(&self) -> CancelOnDrop {
        CancelOnDrop(self.clone())
    }

    /// The operation that was called.
    pub fn operation(&self) -> &OperationName {
        self.0.operation.name()
    }

    /// The id of the call, the same over all its attempts.
    pub fn call_id(&self) -> Uuid {
        self.0.call.id
    }

    /// Which attempt this is, counted from 1; earlier calls with the same key count too.
    pub fn attempt(&self) -> u32 {
        self.0.attempt
    }

    /// Who calls; for a call by another operation, the authority that operation acts with.
    pub fn caller(&self) -> Option<&Identity> {
        self.0.call.caller.as_deref()
    }

    /// Who calls, unless another operation does: many people stand behind the authority of one.
    pub fn direct_caller(&self) -> Option<&Identity> {
        self.caller().filter(|_| self.0.call.origin.depth() == 0)
    }

    /// Who owns what the call leaves at a service that keeps state for each of its clients.
    pub fn state_owner(&self) -> &StateOwner {
        &self.0.call.owner
    }

    /// Gives something beside the outcome, for protocols that can carry it, in place of what was given before.
    pub fn give_beside(&self, beside: Option<Value>) {
        let mut kept = self.0.call.beside.lock();
        *kept.as_deref_mut().unwrap_or_else(|error| error.get_mut()) = beside.map(Box::new);
    }

    /// The trace the call belongs to, to be handed on to whoever does the work.
    pub fn trace(&self) -> Option<Trace> {
        self.0.call.trace
    }

    /// The time now.
    pub fn now(&self) -> Timestamp {
        self.0.dispatcher.ports().clock.now()
    }

    /// When the attempt is cut off. It moves on while a person is waited for, and when a service shows that it is
    /// at work.
    pub fn deadline(&self) -> Timestamp {
        self.deadline_at(self.now())
    }

    /// How much time is left.
    pub fn remaining_ms(&self) -> u64 {
        let now = self.now();
        milliseconds_between(now, self.deadline_at(now))
    }

    /// The timeout of this attempt as the operation or the caller stated it, if nearly all of it is left;
    /// otherwise the time that is left.
    pub fn allowed_ms(&self) -> u64 {
        const MOMENT_MS: u64 = 100;
        let left_ms = self.remaining_ms();
        let of_operation = self.0.operation.spec().timeout_ms;
        let stated = [
            self.0.call.timeout_ms,
            Some(of_operation.unwrap_or(DEFAULT_TIMEOUT_MS)),
        ];
        let is_left = |it: &u64| (left_ms..=left_ms.saturating_add(MOMENT_MS)).contains(it);
        stated
            .into_iter()
            .flatten()
            .filter(is_left)
            .min()
            .unwrap_or(left_ms)
    }

    /// Lets time pass.
    pub async fn sleep(&self, duration_ms: u64) {
        self.0.dispatcher.ports().clock.sleep(duration_ms).await;
    }

    /// Fires when the attempt is over or the call is aborted: for work the handler has started beside
    /// itself. The handler's own future is simply dropped.
    pub fn cancellation(&self) -> &CancellationToken {
        self.0
            .cancellation
            .get_or_init(|| match &self.0.call.abort {
                Some(abort) => abort.child_token(),
                None => CancellationToken::new(),
            })
    }

    /// Tells whoever waits how far the work is. What is secret in the message is removed, and so is what
    /// is secret in the input.
    pub fn report(&self, mut progress: Progress) {
        let Some(sink) = &self.0.call.progress else {
            return;
        };
        if let Some(message) = &mut progress.message {
            *message = self.redactor().text(message).into_owned();
        }
        sink.report(progress);
    }

    /// Passes on a line that a service logged for this call, as the params of `notifications/message`. What is
    /// secret in it is removed.
    pub fn log(&self, mut line: Value) {
        if let Some(sink) = &self.0.call.progress {
            self.redactor().value(&mut line);
            sink.log(line);
        }
    }

    /// The lowest level of log lines that the caller wants for this call, if it said.
    pub fn log_level(&self) -> Option<String> {
        self.0.call.progress.as_ref()?.log_level()
    }

    /// Removes what is secret from a value, as from all failures of this call.
    pub fn redact(&self, value: &mut Value) {
        self.redactor().value(value);
    }

    fn redactor(&self) -> &Redactor {
        self.0.redactor.get_or_init(|| {
            let mut redactor = Redactor::new();
            redactor.learn_value(&self.0.call.input, Some(self.0.operation.input_markers()));
            self.0.operation.credentials().teach(&mut redactor);
            Box::new(redactor)
        })
    }

    /// The idempotency key to hand on to whoever does the work, if the call carries one. It is the same
    /// over all attempts and tells nothing of the caller's own key.
    pub fn downstream_key(&self) -> Option<String> {
        self.0.scope.as_ref().map(Scope::downstream_key)
    }

    /// A secret the caller brought along. They are not handed on to the operations this one calls.
    pub fn brought(&self, name: &str) -> Option<&Secret<String>> {
        self.0.call.brought.as_ref()?.get(name)
    }

    /// What the operation proves itself with at the other side.
    pub fn credentials(&self) -> &Credentials {
        self.0.operation.credentials()
    }

    /// The operations this caller may call, by name.
    pub fn callable(&self) -> Vec<Arc<Operation>> {
        self.0.dispatcher.callable(self.caller())
    }

    /// The circuits that are not closed, of all operations.
    pub fn open_circuits(&self) -> Vec<OpenCircuit> {
        self.0.dispatcher.open_circuits(|_| true)
    }

    /// Calls another operation.
    ///
    /// It has to be among those this operation was registered to call, and is checked against the
    /// authority this operation acts with, not against the caller's. It ends when this attempt does.
    pub async fn call(
        &self,
        operation: &str,
        input: impl Into<Arc<Value>>,
    ) -> Result<Value, Redacted> {
        self.compose(operation, input.into(), None).await
    }

    /// Calls another operation with an idempotency key.
    ///
    /// The key belongs to the authority this operation acts with, and so to all its callers together:
    /// one made from [`downstream_key`](Self::downstream_key) keeps them apart, one of a caller's own
    /// choice does not.
    pub async fn call_keyed(
        &self,
        operation: &str,
        input: impl Into<Arc<Value>>,
        key: IdempotencyKey,
    ) -> Result<Value, Redacted> {
        self.compose(operation, input.into(), Some(key)).await
    }

    async fn compose(
        &self,
        operation: &str,
        input: Arc<Value>,
        key: Option<IdempotencyKey>,
    ) -> Result<Value, Redacted> {
        let composition = self.0.operation.composition();
        let harmful = key.is_none() && self.may_do_harm(operation, &input);
        let request = CallRequest {
            origin: Origin::Operation {
                reach: composition.reach.clone(),
                depth: self.0.call.origin.depth() + 1,
            },
            caller: composition.authority.clone(),
            owner: self.0.call.owner.clone(),
            key,
            retry_seed: self.0.call.retry_seed,
            timeout_ms: Some(self.remaining_ms()),
            abort: Some(self.cancellation().clone()),
            person: self.can_ask().then(|| Relayed::by(self)),
            trace: self.trace(),
            place: self.0.call.place.clone(),
            ..CallRequest::from_wire(operation, input)
        };
        // On the heap: an operation may call one that calls it again.
        let work = Box::pin(self.0.dispatcher.dispatch(request));
        let answer = if harmful {
            let told = ToldOfCall {
                context: self,
                effect: Effect::Unknown,
            };
            told.after(work.await)
        } else {
            work.await
        };
        answer.into_value()
    }

    /// Whether a call without a key would do harm if it were repeated.
    fn may_do_harm(&self, operation: &str, input: &Value) -> bool {
        let registry = self.0.dispatcher.registry();
        let callee = registry.get(operation);
        callee.is_some_and(|callee| !is_harmless(callee, input))
    }

    /// What the operations it called may have left behind, all together.
    pub(crate) fn effect_of_calls(&self) -> Effect {
        *self.0.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells a context what a call left behind. A call that is given up half-way may have done anything.
struct ToldOfCall<'a> {
    context: &'a Context,
    effect: Effect,
}

impl ToldOfCall<'_> {
    fn after(mut self, answer: Answer) -> Answer {
        self.effect = match &answer.outcome {
            Ok(_) => Effect::Applied,
            Err(failure) => failure.effect(),
        };
        answer
    }
}

impl Drop for ToldOfCall<'_> {
    fn drop(&mut self) {
        let calls = self.context.0.calls.lock();
        let mut calls = calls.unwrap_or_else(PoisonError::into_inner);
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
