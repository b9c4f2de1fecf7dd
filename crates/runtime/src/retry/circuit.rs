//! A circuit that calls share: the breaker, and the last failure.

use std::sync::{Mutex, MutexGuard};

use jiff::Timestamp;
use panpan_contract::circuit::CircuitRule;
use panpan_contract::operation::OperationName;
use panpan_failure::{Code, Redacted};
use serde::Serialize;

use super::breaker::{Breaker, CircuitState, Permit};
use super::verdict::Signal;
use crate::lock::lock;

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
    level: CircuitLevel,
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
pub(crate) struct CircuitRefusal {
    pub(crate) level: CircuitLevel,
    pub(crate) retry_after_ms: u64,
    pub(crate) failed_calls: u32,
    pub(crate) last_failure: Option<LastFailure>,
}

impl Circuit {
    pub(super) fn new(level: CircuitLevel, rule: CircuitRule) -> Self {
        let shared = match rule {
            CircuitRule::Off => None,
            CircuitRule::On(settings) => Some(Mutex::new(Shared {
                breaker: Breaker::new(settings),
                last_failure: None,
            })),
        };
        Self {
            level,
            rule,
            shared,
        }
    }

    pub(super) fn rule(&self) -> CircuitRule {
        self.rule
    }

    /// Whether a call may start; `true` if it is a trial. A call that already is a trial needs no further permit.
    pub(super) fn permit(&self, is_trial: bool, now: Timestamp) -> Result<bool, CircuitRefusal> {
        let Some(mut shared) = self.shared().filter(|_| !is_trial) else {
            return Ok(is_trial);
        };
        match shared.breaker.permit(now) {
            Permit::Granted => Ok(false),
            Permit::Trial => Ok(true),
            Permit::Refused { retry_after_ms } => Err(CircuitRefusal {
                level: self.level,
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

    /// What is known about it, unless it is closed.
    pub(super) fn unless_closed(
        &self,
        upstream: &str,
        operation: Option<&OperationName>,
        now: Timestamp,
    ) -> Option<OpenCircuit> {
        let shared = self.shared()?;
        let state = shared.breaker.state(now);
        (state != CircuitState::Closed).then(|| OpenCircuit {
            level: self.level,
            upstream: upstream.to_owned(),
            operation: operation.cloned(),
            state,
            failed_calls: shared.breaker.failed_calls(),
            last_failure: shared.last_failure.clone(),
        })
    }

    fn shared(&self) -> Option<MutexGuard<'_, Shared>> {
        self.shared.as_ref().map(lock)
    }
}
