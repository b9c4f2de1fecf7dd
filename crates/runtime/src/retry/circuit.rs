//! A circuit that calls share: the breaker, and what failed last.

use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use panpan_contract::circuit::CircuitRule;
use panpan_contract::operation::OperationName;
use panpan_failure::{Code, Redacted};

use super::blame::Told;
use super::breaker::{Breaker, CircuitState, Permit};

/// What a circuit protects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CircuitLevel {
    /// Every operation of a service, from a host that cannot be connected to.
    Host,
    /// One operation.
    Operation,
}

impl CircuitLevel {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Operation => "operation",
        }
    }
}

/// A circuit that is not closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCircuit {
    /// What it protects.
    pub level: CircuitLevel,
    /// The service.
    pub upstream: String,
    /// The operation, for a circuit of one.
    pub operation: Option<OperationName>,
    /// What it lets through.
    pub state: CircuitState,
    /// How many failed calls led to this.
    pub failed_calls: u32,
    /// The failure of the last of them.
    pub last_failure: Option<LastFailure>,
}

/// The failure of the last call that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastFailure {
    /// Its code.
    pub code: Code,
    /// Its message, which may speak of what that caller asked for.
    pub message: String,
    /// When it happened.
    pub at: Timestamp,
    /// Who called.
    pub(crate) caller: Option<String>,
}

impl LastFailure {
    pub(crate) fn of(failure: &Redacted, caller: Option<&str>, at: Timestamp) -> Self {
        Self {
            code: failure.code().clone(),
            message: failure.message().to_owned(),
            at,
            caller: caller.map(str::to_owned),
        }
    }
}

/// A circuit; without a breaker it never opens.
#[derive(Debug)]
pub(crate) struct Circuit {
    rule: CircuitRule,
    shared: Option<Mutex<Shared>>,
}

#[derive(Debug)]
struct Shared {
    breaker: Breaker,
    last_failure: Option<LastFailure>,
}

/// Why a circuit does not let a call through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Closed {
    pub(super) retry_after_ms: u64,
    pub(super) failed_calls: u32,
    pub(super) last_failure: Option<LastFailure>,
}

impl Circuit {
    pub(super) fn new(rule: CircuitRule) -> Self {
        let shared = match rule {
            CircuitRule::Off => None,
            CircuitRule::On(settings) => Some(Mutex::new(Shared {
                breaker: Breaker::new(settings),
                last_failure: None,
            })),
        };
        Self { rule, shared }
    }

    pub(super) fn rule(&self) -> CircuitRule {
        self.rule
    }

    /// Whether a call may begin, and whether it is a trial.
    pub(super) fn permit(&self, now: Timestamp) -> Result<bool, Closed> {
        let Some(mut shared) = self.shared() else {
            return Ok(false);
        };
        match shared.breaker.permit(now) {
            Permit::Granted => Ok(false),
            Permit::Trial => Ok(true),
            Permit::Refused { retry_after_ms } => Err(Closed {
                retry_after_ms,
                failed_calls: shared.breaker.failed_calls(),
                last_failure: shared.last_failure.clone(),
            }),
        }
    }

    /// Notes how a call ended.
    pub(super) fn note(
        &self,
        told: Told,
        trial: bool,
        at: Timestamp,
        failure: Option<&LastFailure>,
    ) {
        let Some(mut shared) = self.shared() else {
            return;
        };
        match told {
            Told::Nothing if trial => shared.breaker.give_back(),
            Told::Nothing => {}
            Told::Answered => shared.breaker.answered(trial, at),
            Told::Failed => {
                shared.breaker.failed(trial, at);
                if let Some(failure) = failure {
                    shared.last_failure = Some(failure.clone());
                }
            }
        }
    }

    /// Whether the calls before this one failed, the last of them not long ago.
    pub(super) fn is_failing(&self, now: Timestamp) -> bool {
        self.shared()
            .is_some_and(|shared| shared.breaker.is_failing(now))
    }

    /// What it is like now, unless it is closed.
    pub(super) fn unless_closed(
        &self,
        now: Timestamp,
    ) -> Option<(CircuitState, u32, Option<LastFailure>)> {
        let shared = self.shared()?;
        let state = shared.breaker.state(now);
        let failed_calls = shared.breaker.failed_calls();
        let is_closed = state == CircuitState::Closed;
        (!is_closed).then(|| (state, failed_calls, shared.last_failure.clone()))
    }

    /// A thread that panicked in between leaves it whole: each change is a single step.
    fn shared(&self) -> Option<MutexGuard<'_, Shared>> {
        let shared = self.shared.as_ref()?;
        Some(shared.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
