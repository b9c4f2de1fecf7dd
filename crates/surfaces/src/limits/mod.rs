//! Limits per caller and for all callers together.
//!
//! A request that is refused here does not become a call: nothing was executed, and the failure says how long
//! to wait.

mod buffered;
mod concurrency;
mod rate;

use std::num::NonZeroU32;
use std::time::Duration;

use panpan_failure::read::DOCUMENT_BYTES_LIMIT;

pub(crate) use buffered::{BufferFull, BufferedBytes, HeldBytes, RequestBody};
pub(crate) use concurrency::{ConcurrencyLimit, Permit};
pub(crate) use rate::RateLimit;

/// The configured limits. The defaults suit one machine that serves a team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum size of a request body or message, in bytes.
    pub body_bytes: usize,
    /// Maximum number of calls in a batch.
    pub batch: usize,
    /// Calls per second that one caller may make on average; no limit when unset.
    pub calls_per_second: Option<NonZeroU32>,
    /// Calls that one caller may make at once before the average counts; `calls_per_second` when unset.
    pub burst: Option<NonZeroU32>,
    /// Concurrent calls; more are refused with ERR_OVERLOADED.
    pub calls_in_flight: usize,
    /// Concurrent calls of one caller; more are refused with ERR_RATE_LIMITED.
    pub calls_in_flight_per_caller: usize,
    /// Open subscriptions.
    pub streams: usize,
    /// Open subscriptions of one caller.
    pub streams_per_caller: usize,
    /// Open connections; further connections wait to be accepted.
    pub connections: usize,
    /// Open connections from one address; further connections are closed at once.
    pub connections_per_address: usize,
    /// Buffered bytes of requests that are being received and of responses that clients have not read. Beyond
    /// it no call starts and no request body is received; responses of running calls come on top.
    pub unread_bytes: usize,
    /// The same for one caller.
    pub unread_bytes_per_caller: usize,
    /// Timeout for receiving the head of a request, and for an idle connection.
    pub head_timeout: Duration,
    /// Timeout for receiving the body of a request.
    pub body_timeout: Duration,
    /// How long a client may read nothing of a response before its connection is closed.
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
