//! What the runtime needs from outside, as traits that others implement.
//!
//! Time, ids, randomness, tasks and places to write to come in through these, so that a test can
//! hand-move them and two runs with the same ports give the same bytes.

mod documents;
mod outcomes;
mod store_error;

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use uuid::Uuid;

use crate::handler::BoxFuture;

pub use documents::{Applied, Change, Document, Documents, Expect};
pub use outcomes::{
    Before, Claim, Claimed, Completed, Completion, Count, Earlier, End, Fingerprint, Kept,
    KeptOutcome, Lease, Outcomes, Reopened, Reopening, Scope, StoreState, Swept,
};
pub use store_error::StoreError;

/// The ports a dispatcher works through.
#[derive(Clone, Debug)]
pub struct Ports {
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Ids and seeds.
    pub ids: Arc<dyn Ids>,
    /// Work that outlives its caller.
    pub spawn: Arc<dyn Spawn>,
    /// Where outcomes are kept.
    pub outcomes: Arc<dyn Outcomes>,
    /// Where private causes go.
    pub log: Arc<dyn PrivateLog>,
}

/// Tells the time and lets it pass.
pub trait Clock: Send + Sync + fmt::Debug {
    /// The time now.
    fn now(&self) -> Timestamp;

    /// A future that is ready after this long.
    fn sleep(&self, duration_ms: u64) -> BoxFuture<'static, ()>;
}

/// Gives what nobody can foresee.
pub trait Ids: Send + Sync + fmt::Debug {
    /// An id nobody has used.
    fn new_id(&self) -> Uuid;

    /// A seed for the jitter of one call's delays.
    fn new_seed(&self) -> i64;
}

/// Runs work that outlives the call that began it.
pub trait Spawn: Send + Sync + fmt::Debug {
    /// Runs the work to its end, whether or not anyone waits for it.
    fn spawn(&self, work: BoxFuture<'static, ()>);
}

/// Where the part of a failure goes that callers must not see.
///
/// Joined with what the caller saw by the id of the failure.
pub trait PrivateLog: Send + Sync + fmt::Debug {
    /// Notes what really happened, with secrets already removed.
    fn note(&self, id: Uuid, operation: &str, cause: &str);
}
