//! One service behind operations: what all calls to it share.

use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use panpan_contract::Category;

use super::{Breaker, BreakerSettings, Budget, BudgetSettings, Permit};

/// The circuit and the retry budget of one service, shared by every operation that uses it.
#[derive(Debug)]
pub struct Upstream {
    name: String,
    state: Mutex<State>,
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

    /// Asks whether an attempt may take place; one that may not costs nothing.
    pub(crate) fn permit(&self, now: Timestamp) -> Permit {
        self.state().breaker.permit(now)
    }

    /// Notes a new call, which earns its share of a retry.
    pub(crate) fn called(&self, now: Timestamp) {
        self.state().budget.called(now);
    }

    /// Takes one retry from the budget, if there is one.
    pub(crate) fn take_retry(&self, now: Timestamp) -> bool {
        self.state().budget.take(now)
    }

    /// Notes how an attempt ended; `None` is success.
    pub(crate) fn ended(&self, failed: Option<Category>, now: Timestamp) {
        let breaker = &mut self.state().breaker;
        match failed {
            Some(category) if is_its_fault(category) => breaker.failed(now),
            _ => breaker.answered(),
        }
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
    use super::*;

    #[test]
    fn only_failures_of_the_service_itself_open_its_circuit() {
        for (category, opens) in [
            (Category::Network, true),
            (Category::Timeout, true),
            (Category::ServerError, true),
            (Category::Transient, true),
            (Category::RateLimit, false),
            (Category::ClientError, false),
            (Category::Permanent, false),
        ] {
            let upstream = Upstream::named("api");
            let now = Timestamp::UNIX_EPOCH;
            (0..5).for_each(|_| upstream.ended(Some(category), now));
            assert_eq!(
                upstream.permit(now) != Permit::Granted,
                opens,
                "{category:?}"
            );
        }
    }
}
