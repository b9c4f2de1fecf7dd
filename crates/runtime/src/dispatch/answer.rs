//! What a caller gets.

use jiff::Timestamp;
use panpan_contract::retry::Attempt;
use panpan_failure::{Failure, Redacted, codes};
use serde_json::Value;
use tokio::sync::oneshot;
use uuid::Uuid;

use super::request::Call;
use crate::output::Output;

/// The outcome of a call, and how it came about.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The call that brought the outcome about: for a replay, the earlier one.
    pub call: Uuid,
    /// The outcome.
    pub outcome: Result<Output, Redacted>,
    /// How many attempts this call made.
    pub attempts: u32,
    /// Whether the outcome was there already.
    pub replayed: bool,
    /// Whether an output fits the schema that was declared for it, if one was.
    pub as_declared: bool,
    /// What an output that was delivered all the same does wrong about its schema, and where: one line
    /// without any value of the output.
    pub broken_schema: Option<String>,
    /// How long asking again with the same key gives the same outcome.
    pub expires_at: Option<Timestamp>,
    /// What the handler gave beside its output, for protocols that can carry it. It is kept nowhere: a replay has
    /// none.
    pub beside: Option<Box<Value>>,
}

/// What a task gets that enters with one attempt at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskTurn {
    /// How the attempt ended.
    pub answer: Answer,
    /// The failed attempt, to be brought along the next time.
    pub attempt: Option<Attempt>,
    /// When to come again; `None` when the answer is the last word.
    pub again_at: Option<Timestamp>,
}

impl Answer {
    pub(super) fn failed(call: &Call, failure: Redacted) -> Self {
        Self {
            call: call.id,
            outcome: Err(failure),
            attempts: 0,
            replayed: false,
            as_declared: true,
            broken_schema: None,
            expires_at: None,
            beside: None,
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

/// The way back to a caller, who may be gone.
pub(super) struct Reply(Option<oneshot::Sender<Answer>>);

impl Reply {
    pub(super) fn to(sender: oneshot::Sender<Answer>) -> Self {
        Self(Some(sender))
    }

    /// Whether somebody still waits for the answer.
    pub(super) fn is_awaited(&self) -> bool {
        self.0.as_ref().is_some_and(|sender| !sender.is_closed())
    }

    pub(super) fn send(mut self, answer: Answer) {
        self.send_once(|| answer);
    }

    /// Sends an answer unless one was sent before.
    pub(super) fn send_once(&mut self, answer: impl FnOnce() -> Answer) {
        if let Some(sender) = self.0.take() {
            // A caller that is gone does not need the answer; the outcome is recorded all the same.
            let _ = sender.send(answer());
        }
    }
}
