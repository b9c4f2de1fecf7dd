//! Repeats the retry decisions of a recording and compares them.
//!
//! Uses only recorded facts: the time of each decision and the answers of the budget. Calls no handler and
//! reads no clock. It does not run the call again.

use panpan_contract::recording::{Decided, Divergence, Recording, Step, compare_decisions};
use panpan_contract::retry::Attempt;
use serde_json::Value;

use crate::retry::decide;

/// The value in a divergence for a budget that is asked now, but was not when the call was recorded.
const ASKED: &str = "asked";

/// Repeats every decision of a recording and returns the first difference.
pub fn redecide(recording: &Recording) -> Result<(), Divergence> {
    let mut history = recording.earlier.clone();
    for (index, step) in recording.steps.iter().enumerate() {
        history.extend(step.failed.clone());
        if let Some(divergence) = diverges(index, step, &history, recording) {
            return Err(divergence);
        }
    }
    Ok(())
}

fn diverges(
    index: usize,
    step: &Step,
    history: &[Attempt],
    recording: &Recording,
) -> Option<Divergence> {
    let recorded = step.decided.as_ref()?;
    if step.failed.is_none() {
        // After a success there is no decision.
        return compare_decisions(index, Some(recorded), None);
    }
    let mut asked = false;
    let (seed, terms) = (recording.retry_seed, recording.terms);
    let decision = decide(history, recorded.at, seed, terms, || {
        asked = true;
        recorded.budget.unwrap_or_default()
    });
    if asked && recorded.budget.is_none() {
        return budget(index, None, Some(ASKED.into()));
    }
    let found = Decided {
        decision,
        ..*recorded
    };
    compare_decisions(index, Some(recorded), Some(&found)).or_else(|| {
        let answered = recorded.budget.filter(|_| !asked);
        answered.and_then(|answer| budget(index, Some(answer.into()), None))
    })
}

fn budget(index: usize, recorded: Option<Value>, found: Option<Value>) -> Option<Divergence> {
    let path = format!("steps[{index}].decided.budget");
    Divergence::between(path, recorded, found)
}
