//! Stage record: counts a call, records it if the settings say so, and builds the answer.
//!
//! The outcome of a key is stored together with the recording in `record_keyed`.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use panpan_contract::operation::Redaction;
use panpan_contract::recording::{RecordedOutcome, Recording};
use panpan_contract::retry::Terms;
use panpan_contract::{digest, hex};
use panpan_failure::{Failure, Redacted, size};
use panpan_redact::Redactor;
use serde_json::Value;

use super::advise::Retention;
use super::answer::Answer;
use super::attempt_loop::Finished;
use super::request::Call;
use super::stamp::PARAMETERS_BYTES_LIMIT;
use super::{Dispatcher, ONE_CALL};
use crate::output::Output;
use crate::ports::Calls;
use crate::registry::Operation;
use crate::settings::Record;

impl Dispatcher {
    /// Records a call without a key, and returns the answer.
    pub(super) fn record(&self, finished: Finished) -> Answer {
        let finished = self.with_advice(finished, Retention::NotKept);
        if let Some(recording) = self.recording(&finished) {
            self.note(recording);
        }
        self.count_finished(&finished);
        answer(finished)
    }

    /// Adds advice to a failure.
    pub(super) fn with_advice(&self, mut finished: Finished, retention: Retention) -> Finished {
        let claimed = &finished.claimed;
        finished.outcome = finished.outcome.map_err(|failure| {
            self.advise(failure, Some(&claimed.operation), &claimed.call, retention)
        });
        finished
    }

    pub(super) fn count_finished(&self, finished: &Finished) {
        let claimed = &finished.claimed;
        if finished.outcome.is_ok() {
            let streaks = &self.0.streaks;
            streaks.ended(claimed.operation.name().as_str(), &claimed.call);
            if let Some(upstream) = claimed.operation.upstream() {
                streaks.reached(upstream.service().name());
            }
        }
        let retried = finished.ran.attempts_made > 1;
        let code = finished
            .outcome
            .as_ref()
            .err()
            .map(|failure| failure.code());
        if code.is_none() && !retried {
            // Most calls: counted without a lock, and moved to the tally by `maintain`.
            claimed.operation.successes.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let calls = Calls {
            retried: u64::from(retried),
            ..ONE_CALL
        };
        let name = claimed.operation.name().as_str();
        self.count(name, code, claimed.call.at, calls);
    }

    /// Passes a recording to the store, and tracks equal failures.
    pub(super) fn note(&self, recording: Recording) {
        self.track_repeats(&recording);
        self.ports().outcomes.note(recording);
    }

    pub(super) fn track_repeats(&self, recording: &Recording) {
        if let Some(before) = self.0.repeated_failures.track(recording) {
            self.ports().outcomes.note(before);
        }
    }

    /// Whether a failure is only counted, because enough equal ones were just recorded.
    pub(super) fn is_only_counted(&self, operation: &str, failure: &Failure, call: &Call) -> bool {
        let caller = call.caller_id();
        let code = failure.code();
        self.0
            .repeated_failures
            .count(operation, code, caller, call.at)
    }

    pub(super) fn recording(&self, finished: &Finished) -> Option<Recording> {
        let claimed = &finished.claimed;
        if claimed.call.unrecorded {
            return None;
        }
        let sampling_counter = &claimed.operation.sampling_counter;
        let is_recorded = match (&finished.outcome, self.0.settings.record) {
            (Err(failure), _) => {
                let name = claimed.operation.name().as_str();
                !self.is_only_counted(name, failure, &claimed.call)
            }
            (Ok(_), Record::All) => true,
            (Ok(_), Record::Failures) => false,
            (Ok(_), Record::Sample { every }) => {
                finished.ran.steps.len() > 1
                    || sampling_counter
                        .fetch_add(1, Ordering::Relaxed)
                        .checked_rem(every)
                        == Some(0)
            }
        };
        is_recorded.then(|| Recording {
            input: shown_input(
                &claimed.operation,
                &claimed.call,
                finished.outcome.as_ref().err(),
            ),
            retry_seed: finished.ran.seed.unwrap_or_default(),
            terms: finished.ran.terms,
            earlier: finished.ran.earlier.clone(),
            steps: finished.ran.steps.clone(),
            ..recording(
                &claimed.call,
                claimed.operation.name().to_string(),
                recorded(&finished.outcome),
            )
        })
    }
}

/// The recording of a call without attempts.
pub(super) fn recording(call: &Call, operation: String, outcome: RecordedOutcome) -> Recording {
    Recording {
        id: call.id,
        at: call.at,
        operation,
        caller: call.caller_id().map(str::to_owned),
        input: None,
        retry_seed: call.retry_seed.unwrap_or_default(),
        terms: Terms::NONE,
        earlier: Vec::new(),
        steps: Vec::new(),
        items: None,
        repeats: 0,
        outcome,
    }
}

pub(super) fn answer(finished: Finished) -> Answer {
    let extra = extra(&finished);
    Answer {
        schema_violation: finished.ran.schema_violation,
        attempts: finished.ran.attempts_made,
        extra,
        ..Answer::new(finished.claimed.call.id, finished.outcome.map(Output::from))
    }
}

/// What the handler returned in addition to the outcome. With strict redaction, a failure keeps only the member
/// that clients of the protocol act on.
fn extra(finished: &Finished) -> Option<Box<Value>> {
    let mut extra = finished.claimed.call.take_extra()?;
    let is_strict = finished.claimed.operation.spec().redaction == Some(Redaction::Strict);
    if finished.outcome.is_err() && is_strict {
        extra.as_object_mut()?.retain(|name, _| name == "error");
    }
    Some(extra)
}

pub(super) fn recorded(outcome: &Result<Arc<Value>, Redacted>) -> RecordedOutcome {
    match outcome {
        Ok(output) => RecordedOutcome::Succeeded {
            output_digest: hex(&digest(output)),
        },
        Err(failure) => RecordedOutcome::Failed(failure.clone()),
    }
}

/// The redacted input, unless it is too large or the failure already shows it.
pub(super) fn shown_input(
    operation: &Operation,
    call: &Call,
    failure: Option<&Redacted>,
) -> Option<Value> {
    if failure.is_some_and(|failure| failure.parameters().is_some()) {
        return None;
    }
    size::fits(&call.input, PARAMETERS_BYTES_LIMIT).then(|| {
        let mut input = Value::clone(&call.input);
        Redactor::new().marked(operation.input_markers(), &mut input);
        input
    })
}
