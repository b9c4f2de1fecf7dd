//! What every protocol shares: who calls, whether there is room, what is counted.
//!
//! No protocol reaches the dispatcher past the gateway, so a limit holds for all of them together.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use foldhash::HashSet;
use panpan_contract::operation::Visibility;
use panpan_failure::{Failure, Redacted, codes};
use panpan_runtime::ports::StoreError;
use panpan_runtime::system::Lines;
use panpan_runtime::{Answer, BoxFuture, CallRequest, Dispatcher, Operation, Trace, WATCH_SCOPE};
use serde_json::Value;
use tokio_util::task::TaskTracker;

use crate::caller::{Caller, Principal};
use crate::identity::{self, Tokens};
use crate::items::Items;
use crate::library::Library;
use crate::limits::{Limits, Permit, Rates, Room, Unread};
use crate::metrics::{self, Counted, Metrics};

/// How often the token of a subscription that is open is looked at again.
const TOKEN_LOOK: Duration = Duration::from_secs(5);

/// The gateway every call goes past. Clones are the same gateway.
#[derive(Clone, Debug)]
pub struct Gateway(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    dispatcher: Dispatcher,
    tokens: Tokens,
    anonymous: Anonymous,
    limits: Limits,
    rates: Rates,
    /// Of requests, whether they become calls or not.
    requests: Rates,
    calls: Room,
    streams: Room,
    unread: Unread,
    metrics: Metrics,
    /// What is offered beside operations.
    library: OnceLock<Arc<dyn Library>>,
    /// Lines of the log about failures.
    lines: Lines,
    /// Calls somebody waits for.
    awaited: TaskTracker,
    /// Connections, which a server waits for when it stops.
    tasks: TaskTracker,
}

/// Whether callers without a token are served where an operation has no restrictions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anonymous {
    /// They are.
    Served,
    /// Every call needs a token.
    Refused,
}

/// The protocol a call came by, as it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Surface {
    /// `/call`, `/batch`, `/subscribe`, `/operations`.
    Http,
    /// JSON-RPC 2.0.
    JsonRpc,
    /// Event envelopes on a WebSocket.
    WebSocket,
    /// The Model Context Protocol.
    Mcp,
}

impl Surface {
    /// Each of them, where it stands in the order.
    pub(crate) const ALL: [Self; 4] = [Self::Http, Self::JsonRpc, Self::WebSocket, Self::Mcp];

    /// The name it is counted under.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::JsonRpc => "jsonrpc",
            Self::WebSocket => "websocket",
            Self::Mcp => "mcp",
        }
    }
}

impl Gateway {
    /// A gateway in front of a dispatcher.
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
            rates: Rates::of_calls(&limits),
            requests: Rates::of_requests(&limits),
            calls: Room::new(
                "calls",
                limits.calls_in_flight,
                limits.calls_in_flight_per_caller,
            ),
            streams: Room::new("subscriptions", limits.streams, limits.streams_per_caller),
            unread: Unread::new(&limits),
            limits,
            metrics: Metrics::default(),
            library: OnceLock::new(),
            lines: Lines::default(),
            awaited: TaskTracker::new(),
            tasks: TaskTracker::new(),
        }))
    }

    /// The dispatcher behind it.
    pub fn dispatcher(&self) -> &Dispatcher {
        &self.0.dispatcher
    }

    /// Offers resources, prompts and completion beside the operations. The first library stays.
    pub fn lend(&self, library: Arc<dyn Library>) {
        let _ = self.0.library.set(library);
    }

    /// What is offered beside the operations.
    pub(crate) fn library(&self) -> Option<&dyn Library> {
        self.0.library.get().map(|library| &**library)
    }

    /// What is allowed.
    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// What was counted.
    pub(crate) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    /// What was counted, as text: of all operations for those who may watch, for others of those they may
    /// call.
    pub(crate) fn told(&self, caller: &Caller) -> String {
        let running = self.0.calls.occupied() + self.0.streams.occupied();
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
        metrics::with_circuits(&metrics::about(&text, &names), &open)
    }

    /// What a server waits for when it stops.
    pub(crate) fn tasks(&self) -> &TaskTracker {
        &self.0.tasks
    }

    /// Waits until nobody waits for a call.
    pub(crate) async fn until_idle(&self) {
        self.0.awaited.close();
        self.0.awaited.wait().await;
    }

    /// Whether the store answers and has room.
    pub(crate) async fn look_at_store(&self) -> Result<(), Failure> {
        self.0.tokens.look_at_store().await?;
        match self.0.dispatcher.store_state().is_full {
            true => Err(StoreError::Full.failure()),
            false => Ok(()),
        }
    }

    /// The operations this caller may call from outside, in the order of their names.
    pub fn callable(&self, caller: &Caller) -> Vec<Arc<Operation>> {
        self.0.dispatcher.callable(caller.identity.as_deref())
    }

    /// Who presents this token, or nobody in particular without one.
    ///
    /// Fails with FORBIDDEN for a token that is not, or no longer, valid, whatever is asked for: somebody
    /// who presents one means to be known. Fails too without one where everybody has to be known.
    pub async fn identify(
        &self,
        token: Option<&str>,
        address: Option<IpAddr>,
    ) -> Result<Caller, Failure> {
        match token {
            Some(token) => {
                let caller = Caller::known(self.0.tokens.identify(token).await?);
                Ok(caller.proved_by(identity::id_of(token)))
            }
            None if self.0.anonymous == Anonymous::Served => Ok(Caller::anonymous(address)),
            None => Err(unknown_caller()),
        }
    }

    /// Whether the token that proved who a caller is still counts; that of a caller without one always does.
    pub(crate) async fn is_still_known(&self, caller: &Caller) -> bool {
        match &caller.token {
            Some(token) => self.0.tokens.still(token).await.is_ok(),
            None => true,
        }
    }

    /// Takes as much of a caller's share as a call does, for answers that take work and are no calls.
    pub(crate) fn take_share(&self, caller: &Caller) -> Result<(), Failure> {
        self.0.rates.take(&caller.principal)
    }

    /// Takes a request from a caller's share, before it is read. Whoever could not prove to be known takes
    /// from that of its address.
    pub(crate) fn take_request(&self, principal: &Principal) -> Result<(), Failure> {
        self.0.requests.take(principal)
    }

    /// The answers that wait to be read.
    pub(crate) fn unread(&self) -> &Unread {
        &self.0.unread
    }

    /// Serves a call, if there is room for it.
    pub async fn call(
        &self,
        surface: Surface,
        caller: &Caller,
        mut request: CallRequest,
    ) -> Answer {
        let counted = self.counted(surface, &request);
        caller.signs(&mut request);
        let _awaited = self.0.awaited.token();
        let answer = match self.admit(&self.0.calls, caller) {
            Ok(permit) if request.key.is_none() => {
                let answer = self.0.dispatcher.dispatch(request).await;
                drop(permit);
                answer
            }
            Ok(permit) => {
                // Kept by the work: what has a key runs on, and takes up room, when nobody waits for it.
                let place = Arc::new(Mutex::new(Some(permit)));
                request.place = Some(place.clone());
                let answer = self.0.dispatcher.dispatch(request).await;
                // Whoever has an answer may ask at once for more.
                place.lock().unwrap_or_else(PoisonError::into_inner).take();
                answer
            }
            Err(refusal) => self.0.dispatcher.reject(request, refusal),
        };
        counted.answered(&answer);
        match &answer.outcome {
            Ok(_) => tracing::debug!(call = %answer.call, surface = surface.name(), "answered"),
            Err(failure) => self.note(surface, Some(caller), failure),
        }
        answer
    }

    /// Serves a subscription, if there is room for it.
    pub fn subscribe(
        &self,
        surface: Surface,
        caller: &Caller,
        mut request: CallRequest,
    ) -> Result<Items, Redacted> {
        let counted = self.counted(surface, &request);
        let operation = request.operation.clone();
        caller.signs(&mut request);
        let opened = match self.admit(&self.0.streams, caller) {
            Ok(permit) => {
                let opened = self.0.dispatcher.subscribe(request);
                opened.map(|items| (items, permit))
            }
            Err(refusal) => Err(rejected(self.0.dispatcher.reject(request, refusal))),
        };
        match opened {
            Ok((items, permit)) => {
                let refused = self.until_refused(caller, operation);
                Ok(Items::new(items, counted, permit, refused))
            }
            Err(failure) => {
                counted.ended(Some(&failure));
                self.note(surface, Some(caller), &failure);
                Err(failure)
            }
        }
    }

    /// Answers a request that cannot become a call: what is wrong with it is stamped, redacted and
    /// recorded like any other failure.
    pub fn refuse(&self, surface: Surface, request: CallRequest, failure: Failure) -> Answer {
        let counted = self.counted(surface, &request);
        let answer = self.0.dispatcher.reject(request, failure);
        counted.answered(&answer);
        if let Err(failure) = &answer.outcome {
            self.note(surface, None, failure);
        }
        answer
    }

    /// Ends when the token of a caller is no longer valid, with the failure that says so.
    fn until_refused(
        &self,
        caller: &Caller,
        operation: String,
    ) -> Option<BoxFuture<'static, Redacted>> {
        let (gateway, token) = (self.clone(), caller.token.clone()?);
        let identity = caller.identity.clone();
        Some(Box::pin(async move {
            let refusal = loop {
                tokio::time::sleep(TOKEN_LOOK).await;
                if let Err(refusal) = gateway.0.tokens.still(&token).await {
                    break refusal;
                }
            };
            let mut request = CallRequest::from_wire(operation, Value::Null);
            request.caller = identity;
            rejected(gateway.0.dispatcher.reject(request, refusal))
        }))
    }

    /// A line in the log for a failure a caller saw; its private cause has the same id. Of many with one
    /// code some are left out, and the next line says how many.
    fn note(&self, surface: Surface, caller: Option<&Caller>, failure: &Redacted) {
        let Some(left_out) = self.0.lines.next(failure.code().as_str()) else {
            return;
        };
        let trace = caller.and_then(|caller| caller.trace);
        tracing::info!(
            failure = failure.id().map(tracing::field::display),
            code = failure.code().as_str(),
            operation = failure.operation(),
            surface = surface.name(),
            caller = caller.map(|caller| tracing::field::display(&caller.principal)),
            request_id = caller.and_then(|caller| caller.request_id.as_deref()),
            trace_id = trace.as_ref().map(Trace::trace_id),
            left_out = (left_out > 0).then_some(left_out),
            "failed"
        );
    }

    fn admit(&self, room: &Room, caller: &Caller) -> Result<Permit, Failure> {
        self.0.rates.take(&caller.principal)?;
        self.0.unread.check(&caller.principal)?;
        room.enter(&caller.principal)
    }

    fn counted(&self, surface: Surface, request: &CallRequest) -> Counted {
        self.0.dispatcher.look(|registry| {
            // What is counted is told: what is internal has no name there either.
            let operation = registry
                .get(&request.operation)
                .filter(|it| it.spec().visibility == Visibility::External);
            let name = operation.map(|operation| operation.name().as_str());
            self.0.metrics.begin(surface, name)
        })
    }
}

fn rejected(answer: Answer) -> Redacted {
    let failure = answer.outcome.err();
    failure.expect("a rejected call has no output")
}

fn unknown_caller() -> Failure {
    Failure::new(codes::FORBIDDEN)
        .with_message("this server answers only callers it knows, and the request carries no token")
        .with_detail("authenticated", false)
        .with_actions(["Send the word Bearer and then a token in the header Authorization"])
}
