//! The running calls of one connection: starts and aborts them, and queues their events.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::ws::Message;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use panpan_failure::{Failure, codes};
use panpan_runtime::{BoxFuture, CancellationToken};

use super::call::{Call, CallEvent, DecodedCall, Event, OpenSubscription, WsClient};
use super::envelope::{self, Kind, Received};
use super::transport::Queue;
use crate::gateway::Surface;

/// The suggested delay before a client reconnects or retries.
const RETRY_AFTER_MS: u64 = 1000;

/// The running calls; each yields its next event.
pub(super) type Calls = FuturesUnordered<BoxFuture<'static, CallEvent>>;

pub(super) struct Connection {
    client: Arc<WsClient>,
    shutdown: CancellationToken,
    /// The abort token of each running call, by id.
    running: HashMap<Arc<str>, CancellationToken>,
    pub(super) calls: Calls,
    pub(super) queue: Queue,
}

/// The next event of any call; pending while no call runs.
pub(super) async fn next_event(calls: &mut Calls) -> CallEvent {
    match calls.next().await {
        Some(event) => event,
        None => std::future::pending().await,
    }
}

impl Connection {
    pub(super) fn new(client: Arc<WsClient>, shutdown: CancellationToken) -> Self {
        Self {
            client,
            shutdown,
            running: HashMap::new(),
            calls: Calls::new(),
            queue: Queue::default(),
        }
    }

    /// Whether no call runs and the queue is empty.
    pub(super) fn is_done(&self) -> bool {
        self.calls.is_empty() && self.queue.is_empty()
    }

    /// Handles a message of the client.
    pub(super) fn on_message(&mut self, message: Message) {
        let limit = self.client.gateway().limits().body_bytes;
        let (kind, bytes) = match &message {
            Message::Text(text) => (Kind::Text, text.as_bytes()),
            Message::Binary(bytes) => (Kind::Binary, &bytes[..]),
            // The library answers pings.
            Message::Ping(_) | Message::Pong(_) | Message::Close(_) => return,
        };
        if let Err(failure) = self.client.take_message() {
            return self.refuse(kind, "", "", failure);
        }
        let received = envelope::read(bytes, limit);
        match received {
            Ok(Received::Requested(id, call)) => self.start(kind, id, call),
            Ok(Received::Aborted(id)) => self.abort(&id),
            Err(invalid) => self.refuse(kind, &invalid.id, "", invalid.failure),
        }
    }

    /// Queues an event of a call.
    pub(super) fn on_event(&mut self, event: CallEvent) {
        if event.subscription.is_none() {
            self.running.remove(&event.id);
        }
        let message = envelope::write(event.kind, &event.id, &event.event);
        let client = &self.client;
        self.queue
            .push(message, event.subscription, |bytes| client.hold(bytes));
    }

    /// Resumes a subscription whose item was written.
    pub(super) fn resume(&mut self, subscription: OpenSubscription) {
        self.calls.push(Box::pin(subscription.next()));
    }

    fn start(&mut self, kind: Kind, id: Arc<str>, decoded: Box<DecodedCall>) {
        if let Some(failure) = self.refusal(&id) {
            return self.refuse(kind, &id, &decoded.request.operation, failure);
        }
        let call = Call {
            id: id.clone(),
            kind,
            abort: CancellationToken::new(),
            shutdown: self.shutdown.clone(),
        };
        self.running.insert(id, call.abort.clone());
        let client = self.client.clone();
        self.calls.push(Box::pin(call.start(client, *decoded)));
    }

    /// Aborts a running call; other ids are ignored.
    fn abort(&mut self, id: &str) {
        if let Some(abort) = self.running.get(id) {
            abort.cancel();
        }
    }

    /// Why a new call is refused, if it is.
    fn refusal(&self, id: &str) -> Option<Failure> {
        let limits = self.client.gateway().limits();
        let limit = limits
            .calls_in_flight_per_caller
            .saturating_add(limits.streams_per_caller);
        if self.shutdown.is_cancelled() {
            Some(stopping())
        } else if self.running.contains_key(id) {
            Some(Failure::new(codes::INVALID_REQUEST).with_message(
                "a call with this id is running on this connection; the new call was not started",
            ))
        } else if self.running.len() >= limit {
            Some(too_many_calls(limit))
        } else {
            self.client.check_buffered().err()
        }
    }

    /// Refuses a message that does not become a call.
    fn refuse(&mut self, kind: Kind, id: &str, operation: &str, failure: Failure) {
        let gateway = self.client.gateway();
        let answer = gateway.refuse_unread(Surface::WebSocket, operation, failure);
        let message = envelope::write(kind, id, &Event::of(answer.outcome));
        // Failures are too small to count.
        self.queue.push(message, None, |_| None);
    }
}

/// The failure of calls and subscriptions when the server stops.
pub(super) fn stopping() -> Failure {
    Failure::new(codes::ERR_OVERLOADED)
        .with_message("the server is stopping and starts no new calls")
        .with_retry_after_ms(RETRY_AFTER_MS)
        .with_actions(["Wait for the stated delay, reconnect, and repeat the call"])
}

fn too_many_calls(limit: usize) -> Failure {
    Failure::new(codes::ERR_RATE_LIMITED)
        .with_message(format!(
            "limit of {limit} concurrent calls per connection reached"
        ))
        .with_detail("running_limit_per_connection", limit)
        .with_retry_after_ms(RETRY_AFTER_MS)
}
