//! Keep-alive: pings the client, and detects a client that sends nothing any more.

use std::time::Duration;

use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

/// The intervals of keep-alive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeepaliveSettings {
    /// The time between two pings.
    pub(super) interval: Duration,
    /// The time without any message, pongs included, after which a client counts as lost.
    pub(super) timeout: Duration,
}

/// The default: a client that misses three pings is lost.
pub(crate) const KEEPALIVE: KeepaliveSettings = KeepaliveSettings {
    interval: Duration::from_secs(30),
    timeout: Duration::from_secs(90),
};

#[derive(Debug)]
pub(super) struct Keepalive {
    ticks: Interval,
    timeout: Duration,
    last_message: Instant,
}

impl Keepalive {
    pub(super) fn start(settings: KeepaliveSettings) -> Self {
        let now = Instant::now();
        let mut ticks = interval_at(now + settings.interval, settings.interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            ticks,
            timeout: settings.timeout,
            last_message: now,
        }
    }

    /// Restarts the timeout: a message arrived, or none could arrive.
    pub(super) fn reset(&mut self) {
        self.last_message = Instant::now();
    }

    /// Waits for the time of the next ping.
    pub(super) async fn tick(&mut self) {
        self.ticks.tick().await;
    }

    /// Whether the client has sent nothing for too long.
    pub(super) fn is_expired(&self) -> bool {
        self.last_message.elapsed() >= self.timeout
    }
}
