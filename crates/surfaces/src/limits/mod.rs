//! How much is allowed: to one caller, and to all together.
//!
//! What is refused here was never a call: nothing was executed, and the failure says how long to wait.

mod rate;
mod room;
mod unread;

use std::num::NonZeroU32;
use std::time::Duration;

use panpan_failure::read::DOCUMENT_BYTES_LIMIT;

pub(crate) use rate::Rates;
pub(crate) use room::{Permit, Room};
pub(crate) use unread::{Held, Receiving, TooMuch, Unread};

/// What is allowed. The defaults suit one machine that serves a team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest body or message, in bytes.
    pub body_bytes: usize,
    /// The most calls in one batch.
    pub batch: usize,
    /// How many calls a second one caller may make on average; no limit when unset.
    pub calls_per_second: Option<NonZeroU32>,
    /// How many calls one caller may make at once before the average counts; a second's worth when unset.
    pub burst: Option<NonZeroU32>,
    /// How many calls run at a time; more are refused with ERR_OVERLOADED.
    pub calls_in_flight: usize,
    /// How many calls of one caller run at a time; more are refused with ERR_RATE_LIMITED.
    pub calls_in_flight_per_caller: usize,
    /// How many subscriptions are open at a time.
    pub streams: usize,
    /// How many subscriptions of one caller are open at a time.
    pub streams_per_caller: usize,
    /// How many connections are open at a time; more wait to be accepted.
    pub connections: usize,
    /// How many of them may come from one address; more are closed at once.
    pub connections_per_address: usize,
    /// How many bytes of requests that are being sent and of answers that wait to be read there are at a time,
    /// before no call is begun and no request received further; answers being made come on top.
    pub unread_bytes: usize,
    /// The same for one caller.
    pub unread_bytes_per_caller: usize,
    /// How long a client may take to send the head of a request, or stay idle between two.
    pub head_timeout: Duration,
    /// How long a client may take to send the body of a request.
    pub body_timeout: Duration,
    /// How long a client may take nothing of an answer before it counts as gone.
    pub write_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: DOCUMENT_BYTES_LIMIT,
            batch: 100,
            calls_per_second: None,
            burst: None,
            calls_in_flight: 1024,
            calls_in_flight_per_caller: 256,
            streams: 16_384,
            streams_per_caller: 1024,
            connections: 16_384,
            connections_per_address: 4096,
            unread_bytes: 512 * 1024 * 1024,
            unread_bytes_per_caller: 64 * 1024 * 1024,
            head_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
        }
    }
}
