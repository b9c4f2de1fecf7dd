//! The message that a client is still sending: counted while it is received, as the body of a request is.
//!
//! The library keeps the parts of a message until it has all of them and says nothing about them, so what the
//! connection received since the last whole message is counted instead.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseCode, close_code};
use tokio::time::Instant;

use super::call::Who;
use crate::limits::Held;
use crate::listen::Open;

/// What a connection received of a message that is not whole yet.
pub(super) struct Unfinished {
    who: Arc<Who>,
    /// Counts what the connection receives. There is none in a server that does not listen itself.
    open: Option<Arc<Open>>,
    /// What was received when the last message was whole.
    before: u64,
    /// Counts the bytes, once they are worth counting, and since when.
    held: Option<(Held, Instant)>,
    timeout: Duration,
}

impl Unfinished {
    pub(super) fn new(who: Arc<Who>, open: Option<Arc<Open>>) -> Self {
        let timeout = who.gateway().limits().body_timeout;
        let before = open.as_ref().map_or(0, |open| open.received_bytes());
        Self {
            who,
            open,
            before,
            held: None,
            timeout,
        }
    }

    /// Counts what was received, and says why no more is: what the client is told, and the number for it.
    pub(super) fn check(&mut self) -> Result<(), (&'static str, CloseCode)> {
        let received = self.open.as_ref().map_or(0, |open| open.received_bytes());
        let since = self.held.take().map(|(_, since)| since);
        let held = self.who.hold(received - self.before);
        self.held = held.map(|held| (held, since.unwrap_or_else(Instant::now)));
        match &self.held {
            Some((_, since)) if since.elapsed() >= self.timeout => {
                Err(("the message took too long", close_code::POLICY))
            }
            Some(_) if self.who.reads().is_err() => {
                Err(("too many bytes are on their way", close_code::AGAIN))
            }
            _ => Ok(()),
        }
    }

    /// A message is whole: what follows is another one.
    pub(super) fn ended(&mut self) {
        self.held = None;
        self.before = self.open.as_ref().map_or(0, |open| open.received_bytes());
    }
}
