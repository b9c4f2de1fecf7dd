//! Event envelopes on a WebSocket: calls and subscriptions, many at a time on one connection.
//!
//! A connection is one task. What it runs it owns: when it ends, so does everything without a key.
//! Reading goes on while calls run, so that an abort is seen at once, and pauses while the client takes
//! nothing of what it asked for.

mod call;
mod connection;
mod envelope;
mod line;
mod pulse;
#[cfg(test)]
mod tests;
mod unfinished;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseCode, CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use panpan_runtime::CancellationToken;
use tokio::select;

use crate::limits::Limits;
use crate::listen::Open;
use connection::Connection;
use line::{Line, Step};
use pulse::{PACE, Pace, Pulse};
use unfinished::Unfinished;

pub(crate) use call::Who;

/// How much is read at a time. An idle connection holds so much for as long as it lasts.
const READ_BUFFER_BYTES: usize = 4 * 1024;
/// How much waits to be written together.
const WRITE_BUFFER_BYTES: usize = 4 * 1024;

/// How long a peer has to say good-bye, too.
const FAREWELL: Duration = Duration::from_secs(2);

/// An upgrade that takes messages within the limits, and little memory while nothing happens.
pub(crate) fn configure(upgrade: WebSocketUpgrade, limits: &Limits) -> WebSocketUpgrade {
    upgrade
        .max_message_size(limits.body_bytes)
        .max_frame_size(limits.body_bytes)
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(WRITE_BUFFER_BYTES)
}

/// Serves a connection until its client leaves, falls silent or takes nothing any more; after a
/// shutdown, until the calls it runs have ended.
///
/// Who calls is asked at each call, since a token may be revoked meanwhile.
pub(crate) async fn serve(
    who: Who,
    socket: WebSocket,
    open: Option<Arc<Open>>,
    shutdown: CancellationToken,
) {
    serve_at(PACE, who, socket, open, shutdown).await;
}

async fn serve_at(
    pace: Pace,
    who: Who,
    socket: WebSocket,
    open: Option<Arc<Open>>,
    shutdown: CancellationToken,
) {
    let who = Arc::new(who);
    let write_timeout = who.gateway().limits().write_timeout;
    let mut line = Line::new(socket, write_timeout, Unfinished::new(who.clone(), open));
    let mut connection = Connection::new(who, shutdown.clone());
    let ended = run(pace, &mut line, &mut connection, &shutdown).await;
    // Whatever still runs for nobody stops before the farewell.
    drop(connection);
    part(line, ended).await;
}

/// Why a connection ends.
#[derive(Debug)]
enum Ended {
    /// The client cannot be reached any more.
    Lost,
    /// The client said good-bye.
    Left,
    /// The client broke the rules of the transport: how, and the number for it.
    Refused(&'static str, CloseCode),
    /// Everything is done and the server stops.
    Stopped,
}

/// Says good-bye to a client that can hear it.
async fn part(line: Line, ended: Ended) {
    let farewell = |code, reason: &'static str| {
        let reason = reason.into();
        Some(Message::Close(Some(CloseFrame { code, reason })))
    };
    match ended {
        Ended::Lost => {}
        // The library has written the answer already; it has yet to leave.
        Ended::Left => line.part(None).await,
        Ended::Refused(reason, code) => line.part(farewell(code, reason)).await,
        Ended::Stopped => {
            let farewell = farewell(close_code::AWAY, "the server stops");
            line.part(farewell).await;
        }
    }
}

async fn run(
    pace: Pace,
    line: &mut Line,
    connection: &mut Connection,
    shutdown: &CancellationToken,
) -> Ended {
    let mut pulse = Pulse::start(pace);
    let mut stopping = false;
    loop {
        if stopping && connection.is_done() && line.is_clear() {
            return Ended::Stopped;
        }
        if connection.queue.is_full() {
            // Nothing is read then, so nothing can be heard.
            pulse.heard();
        }
        select! {
            // What was asked goes before what is asked next: the fewer wait, the sooner a client that
            // takes nothing is noticed. None of the others is ready again at once.
            biased;
            () = shutdown.cancelled(), if !stopping => stopping = true,
            () = pulse.tick() => match pulse.is_lost() {
                true => return Ended::Lost,
                false => connection.queue.ping(),
            },
            turn = connection::next_turn(&mut connection.calls) => connection.turned(turn),
            step = line.step(&mut connection.queue) => {
                if matches!(step, Step::Received(_)) {
                    pulse.heard();
                }
                if let Some(ended) = stepped(step, connection) {
                    return ended;
                }
            }
        }
    }
}

/// What follows from something that happened on the line.
fn stepped(step: Step, connection: &mut Connection) -> Option<Ended> {
    match step {
        Step::Received(Message::Close(_)) => return Some(Ended::Left),
        Step::Gone => return Some(Ended::Lost),
        Step::Refused(reason, code) => return Some(Ended::Refused(reason, code)),
        Step::Received(message) => connection.received(message),
        Step::Handed(Some(subscribed)) => connection.go_on(subscribed),
        Step::Handed(None) => {}
    }
    None
}
