//! The inputs and the result of a retry decision, as data that round-trips through JSON.
//!
//! The runtime makes the decision.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::categories::Categories;
use super::policy::RetryPolicy;
use panpan_failure::{Category, Code, Effect, Failure, Inferred, Repeat};

/// One finished attempt, with the facts that a retry decision needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// The code of the failure.
    pub code: Code,
    /// The category of the failure, which selects the policy.
    #[serde(with = "panpan_failure::word")]
    pub category: Category,
    /// Whether the identical call can ever succeed.
    pub retryable: bool,
    /// Whether side effects may have happened.
    #[serde(with = "panpan_failure::word")]
    pub effect: Effect,
    /// Whether only a sentence of the upstream says that nothing happened, where its code leaves
    /// that open. The caller learns of it, but the gateway repeats no change because of a sentence.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub effect_only_said: bool,
    /// How long it took; the next attempt is expected to take as long.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub took_ms: u64,
    /// The delay that the upstream asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint_ms: Option<u64>,
    /// Whether a panpan upstream already decided about repeating the call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retried_inside: bool,
    /// Whether the upstream forbids a retry.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused_retry: bool,
    /// Whether a circuit of this gateway refused the attempt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused_by_circuit: bool,
}

impl Attempt {
    /// The facts of a failure. A default delay of the code is not a hint, because the upstream did
    /// not ask for it.
    pub fn of(failure: &Failure) -> Self {
        Self {
            code: failure.code().clone(),
            category: failure.category(),
            retryable: failure.retryable(),
            effect: failure.effect(),
            effect_only_said: is_effect_only_said(failure),
            took_ms: 0,
            hint_ms: failure.stated_retry_after_ms(),
            retried_inside: failure.attempts().is_some(),
            refused_retry: failure.repeat() == Some(Repeat::Refused),
            refused_by_circuit: false,
        }
    }
}

fn is_effect_only_said(failure: &Failure) -> bool {
    failure.effect() == Effect::None
        && failure.kind().default_effect() != Effect::None
        && failure.inferred().contains(&Inferred::Effect)
}

/// Whether a number is omitted from JSON.
pub(crate) fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The retry terms of a call.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Terms {
    /// The policy that replaces those of the categories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<RetryPolicy>,
    /// The categories that are retried; all if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub categories: Option<Categories>,
    /// Whether the call can be repeated safely even if its effect happened.
    pub repeatable: bool,
    /// The deadline of the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// The latest start of another attempt, if the call itself waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patient_until: Option<Timestamp>,
    /// Who waits between attempts.
    pub waiting: Waiting,
}

impl Terms {
    /// The terms of a call that is never retried.
    pub const NONE: Self = Self {
        policy: None,
        categories: None,
        repeatable: false,
        deadline: None,
        patient_until: None,
        waiting: Waiting::Inline,
    };
}

/// Who waits between two attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Waiting {
    /// The call itself: it waits for short delays and leaves long ones to the caller.
    Inline,
    /// A store: any delay is allowed.
    Durable,
}

/// The decision after a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Return the failure to the caller.
    Answer(StopReason),
    /// Wait, then try again.
    Again {
        /// The delay.
        delay_ms: u64,
    },
    /// Try again at this time; a store waits.
    Later(Timestamp),
}

/// Why a failed attempt is not retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The identical call can never succeed.
    NotRetryable,
    /// The effect may have happened, and repeating it would do harm.
    MayHaveHappened,
    /// An upstream panpan already retried it.
    RetriedInside,
    /// The upstream forbids a retry.
    RefusedRetry,
    /// The policy allows no more attempts.
    AttemptsSpent,
    /// The retry budget of this upstream is spent.
    BudgetSpent,
    /// The upstream asks for a longer delay than a call waits.
    HintTooLong,
    /// The deadline of the caller is before the next attempt.
    DeadlineTooNear,
    /// The next attempt would start after the patience of the gateway ends.
    PatienceSpent,
    /// Failures of this category are not retried.
    CategoryOff,
    /// A circuit is open; calls that wait for it would use the capacity of others.
    CircuitOpen,
}
