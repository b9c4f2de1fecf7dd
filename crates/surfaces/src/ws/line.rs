//! The line to a client: one step at a time of reading and writing, and the queue in front of it.
//!
//! Knows messages and nothing of what they say.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::ws::{CloseCode, Message, WebSocket, close_code};
use bytes::Bytes;
use futures_util::{Sink, SinkExt as _, Stream, StreamExt as _};
use tokio::time::{Instant, timeout, timeout_at};

use super::call::Subscribed;
use super::unfinished::Unfinished;
use super::{FAREWELL, WRITE_BUFFER_BYTES};
use crate::limits::Held;

/// How many messages wait for a client before no more are read from it.
pub(super) const QUEUE_LIMIT: usize = 16;

/// How much a client takes at least in each write timeout, or it counts as gone.
const SLOWEST_BYTES: usize = 64 * 1024;

/// A message that waits, and the subscription that goes on when it was handed over.
pub(super) struct Outgoing {
    message: Message,
    then: Option<Subscribed>,
    /// Counts it among the answers that wait to be read.
    held: Option<Held>,
}

/// What waits to be written. It holds an answer of each call that ended and an item of each subscription
/// at most, since nothing is read from a client that has many waiting.
#[derive(Default)]
pub(super) struct Queue(VecDeque<Outgoing>);

impl Queue {
    /// Puts a message behind the others; `hold` counts its bytes until they have left.
    pub(super) fn push(
        &mut self,
        message: Message,
        then: Option<Subscribed>,
        hold: impl FnOnce(u64) -> Option<Held>,
    ) {
        let held = hold(length(&message) as u64);
        self.0.push_back(Outgoing {
            message,
            then,
            held,
        });
    }

    /// Asks the client for a sign of life, unless it has something to take anyway.
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

/// What happened on the line.
pub(super) enum Step {
    Received(Message),
    /// A message was handed over, and this subscription may go on.
    Handed(Option<Subscribed>),
    /// The client did what the transport does not allow: why, and the number for it.
    Refused(&'static str, CloseCode),
    /// The client cannot be reached any more.
    Gone,
}

pub(super) struct Line {
    socket: WebSocket,
    /// What was received of the next message.
    unfinished: Unfinished,
    write_timeout: Duration,
    /// Until when the client has to take something, while there is something for it.
    takes_until: Option<Instant>,
    /// Whether something was handed over that may not have left yet.
    unflushed: bool,
    /// What counts it until it has left.
    held: Vec<Held>,
    /// How many pings were taken whose pongs, which the library writes, may not have left yet.
    pongs: usize,
    /// Whether reading or writing goes first, in turns: neither is to keep the other waiting.
    reads_first: bool,
}

impl Line {
    pub(super) fn new(socket: WebSocket, write_timeout: Duration, unfinished: Unfinished) -> Self {
        Self {
            socket,
            unfinished,
            write_timeout,
            takes_until: None,
            unflushed: false,
            held: Vec::new(),
            pongs: 0,
            reads_first: false,
        }
    }

    /// Whether everything that was handed over has left.
    pub(super) fn is_clear(&self) -> bool {
        !self.unflushed
    }

    /// The next thing that happens. It may be dropped at any time without losing anything.
    pub(super) async fn step(&mut self, queue: &mut Queue) -> Step {
        match self.takes_until {
            None => poll_fn(|task| self.poll_step(queue, task)).await,
            Some(until) => {
                let step = poll_fn(|task| self.poll_step(queue, task));
                timeout_at(until, step).await.unwrap_or(Step::Gone)
            }
        }
    }

    /// Says good-bye, if there is something to say, and waits a little for the peer to do so.
    pub(super) async fn part(mut self, farewell: Option<Message>) {
        let parting = async {
            if let Some(farewell) = farewell {
                self.socket.send(farewell).await?;
            }
            self.socket.flush().await?;
            while let Some(Ok(_)) = self.socket.next().await {}
            Ok::<_, axum::Error>(())
        };
        // Whoever does not answer is left without an answer.
        let _ = timeout(FAREWELL, parting).await;
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
        if queue.is_full() || self.owes_pongs() {
            return Poll::Pending;
        }
        let Poll::Ready(message) = Pin::new(&mut self.socket).poll_next(task) else {
            return match self.unfinished.check() {
                Ok(()) => Poll::Pending,
                Err((reason, code)) => Poll::Ready(Step::Refused(reason, code)),
            };
        };
        Poll::Ready(match message {
            Some(Ok(message)) => {
                match message {
                    // These may come between the parts of a message.
                    Message::Pong(_) => {}
                    Message::Ping(_) => self.owe_pong(),
                    Message::Text(_) | Message::Binary(_) | Message::Close(_) => {
                        self.unfinished.ended();
                    }
                }
                Step::Received(message)
            }
            Some(Err(error)) => refused(&error),
            None => Step::Gone,
        })
    }

    fn poll_write(&mut self, queue: &mut Queue, task: &mut Context<'_>) -> Poll<Step> {
        let flushes = queue.is_empty() || self.owes_pongs();
        let written = match flushes {
            true if !self.unflushed => return Poll::Pending,
            true => Pin::new(&mut self.socket).poll_flush(task),
            false => Pin::new(&mut self.socket).poll_ready(task),
        };
        match written {
            // Looked at here too, since a client may send without end and take nothing.
            Poll::Pending if self.is_overdue() => Poll::Ready(Step::Gone),
            Poll::Pending => Poll::Pending,
            Poll::Ready(Err(_)) => Poll::Ready(Step::Gone),
            Poll::Ready(Ok(())) if flushes => {
                (self.unflushed, self.takes_until, self.pongs) = (false, None, 0);
                self.held.clear();
                Poll::Ready(Step::Handed(None))
            }
            // What was handed over before has left, but for what a buffer holds.
            Poll::Ready(Ok(())) => Poll::Ready(match queue.0.pop_front() {
                Some(outgoing) => {
                    self.held.clear();
                    self.hand_over(outgoing)
                }
                None => Step::Handed(None),
            }),
        }
    }

    /// Whether so many pongs wait that no more is read: the library keeps them all.
    fn owes_pongs(&self) -> bool {
        self.pongs >= QUEUE_LIMIT
    }

    fn owe_pong(&mut self) {
        self.pongs += 1;
        self.unflushed = true;
        if self.takes_until.is_none() {
            self.takes_until = Instant::now().checked_add(self.write_timeout);
        }
    }

    fn is_overdue(&self) -> bool {
        self.takes_until
            .is_some_and(|until| until <= Instant::now())
    }

    fn hand_over(&mut self, outgoing: Outgoing) -> Step {
        let Outgoing {
            message,
            then,
            held,
        } = outgoing;
        self.held.extend(held);
        let bytes = length(&message) + WRITE_BUFFER_BYTES;
        let patience = u32::try_from(1 + bytes / SLOWEST_BYTES).unwrap_or(u32::MAX);
        let patience = self.write_timeout.saturating_mul(patience);
        self.takes_until = Instant::now().checked_add(patience);
        self.unflushed = true;
        match Pin::new(&mut self.socket).start_send(message) {
            Ok(()) => Step::Handed(then),
            Err(_) => Step::Gone,
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

/// What a client is told whose bytes could not be read. One that went away will not hear it.
fn refused(error: &axum::Error) -> Step {
    // The library behind axum says which limit it was only in words.
    if error.to_string().starts_with("Space limit exceeded") {
        return Step::Refused("the message is too large", close_code::SIZE);
    }
    Step::Refused("the frames cannot be read", close_code::PROTOCOL)
}
