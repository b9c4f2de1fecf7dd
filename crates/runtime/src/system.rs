//! The production ports: the system clock, random ids, tokio tasks and a `tracing` log.
//!
//! The only part of this crate that reads a clock or draws randomness.

mod log_throttle;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

use crate::handler::BoxFuture;
use crate::ports::Ports;
use crate::ports::{Clock, Ids, Outcomes, PrivateLog, Spawn};

pub use log_throttle::LogThrottle;

impl Ports {
    /// The production ports with this store; requires a tokio runtime.
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

/// The system clock.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        // Not every reader of timestamps understands more than milliseconds.
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
        // Other languages read integers exactly only up to 53 bits, and the highest bits of this half of
        // a UUID are fixed.
        (low & ((1 << 53) - 1)).cast_signed()
    }
}

/// Tasks on the current tokio runtime.
#[derive(Clone, Copy, Debug)]
pub struct TokioTasks;

impl Spawn for TokioTasks {
    fn spawn(&self, work: BoxFuture<'static, ()>) {
        // Without a runtime the process is shutting down.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(work);
        }
    }
}

/// A private log of `tracing` events. The rate of events about one operation is limited.
#[derive(Debug, Default)]
pub struct TracingLog(LogThrottle);

impl PrivateLog for TracingLog {
    fn note(&self, id: Uuid, operation: &str, cause: &str) {
        if let Some(left_out) = self.0.admit(operation) {
            let left_out = (left_out > 0).then_some(left_out);
            tracing::warn!(failure = %id, operation, cause, left_out, "a failure with a private cause");
        }
    }
}
