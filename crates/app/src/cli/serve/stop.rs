//! How a server ends: when it is asked to, and in how much time.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use panpan_surfaces::CancellationToken;

use crate::backend::Backend;
use crate::cli::leave_at_once;
use crate::terminal::{Signals, tell, warn};

/// How a server comes to its end.
#[derive(Clone, Debug)]
pub(super) struct Stop {
    /// Fires when the end begins.
    pub(super) begun: CancellationToken,
    /// When that was.
    at: Arc<OnceLock<Instant>>,
    /// How long it may take.
    pub(super) drain: Duration,
}

impl Stop {
    pub(super) fn new(drain: Duration) -> Self {
        Self {
            begun: CancellationToken::new(),
            at: Arc::default(),
            drain,
        }
    }

    /// What is left of the time it may take.
    pub(super) fn left(&self) -> Duration {
        let passed = self.at.get().map_or(Duration::ZERO, Instant::elapsed);
        self.drain.saturating_sub(passed)
    }

    /// The first signal lets what is under way end; the second does not.
    pub(super) async fn on_signal(self, mut signals: Signals, backend: Arc<Backend>) {
        signals.next().await;
        tell("stopping: what is under way may end; once more stops at once");
        let _ = self.at.set(Instant::now());
        self.begun.cancel();
        signals.next().await;
        warn("stopped at once; ask for calls that had an idempotency key again with it");
        leave_at_once(&backend);
    }
}
