//! Whether a client is still there: asked now and then, and heard whenever it sends anything.

use std::time::Duration;

use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

/// How a connection is kept alive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// How long between two pings.
    pub(super) ping: Duration,
    /// How long a client may say nothing, not even pong.
    pub(super) silence: Duration,
}

/// The usual pace: a client that misses three pings is gone.
pub(super) const PACE: Pace = Pace {
    ping: Duration::from_secs(30),
    silence: Duration::from_secs(90),
};

#[derive(Debug)]
pub(super) struct Pulse {
    ticks: Interval,
    silence: Duration,
    heard: Instant,
}

impl Pulse {
    pub(super) fn start(pace: Pace) -> Self {
        let now = Instant::now();
        let mut ticks = interval_at(now + pace.ping, pace.ping);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            ticks,
            silence: pace.silence,
            heard: now,
        }
    }

    /// The client was heard, or could not have been.
    pub(super) fn heard(&mut self) {
        self.heard = Instant::now();
    }

    /// Waits until the client is to be asked for a sign of life.
    pub(super) async fn tick(&mut self) {
        self.ticks.tick().await;
    }

    /// Whether the client has said nothing for too long.
    pub(super) fn is_lost(&self) -> bool {
        self.heard.elapsed() >= self.silence
    }
}
