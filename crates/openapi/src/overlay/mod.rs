//! Overlays: changes to imported operations, kept in a file and applied after every import.
//!
//! This module has the file format; `apply` applies it.

mod apply;
mod rename_rules;

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use panpan_contract::binding::{ResponseRule, SuccessBodies};
use panpan_contract::circuit::CircuitRule;
use panpan_contract::operation::{CallSettings, Idempotency, Outputs, Redaction, TaskUse};
use panpan_contract::retry::RetryRule;
use panpan_failure::{Code, Effect, ErrorDefinition};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::parse::{ParseError, parse};
pub use apply::{
    OverlayProblem, apply_matching_lines, apply_overlay, apply_to_shown, lines_beyond_shown,
    unmatched_lines,
};

/// Changes to imported operations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overlay {
    /// The lines, applied in their order.
    #[serde(default)]
    pub operations: Vec<OverlayLine>,
}

/// Changes to the operations whose names match a pattern.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OverlayLine {
    /// The pattern; `*` matches any text.
    #[serde(rename = "match")]
    pub pattern: String,
    /// Whether the operations are hidden from callers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hide: bool,
    /// Another title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Another description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Declared codes and their new names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rename: BTreeMap<Code, Code>,
    /// Additional declared failures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ErrorDefinition>,
    /// The assumed effect of a failure, by declared code.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub effects: BTreeMap<Code, AssumedEffect>,
    /// Rules that assign codes to responses, including successful responses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<ResponseRule>,
    /// How successful responses with a failure in their body are treated: `read` (the default) or `as_sent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success_bodies: Option<SuccessBodies>,
    /// Whether the operations can be repeated safely.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency: Option<Idempotency>,
    /// The header that the service reads an idempotency key from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_header: Option<String>,
    /// The timeout of one attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<NonZeroU64>,
    /// Which failures are retried, and how.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryRule>,
    /// How long after its start a call may begin another attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patience_ms: Option<u64>,
    /// When calls are refused because earlier calls failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub circuit: Option<CircuitRule>,
    /// What happens to an output that does not match its schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outputs: Option<Outputs>,
    /// How much of the service's own text is passed on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redaction: Option<Redaction>,
    /// Whether the MCP tool takes the idempotency key as an argument.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_argument: Option<bool>,
    /// Whether calls of the MCP tool run as tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskUse>,
    /// Questions to ask the client before a task is created, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ask_first: BTreeMap<String, FirstQuestion>,
}

/// A question that is asked before a task is created.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FirstQuestion {
    /// The text.
    pub message: String,
    /// The schema of the reply, as MCP elicitation allows it.
    pub schema: Value,
}

impl OverlayLine {
    /// The call settings of this line.
    pub fn calls(&self) -> CallSettings {
        CallSettings {
            timeout_ms: self.timeout_ms,
            retry: self.retry,
            patience_ms: self.patience_ms,
            circuit: self.circuit,
            outputs: self.outputs,
            redaction: self.redaction,
            key_argument: self.key_argument,
            task: self.task,
        }
    }
}

/// An assumed effect: `none`, `unknown` or `applied`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub struct AssumedEffect(pub Effect);

impl TryFrom<String> for AssumedEffect {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        let effect = Effect::from_word(&word);
        let words: Vec<_> = Effect::ALL.iter().map(|it| it.word()).collect();
        let refused = || format!("{word:?} is not an effect: use {}", words.join(", "));
        effect.map(Self).ok_or_else(refused)
    }
}

impl From<AssumedEffect> for &'static str {
    fn from(effect: AssumedEffect) -> &'static str {
        effect.0.word()
    }
}

/// An overlay could not be read.
#[derive(Debug, thiserror::Error)]
pub enum OverlayError {
    /// It is neither JSON nor YAML.
    #[error(transparent)]
    Text(#[from] ParseError),
    /// It does not have the format of an overlay.
    #[error("not a valid overlay")]
    Shape(#[from] serde_json::Error),
}

impl Overlay {
    /// Reads an overlay that is written in JSON or YAML.
    pub fn read(text: &[u8]) -> Result<Self, OverlayError> {
        Ok(serde_json::from_value(parse(text)?)?)
    }
}

#[cfg(test)]
mod tests {
    use panpan_contract::operation::{
        ASK_FIRST_EXTENSION, OperationName, OperationSpec, OperationType, TASK_EXTENSION,
    };
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_says_whether_tools_run_as_tasks_and_what_is_asked_first() {
        let question = json!({"why": {"message": "Why?", "schema": {"type": "object"}}});
        let line = json!({"match": "a/*", "task": "preferred", "ask_first": question});
        let overlay: Overlay = serde_json::from_value(json!({"operations": [line]})).unwrap();
        let name: OperationName = "a/b".parse().unwrap();
        let mut spec = OperationSpec::new(name.clone(), OperationType::Query);
        apply_to_shown(&mut spec, &overlay);
        let set = |name: &str| spec.extensions.get(name).cloned().unwrap_or_default();
        assert_eq!(set(TASK_EXTENSION), "preferred");
        assert_eq!(set(ASK_FIRST_EXTENSION), question);
        assert_eq!(lines_beyond_shown(&overlay, [&name].into_iter()), []);
        for (member, value) in [("task", json!("often")), ("ask_first", json!({"why": 1}))] {
            let mut refused = json!({"match": "a/*"});
            refused[member] = value;
            assert!(serde_json::from_value::<OverlayLine>(refused).is_err());
        }
    }
}
