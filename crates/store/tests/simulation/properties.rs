//! The properties that must hold, and helpers to compare answers with outcomes.

use panpan_failure::catalogue::Entry;
use panpan_runtime::Answer;
use panpan_runtime::ports::KeptOutcome;

/// A property that must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Property {
    /// A recorded outcome is what every later caller gets, until it expires.
    OutcomeKept,
    /// A key has one outcome, unless it is reopened.
    OneOutcome,
    /// An operation that is not idempotent has at most one effect, and a success has had its effect.
    OneEffect,
    /// A key has at most one valid lease, and a lost lease cannot change anything.
    OneLease,
    /// Every call is answered in time, unless its process crashed.
    Answered,
    /// Decisions made again from a recording are the same.
    ReplayableDecisions,
    /// A key is taken over only from a process that crashed, stalled or could not reach the store.
    JustifiedTakeover,
    /// A failure that denies an effect, or reports a call in flight, is right.
    TruthfulFailure,
}

/// A violation of a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) property: Property,
    pub(crate) text: String,
}

/// Whether the answer is a failure with this code.
pub(crate) fn has_code(answer: &Answer, entry: &Entry) -> bool {
    let failure = answer.outcome.as_ref().err();
    failure.is_some_and(|failure| failure.code().as_str() == entry.code)
}

/// A stored outcome as text, for comparison.
pub(crate) fn kept_text(outcome: &KeptOutcome) -> String {
    match outcome {
        KeptOutcome::Output(text) => format!("ok {text}"),
        KeptOutcome::LargeOutput { bytes, .. } => format!("large {bytes}"),
        KeptOutcome::Failure(text) => format!("failure {text}"),
    }
}

/// The outcome in an answer, in the same text form.
pub(crate) fn answer_text(answer: &Answer) -> String {
    match &answer.outcome {
        Ok(output) => format!("ok {}", output.text()),
        Err(failure) => format!("failure {}", serde_json::to_string(failure).unwrap()),
    }
}
