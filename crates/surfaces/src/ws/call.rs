//! One call on a connection: who makes it, and the turns it takes.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::StreamExt as _;
use panpan_contract::operation::{OperationType, Visibility};
use panpan_failure::{Effect, Failure, Redacted, codes};
use panpan_runtime::{CallRequest, CancellationToken, Output};
use serde_json::Value;
use tokio::select;

use super::connection::stopping;
use super::envelope::Kind;
use crate::caller::{Caller, Principal};
use crate::gateway::{Gateway, Surface};
use crate::items::Items;
use crate::limits::Held;

/// Who is at the other end. What was presented is not shown anywhere.
pub(crate) struct Who {
    gateway: Gateway,
    presented: Option<String>,
    address: Option<IpAddr>,
    /// Whoever opened the connection, from whose share its messages are taken.
    principal: Principal,
    /// What the connection is known by in this process.
    session: String,
}

/// A call as the client asked for it.
pub(super) struct Asked {
    pub(super) request: CallRequest,
    /// A token for this call alone.
    pub(super) auth_token: Option<String>,
    /// What is wrong with what was asked, apart from its input.
    pub(super) problem: Option<Failure>,
}

/// A call that runs.
pub(super) struct Call {
    pub(super) id: Arc<str>,
    /// How it was asked, and so is answered.
    pub(super) kind: Kind,
    pub(super) abort: CancellationToken,
    pub(super) shutdown: CancellationToken,
}

/// A subscription that waits until its last item was taken.
pub(super) struct Subscribed {
    who: Arc<Who>,
    operation: String,
    call: Call,
    items: Items,
}

/// What a call says, under its id and in its kind, and what remains of it afterwards.
pub(super) struct Turn {
    pub(super) id: Arc<str>,
    pub(super) kind: Kind,
    pub(super) event: Event,
    pub(super) then: Option<Subscribed>,
}

/// What a client is told.
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

impl Who {
    pub(crate) fn new(
        gateway: Gateway,
        presented: Option<String>,
        address: Option<IpAddr>,
        principal: Principal,
    ) -> Self {
        static CONNECTIONS: AtomicU64 = AtomicU64::new(0);
        let connection = CONNECTIONS.fetch_add(1, Ordering::Relaxed);
        Self {
            gateway,
            presented,
            address,
            principal,
            session: format!("ws:{connection}"),
        }
    }

    /// Takes a message from the share of the caller that opened the connection.
    pub(super) fn take_message(&self) -> Result<(), Failure> {
        self.gateway.take_request(&self.principal)
    }

    /// Whether the caller that opened the connection reads its answers, so that another call may be begun.
    pub(super) fn reads(&self) -> Result<(), Failure> {
        self.gateway.unread().check(&self.principal)
    }

    /// Counts bytes among the answers that this caller has yet to read.
    pub(super) fn hold(&self, bytes: u64) -> Option<Held> {
        self.gateway.unread().hold(&self.principal, bytes)
    }

    pub(super) fn gateway(&self) -> &Gateway {
        &self.gateway
    }

    /// Who makes a call: whoever its own token stands for, or else whoever opened the connection.
    async fn calls(&self, auth_token: Option<&str>) -> Result<Caller, Failure> {
        if let Some(token) = auth_token {
            match self.gateway.identify(Some(token), self.address).await {
                // A token that stands for nobody changes nothing. That it cannot be told now is no answer.
                Err(failure) if failure.code().as_str() == codes::FORBIDDEN.code => {}
                told => return Ok(told?.in_session(&self.session)),
            }
        }
        let presented = self.presented.as_deref();
        let caller = self.gateway.identify(presented, self.address).await?;
        Ok(caller.in_session(&self.session))
    }

    fn is_subscription(&self, operation: &str) -> bool {
        let registry = self.gateway.dispatcher().registry();
        let operation = registry.get(operation).map(|it| it.spec());
        operation.is_some_and(|spec| {
            spec.op_type == OperationType::Subscription && spec.visibility == Visibility::External
        })
    }
}

impl Call {
    /// Begins the call and goes on to the first thing it has to say.
    pub(super) async fn begin(self, who: Arc<Who>, asked: Asked) -> Turn {
        let mut request = asked.request;
        let told = who.calls(asked.auth_token.as_deref());
        let caller = match self.abort.run_until_cancelled(told).await {
            Some(Ok(caller)) => caller,
            Some(Err(unknown)) => return self.refused(&who, request, unknown),
            None => return self.last(Event::Aborted),
        };
        if let Some(problem) = asked.problem {
            request.caller.clone_from(&caller.identity);
            return self.refused(&who, request, problem);
        }
        request.abort = Some(self.abort.clone());
        if who.is_subscription(&request.operation) {
            return self.subscribe(who, &caller, request).await;
        }
        let answer = who.gateway.call(Surface::WebSocket, &caller, request).await;
        match answer.outcome {
            Ok(output) => self.last(Event::Responded(output)),
            Err(failure) => self.failed(failure),
        }
    }

    async fn subscribe(self, who: Arc<Who>, caller: &Caller, request: CallRequest) -> Turn {
        let operation = request.operation.clone();
        match who.gateway.subscribe(Surface::WebSocket, caller, request) {
            Ok(items) => {
                let subscribed = Subscribed {
                    who,
                    operation,
                    call: self,
                    items,
                };
                subscribed.next().await
            }
            Err(failure) => self.failed(failure),
        }
    }

    fn refused(self, who: &Who, request: CallRequest, failure: Failure) -> Turn {
        let answer = who.gateway.refuse(Surface::WebSocket, request, failure);
        self.last(Event::of(answer.outcome))
    }

    /// A call that was stopped on request says that it was. Any other failure is told as it is, also of
    /// one that ended before it could be stopped.
    fn failed(self, failure: Redacted) -> Turn {
        let stopped = failure.code().as_str() == codes::ERR_CANCELLED.code;
        if stopped && self.abort.is_cancelled() {
            return self.last(Event::Aborted);
        }
        self.last(Event::Failed(failure))
    }

    fn last(self, event: Event) -> Turn {
        Turn {
            id: self.id,
            kind: self.kind,
            event,
            then: None,
        }
    }
}

impl Subscribed {
    /// Goes on to the next item or the end. Nobody knows when a subscription ends by itself, so it ends
    /// when the server stops.
    pub(super) async fn next(mut self) -> Turn {
        let item = select! {
            biased;
            () = self.call.shutdown.cancelled() => return self.stopped(),
            item = self.items.next() => item,
        };
        match item {
            Some(Ok(item)) => Turn {
                id: self.call.id.clone(),
                kind: self.call.kind,
                event: Event::Responded(item.into()),
                then: Some(self),
            },
            Some(Err(failure)) => self.call.failed(failure),
            None => self.call.last(Event::Completed),
        }
    }

    fn stopped(self) -> Turn {
        let request = CallRequest::from_wire(self.operation, Value::Null);
        let failure = stopping().with_effect(Effect::Unknown);
        self.call.refused(&self.who, request, failure)
    }
}
