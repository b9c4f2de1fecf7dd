//! The gateway: identification of callers, limits, metrics and logging for every protocol.
//!
//! No protocol reaches the dispatcher past the gateway, so each limit covers all protocols together.

mod log;
mod surface;

use std::net::IpAddr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use foldhash::HashSet;
use panpan_contract::operation::OperationType;
use panpan_failure::{Failure, Redacted};
use panpan_runtime::ports::StoreError;
use panpan_runtime::system::LogThrottle;
use panpan_runtime::{Answer, BoxFuture, CallRequest, Dispatcher, Operation, WATCH_SCOPE};
use serde_json::Value;
use tokio_util::task::TaskTracker;

use crate::caller::{Caller, Principal};
use crate::identity::{self, Tokens};
use crate::items::Items;
use crate::library::Library;
use crate::limits::{BufferedBytes, ConcurrencyLimit, Limits, Permit, RateLimit};
use crate::mcp::{McpTasks, TaskInputs};
use crate::metrics::{self, CallMetrics, Metrics};
pub use log::TaskCall;
pub use surface::Surface;

/// How often the token of an open subscription is checked again.
const TOKEN_CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// The gateway that every call goes through. Clones share their state.
#[derive(Clone, Debug)]
pub struct Gateway(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    dispatcher: Dispatcher,
    tokens: Tokens,
    anonymous: Anonymous,
    limits: Limits,
    call_rate: RateLimit,
    /// Counts every request, also those that do not become calls.
    request_rate: RateLimit,
    calls: ConcurrencyLimit,
    streams: ConcurrencyLimit,
    buffered: BufferedBytes,
    metrics: Metrics,
    /// Resources, prompts and completions.
    library: OnceLock<Arc<dyn Library>>,
    /// What MCP needs to know of tasks.
    mcp_tasks: OnceLock<McpTasks>,
    /// Limits the log lines about failures of calls.
    lines: LogThrottle,
    /// Limits those of tasks, which could otherwise displace them.
    task_lines: LogThrottle,
    /// Calls whose callers wait for the response.
    awaited_calls: TaskTracker,
    /// Connections; a server that stops waits for them.
    tasks: TaskTracker,
}

/// Whether callers without a token may call operations that have no restrictions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anonymous {
    /// They may.
    Served,
    /// Every call needs a token.
    Refused,
}

impl Gateway {
    /// Creates the gateway in front of a dispatcher.
    pub fn new(
        dispatcher: Dispatcher,
        tokens: Tokens,
        anonymous: Anonymous,
        limits: Limits,
    ) -> Self {
        Self(Arc::new(Inner {
            dispatcher,
            tokens,
            anonymous,
            call_rate: RateLimit::of_calls(&limits),
            request_rate: RateLimit::of_requests(&limits),
            calls: ConcurrencyLimit::new(
                "calls",
                limits.calls_in_flight,
                limits.calls_in_flight_per_caller,
            ),
            streams: ConcurrencyLimit::new(
                "subscriptions",
                limits.streams,
                limits.streams_per_caller,
            ),
            buffered: BufferedBytes::new(&limits),
            limits,
            metrics: Metrics::default(),
            library: OnceLock::new(),
            mcp_tasks: OnceLock::new(),
            lines: LogThrottle::default(),
            task_lines: LogThrottle::default(),
            awaited_calls: TaskTracker::new(),
            tasks: TaskTracker::new(),
        }))
    }

    /// The dispatcher that runs the calls.
    pub fn dispatcher(&self) -> &Dispatcher {
        &self.0.dispatcher
    }

    /// Sets the library that serves resources, prompts and completions. Later calls have no effect.
    pub fn set_library(&self, library: Arc<dyn Library>) {
        let _ = self.0.library.set(library);
    }

    /// The library of resources, prompts and completions, if there is one.
    pub(crate) fn library(&self) -> Option<&dyn Library> {
        self.0.library.get().map(|library| &**library)
    }

    /// Sets the questions that running tasks ask their clients, and how long tasks are kept. Later calls have no effect.
    pub fn set_mcp_tasks(&self, tasks: McpTasks) {
        tasks.inputs.serve();
        let _ = self.0.mcp_tasks.set(tasks);
    }

    /// The questions of running tasks, if they can ask any.
    pub(crate) fn task_inputs(&self) -> Option<&Arc<TaskInputs>> {
        self.0.mcp_tasks.get().map(|it| &it.inputs)
    }

    /// How long a task is kept after its last change, if that is known.
    pub(crate) fn tasks_kept_ms(&self) -> Option<u64> {
        self.0.mcp_tasks.get().map(|it| it.kept_ms)
    }

    /// The configured limits.
    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// The counters.
    pub(crate) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    /// The metrics in OpenMetrics text: about all operations for callers with the watch scope, for other
    /// callers about the operations they may call.
    pub(crate) fn metrics_text(&self, caller: &Caller) -> String {
        let running = self.0.calls.in_use() + self.0.streams.in_use();
        let dispatcher = &self.0.dispatcher;
        let text = self.0.metrics.text(running, &dispatcher.store_state());
        let identity = caller.identity.as_deref();
        if identity.is_some_and(|it| it.scopes.contains(WATCH_SCOPE)) {
            return metrics::with_circuits(&text, &dispatcher.open_circuits(|_| true));
        }
        let callable = self.callable(caller);
        let names = callable.iter().map(|operation| operation.name().as_str());
        let names: HashSet<&str> = names.collect();
        let open = dispatcher.open_circuits(|it| names.contains(it.name().as_str()));
        metrics::with_circuits(&metrics::only_about(&text, &names), &open)
    }

    /// The connections that a server waits for when it stops.
    pub(crate) fn tasks(&self) -> &TaskTracker {
        &self.0.tasks
    }

    /// Waits until no caller waits for a response.
    pub(crate) async fn wait_for_calls(&self) {
        self.0.awaited_calls.close();
        self.0.awaited_calls.wait().await;
    }

    /// Fails if the store does not answer or is full.
    pub(crate) async fn check_store(&self) -> Result<(), Failure> {
        self.0.tokens.check_store().await?;
        match self.0.dispatcher.store_state().is_full {
            true => Err(StoreError::Full.failure()),
            false => Ok(()),
        }
    }

    /// The external operations that this caller may call, sorted by name.
    pub fn callable(&self, caller: &Caller) -> Vec<Arc<Operation>> {
        self.0.dispatcher.callable(caller.identity.as_deref())
    }

    /// Whether an external operation has this name. Access is not checked here.
    pub(crate) fn is_external(&self, operation: &str) -> bool {
        self.has_external(operation, |_| true)
    }

    /// Whether this is an external operation whose arguments can be sent by position.
    pub(crate) fn orders_arguments(&self, operation: &str) -> bool {
        self.has_external(operation, |it| !it.spec().argument_order.is_empty())
    }

    /// Whether this is an external subscription. Access is not checked here.
    pub(crate) fn is_subscription(&self, operation: &str) -> bool {
        self.has_external(operation, |it| {
            it.spec().op_type == OperationType::Subscription
        })
    }

    fn has_external(&self, name: &str, fits: impl FnOnce(&Operation) -> bool) -> bool {
        let dispatcher = &self.0.dispatcher;
        dispatcher.with_registry(|registry| registry.external(name).is_some_and(|it| fits(it)))
    }

    /// Identifies the caller by its token; without a token, an anonymous caller.
    ///
    /// Fails with FORBIDDEN for a token that is not valid, even if the operation needs none. Without a
    /// token it fails where anonymous callers are refused.
    pub async fn identify(
        &self,
        token: Option<&str>,
        address: Option<IpAddr>,
    ) -> Result<Caller, Failure> {
        match token {
            Some(token) => {
                let mut caller = Caller::known(self.0.tokens.identify(token).await?);
                caller.token_id = identity::id_of(token).map(Arc::from);
                Ok(caller)
            }
            None if self.0.anonymous == Anonymous::Served => Ok(Caller::anonymous(address)),
            None => Err(identity::token_required()),
        }
    }

    /// Whether the token of a caller is still valid; true for a caller without a token.
    pub(crate) async fn is_still_known(&self, caller: &Caller) -> bool {
        match &caller.token_id {
            Some(id) => self.0.tokens.check_still_valid(id).await.is_ok(),
            None => true,
        }
    }

    /// Counts a request that is not a call but costs as much, such as a search, against the caller's call
    /// rate.
    pub(crate) fn take_call(&self, caller: &Caller) -> Result<(), Failure> {
        self.0.call_rate.take(&caller.principal)
    }

    /// Counts a request against a principal's request rate, before the request is read. The principal of a
    /// caller with an invalid token is its address.
    pub(crate) fn take_request(&self, principal: &Principal) -> Result<(), Failure> {
        self.0.request_rate.take(principal)
    }

    /// The bytes that are buffered for callers.
    pub(crate) fn buffered(&self) -> &BufferedBytes {
        &self.0.buffered
    }

    /// Executes a call, within the limits.
    pub async fn call(
        &self,
        surface: Surface,
        caller: &Caller,
        mut request: CallRequest,
    ) -> Answer {
        let call_metrics = self.call_metrics(surface, &request.operation);
        caller.apply_to(&mut request);
        let _awaited = self.0.awaited_calls.token();
        let answer = match self.admit(&self.0.calls, caller) {
            Ok(permit) if request.key.is_none() => {
                let answer = self.0.dispatcher.dispatch(request).await;
                drop(permit);
                answer
            }
            Ok(permit) => {
                // A call with a key runs on when its caller disconnects, and occupies its permit until it ends.
                let permit = Arc::new(Mutex::new(Some(permit)));
                request.slot = Some(permit.clone());
                let answer = self.0.dispatcher.dispatch(request).await;
                // Released before the response is sent: its caller may send the next call at once.
                permit.lock().unwrap_or_else(PoisonError::into_inner).take();
                answer
            }
            Err(refusal) => self.0.dispatcher.reject(request, refusal),
        };
        call_metrics.answered(&answer);
        match &answer.outcome {
            Ok(_) => tracing::debug!(call = %answer.call, surface = surface.name(), "answered"),
            Err(failure) => self.log_failure(surface, Some(caller), failure),
        }
        answer
    }

    /// Opens a subscription, within the limits.
    pub fn subscribe(
        &self,
        surface: Surface,
        caller: &Caller,
        mut request: CallRequest,
    ) -> Result<Items, Redacted> {
        let call_metrics = self.call_metrics(surface, &request.operation);
        let operation = request.operation.clone();
        caller.apply_to(&mut request);
        let opened = match self.admit(&self.0.streams, caller) {
            Ok(permit) => {
                let opened = self.0.dispatcher.subscribe(request);
                opened.map(|items| (items, permit))
            }
            Err(refusal) => Err(rejected(self.0.dispatcher.reject(request, refusal))),
        };
        match opened {
            Ok((items, permit)) => {
                let token_ended = self.until_token_ends(caller, operation);
                Ok(Items::new(items, call_metrics, permit, token_ended))
            }
            Err(failure) => {
                call_metrics.ended(Some(&failure));
                self.log_failure(surface, Some(caller), &failure);
                Err(failure)
            }
        }
    }

    /// Refuses a request that cannot become a call. The failure is stamped, redacted and recorded like any
    /// other.
    pub fn refuse(&self, surface: Surface, request: CallRequest, failure: Failure) -> Answer {
        let call_metrics = self.call_metrics(surface, &request.operation);
        let answer = self.0.dispatcher.reject(request, failure);
        call_metrics.answered(&answer);
        if let Err(failure) = &answer.outcome {
            self.log_failure(surface, None, failure);
        }
        answer
    }

    /// [`Self::refuse`] for a request of which at most the operation is known.
    pub(crate) fn refuse_unread(
        &self,
        surface: Surface,
        operation: impl Into<String>,
        failure: Failure,
    ) -> Answer {
        let request = CallRequest::from_wire(operation, Value::Null);
        self.refuse(surface, request, failure)
    }

    /// Waits until the token of a caller is no longer valid, and returns the failure; `None` without a token.
    fn until_token_ends(
        &self,
        caller: &Caller,
        operation: String,
    ) -> Option<BoxFuture<'static, Redacted>> {
        let (gateway, token) = (self.clone(), caller.token_id.clone()?);
        let identity = caller.identity.clone();
        Some(Box::pin(async move {
            let refusal = loop {
                tokio::time::sleep(TOKEN_CHECK_INTERVAL).await;
                if let Err(refusal) = gateway.0.tokens.check_still_valid(&token).await {
                    break refusal;
                }
            };
            let mut request = CallRequest::from_wire(operation, Value::Null);
            request.caller = identity;
            rejected(gateway.0.dispatcher.reject(request, refusal))
        }))
    }

    fn admit(&self, limit: &ConcurrencyLimit, caller: &Caller) -> Result<Permit, Failure> {
        self.0.call_rate.take(&caller.principal)?;
        self.0.buffered.check(&caller.principal)?;
        limit.acquire(&caller.principal)
    }

    fn call_metrics(&self, surface: Surface, operation: &str) -> CallMetrics {
        self.0.dispatcher.with_registry(|registry| {
            // Metrics are shown to callers, so the names of internal operations must not appear in them.
            let operation = registry.external(operation);
            let name = operation.map(|operation| operation.name().as_str());
            self.0.metrics.begin(surface, name)
        })
    }
}

fn rejected(answer: Answer) -> Redacted {
    let failure = answer.outcome.err();
    failure.expect("a rejected call has no output")
}
