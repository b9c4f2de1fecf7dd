//! A circuit breaker: an upstream that fails again and again is left alone for a while.
//!
//! Pure: time comes in, permits come out. An open circuit takes nothing from a retry budget, since no
//! attempt takes place.

use jiff::{SignedDuration, Timestamp};

/// When a circuit opens and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerSettings {
    /// Failures in a row that open it.
    pub failures_to_open: u32,
    /// How long it stays open the first time.
    pub open_ms: u64,
    /// How long it stays open at most; each failed trial doubles the time.
    pub open_ms_max: u64,
}

impl Default for BreakerSettings {
    fn default() -> Self {
        Self {
            failures_to_open: 5,
            open_ms: 60_000,
            open_ms_max: 120_000,
        }
    }
}

/// Whether an attempt may take place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permit {
    /// It may.
    Granted,
    /// It may, and decides whether the circuit closes again.
    Trial,
    /// It may not before so many milliseconds have passed.
    Refused {
        /// How many.
        retry_after_ms: u64,
    },
}

/// The state of one upstream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breaker {
    settings: BreakerSettings,
    state: State,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Closed {
        failures: u32,
    },
    Open {
        until: Timestamp,
        open_ms: u64,
    },
    /// One attempt is under way; it was let through at this time.
    Trying {
        since: Timestamp,
        open_ms: u64,
    },
}

impl Breaker {
    /// A closed circuit.
    pub fn new(settings: BreakerSettings) -> Self {
        Self {
            settings,
            state: State::Closed { failures: 0 },
        }
    }

    /// Asks for an attempt.
    pub fn permit(&mut self, now: Timestamp) -> Permit {
        match self.state {
            State::Closed { .. } => Permit::Granted,
            State::Open { until, open_ms } if now >= until => {
                self.state = State::Trying {
                    since: now,
                    open_ms,
                };
                Permit::Trial
            }
            State::Open { until, open_ms } => {
                // A clock that was set back must not keep the circuit open for longer than it was opened.
                let until = until.min(later(now, open_ms));
                self.state = State::Open { until, open_ms };
                refused(now, until)
            }
            State::Trying { since, open_ms } => {
                // A trial whose end nobody reported must not keep the circuit open for ever.
                let since = since.min(now);
                let lost_at = later(since, open_ms);
                if now < lost_at {
                    self.state = State::Trying { since, open_ms };
                    return refused(now, lost_at);
                }
                self.state = State::Trying {
                    since: now,
                    open_ms,
                };
                Permit::Trial
            }
        }
    }

    /// Notes an attempt the upstream answered, whatever the answer was.
    pub fn answered(&mut self) {
        self.state = State::Closed { failures: 0 };
    }

    /// Takes back a trial that told nothing; the next attempt may be one.
    pub fn give_back(&mut self) {
        if let State::Trying { since, open_ms } = self.state {
            self.state = State::Open {
                until: since,
                open_ms,
            };
        }
    }

    /// Notes an attempt that failed by the upstream's fault.
    pub fn failed(&mut self, now: Timestamp) {
        match self.state {
            State::Closed { failures } if failures + 1 < self.settings.failures_to_open => {
                self.state = State::Closed {
                    failures: failures + 1,
                };
            }
            State::Closed { .. } => self.open(now, self.settings.open_ms),
            State::Trying { open_ms, .. } => {
                self.open(
                    now,
                    open_ms.saturating_mul(2).min(self.settings.open_ms_max),
                );
            }
            // An attempt that was let through before the circuit opened tells nothing new.
            State::Open { .. } => {}
        }
    }

    fn open(&mut self, now: Timestamp, open_ms: u64) {
        self.state = State::Open {
            until: later(now, open_ms),
            open_ms,
        };
    }
}

fn refused(now: Timestamp, until: Timestamp) -> Permit {
    let left = until.duration_since(now).as_millis();
    Permit::Refused {
        retry_after_ms: u64::try_from(left).unwrap_or_default(),
    }
}

fn later(now: Timestamp, delay_ms: u64) -> Timestamp {
    let delay = i64::try_from(delay_ms).map_or(SignedDuration::MAX, SignedDuration::from_millis);
    now.saturating_add(delay).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    fn opened() -> Breaker {
        let mut breaker = Breaker::new(BreakerSettings::default());
        (0..5).for_each(|_| breaker.failed(at(0)));
        breaker
    }

    #[test]
    fn failures_in_a_row_open_the_circuit_and_an_answer_starts_the_count_again() {
        let mut breaker = Breaker::new(BreakerSettings::default());
        for _ in 0..3 {
            (0..4).for_each(|_| breaker.failed(at(0)));
            assert_eq!(breaker.permit(at(0)), Permit::Granted);
            breaker.answered();
        }
        assert_eq!(
            opened().permit(at(0)),
            Permit::Refused {
                retry_after_ms: 60_000
            }
        );
        assert_eq!(
            opened().permit(at(59)),
            Permit::Refused {
                retry_after_ms: 1000
            }
        );
    }

    #[test]
    fn after_its_time_one_attempt_decides() {
        let mut breaker = opened();
        assert_eq!(breaker.permit(at(60)), Permit::Trial);
        assert!(matches!(breaker.permit(at(60)), Permit::Refused { .. }));
        breaker.answered();
        assert_eq!(breaker.permit(at(60)), Permit::Granted);
    }

    #[test]
    fn a_failed_trial_opens_it_for_longer_up_to_the_limit() {
        let mut breaker = opened();
        assert_eq!(breaker.permit(at(60)), Permit::Trial);
        breaker.failed(at(60));
        assert_eq!(
            breaker.permit(at(60)),
            Permit::Refused {
                retry_after_ms: 120_000
            }
        );
        assert_eq!(breaker.permit(at(180)), Permit::Trial);
        breaker.failed(at(180));
        assert_eq!(
            breaker.permit(at(180)),
            Permit::Refused {
                retry_after_ms: 120_000
            }
        );
    }

    #[test]
    fn a_trial_nobody_reports_back_from_does_not_block_for_ever() {
        let mut breaker = opened();
        assert_eq!(breaker.permit(at(60)), Permit::Trial);
        assert_eq!(
            breaker.permit(at(119)),
            Permit::Refused {
                retry_after_ms: 1000
            }
        );
        assert_eq!(breaker.permit(at(120)), Permit::Trial);
    }

    #[test]
    fn a_clock_set_back_does_not_keep_it_open_for_longer() {
        const DAY: i64 = 86_400;
        let whole = Permit::Refused {
            retry_after_ms: 60_000,
        };
        let mut breaker = opened();
        assert_eq!(breaker.permit(at(-DAY)), whole);
        assert_eq!(breaker.permit(at(60 - DAY)), Permit::Trial);
        // The same for a trial that nobody reports back from.
        assert_eq!(breaker.permit(at(-2 * DAY)), whole);
        assert_eq!(breaker.permit(at(60 - 2 * DAY)), Permit::Trial);
    }
}
