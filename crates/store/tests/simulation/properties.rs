//! What must hold, and how answers and outcomes are compared.

use panpan_failure::catalogue::Entry;
use panpan_runtime::Answer;
use panpan_runtime::ports::KeptOutcome;

/// What must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Property {
    /// What was answered as recorded is what every later caller gets, until its time is over.
    OutcomeKept,
    /// A key has one outcome, unless it is reopened.
    OneOutcome,
    /// What is not safe to repeat takes effect at most once, and a success did take effect.
    OneEffect,
    /// At most one live lease; who lost it changes nothing.
    OneLease,
    /// Every call is answered in time, or its process crashed.
    Answered,
    /// Every recording is decided again alike.
    Redecided,
    /// A key is taken over only from a process that crashed, stood still or could not reach the store.
    TakenWithCause,
    /// A failure is right when it denies an effect, and when it says that somebody else is at work.
    Told,
}

/// Something that must not happen, happened.
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

/// A kept outcome as text that can be compared.
pub(crate) fn kept_text(outcome: &KeptOutcome) -> String {
    match outcome {
        KeptOutcome::Output(text) => format!("ok {text}"),
        KeptOutcome::LargeOutput { bytes, .. } => format!("large {bytes}"),
        KeptOutcome::Failure(text) => format!("failure {text}"),
    }
}

/// What a caller heard, as the same text.
pub(crate) fn heard_text(answer: &Answer) -> String {
    match &answer.outcome {
        Ok(output) => format!("ok {}", output.text()),
        Err(failure) => format!("failure {}", serde_json::to_string(failure).unwrap()),
    }
}
