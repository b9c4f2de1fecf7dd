//! One call: what callers were told of it, what it did, and which of that may never be together.

use crate::operations::output;
use crate::plan::Kind;

/// Codes that are the last word about a call: its own, and those for what nobody can tell any more.
const FAILS: &str = "TOOL_FAILED";
const UNKNOWN: &str = "ERR_OUTCOME_UNKNOWN";
const GIVEN_UP: &str = "ERR_RECOVERY_EXHAUSTED";

/// A call as its parent knows it.
#[derive(Debug, Default)]
pub(crate) struct Call {
    pub(crate) acknowledged: Option<Acknowledged>,
    /// How many answers said that they brought the outcome about.
    pub(crate) ran_for_it: u32,
    /// Who made each effect.
    pub(crate) effects: Vec<String>,
}

/// The outcome a caller was told, and how many effects there were when its life had ended.
#[derive(Debug)]
pub(crate) struct Acknowledged {
    pub(crate) outcome: String,
    pub(crate) life: u64,
    pub(crate) effects: Option<usize>,
}

impl Acknowledged {
    /// Whether nobody can tell any more how the call ended.
    pub(crate) fn is_unknown(&self) -> bool {
        is_failure(&self.outcome, UNKNOWN) || is_failure(&self.outcome, GIVEN_UP)
    }
}

impl Call {
    /// What may not be, of one call.
    pub(crate) fn wrong(&self, number: u64, kind: Kind) -> Option<String> {
        let ran = self.effects.len();
        if kind != Kind::Repeatable && ran > 1 {
            return Some(format!("took effect {ran} times"));
        }
        if self.ran_for_it > 1 {
            return Some(format!(
                "brought its outcome about {} times",
                self.ran_for_it
            ));
        }
        let acknowledged = self.acknowledged.as_ref()?;
        if acknowledged.effects.is_some_and(|before| before != ran) {
            return Some("took effect after it had an outcome".to_owned());
        }
        self.unexplained(number, kind, &acknowledged.outcome)
    }

    /// Whether its effects do not explain its outcome.
    fn unexplained(&self, number: u64, kind: Kind, outcome: &str) -> Option<String> {
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
