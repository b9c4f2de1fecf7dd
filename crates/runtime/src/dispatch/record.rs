//! What people who watch learn of a call: that it was counted, and what was recorded of it.
//!
//! The outcome of a key is kept in `keep`, together with the recording.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use panpan_contract::operation::Redaction;
use panpan_contract::recording::{RecordedOutcome, Recording};
use panpan_contract::{digest, hex};
use panpan_failure::{Failure, Redacted, size};
use panpan_redact::Redactor;
use serde_json::Value;

use super::Dispatcher;
use super::advise::Keeping;
use super::answer::Answer;
use super::perform::{Performed, schema_broken_by};
use super::request::Call;
use super::stamp::PARAMETERS_BYTES_LIMIT;
use crate::output::Output;
use crate::registry::Operation;
use crate::settings::Record;
use crate::tally::Way;

impl Dispatcher {
    /// Keeps what there is to keep of a call without a key, and gives the answer.
    pub(super) fn record(&self, performed: Performed) -> Answer {
        let performed = self.concluded(performed, Keeping::NotKept);
        if let Some(recording) = self.recording(&performed) {
            self.note(recording);
        }
        self.count(&performed);
        answer(performed)
    }

    /// The same with the way forward, if it failed.
    pub(super) fn concluded(&self, mut performed: Performed, keeping: Keeping) -> Performed {
        let claimed = &performed.claimed;
        performed.outcome = performed.outcome.map_err(|failure| {
            self.advised(failure, Some(&claimed.operation), &claimed.call, keeping)
        });
        performed
    }

    pub(super) fn count(&self, performed: &Performed) {
        let claimed = &performed.claimed;
        if performed.outcome.is_ok() {
            self.rows()
                .ended(claimed.operation.name().as_str(), &claimed.call);
        }
        let retried = performed.made > 1;
        let code = performed
            .outcome
            .as_ref()
            .err()
            .map(|failure| failure.code());
        if code.is_none() && !retried {
            // Emptied into the tally from time to time: most calls are of this kind.
            claimed.operation.successes.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let way = Way {
            retried,
            replayed: false,
        };
        let name = claimed.operation.name().as_str();
        self.tally().add(name, code, claimed.call.at, way, 1);
    }

    /// Hands a recording to the store, and watches for failures like it.
    pub(super) fn note(&self, recording: Recording) {
        self.watch_for_repeats(&recording);
        self.ports().outcomes.note(recording);
    }

    pub(super) fn watch_for_repeats(&self, recording: &Recording) {
        if let Some(before) = self.repeats().watch(recording) {
            self.ports().outcomes.note(before);
        }
    }

    /// Whether a failure is only counted, because enough like it were recorded just now.
    pub(super) fn is_only_counted(&self, operation: &str, failure: &Failure, call: &Call) -> bool {
        let caller = call.caller.as_ref().map(|it| it.id.as_str());
        let code = failure.code();
        self.repeats().count(operation, code, caller, call.at)
    }

    pub(super) fn recording(&self, performed: &Performed) -> Option<Recording> {
        let claimed = &performed.claimed;
        let looked_at = &claimed.operation.looked_at;
        let wanted = match (&performed.outcome, self.settings().record) {
            (Err(failure), _) => {
                let name = claimed.operation.name().as_str();
                !self.is_only_counted(name, failure, &claimed.call)
            }
            (Ok(_), Record::All) => true,
            (Ok(_), Record::Failures) => false,
            (Ok(_), Record::Sample { every }) => {
                performed.steps.len() > 1
                    || looked_at.fetch_add(1, Ordering::Relaxed).checked_rem(every) == Some(0)
            }
        };
        wanted.then(|| Recording {
            id: claimed.call.id,
            at: claimed.call.at,
            operation: claimed.operation.name().to_string(),
            caller: claimed.call.caller.as_ref().map(|it| it.id.clone()),
            input: shown_input(
                &claimed.operation,
                &claimed.call,
                performed.outcome.as_ref().err(),
            ),
            retry_seed: performed.seed.unwrap_or_default(),
            terms: performed.terms,
            earlier: performed.earlier.clone(),
            steps: performed.steps.clone(),
            items: None,
            repeats: 0,
            outcome: recorded(&performed.outcome),
        })
    }
}

pub(super) fn answer(performed: Performed) -> Answer {
    let delivered = performed.outcome.as_ref().ok();
    let delivered = delivered.filter(|_| !performed.as_declared);
    let operation = &performed.claimed.operation;
    let beside = beside(&performed);
    Answer {
        broken_schema: delivered.and_then(|output| schema_broken_by(operation, output)),
        call: performed.claimed.call.id,
        attempts: performed.made,
        outcome: performed.outcome.map(Output::from),
        replayed: false,
        as_declared: performed.as_declared,
        expires_at: None,
        beside,
    }
}

/// What was given beside an outcome. Where nothing is passed on that a service says about a failure in its own words,
/// only what clients of the protocol act on stays.
fn beside(performed: &Performed) -> Option<Box<Value>> {
    let mut beside = performed.claimed.call.take_beside()?;
    let is_strict = performed.claimed.operation.spec().redaction == Some(Redaction::Strict);
    if performed.outcome.is_err() && is_strict {
        beside.as_object_mut()?.retain(|name, _| name == "error");
    }
    Some(beside)
}

pub(super) fn recorded(outcome: &Result<Arc<Value>, Redacted>) -> RecordedOutcome {
    match outcome {
        Ok(output) => RecordedOutcome::Succeeded {
            output_digest: hex(&digest(output)),
        },
        Err(failure) => RecordedOutcome::Failed(failure.clone()),
    }
}

/// The input without its secrets, unless it is large or the failure shows it already.
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
