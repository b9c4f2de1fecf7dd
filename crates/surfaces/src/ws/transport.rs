//! Reads and writes messages of one connection, with a queue of outgoing messages.
//!
//! Does not look into messages.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::ws::{Message, WebSocket, close_code};
use bytes::Bytes;
use futures_util::{Sink, SinkExt as _, Stream, StreamExt as _};
use tokio::time::{Instant, timeout, timeout_at};

use super::call::OpenSubscription;
use super::partial::PartialMessage;
use super::{CLOSE_TIMEOUT, EndReason, WRITE_BUFFER_BYTES};
use crate::limits::HeldBytes;

/// While this many messages wait to be written, nothing is read from the client.
pub(super) const QUEUE_LIMIT: usize = 16;

/// A client that reads fewer bytes per write timeout counts as lost.
const MIN_BYTES_PER_TIMEOUT: usize = 64 * 1024;

/// A queued message, and the subscription that resumes after it was written.
pub(super) struct Outgoing {
    message: Message,
    subscription: Option<OpenSubscription>,
    /// Counts its bytes as buffered.
    held: Option<HeldBytes>,
}

/// The outgoing messages: at most one response per ended call and one item per subscription. It stays short,
/// since nothing is read from a client with many queued messages.
#[derive(Default)]
pub(super) struct Queue(VecDeque<Outgoing>);

impl Queue {
    /// Appends a message; `hold` counts its bytes until they are written.
    pub(super) fn push(
        &mut self,
        message: Message,
        subscription: Option<OpenSubscription>,
        hold: impl FnOnce(u64) -> Option<HeldBytes>,
    ) {
        let held = hold(length(&message) as u64);
        self.0.push_back(Outgoing {
            message,
            subscription,
            held,
        });
    }

    /// Queues a ping, unless other messages are queued.
    pub(super) fn ping(&mut self) {
        if self.0.is_empty() {
            self.push(Message::Ping(Bytes::new()), None, |_| None);
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= QUEUE_LIMIT
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The step at which the client cannot be reached any more.
const LOST: Step = Step::Ended(EndReason::Lost);

/// One step of reading or writing.
pub(super) enum Step {
    Received(Message),
    /// A message was passed to the socket, and this subscription may resume.
    Written(Option<OpenSubscription>),
    Ended(EndReason),
}

pub(super) struct Transport {
    socket: WebSocket,
    /// The received part of the next message.
    partial: PartialMessage,
    write_timeout: Duration,
    /// When the client must have read something, while there is something to read.
    write_deadline: Option<Instant>,
    /// Whether messages were passed to the socket since the last flush.
    unflushed: bool,
    /// The counted bytes of these messages.
    held: Vec<HeldBytes>,
    /// Received pings whose pongs, which the library writes, may not be flushed yet.
    pongs: usize,
    /// Alternates, so that neither reading nor writing starves the other.
    reads_first: bool,
}

impl Transport {
    pub(super) fn new(socket: WebSocket, write_timeout: Duration, partial: PartialMessage) -> Self {
        Self {
            socket,
            partial,
            write_timeout,
            write_deadline: None,
            unflushed: false,
            held: Vec::new(),
            pongs: 0,
            reads_first: false,
        }
    }

    /// Whether all messages are flushed.
    pub(super) fn is_flushed(&self) -> bool {
        !self.unflushed
    }

    /// The next step. Cancel-safe.
    pub(super) async fn step(&mut self, queue: &mut Queue) -> Step {
        match self.write_deadline {
            None => poll_fn(|task| self.poll_step(queue, task)).await,
            Some(deadline) => {
                let step = poll_fn(|task| self.poll_step(queue, task));
                timeout_at(deadline, step).await.unwrap_or(LOST)
            }
        }
    }

    /// Sends a close frame, if given, and waits a little for that of the client.
    pub(super) async fn close(mut self, frame: Option<Message>) {
        let closing = async {
            if let Some(frame) = frame {
                self.socket.send(frame).await?;
            }
            self.socket.flush().await?;
            while let Some(Ok(_)) = self.socket.next().await {}
            Ok::<_, axum::Error>(())
        };
        // A client that does not answer in time is disconnected.
        let _ = timeout(CLOSE_TIMEOUT, closing).await;
    }

    fn poll_step(&mut self, queue: &mut Queue, task: &mut Context<'_>) -> Poll<Step> {
        self.reads_first = !self.reads_first;
        let [first, second] = match self.reads_first {
            true => [Self::poll_read, Self::poll_write],
            false => [Self::poll_write, Self::poll_read],
        };
        match first(self, queue, task) {
            Poll::Pending => second(self, queue, task),
            ready => ready,
        }
    }

    fn poll_read(&mut self, queue: &mut Queue, task: &mut Context<'_>) -> Poll<Step> {
        if queue.is_full() || self.has_many_pongs() {
            return Poll::Pending;
        }
        let Poll::Ready(message) = Pin::new(&mut self.socket).poll_next(task) else {
            return match self.partial.check() {
                Ok(()) => Poll::Pending,
                Err((reason, code)) => Poll::Ready(Step::Ended(EndReason::Refused(reason, code))),
            };
        };
        Poll::Ready(match message {
            Some(Ok(message)) => {
                match message {
                    // Control frames may come between the frames of a message.
                    Message::Pong(_) => {}
                    Message::Ping(_) => self.add_pong(),
                    Message::Text(_) | Message::Binary(_) | Message::Close(_) => {
                        self.partial.reset();
                    }
                }
                Step::Received(message)
            }
            Some(Err(error)) => refused(&error),
            None => LOST,
        })
    }

    fn poll_write(&mut self, queue: &mut Queue, task: &mut Context<'_>) -> Poll<Step> {
        let flushes = queue.is_empty() || self.has_many_pongs();
        let written = match flushes {
            true if !self.unflushed => return Poll::Pending,
            true => Pin::new(&mut self.socket).poll_flush(task),
            false => Pin::new(&mut self.socket).poll_ready(task),
        };
        match written {
            // Checked here as well, since a client may send without end and read nothing.
            Poll::Pending if self.is_overdue() => Poll::Ready(LOST),
            Poll::Pending => Poll::Pending,
            Poll::Ready(Err(_)) => Poll::Ready(LOST),
            Poll::Ready(Ok(())) if flushes => {
                (self.unflushed, self.write_deadline, self.pongs) = (false, None, 0);
                self.held.clear();
                Poll::Ready(Step::Written(None))
            }
            // Ready: earlier messages are written, except for the contents of the write buffer.
            Poll::Ready(Ok(())) => Poll::Ready(match queue.0.pop_front() {
                Some(outgoing) => {
                    self.held.clear();
                    self.write(outgoing)
                }
                None => Step::Written(None),
            }),
        }
    }

    /// Whether reading pauses because many pongs are unflushed: the library buffers all of them.
    fn has_many_pongs(&self) -> bool {
        self.pongs >= QUEUE_LIMIT
    }

    fn add_pong(&mut self) {
        self.pongs += 1;
        self.unflushed = true;
        if self.write_deadline.is_none() {
            self.write_deadline = Instant::now().checked_add(self.write_timeout);
        }
    }

    fn is_overdue(&self) -> bool {
        self.write_deadline
            .is_some_and(|deadline| deadline <= Instant::now())
    }

    fn write(&mut self, outgoing: Outgoing) -> Step {
        let Outgoing {
            message,
            subscription,
            held,
        } = outgoing;
        self.held.extend(held);
        let bytes = length(&message) + WRITE_BUFFER_BYTES;
        let timeouts = u32::try_from(1 + bytes / MIN_BYTES_PER_TIMEOUT).unwrap_or(u32::MAX);
        let timeout = self.write_timeout.saturating_mul(timeouts);
        self.write_deadline = Instant::now().checked_add(timeout);
        self.unflushed = true;
        match Pin::new(&mut self.socket).start_send(message) {
            Ok(()) => Step::Written(subscription),
            Err(_) => LOST,
        }
    }
}

fn length(message: &Message) -> usize {
    match message {
        Message::Text(text) => text.len(),
        Message::Binary(bytes) | Message::Ping(bytes) | Message::Pong(bytes) => bytes.len(),
        Message::Close(_) => 0,
    }
}

/// The close reason for bytes that the library cannot parse.
fn refused(error: &axum::Error) -> Step {
    // The library behind axum reports the size limit only as text.
    let is_too_large = error.to_string().starts_with("Space limit exceeded");
    Step::Ended(match is_too_large {
        true => EndReason::Refused("the message is too large", close_code::SIZE),
        false => EndReason::Refused("the frames are not valid", close_code::PROTOCOL),
    })
}
