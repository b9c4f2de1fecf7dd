//! Recordings of calls, for operators and for replay: the call, every attempt, every decision with
//! its inputs, and the outcome.
//!
//! A recording contains no secrets: the input and every failure are redacted, and only the digest
//! of an output is kept. [`compare`] finds the first difference between two recordings;
//! [`write_lines`] and [`read_lines`] convert them to JSON Lines. The runtime makes recordings and
//! the store keeps them.

mod compare;
mod divergence;
mod lines;

use std::borrow::Cow;
use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::retry::{Attempt, Decision, Terms};
use panpan_failure::{Code, Failure, Redacted};
use panpan_redact::{Opaque, Redactor};

pub use compare::{compare, compare_decisions};
pub use divergence::Divergence;
pub use lines::{
    LINE_BYTES_LIMIT, LineError, LineProblem, Lines, RECORDING_VERSION, read_lines, write_line,
    write_lines,
};

/// One call from its start to its outcome.
///
/// The debug form shows the call and its outcome, but not the input.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// The id of the call.
    pub id: Uuid,
    /// When the call arrived.
    pub at: Timestamp,
    /// The operation that was called.
    pub operation: String,
    /// The caller.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "read_caller"
    )]
    pub caller: Option<String>,
    /// The redacted input; omitted if it is large, or if the failure has it as its parameters.
    /// [`Recording::shown_input`] reads both.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "read_input"
    )]
    pub input: Option<Value>,
    /// The seed of the jitter.
    pub retry_seed: i64,
    /// The retry terms.
    pub terms: Terms,
    /// Failed attempts from before this recording, which came with the call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Attempt>,
    /// Every attempt, in order; empty if the call was refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    /// The number of items of a stream; the items are not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<u64>,
    /// The number of following failures of the same operation, code and caller that were only
    /// counted.
    #[serde(default, skip_serializing_if = "crate::retry::is_zero")]
    pub repeats: u64,
    /// The outcome.
    pub outcome: RecordedOutcome,
}

/// One attempt and the decision after it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// When the handler started.
    pub started_at: Timestamp,
    /// When the attempt ended.
    pub ended_at: Timestamp,
    /// The failure; absent if it succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<Attempt>,
    /// The decision; absent if the attempt succeeded or was aborted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided: Option<Decided>,
}

/// A decision with its inputs, besides the history and the terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    /// When it was made.
    pub at: Timestamp,
    /// The result of the retry budget; absent if it was not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<bool>,
    /// The decision.
    pub decision: Decision,
}

/// The recorded outcome of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordedOutcome {
    /// Success, with the digest of the output in hexadecimal.
    Succeeded {
        /// SHA-256 over the canonical JSON.
        output_digest: String,
    },
    /// Failure.
    #[serde(deserialize_with = "read_failure")]
    Failed(Redacted),
}

impl fmt::Debug for Recording {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Recording")
            .field("id", &self.id)
            .field("at", &self.at)
            .field("operation", &self.operation)
            .field("caller", &self.caller)
            .field("input", &self.input.as_ref().map(Opaque))
            .field("attempts", &self.steps.len())
            .field("items", &self.items)
            .field("code", &self.code())
            .finish_non_exhaustive()
    }
}

/// A file may come from anywhere, so it is redacted again.
fn read_failure<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Redacted, D::Error> {
    Failure::deserialize(deserializer).map(Failure::redacted)
}

/// A null input is present.
fn read_input<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    let mut input = Value::deserialize(deserializer)?;
    Redactor::new().value(&mut input);
    Ok(Some(input))
}

fn read_caller<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let caller = Option::<String>::deserialize(deserializer)?;
    Ok(caller.map(|caller| Redactor::new().text(&caller).into_owned()))
}

impl Recording {
    /// The redacted input, from the recording or from the parameters of the failure.
    pub fn shown_input(&self) -> Option<Cow<'_, Value>> {
        if let Some(input) = &self.input {
            return Some(Cow::Borrowed(input));
        }
        match &self.outcome {
            RecordedOutcome::Succeeded { .. } => None,
            RecordedOutcome::Failed(failure) => {
                let parameters = failure.parameters()?.clone();
                Some(Cow::Owned(Value::Object(parameters)))
            }
        }
    }

    /// The code of the failure; `None` if the call succeeded.
    pub fn code(&self) -> Option<&Code> {
        match &self.outcome {
            RecordedOutcome::Succeeded { .. } => None,
            RecordedOutcome::Failed(failure) => Some(failure.code()),
        }
    }
}
