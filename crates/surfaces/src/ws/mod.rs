//! The WebSocket surface: concurrent calls and subscriptions as event envelopes on one connection.
//!
//! A connection is one task that owns its calls: when it ends, all calls without a key stop. Reading continues
//! while calls run, so that an abort takes effect at once, and pauses while the client reads no responses.

mod call;
mod connection;
mod envelope;
mod keepalive;
mod partial;
#[cfg(test)]
mod tests;
mod transport;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseCode, CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use panpan_runtime::CancellationToken;
use tokio::select;

use crate::limits::Limits;
use crate::listen::OpenConnection;
use connection::Connection;
use keepalive::{Keepalive, KeepaliveSettings};
use partial::PartialMessage;
use transport::{Step, Transport};

pub(crate) use call::WsClient;
pub(crate) use keepalive::KEEPALIVE;

/// Size of the read buffer, which every idle connection holds.
const READ_BUFFER_BYTES: usize = 4 * 1024;
/// Size of the write buffer.
const WRITE_BUFFER_BYTES: usize = 4 * 1024;

/// How long a client may take to answer a close frame.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Sets the message limits of an upgrade, and small buffers for idle connections.
pub(crate) fn configure(upgrade: WebSocketUpgrade, limits: &Limits) -> WebSocketUpgrade {
    upgrade
        .max_message_size(limits.body_bytes)
        .max_frame_size(limits.body_bytes)
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(WRITE_BUFFER_BYTES)
}

/// Serves a connection until its client disconnects, misses its pings or stops reading; after a shutdown, until
/// its calls have ended.
///
/// The caller is identified for each call, since its token may be revoked at any time.
pub(crate) async fn serve(
    keepalive: KeepaliveSettings,
    client: WsClient,
    socket: WebSocket,
    open: Option<Arc<OpenConnection>>,
    shutdown: CancellationToken,
) {
    let client = Arc::new(client);
    let write_timeout = client.gateway().limits().write_timeout;
    let partial = PartialMessage::new(client.clone(), open);
    let mut transport = Transport::new(socket, write_timeout, partial);
    let mut connection = Connection::new(client, shutdown.clone());
    let reason = run(keepalive, &mut transport, &mut connection, &shutdown).await;
    // Stops the remaining calls before the close handshake.
    drop(connection);
    close(transport, reason).await;
}

/// Why a connection ends.
#[derive(Debug)]
enum EndReason {
    /// The client cannot be reached any more.
    Lost,
    /// The client sent a close frame.
    Closed,
    /// The client violated the protocol or a limit, or the server stops: the reason and the close code.
    Refused(&'static str, CloseCode),
}

/// Performs the close handshake with a client that is still reachable.
async fn close(transport: Transport, reason: EndReason) {
    match reason {
        EndReason::Lost => {}
        // The library has queued the close frame already; it must be flushed.
        EndReason::Closed => transport.close(None).await,
        EndReason::Refused(reason, code) => {
            let reason = reason.into();
            let frame = Message::Close(Some(CloseFrame { code, reason }));
            transport.close(Some(frame)).await;
        }
    }
}

async fn run(
    keepalive: KeepaliveSettings,
    transport: &mut Transport,
    connection: &mut Connection,
    shutdown: &CancellationToken,
) -> EndReason {
    let mut keepalive = Keepalive::start(keepalive);
    let mut stopping = false;
    loop {
        if stopping && connection.is_done() && transport.is_flushed() {
            return EndReason::Refused("the server is stopping", close_code::AWAY);
        }
        if connection.queue.is_full() {
            // Nothing is read while the queue is full, so no pong can arrive.
            keepalive.reset();
        }
        select! {
            // Events of running calls come before new messages: the sooner they are queued, the sooner a client
            // that reads nothing is noticed. No branch is ready all the time, so none starves.
            biased;
            () = shutdown.cancelled(), if !stopping => stopping = true,
            () = keepalive.tick() => match keepalive.is_expired() {
                true => return EndReason::Lost,
                false => connection.queue.ping(),
            },
            event = connection::next_event(&mut connection.calls) => connection.on_event(event),
            step = transport.step(&mut connection.queue) => {
                if matches!(step, Step::Received(_)) {
                    keepalive.reset();
                }
                if let Some(reason) = on_step(step, connection) {
                    return reason;
                }
            }
        }
    }
}

/// Handles a step of the transport; returns the reason if the connection ends.
fn on_step(step: Step, connection: &mut Connection) -> Option<EndReason> {
    match step {
        Step::Received(Message::Close(_)) => return Some(EndReason::Closed),
        Step::Ended(reason) => return Some(reason),
        Step::Received(message) => connection.on_message(message),
        Step::Written(Some(subscription)) => connection.resume(subscription),
        Step::Written(None) => {}
    }
    None
}
