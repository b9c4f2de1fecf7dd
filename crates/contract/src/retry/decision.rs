//! What a retry decision is made from and what it can be, as data that is written and read back.
//!
//! The decision itself is the runtime's.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::categories::Categories;
use super::policy::RetryPolicy;
use panpan_failure::{Category, Code, Effect, Failure, Inferred, Repeat};

/// One finished attempt, as far as it bears on the decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// What it failed with.
    pub code: Code,
    /// The class of the failure, which chooses the policy.
    #[serde(with = "panpan_failure::word")]
    pub category: Category,
    /// Whether the identical call may ever succeed.
    pub retryable: bool,
    /// Whether side effects may have happened.
    #[serde(with = "panpan_failure::word")]
    pub effect: Effect,
    /// Whether only words of the other side say that nothing happened, where its code leaves that open. A
    /// caller is told so; the gateway itself repeats no change on the strength of a sentence.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub effect_only_said: bool,
    /// How long it took; another one is expected to take as long.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub took_ms: u64,
    /// How long the other side asked to be left alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint_ms: Option<u64>,
    /// Whether another panpan behind this one has decided about repeating it already.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retried_inside: bool,
    /// Whether the other side said not to ask again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused_retry: bool,
    /// Whether a circuit of this gateway kept it from taking place.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused_by_circuit: bool,
}

impl Attempt {
    /// What a failure says. A delay that is only its code's is no hint: nobody asked.
    pub fn of(failure: &Failure) -> Self {
        Self {
            code: failure.code().clone(),
            category: failure.category(),
            retryable: failure.retryable(),
            effect: failure.effect(),
            effect_only_said: is_only_said(failure),
            took_ms: 0,
            hint_ms: failure.stated_retry_after_ms(),
            retried_inside: failure.attempts().is_some(),
            refused_retry: failure.repeat() == Some(Repeat::Refused),
            refused_by_circuit: false,
        }
    }
}

fn is_only_said(failure: &Failure) -> bool {
    failure.effect() == Effect::None
        && failure.kind().default_effect() != Effect::None
        && failure.inferred().contains(&Inferred::Effect)
}

/// Whether a number is left out of JSON.
pub(crate) fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What was agreed for this call.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Terms {
    /// The policy in place of those of the categories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<RetryPolicy>,
    /// The categories that are retried; all if nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub categories: Option<Categories>,
    /// Whether repeating does no harm even if the effect happened.
    pub repeatable: bool,
    /// When the caller stops waiting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// Until when another attempt may start, where the call itself waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patient_until: Option<Timestamp>,
    /// Who waits.
    pub waiting: Waiting,
}

impl Terms {
    /// Of a call that is never attempted again.
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
    /// The call itself: delays are short, long ones are the caller's to wait.
    Inline,
    /// A store: any delay is fine.
    Durable,
}

/// What happens after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The failure is the answer.
    Answer(Why),
    /// Wait so long, then attempt again.
    Again {
        /// How long.
        delay_ms: u64,
    },
    /// Attempt again at this time; a store waits.
    Later(Timestamp),
}

/// Why a failure is the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// The identical call can never succeed.
    NotRetryable,
    /// Its effect may have happened, and happening twice would do harm.
    MayHaveHappened,
    /// It was retried inside already.
    RetriedInside,
    /// The other side said not to ask again.
    RefusedRetry,
    /// It was tried often enough.
    AttemptsSpent,
    /// Calls to this upstream are retried too much already.
    BudgetSpent,
    /// The other side asks for a longer wait than a call waits.
    HintTooLong,
    /// The caller would be gone before the next attempt.
    DeadlineTooNear,
    /// The next attempt would start later than the gateway keeps a caller waiting for one.
    PatienceSpent,
    /// Failures of this category are not to be retried.
    CategoryOff,
    /// A circuit is open; calls that waited for it would take the room of others.
    CircuitOpen,
}
