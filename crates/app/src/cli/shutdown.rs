//! How a server or a worker stops: on the first signal it drains, on the second it exits at once.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use panpan_surfaces::CancellationToken;

use crate::backend::Backend;
use crate::cli::exit_at_once;
use crate::log::{info, warn};
use crate::signals::Signals;

/// The shutdown of a server or a worker.
#[derive(Clone, Debug)]
pub(super) struct Shutdown {
    /// What it waits for.
    running: &'static str,
    /// Cancelled when the shutdown starts.
    pub(super) started: CancellationToken,
    /// When it started.
    started_at: Arc<OnceLock<Instant>>,
    /// How long calls in flight may continue.
    pub(super) drain: Duration,
}

impl Shutdown {
    pub(super) fn new(running: &'static str, drain: Duration) -> Self {
        Self {
            running,
            started: CancellationToken::new(),
            started_at: Arc::default(),
            drain,
        }
    }

    /// How much of the drain time is left.
    pub(super) fn left(&self) -> Duration {
        let passed = self
            .started_at
            .get()
            .map_or(Duration::ZERO, Instant::elapsed);
        self.drain.saturating_sub(passed)
    }

    /// Starts the shutdown on the first signal, and exits on the second.
    pub(super) async fn on_signal(self, mut signals: Signals, backend: Arc<Backend>) {
        signals.next().await;
        let running = self.running;
        info(&format!(
            "stopping: waiting for {running}; send the signal again to stop at once"
        ));
        let _ = self.started_at.set(Instant::now());
        self.started.cancel();
        signals.next().await;
        warn("stopped at once; repeat calls that had an idempotency key with the same key");
        exit_at_once(&backend);
    }
}
