//! What runs on one connection, and what a message changes about it.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::ws::Message;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use panpan_failure::{Failure, codes};
use panpan_runtime::{BoxFuture, CallRequest, CancellationToken};
use serde_json::Value;

use super::call::{Asked, Call, Event, Subscribed, Turn, Who};
use super::envelope::{self, Kind, Received};
use super::line::Queue;
use crate::gateway::Surface;

/// How long a client is told to wait before it connects again to a server that stops.
const STOPPED_WAIT_MS: u64 = 1000;

/// What runs, by the turns it takes.
pub(super) type Calls = FuturesUnordered<BoxFuture<'static, Turn>>;

pub(super) struct Connection {
    who: Arc<Who>,
    shutdown: CancellationToken,
    /// How to stop each call that has not ended, by its id.
    running: HashMap<Arc<str>, CancellationToken>,
    pub(super) calls: Calls,
    pub(super) queue: Queue,
}

/// The next turn of anything that runs; without anything, never.
pub(super) async fn next_turn(calls: &mut Calls) -> Turn {
    match calls.next().await {
        Some(turn) => turn,
        None => std::future::pending().await,
    }
}

impl Connection {
    pub(super) fn new(who: Arc<Who>, shutdown: CancellationToken) -> Self {
        Self {
            who,
            shutdown,
            running: HashMap::new(),
            calls: Calls::new(),
            queue: Queue::default(),
        }
    }

    /// Whether nothing runs and nothing waits to be written.
    pub(super) fn is_done(&self) -> bool {
        self.calls.is_empty() && self.queue.is_empty()
    }

    /// Takes in a message of the client.
    pub(super) fn received(&mut self, message: Message) {
        let limit = self.who.gateway().limits().body_bytes;
        let (kind, bytes) = match &message {
            Message::Text(text) => (Kind::Text, text.as_bytes()),
            Message::Binary(bytes) => (Kind::Binary, &bytes[..]),
            // Pings are answered by the library.
            Message::Ping(_) | Message::Pong(_) | Message::Close(_) => return,
        };
        if let Err(limited) = self.who.take_message() {
            return self.refuse(kind, "", "", limited);
        }
        let received = envelope::read(bytes, limit);
        match received {
            Ok(Received::Requested(id, asked)) => self.requested(kind, id, asked),
            Ok(Received::Aborted(id)) => self.aborted(&id),
            Err(invalid) => self.refuse(kind, &invalid.id, "", invalid.failure),
        }
    }

    /// Takes in a turn of a call: what it says goes into the queue.
    pub(super) fn turned(&mut self, turn: Turn) {
        if turn.then.is_none() {
            self.running.remove(&turn.id);
        }
        let message = envelope::write(turn.kind, &turn.id, &turn.event);
        let who = &self.who;
        self.queue.push(message, turn.then, |bytes| who.hold(bytes));
    }

    /// Lets a subscription go on whose item was handed over.
    pub(super) fn go_on(&mut self, subscribed: Subscribed) {
        self.calls.push(Box::pin(subscribed.next()));
    }

    fn requested(&mut self, kind: Kind, id: Arc<str>, asked: Box<Asked>) {
        if let Some(failure) = self.unwelcome(&id) {
            return self.refuse(kind, &id, &asked.request.operation, failure);
        }
        let call = Call {
            id: id.clone(),
            kind,
            abort: CancellationToken::new(),
            shutdown: self.shutdown.clone(),
        };
        self.running.insert(id, call.abort.clone());
        let who = self.who.clone();
        self.calls.push(Box::pin(call.begin(who, *asked)));
    }

    /// Stops a call. One that has ended, or never was, needs no stopping.
    fn aborted(&mut self, id: &str) {
        if let Some(abort) = self.running.get(id) {
            abort.cancel();
        }
    }

    /// Why a new call is not begun.
    fn unwelcome(&self, id: &str) -> Option<Failure> {
        let limits = self.who.gateway().limits();
        let limit = limits
            .calls_in_flight_per_caller
            .saturating_add(limits.streams_per_caller);
        if self.shutdown.is_cancelled() {
            Some(stopping())
        } else if self.running.contains_key(id) {
            Some(Failure::new(codes::INVALID_REQUEST).with_message(
                "a call with this id is running on the connection; the new one was not begun",
            ))
        } else if self.running.len() >= limit {
            Some(crowded(limit))
        } else {
            self.who.reads().err()
        }
    }

    /// Answers what does not become a call.
    fn refuse(&mut self, kind: Kind, id: &str, operation: &str, failure: Failure) {
        let request = CallRequest::from_wire(operation, Value::Null);
        let answer = self
            .who
            .gateway()
            .refuse(Surface::WebSocket, request, failure);
        let message = envelope::write(kind, id, &Event::of(answer.outcome));
        // Failures are small.
        self.queue.push(message, None, |_| None);
    }
}

/// The failure of everything a server does not begin, or not go on with, because it stops.
pub(super) fn stopping() -> Failure {
    Failure::new(codes::ERR_OVERLOADED)
        .with_message("the server is stopping and begins nothing new")
        .with_retry_after_ms(STOPPED_WAIT_MS)
        .with_actions(["Wait for the stated delay, connect again, and repeat the call"])
}

fn crowded(limit: usize) -> Failure {
    Failure::new(codes::ERR_RATE_LIMITED)
        .with_message(format!(
            "{limit} calls are running on this connection, which is all it may have at a time"
        ))
        .with_detail("running_limit_per_connection", limit)
        .with_retry_after_ms(STOPPED_WAIT_MS)
}
