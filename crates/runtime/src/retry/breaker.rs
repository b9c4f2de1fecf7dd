//! A circuit breaker: what fails again and again is not asked for a while.
//!
//! Pure: time comes in, permits come out. It counts calls, not attempts: the retries of one call are
//! one piece of bad luck. Whose fault a failure is, is decided in `blame`.

use jiff::{SignedDuration, Timestamp};
use panpan_contract::circuit::CircuitSettings;

use super::window::{Calls, Window};

/// Whether an attempt may take place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permit {
    /// It may.
    Granted,
    /// It may, and its call helps decide whether the circuit closes again.
    Trial,
    /// It may not before so many milliseconds have passed.
    Refused {
        /// How many.
        retry_after_ms: u64,
    },
}

/// What a circuit lets through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CircuitState {
    /// Everything.
    Closed,
    /// Nothing, for so much longer.
    Open {
        /// How much.
        retry_after_ms: u64,
    },
    /// A few calls, which decide whether it closes.
    HalfOpen,
}

impl CircuitState {
    /// The word for it.
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
    /// Failed calls that led to what it is now.
    failed_calls: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Closed { window: Window, row: Option<Row> },
    Open { until: Timestamp, open_ms: u64 },
    HalfOpen(Trials),
}

/// Calls that decide whether a circuit closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Trials {
    /// How long it was open before.
    open_ms: u64,
    /// When the last of them was let through.
    since: Timestamp,
    under_way: u32,
    failed: u32,
}

/// Calls that failed one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
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

    /// Asks for a call that begins.
    pub fn permit(&mut self, now: Timestamp) -> Permit {
        match self.state {
            State::Closed { .. } => Permit::Granted,
            State::Open { until, open_ms } => {
                // A clock that was set back must not keep the circuit open for longer than it was opened.
                let until = until.min(later(now, open_ms));
                if now < until {
                    self.state = State::Open { until, open_ms };
                    return refused(now, until);
                }
                let first = Trials {
                    open_ms,
                    since: now,
                    under_way: 1,
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
        // A trial whose end is never reported must not keep the circuit open for ever.
        let lost_at = later(trials.since, trials.open_ms);
        let is_free = trials.under_way.saturating_add(trials.failed) < self.settings.trials;
        let permit = if is_free || now >= lost_at {
            trials.under_way = if is_free { trials.under_way + 1 } else { 1 };
            trials.since = now;
            Permit::Trial
        } else {
            refused(now, lost_at)
        };
        self.state = State::HalfOpen(trials);
        permit
    }

    /// Notes a call that was answered, whatever the answer was.
    pub fn answered(&mut self, trial: bool, now: Timestamp) {
        match &mut self.state {
            State::Closed { window, row } => {
                window.count(false, now);
                *row = None;
            }
            State::Open { .. } | State::HalfOpen(_) if trial => {
                self.state = State::closed(self.settings);
                self.failed_calls = 0;
            }
            // A call that was let through before the circuit opened tells nothing new.
            State::Open { .. } | State::HalfOpen(_) => {}
        }
    }

    /// Notes a call that failed.
    pub fn failed(&mut self, trial: bool, now: Timestamp) {
        match &mut self.state {
            State::Closed { window, row } => {
                let calls = window.count(true, now);
                let row = Row::longer(row, now);
                if by_share(self.settings, calls) || row.opens(self.settings, now) {
                    self.failed_calls = calls.failed.max(row.calls);
                    self.open(now, self.settings.open_ms);
                }
            }
            State::HalfOpen(trials) if trial => {
                trials.under_way = trials.under_way.saturating_sub(1);
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

    /// Takes back a trial that told nothing; another call may be one.
    pub fn give_back(&mut self) {
        if let State::HalfOpen(trials) = &mut self.state {
            trials.under_way = trials.under_way.saturating_sub(1);
        }
    }

    /// What it would let through now.
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

    /// Whether the calls before this one failed, the last of them not long ago. A call that begins then is
    /// not repeated by the gateway: its caller hears sooner, and a service in trouble is not asked several
    /// times by every call.
    pub fn is_failing(&self, now: Timestamp) -> bool {
        match &self.state {
            State::Closed { row: None, .. } => false,
            State::Closed { row: Some(row), .. } => now < later(row.last, self.settings.window_ms),
            State::Open { .. } | State::HalfOpen(_) => true,
        }
    }

    /// How many failed calls led to a circuit that is not closed.
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
            row: None,
        }
    }
}

impl Row {
    /// A row with one more call in it.
    fn longer(row: &mut Option<Self>, now: Timestamp) -> Self {
        let before = row.unwrap_or(Self {
            calls: 0,
            since: now,
            last: now,
        });
        *row.insert(Self {
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

fn by_share(settings: CircuitSettings, calls: Calls) -> bool {
    let is_share = settings.failed_percent > 0 && calls.all >= settings.calls_min;
    is_share && calls.failed_at_least(settings.failed_percent)
}

fn refused(now: Timestamp, until: Timestamp) -> Permit {
    Permit::Refused {
        retry_after_ms: milliseconds(now, until),
    }
}

/// Rounded up, so that who waits so long does not come too early.
fn milliseconds(now: Timestamp, until: Timestamp) -> u64 {
    let left = until.duration_since(now).as_nanos();
    u64::try_from(left).unwrap_or_default().div_ceil(1_000_000)
}

fn later(now: Timestamp, delay_ms: u64) -> Timestamp {
    let delay = i64::try_from(delay_ms).map_or(SignedDuration::MAX, SignedDuration::from_millis);
    now.saturating_add(delay).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests;
