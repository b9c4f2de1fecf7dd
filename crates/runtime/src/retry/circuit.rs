//! A circuit that calls share: the breaker, and the last failure.

use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use panpan_contract::circuit::CircuitRule;
use panpan_contract::operation::OperationName;
use panpan_failure::{Code, Redacted};
use serde::Serialize;

use super::breaker::{Breaker, CircuitState, Permit};
use super::verdict::Signal;

/// What a circuit protects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CircuitLevel {
    /// All operations of a service whose host cannot be reached.
    Host,
    /// One operation.
    Operation,
}

impl CircuitLevel {
    /// The name in responses.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Operation => "operation",
        }
    }
}

/// A circuit that is not closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OpenCircuit {
    /// Host or operation.
    #[serde(rename = "circuit")]
    pub level: CircuitLevel,
    /// The service.
    pub upstream: String,
    /// The operation, for a circuit of an operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationName>,
    /// The state.
    #[serde(flatten)]
    pub state: CircuitState,
    /// The number of failed calls that opened it.
    pub failed_calls: u32,
    /// The last failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<LastFailure>,
}

/// The failure of the last failed call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LastFailure {
    /// Its code.
    pub code: Code,
    /// Its message, which may quote the input of that caller.
    pub message: String,
    /// When it happened.
    pub at: Timestamp,
    /// The caller.
    #[serde(skip)]
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

/// The refusal of a call by an open circuit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
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

    /// Whether a call may start; `true` if it is a trial.
    pub(super) fn permit(&self, now: Timestamp) -> Result<bool, Refusal> {
        let Some(mut shared) = self.shared() else {
            return Ok(false);
        };
        match shared.breaker.permit(now) {
            Permit::Granted => Ok(false),
            Permit::Trial => Ok(true),
            Permit::Refused { retry_after_ms } => Err(Refusal {
                retry_after_ms,
                failed_calls: shared.breaker.failed_calls(),
                last_failure: shared.last_failure.clone(),
            }),
        }
    }

    /// Reports how a call ended.
    pub(super) fn report(
        &self,
        signal: Signal,
        trial: bool,
        at: Timestamp,
        failure: Option<&LastFailure>,
    ) {
        let Some(mut shared) = self.shared() else {
            return;
        };
        match signal {
            Signal::Nothing if trial => shared.breaker.give_back(),
            Signal::Nothing => {}
            Signal::Answered => shared.breaker.answered(trial, at),
            Signal::Failed => {
                shared.breaker.failed(trial, at);
                if let Some(failure) = failure {
                    shared.last_failure = Some(failure.clone());
                }
            }
        }
    }

    /// Whether the last call failed recently.
    pub(super) fn is_failing(&self, now: Timestamp) -> bool {
        self.shared()
            .is_some_and(|shared| shared.breaker.is_failing(now))
    }

    /// Its state, failed calls and last failure, unless it is closed.
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

    /// A panic cannot leave it inconsistent, because each change is a single step.
    fn shared(&self) -> Option<MutexGuard<'_, Shared>> {
        let shared = self.shared.as_ref()?;
        Some(shared.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
