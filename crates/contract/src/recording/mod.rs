//! What became of one call, kept for people and for replay: the call, every attempt, every decision
//! with what it was based on, and the outcome.
//!
//! Nothing secret is in a recording: the input and every failure are redacted, and of an output only
//! its digest is kept. [`compare`] tells where two of them part; [`write_lines`] and [`read_lines`]
//! move them through files. Who makes recordings and where they lie is not known here.

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
/// Its debug form tells which call it was and how it ended, and nothing of what was asked.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// Which call.
    pub id: Uuid,
    /// When it came in.
    pub at: Timestamp,
    /// The operation that was called.
    pub operation: String,
    /// Who called.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "read_caller"
    )]
    pub caller: Option<String>,
    /// The input without its secrets; left out when it is large, and where the failure shows it as its
    /// parameters. [`Recording::shown_input`] knows both places.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "read_input"
    )]
    pub input: Option<Value>,
    /// What the delays were jittered with.
    pub retry_seed: i64,
    /// What was agreed about retrying.
    pub terms: Terms,
    /// How attempts ended that were made before this recording began, by whoever brought the call along.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Attempt>,
    /// Every attempt, in order; none when the call was refused before one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    /// How many items a stream gave; what they were is not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<u64>,
    /// How many failures of the same operation, code and caller came right after it and were only counted.
    #[serde(default, skip_serializing_if = "crate::retry::is_zero")]
    pub repeats: u64,
    /// How it ended.
    pub outcome: RecordedOutcome,
}

/// One attempt and what was decided after it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// When the handler was called.
    pub started_at: Timestamp,
    /// When it was known how the attempt ended.
    pub ended_at: Timestamp,
    /// How it failed; absent when it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<Attempt>,
    /// What was decided; absent after an attempt that succeeded or was aborted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided: Option<Decided>,
}

/// A decision with what it was based on, besides the history and the terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    /// The time it was made.
    pub at: Timestamp,
    /// What the shared budget answered; absent when it was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<bool>,
    /// The decision.
    pub decision: Decision,
}

/// How a call ended, as far as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordedOutcome {
    /// It succeeded; the digest of its output, in hexadecimal.
    Succeeded {
        /// SHA-256 over the canonical JSON.
        output_digest: String,
    },
    /// It failed.
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

/// What was read may have been written by anyone: it is redacted anew.
fn read_failure<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Redacted, D::Error> {
    Failure::deserialize(deserializer).map(Failure::redacted)
}

/// An input that is null is there.
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
    /// The input without its secrets, wherever it is shown.
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

    /// The code it failed with; `None` when it succeeded.
    pub fn code(&self) -> Option<&Code> {
        match &self.outcome {
            RecordedOutcome::Succeeded { .. } => None,
            RecordedOutcome::Failed(failure) => Some(failure.code()),
        }
    }
}
