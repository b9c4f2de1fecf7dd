//! Whether a connection is open, and when it may be opened again.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::error::{McpError, milliseconds};
use super::live_connection::LiveConnection;

/// The backoff after the second consecutive failure; doubled with each further one.
pub const FIRST_BACKOFF: Duration = Duration::from_millis(200);

/// The longest backoff.
pub const MAX_BACKOFF: Duration = Duration::from_secs(30);

/// The state of a connection that is opened again after it ended.
#[derive(Debug, Default)]
pub(super) struct ConnectionState {
    pub(super) live: Option<Arc<LiveConnection>>,
    /// The number of consecutive failures, or of connections that ended soon.
    pub(super) failures: u32,
    pub(super) backoff_until: Option<Instant>,
    pub(super) last: Option<Arc<McpError>>,
    /// Whether it has been closed for good.
    pub(super) closed: bool,
    /// Whether there was a connection before.
    pub(super) was_connected: bool,
}

impl ConnectionState {
    pub(super) fn ended(&mut self, live: &LiveConnection) {
        self.live = None;
        if live.was_stable() {
            self.failures = 0;
        }
        self.record_failure(McpError::Ended(live.end_reason()));
    }

    pub(super) fn record_failure(&mut self, error: McpError) {
        self.failures = self.failures.saturating_add(1);
        self.backoff_until = backoff_after(self.failures).map(|it| Instant::now() + it);
        self.last = Some(Arc::new(error));
    }

    /// Fails if it is closed, or in backoff after failures.
    pub(super) fn check_backoff(&self) -> Result<(), McpError> {
        if self.closed {
            return Err(McpError::Ended("closed by panpan".to_owned()));
        }
        let (Some(until), Some(last)) = (self.backoff_until, &self.last) else {
            return Ok(());
        };
        let wait = until.saturating_duration_since(Instant::now());
        if wait.is_zero() {
            return Ok(());
        }
        Err(McpError::Backoff {
            wait_ms: milliseconds(wait).max(1),
            last: last.clone(),
        })
    }
}

/// The backoff after this number of consecutive failures. The first failure has none.
fn backoff_after(failures: u32) -> Option<Duration> {
    let doublings = failures.checked_sub(2)?;
    let factor = 1_u32.checked_shl(doublings).unwrap_or(u32::MAX);
    Some(FIRST_BACKOFF.saturating_mul(factor).min(MAX_BACKOFF))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_doubles_up_to_a_limit_and_starts_with_the_second_failure() {
        for (failures, backoff_ms) in [
            (0, None),
            (1, None),
            (2, Some(200)),
            (3, Some(400)),
            (9, Some(25_600)),
            (10, Some(30_000)),
            (34, Some(30_000)),
            (u32::MAX, Some(30_000)),
        ] {
            let backoff = backoff_after(failures).map(|it| it.as_millis());
            assert_eq!(backoff, backoff_ms, "{failures}");
        }
    }
}
