//! One call on a connection: identifies its caller, runs it, and yields its events.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::StreamExt as _;
use panpan_failure::{Effect, Failure, Redacted, codes};
use panpan_runtime::{CallRequest, CancellationToken, Output};
use serde_json::Value;
use tokio::select;

use super::connection::stopping;
use super::envelope::Kind;
use crate::caller::{Caller, Principal};
use crate::gateway::{Gateway, Surface};
use crate::items::Items;
use crate::limits::HeldBytes;

/// The client of a connection. It has no `Debug`, since the token must not be shown.
pub(crate) struct WsClient {
    gateway: Gateway,
    token: Option<String>,
    address: Option<IpAddr>,
    /// The principal that opened the connection; its messages count against its limits.
    principal: Principal,
    /// The id of the connection within this process.
    session: String,
}

/// A decoded call.
pub(super) struct DecodedCall {
    pub(super) request: CallRequest,
    /// A token for this call only.
    pub(super) auth_token: Option<String>,
    /// A problem found while decoding; reported after the caller is identified.
    pub(super) problem: Option<Failure>,
}

/// A running call.
pub(super) struct Call {
    pub(super) id: Arc<str>,
    /// The kind of the request, and so of its responses.
    pub(super) kind: Kind,
    pub(super) abort: CancellationToken,
    pub(super) shutdown: CancellationToken,
}

/// A subscription that waits until its last item is written.
pub(super) struct OpenSubscription {
    client: Arc<WsClient>,
    operation: String,
    call: Call,
    items: Items,
}

/// An event of a call, and the subscription that resumes after it was written.
pub(super) struct CallEvent {
    pub(super) id: Arc<str>,
    pub(super) kind: Kind,
    pub(super) event: Event,
    pub(super) subscription: Option<OpenSubscription>,
}

/// The events that a client gets.
pub(super) enum Event {
    Responded(Output),
    Completed,
    Aborted,
    Failed(Redacted),
}

impl Event {
    pub(super) fn of(outcome: Result<Output, Redacted>) -> Self {
        outcome.map_or_else(Self::Failed, Self::Responded)
    }
}

impl WsClient {
    pub(crate) fn new(
        gateway: Gateway,
        token: Option<String>,
        address: Option<IpAddr>,
        principal: Principal,
    ) -> Self {
        static CONNECTIONS: AtomicU64 = AtomicU64::new(0);
        let connection = CONNECTIONS.fetch_add(1, Ordering::Relaxed);
        Self {
            gateway,
            token,
            address,
            principal,
            session: format!("ws:{connection}"),
        }
    }

    /// Counts a message against the request rate of the client.
    pub(super) fn take_message(&self) -> Result<(), Failure> {
        self.gateway.take_request(&self.principal)
    }

    /// Fails if the client has too many buffered bytes to start another call.
    pub(super) fn check_buffered(&self) -> Result<(), Failure> {
        self.gateway.buffered().check(&self.principal)
    }

    /// Counts bytes as buffered for this client.
    pub(super) fn hold(&self, bytes: u64) -> Option<HeldBytes> {
        self.gateway.buffered().hold(&self.principal, bytes)
    }

    pub(super) fn gateway(&self) -> &Gateway {
        &self.gateway
    }

    /// The caller of a call: by the call's own token, or else by that of the connection.
    async fn identify(&self, auth_token: Option<&str>) -> Result<Caller, Failure> {
        if let Some(token) = auth_token {
            match self.gateway.identify(Some(token), self.address).await {
                // An invalid token is ignored. Other failures, such as of the store, are not.
                Err(failure) if failure.code().as_str() == codes::FORBIDDEN.code => {}
                identified => return Ok(identified?.in_session(&self.session)),
            }
        }
        let token = self.token.as_deref();
        let caller = self.gateway.identify(token, self.address).await?;
        Ok(caller.in_session(&self.session))
    }
}

impl Call {
    /// Starts the call and runs it to its first event.
    pub(super) async fn start(self, client: Arc<WsClient>, call: DecodedCall) -> CallEvent {
        let mut request = call.request;
        let identified = client.identify(call.auth_token.as_deref());
        let caller = match self.abort.run_until_cancelled(identified).await {
            Some(Ok(caller)) => caller,
            Some(Err(failure)) => return self.refuse(&client, request, failure),
            None => return self.last(Event::Aborted),
        };
        if let Some(problem) = call.problem {
            request.caller.clone_from(&caller.identity);
            return self.refuse(&client, request, problem);
        }
        request.abort = Some(self.abort.clone());
        let gateway = &client.gateway;
        if gateway.is_subscription(&request.operation) {
            return self.subscribe(client, &caller, request).await;
        }
        let answer = gateway.call(Surface::WebSocket, &caller, request).await;
        match answer.outcome {
            Ok(output) => self.last(Event::Responded(output)),
            Err(failure) => self.failed(failure),
        }
    }

    async fn subscribe(
        self,
        client: Arc<WsClient>,
        caller: &Caller,
        request: CallRequest,
    ) -> CallEvent {
        let operation = request.operation.clone();
        let gateway = &client.gateway;
        match gateway.subscribe(Surface::WebSocket, caller, request) {
            Ok(items) => {
                let subscription = OpenSubscription {
                    client,
                    operation,
                    call: self,
                    items,
                };
                subscription.next().await
            }
            Err(failure) => self.failed(failure),
        }
    }

    fn refuse(self, client: &WsClient, request: CallRequest, failure: Failure) -> CallEvent {
        let answer = client.gateway.refuse(Surface::WebSocket, request, failure);
        self.last(Event::of(answer.outcome))
    }

    /// A cancelled call becomes `Aborted` if its client aborted it. Every other failure is reported as it is.
    fn failed(self, failure: Redacted) -> CallEvent {
        let is_cancelled = failure.code().as_str() == codes::ERR_CANCELLED.code;
        if is_cancelled && self.abort.is_cancelled() {
            return self.last(Event::Aborted);
        }
        self.last(Event::Failed(failure))
    }

    fn last(self, event: Event) -> CallEvent {
        CallEvent {
            id: self.id,
            kind: self.kind,
            event,
            subscription: None,
        }
    }
}

impl OpenSubscription {
    /// The next item or the end. A subscription may run for ever, so it ends when the server stops.
    pub(super) async fn next(mut self) -> CallEvent {
        let item = select! {
            biased;
            () = self.call.shutdown.cancelled() => return self.stopped(),
            item = self.items.next() => item,
        };
        match item {
            Some(Ok(item)) => CallEvent {
                id: self.call.id.clone(),
                kind: self.call.kind,
                event: Event::Responded(item.into()),
                subscription: Some(self),
            },
            Some(Err(failure)) => self.call.failed(failure),
            None => self.call.last(Event::Completed),
        }
    }

    fn stopped(self) -> CallEvent {
        let failure = stopping().with_effect(Effect::Unknown);
        let request = CallRequest::from_wire(self.operation, Value::Null);
        self.call.refuse(&self.client, request, failure)
    }
}
