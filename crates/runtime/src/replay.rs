//! Decides again what a recording says was decided, from the recorded facts alone.
//!
//! Calls no handler and asks no clock and no budget: the time of each decision and what the budget
//! answered are taken from the recording. Running the call itself again is not done here.

use panpan_contract::recording::{Decided, Divergence, Recording, Step, compare_decisions};
use panpan_contract::retry::Attempt;
use serde_json::Value;

use crate::retry::decide;

/// What a divergence says of a budget that is asked now and was not when the call was recorded.
const ASKED: &str = "asked";

/// Makes every decision of a recording again and names the first that comes out differently.
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
        // There is nothing to decide after a success.
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
    let place = format!("steps[{index}].decided.budget");
    Divergence::between(place, recorded, found)
}
