//! Limits a message while it is received, like the body of a request.
//!
//! The WebSocket library buffers the frames of a message and does not report them, so the bytes that the
//! connection received since the last complete message are counted instead.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseCode, close_code};
use tokio::time::Instant;

use super::call::WsClient;
use crate::limits::HeldBytes;
use crate::listen::OpenConnection;

/// The received part of an incomplete message.
pub(super) struct PartialMessage {
    client: Arc<WsClient>,
    /// Counts received bytes; `None` if another server accepted the connection.
    open: Option<Arc<OpenConnection>>,
    /// The byte count at the end of the last complete message.
    start: u64,
    /// The counted bytes and when counting started; `None` for few bytes.
    held: Option<(HeldBytes, Instant)>,
    timeout: Duration,
}

impl PartialMessage {
    pub(super) fn new(client: Arc<WsClient>, open: Option<Arc<OpenConnection>>) -> Self {
        let timeout = client.gateway().limits().body_timeout;
        let start = open.as_ref().map_or(0, |open| open.received_bytes());
        Self {
            client,
            open,
            start,
            held: None,
            timeout,
        }
    }

    /// Counts the received bytes; fails with the close reason and code if a limit is exceeded.
    pub(super) fn check(&mut self) -> Result<(), (&'static str, CloseCode)> {
        let received = self.open.as_ref().map_or(0, |open| open.received_bytes());
        let since = self.held.take().map(|(_, since)| since);
        let held = self.client.hold(received - self.start);
        self.held = held.map(|held| (held, since.unwrap_or_else(Instant::now)));
        match &self.held {
            Some((_, since)) if since.elapsed() >= self.timeout => {
                Err(("the message was not received in time", close_code::POLICY))
            }
            Some(_) if self.client.check_buffered().is_err() => {
                Err(("too many bytes are buffered", close_code::AGAIN))
            }
            _ => Ok(()),
        }
    }

    /// Starts over after a complete message.
    pub(super) fn reset(&mut self) {
        self.held = None;
        self.start = self.open.as_ref().map_or(0, |open| open.received_bytes());
    }
}
