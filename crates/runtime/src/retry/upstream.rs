//! One service behind operations: what all calls to it share.

use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use panpan_contract::{Category, Failure, codes};

use super::{Breaker, BreakerSettings, Budget, BudgetSettings, Permit};

/// The circuit and the retry budget of one service, shared by every operation that uses it.
#[derive(Debug)]
pub struct Upstream {
    name: String,
    state: Mutex<State>,
}

/// Leave for one attempt. Whoever has it says what the attempt tells about the service; an attempt that
/// was given up half-way tells nothing.
#[derive(Debug)]
pub(crate) struct Permitted<'a>(Option<&'a Upstream>);

/// The circuit is open, for so much longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpenFor {
    pub(crate) retry_after_ms: u64,
}

impl Permitted<'_> {
    /// It answered, whatever the answer was.
    pub(crate) fn answered(mut self) {
        if let Some(upstream) = self.0.take() {
            upstream.state().breaker.answered();
        }
    }

    /// It did not answer, or not as a service that is well.
    pub(crate) fn failed(mut self, now: Timestamp) {
        if let Some(upstream) = self.0.take() {
            upstream.state().breaker.failed(now);
        }
    }

    /// It refused or failed in this way.
    pub(crate) fn ended_with(self, failure: &Failure, now: Timestamp) {
        // A circuit further down says nothing about this one.
        if failure.code().as_str() == codes::ERR_CIRCUIT_OPEN.code {
            return;
        }
        // Who tells how often something was tried has answered, whatever it was.
        let is_relayed = failure.attempts().is_some();
        if is_its_fault(failure.category()) && !is_relayed {
            self.failed(now);
        } else {
            self.answered();
        }
    }
}

impl Drop for Permitted<'_> {
    fn drop(&mut self) {
        if let Some(upstream) = self.0.take() {
            upstream.state().breaker.give_back();
        }
    }
}

#[derive(Debug)]
struct State {
    breaker: Breaker,
    budget: Budget,
}

impl Upstream {
    /// A service nothing is known about yet.
    pub fn new(name: impl Into<String>, breaker: BreakerSettings, budget: BudgetSettings) -> Self {
        Self {
            name: name.into(),
            state: Mutex::new(State {
                breaker: Breaker::new(breaker),
                budget: Budget::new(budget),
            }),
        }
    }

    /// A service under the usual settings.
    pub fn named(name: impl Into<String>) -> Self {
        Self::new(name, BreakerSettings::default(), BudgetSettings::default())
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Asks for an attempt; one that may not take place costs nothing.
    pub(crate) fn permit(&self, now: Timestamp) -> Result<Permitted<'_>, OpenFor> {
        match self.state().breaker.permit(now) {
            Permit::Granted | Permit::Trial => Ok(Permitted(Some(self))),
            Permit::Refused { retry_after_ms } => Err(OpenFor { retry_after_ms }),
        }
    }

    /// Notes a new call, which earns its share of a retry.
    pub(crate) fn called(&self, now: Timestamp) {
        self.state().budget.called(now);
    }

    /// Takes one retry from the budget, if there is one.
    pub(crate) fn take_retry(&self, now: Timestamp) -> bool {
        self.state().budget.take(now)
    }

    /// A thread that panicked in between leaves both whole: each change is a single step.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a failure says that the service is in trouble, rather than that it refused this call. A
/// service that limits rates is well.
fn is_its_fault(category: Category) -> bool {
    matches!(
        category,
        Category::Transient | Category::ServerError | Category::Network | Category::Timeout
    )
}

#[cfg(test)]
mod tests {
    use panpan_contract::catalogue::Entry;

    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn after_five(entry: &'static Entry) -> Upstream {
        let upstream = Upstream::named("api");
        for _ in 0..5 {
            if let Ok(permitted) = upstream.permit(NOW) {
                permitted.ended_with(&Failure::new(entry), NOW);
            }
        }
        upstream
    }

    #[test]
    fn only_failures_of_the_service_itself_open_its_circuit() {
        for (entry, opens) in [
            (codes::ERR_DNS_FAILURE, true),
            (codes::ERR_TIMEOUT, true),
            (codes::ERR_HTTP_500_SERVER_ERROR, true),
            (codes::ERR_HTTP_503_UNAVAILABLE, true),
            (codes::ERR_HTTP_429_RATE_LIMITED, false),
            (codes::ERR_HTTP_404_NOT_FOUND, false),
            (codes::TOOL_FAILED, false),
            (codes::ERR_CIRCUIT_OPEN, false),
        ] {
            let upstream = after_five(entry);
            assert_eq!(upstream.permit(NOW).is_err(), opens, "{}", entry.code);
        }
    }

    #[test]
    fn what_was_tried_behind_it_is_no_failure_of_its_own() {
        let upstream = Upstream::named("inner");
        let failure = Failure::new(codes::ERR_HTTP_503_UNAVAILABLE).with_attempts(1);
        for _ in 0..5 {
            if let Ok(permitted) = upstream.permit(NOW) {
                permitted.ended_with(&failure, NOW);
            }
        }
        assert!(upstream.permit(NOW).is_ok());
    }

    #[test]
    fn a_trial_that_was_given_up_can_be_made_again() {
        let upstream = after_five(codes::ERR_DNS_FAILURE);
        let later = Timestamp::from_second(60).unwrap();
        let trial = upstream.permit(later).unwrap();
        assert!(upstream.permit(later).is_err());
        drop(trial);
        let again = upstream.permit(later).unwrap();
        again.answered();
        assert!(upstream.permit(later).is_ok());
    }
}
