//! What the runtime needs from outside, as traits that others implement.
//!
//! Time, ids and places to write to come in through these, so that a test can hand-move them and two
//! runs with the same ports give the same bytes.

use std::fmt;

use jiff::Timestamp;
use panpan_contract::Redacted;
use uuid::Uuid;

use crate::handler::BoxFuture;

/// Tells the time and lets it pass.
pub trait Clock: Send + Sync + fmt::Debug {
    /// The time now.
    fn now(&self) -> Timestamp;

    /// A future that is ready after this long.
    fn sleep(&self, duration_ms: u64) -> BoxFuture<'_, ()>;
}

/// Gives ids nobody has used.
pub trait Ids: Send + Sync + fmt::Debug {
    /// The next id.
    fn new_id(&self) -> Uuid;
}

/// Where finished failures are kept for people who watch.
///
/// Not the place for keyed outcomes, which have to be durable before the reply: those come with the
/// rooms `claim` and `record`.
pub trait Outcomes: Send + Sync + fmt::Debug {
    /// Takes a finished failure over without making the caller wait for it to be written.
    fn record(&self, failure: &Redacted);

    /// The newest failures first, at most `limit` of them.
    fn recent(&self, limit: usize) -> BoxFuture<'_, Vec<Redacted>>;
}

/// Where the part of a failure goes that callers must not see.
///
/// Joined with what the caller saw by the id of the failure.
pub trait PrivateLog: Send + Sync + fmt::Debug {
    /// Notes what really happened, with secrets already removed.
    fn note(&self, id: Uuid, operation: &str, cause: &str);
}
