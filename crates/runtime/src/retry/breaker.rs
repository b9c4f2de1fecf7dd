//! A circuit breaker: refuses calls for a while after repeated failures.
//!
//! Pure: time is an argument. It counts calls, not attempts, so the retries of one call count once. Which
//! failures count is decided in `verdict`.

use jiff::Timestamp;
use panpan_contract::circuit::CircuitSettings;
use serde::Serialize;

use super::window::{Calls, Window};
use crate::time::later;

/// Whether an attempt may take place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permit {
    /// Yes.
    Granted,
    /// Yes, as a trial: its result decides whether the circuit closes.
    Trial,
    /// No, the circuit is open.
    Refused {
        /// The time until the next trial.
        retry_after_ms: u64,
    },
}

/// The state of a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum CircuitState {
    /// All calls pass.
    Closed,
    /// No call passes.
    Open {
        /// The time until the next trial.
        retry_after_ms: u64,
    },
    /// A few trial calls pass, and decide whether the circuit closes.
    HalfOpen,
}

impl CircuitState {
    /// The name in responses and metrics.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open { .. } => "open",
            Self::HalfOpen => "half_open",
        }
    }
}

/// One circuit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breaker {
    settings: CircuitSettings,
    state: State,
    /// The number of failed calls that opened it.
    failed_calls: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Closed {
        window: Window,
        streak: Option<Streak>,
    },
    Open {
        until: Timestamp,
        open_ms: u64,
    },
    HalfOpen(Trials),
}

/// Trial calls of a half-open circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Trials {
    /// How long the circuit was open.
    open_ms: u64,
    /// When the last trial started.
    since: Timestamp,
    in_flight: u32,
    failed: u32,
}

/// Consecutive failed calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Streak {
    calls: u32,
    since: Timestamp,
    last: Timestamp,
}

impl Breaker {
    /// A closed circuit.
    pub fn new(settings: CircuitSettings) -> Self {
        Self {
            state: State::closed(settings),
            settings,
            failed_calls: 0,
        }
    }

    /// Decides whether a call may start.
    pub fn permit(&mut self, now: Timestamp) -> Permit {
        match self.state {
            State::Closed { .. } => Permit::Granted,
            State::Open { until, open_ms } => {
                // If the clock was set back, the circuit must not stay open for longer.
                let until = until.min(later(now, open_ms));
                if now < until {
                    self.state = State::Open { until, open_ms };
                    return refused(now, until);
                }
                let first = Trials {
                    open_ms,
                    since: now,
                    in_flight: 1,
                    failed: 0,
                };
                self.state = State::HalfOpen(first);
                Permit::Trial
            }
            State::HalfOpen(trials) => self.try_again(trials, now),
        }
    }

    fn try_again(&mut self, mut trials: Trials, now: Timestamp) -> Permit {
        trials.since = trials.since.min(now);
        // A trial whose end is never reported must not block the circuit for ever.
        let lost_at = later(trials.since, trials.open_ms);
        let is_free = trials.in_flight.saturating_add(trials.failed) < self.settings.trials;
        let permit = if is_free || now >= lost_at {
            trials.in_flight = if is_free { trials.in_flight + 1 } else { 1 };
            trials.since = now;
            Permit::Trial
        } else {
            refused(now, lost_at)
        };
        self.state = State::HalfOpen(trials);
        permit
    }

    /// Reports a call that got a response, whatever it was.
    pub fn answered(&mut self, trial: bool, now: Timestamp) {
        match &mut self.state {
            State::Closed { window, streak } => {
                window.count(false, now);
                *streak = None;
            }
            State::Open { .. } | State::HalfOpen(_) if trial => {
                self.state = State::closed(self.settings);
                self.failed_calls = 0;
            }
            // A call that started before the circuit opened does not count.
            State::Open { .. } | State::HalfOpen(_) => {}
        }
    }

    /// Reports a failed call.
    pub fn failed(&mut self, trial: bool, now: Timestamp) {
        match &mut self.state {
            State::Closed { window, streak } => {
                let calls = window.count(true, now);
                let streak = Streak::extend(streak, now);
                if share_opens(self.settings, calls) || streak.opens(self.settings, now) {
                    self.failed_calls = calls.failed.max(streak.calls);
                    self.open(now, self.settings.open_ms);
                }
            }
            State::HalfOpen(trials) if trial => {
                trials.in_flight = trials.in_flight.saturating_sub(1);
                trials.failed += 1;
                self.failed_calls = self.failed_calls.saturating_add(1);
                if trials.failed >= self.settings.trials {
                    let doubled = trials.open_ms.saturating_mul(2);
                    self.open(now, doubled.min(self.settings.open_ms_max));
                }
            }
            State::Open { .. } | State::HalfOpen(_) => {}
        }
    }

    /// Returns a trial without a verdict, so that another call can be the trial.
    pub fn give_back(&mut self) {
        if let State::HalfOpen(trials) = &mut self.state {
            trials.in_flight = trials.in_flight.saturating_sub(1);
        }
    }

    /// The current state.
    pub fn state(&self, now: Timestamp) -> CircuitState {
        match self.state {
            State::Closed { .. } => CircuitState::Closed,
            State::Open { until, open_ms } => {
                match milliseconds(now, until.min(later(now, open_ms))) {
                    0 => CircuitState::HalfOpen,
                    retry_after_ms => CircuitState::Open { retry_after_ms },
                }
            }
            State::HalfOpen(_) => CircuitState::HalfOpen,
        }
    }

    /// Whether the last call failed recently. Calls that start now are not retried: their callers get the failure
    /// sooner, and a failing service gets less load.
    pub fn is_failing(&self, now: Timestamp) -> bool {
        match &self.state {
            State::Closed { streak: None, .. } => false,
            State::Closed {
                streak: Some(streak),
                ..
            } => now < later(streak.last, self.settings.window_ms),
            State::Open { .. } | State::HalfOpen(_) => true,
        }
    }

    /// The number of failed calls that opened the circuit.
    pub fn failed_calls(&self) -> u32 {
        self.failed_calls
    }

    fn open(&mut self, now: Timestamp, open_ms: u64) {
        self.state = State::Open {
            until: later(now, open_ms),
            open_ms,
        };
    }
}

impl State {
    fn closed(settings: CircuitSettings) -> Self {
        Self::Closed {
            window: Window::new(settings.window_ms),
            streak: None,
        }
    }
}

impl Streak {
    /// Adds a failed call.
    fn extend(streak: &mut Option<Self>, now: Timestamp) -> Self {
        let before = streak.unwrap_or(Self {
            calls: 0,
            since: now,
            last: now,
        });
        *streak.insert(Self {
            calls: before.calls.saturating_add(1),
            since: before.since.min(now),
            last: now,
        })
    }

    fn opens(self, settings: CircuitSettings, now: Timestamp) -> bool {
        let is_long = settings.row > 0 && self.calls >= settings.row;
        is_long && now >= later(self.since, settings.row_ms)
    }
}

/// Whether the share of failed calls in the window opens the circuit.
fn share_opens(settings: CircuitSettings, calls: Calls) -> bool {
    let is_share = settings.failed_percent > 0 && calls.all >= settings.calls_min;
    is_share && calls.failed_at_least(settings.failed_percent)
}

fn refused(now: Timestamp, until: Timestamp) -> Permit {
    Permit::Refused {
        retry_after_ms: milliseconds(now, until),
    }
}

/// Rounded up, so that a caller that waits this long is not too early.
fn milliseconds(now: Timestamp, until: Timestamp) -> u64 {
    let left = until.duration_since(now).as_nanos();
    u64::try_from(left).unwrap_or_default().div_ceil(1_000_000)
}

#[cfg(test)]
mod tests;
