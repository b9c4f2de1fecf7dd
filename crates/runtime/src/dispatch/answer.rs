//! The answer of a call, and the channel that delivers it.

use jiff::Timestamp;
use panpan_contract::retry::Attempt;
use panpan_failure::{Failure, Redacted, codes};
use serde_json::Value;
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::output::Output;

/// The outcome of a call, with the facts about how it was produced.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The call that produced the outcome; for a replay, the earlier call.
    pub call: Uuid,
    /// The outcome.
    pub outcome: Result<Output, Redacted>,
    /// How many attempts this call made.
    pub attempts: u32,
    /// Whether the outcome was replayed.
    pub replayed: bool,
    /// The first violation of the declared schema by an output that was delivered anyway: one line without any
    /// value of the output.
    pub schema_violation: Option<String>,
    /// Until when repeating the call with the same key returns the same outcome.
    pub expires_at: Option<Timestamp>,
    /// What the handler returned in addition to its output, for protocols that can carry it. It is not stored, so a
    /// replay has none.
    pub extra: Option<Box<Value>>,
}

/// The result of one attempt of a task.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskAttempt {
    /// The answer of the attempt.
    pub answer: Answer,
    /// The failed attempt, to be added to the history of the task.
    pub attempt: Option<Attempt>,
    /// How long to wait before the next attempt, in milliseconds; `None` if the answer is final. The owner of the task
    /// may have another clock.
    pub retry_after_ms: Option<u64>,
}

impl Answer {
    /// An answer without attempts.
    pub(super) fn new(call: Uuid, outcome: Result<Output, Redacted>) -> Self {
        Self {
            call,
            outcome,
            attempts: 0,
            replayed: false,
            schema_violation: None,
            expires_at: None,
            extra: None,
        }
    }

    /// The output as a value, or the failure.
    pub fn into_value(self) -> Result<Value, Redacted> {
        self.outcome?.into_value().map_err(|error| {
            let failure = Failure::new(codes::INTERNAL).caused_by(&error);
            failure
                .with_message("the recorded output cannot be read")
                .redacted()
        })
    }
}

/// Sends the answer to the caller, who may have left.
pub(super) struct Reply(Option<oneshot::Sender<Answer>>);

impl Reply {
    pub(super) fn to(sender: oneshot::Sender<Answer>) -> Self {
        Self(Some(sender))
    }

    /// Whether the caller still waits for the answer.
    pub(super) fn is_awaited(&self) -> bool {
        self.0.as_ref().is_some_and(|sender| !sender.is_closed())
    }

    pub(super) fn send(mut self, answer: Answer) {
        self.send_once(|| answer);
    }

    /// Sends an answer unless one was sent before.
    pub(super) fn send_once(&mut self, answer: impl FnOnce() -> Answer) {
        if let Some(sender) = self.0.take() {
            // If the caller has left, the outcome is still recorded.
            let _ = sender.send(answer());
        }
    }
}
