//! The real ports behind the ports: the system's clock, random ids, tasks on the runtime of tokio.
//!
//! The only part of this crate that reads a clock or draws randomness.

mod lines;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

use crate::handler::BoxFuture;
use crate::ports::Ports;
use crate::ports::{Clock, Ids, Outcomes, PrivateLog, Spawn};

pub use lines::Lines;

impl Ports {
    /// The real ports around a store; to be used within a runtime of tokio.
    pub fn system(outcomes: Arc<dyn Outcomes>) -> Self {
        Self {
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds),
            spawn: Arc::new(TokioTasks),
            outcomes,
            log: Arc::new(TracingLog::default()),
        }
    }
}

/// The system's clock.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        // Milliseconds are all that every reader of a timestamp understands.
        let now = Timestamp::now();
        Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
    }

    fn sleep(&self, duration_ms: u64) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(Duration::from_millis(duration_ms)))
    }
}

/// Random ids and seeds.
#[derive(Clone, Copy, Debug)]
pub struct RandomIds;

impl Ids for RandomIds {
    fn new_id(&self) -> Uuid {
        Uuid::new_v4()
    }

    fn new_seed(&self) -> i64 {
        let (_, low) = Uuid::new_v4().as_u64_pair();
        // Readers in other languages keep whole numbers exact only up to 53 bits, and the highest
        // bits of this half of an id are fixed.
        (low & ((1 << 53) - 1)).cast_signed()
    }
}

/// Tasks on the runtime of tokio that is current when they are spawned.
#[derive(Clone, Copy, Debug)]
pub struct TokioTasks;

impl Spawn for TokioTasks {
    fn spawn(&self, work: BoxFuture<'static, ()>) {
        // Without a runtime the process is ending, and nothing can be carried on.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(work);
        }
    }
}

/// A log of `tracing` events, for programs that have a subscriber. Of many about one operation some are left
/// out.
#[derive(Debug, Default)]
pub struct TracingLog(Lines);

impl PrivateLog for TracingLog {
    fn note(&self, id: Uuid, operation: &str, cause: &str) {
        if let Some(left_out) = self.0.next(operation) {
            let left_out = (left_out > 0).then_some(left_out);
            tracing::warn!(failure = %id, operation, cause, left_out, "a failure with a private cause");
        }
    }
}
