//! One call: its answers, its effects, and the checks that compare them.

use crate::operations::output;
use crate::plan::Kind;

/// Codes of final failures: the handler's own, and the codes for unknown outcomes.
const FAILS: &str = "TOOL_FAILED";
const UNKNOWN: &str = "ERR_OUTCOME_UNKNOWN";
const GIVEN_UP: &str = "ERR_RECOVERY_EXHAUSTED";

/// What the parent knows about a call.
#[derive(Debug, Default)]
pub(crate) struct Call {
    pub(crate) acknowledged: Option<Acknowledged>,
    /// How many answers reported a run of their own rather than a replay.
    pub(crate) own_runs: u32,
    /// The attempts that had an effect.
    pub(crate) effects: Vec<String>,
}

/// An acknowledged outcome, and the number of effects at the end of that run.
#[derive(Debug)]
pub(crate) struct Acknowledged {
    pub(crate) outcome: String,
    pub(crate) run_number: u64,
    pub(crate) effects: Option<usize>,
}

impl Acknowledged {
    /// Whether the outcome of the call is unknown.
    pub(crate) fn is_unknown(&self) -> bool {
        is_failure(&self.outcome, UNKNOWN) || is_failure(&self.outcome, GIVEN_UP)
    }
}

impl Call {
    /// The violation of this call, if there is one.
    pub(crate) fn violation(&self, number: u64, kind: Kind) -> Option<String> {
        let ran = self.effects.len();
        if kind != Kind::Repeatable && ran > 1 {
            return Some(format!("took effect {ran} times"));
        }
        if self.own_runs > 1 {
            return Some(format!("ran {} times for one outcome", self.own_runs));
        }
        let acknowledged = self.acknowledged.as_ref()?;
        if acknowledged.effects.is_some_and(|before| before != ran) {
            return Some("took effect after it had an outcome".to_owned());
        }
        self.check_outcome(number, kind, &acknowledged.outcome)
    }

    /// Checks that the effects explain the outcome.
    fn check_outcome(&self, number: u64, kind: Kind, outcome: &str) -> Option<String> {
        let explained = match outcome.strip_prefix("ok ") {
            Some(text) => self.effects.iter().any(|by| {
                let expected = output(number, by).to_string();
                expected == text
            }),
            None if is_failure(outcome, UNKNOWN) => kind == Kind::Once,
            None => is_failure(outcome, FAILS) || is_failure(outcome, GIVEN_UP),
        };
        (!explained).then(|| format!("ended as {outcome} after {:?}", self.effects))
    }
}

/// Whether an outcome is a failure with this code.
pub(crate) fn is_failure(outcome: &str, code: &str) -> bool {
    let Some(text) = outcome.strip_prefix("failed ") else {
        return false;
    };
    let failure: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    failure["code"] == code
}
