//! Ports: the traits through which the runtime gets time, ids, randomness, tasks, storage and a log.
//!
//! Tests replace them, and two runs with the same ports produce the same bytes.

mod counts;
mod documents;
mod outcomes;
mod store_error;

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use uuid::Uuid;

use crate::handler::BoxFuture;

pub use counts::{Calls, Count, Counts};
pub use documents::{Applied, Change, Document, Documents, ExpectedState};
pub use outcomes::{
    Before, Claim, Claimed, Completed, Completion, Earlier, End, Fingerprint, Kept, KeptOutcome,
    Lease, Outcomes, Reopened, Reopening, Scope, StoreState, Swept,
};
pub use store_error::StoreError;

/// The ports a dispatcher works through.
#[derive(Clone, Debug)]
pub struct Ports {
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Ids and seeds.
    pub ids: Arc<dyn Ids>,
    /// Background tasks.
    pub spawn: Arc<dyn Spawn>,
    /// The store of outcomes and recordings.
    pub outcomes: Arc<dyn Outcomes>,
    /// The private log.
    pub log: Arc<dyn PrivateLog>,
}

/// A clock.
pub trait Clock: Send + Sync + fmt::Debug {
    /// The time now.
    fn now(&self) -> Timestamp;

    /// A future that is ready after this long.
    fn sleep(&self, duration_ms: u64) -> BoxFuture<'static, ()>;
}

/// A source of ids and seeds.
pub trait Ids: Send + Sync + fmt::Debug {
    /// A new unique id.
    fn new_id(&self) -> Uuid;

    /// A seed for the jitter of one call's delays.
    fn new_seed(&self) -> i64;
}

/// Runs background tasks that outlive their call.
pub trait Spawn: Send + Sync + fmt::Debug {
    /// Runs a task to its end.
    fn spawn(&self, work: BoxFuture<'static, ()>);
}

/// The private log: causes of failures that callers must not see.
///
/// The id of the failure joins a cause with the response of the caller.
pub trait PrivateLog: Send + Sync + fmt::Debug {
    /// Logs a cause, already redacted.
    fn note(&self, id: Uuid, operation: &str, cause: &str);
}
