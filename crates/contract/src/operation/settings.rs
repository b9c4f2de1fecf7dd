//! The settings of an operation that an operator can change, in the configuration of a source or in
//! an overlay.

use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

use super::OperationSpec;
use crate::circuit::CircuitRule;
use crate::retry::RetryRule;

/// Settings of calls; an unset member leaves the value unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallSettings {
    /// The timeout of one attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<NonZeroU64>,
    /// Which failures are retried, and how.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryRule>,
    /// How long after the start of a call another attempt may start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patience_ms: Option<u64>,
    /// When the circuit refuses calls after failures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub circuit: Option<CircuitRule>,
    /// How an output is handled that violates its schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outputs: Option<Outputs>,
    /// How much of the free text of a service is passed on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redaction: Option<Redaction>,
    /// Whether the MCP tool of a mutation takes the idempotency key as an argument.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_argument: Option<bool>,
    /// Whether calls of the MCP tool run as tasks. Without it, the client decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskUse>,
}

/// The extension of an operation that says whether calls of its MCP tool run as tasks: a [`TaskUse`].
pub const TASK_EXTENSION: &str = "x-mcp-task";

/// The extension of an operation with the questions to ask before a task is created: by name, each with `message` and
/// `schema`.
pub const ASK_FIRST_EXTENSION: &str = "x-mcp-ask-first";

/// Whether calls of an MCP tool run as tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskUse {
    /// Never.
    Forbidden,
    /// For every client that supports tasks.
    Preferred,
    /// Always; other clients cannot call it.
    Required,
}

impl TaskUse {
    /// What an operation declares. Other values count as none.
    pub fn of(spec: &OperationSpec) -> Option<Self> {
        Self::deserialize(spec.extensions.get(TASK_EXTENSION)?).ok()
    }

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Forbidden => "forbidden",
            Self::Preferred => "preferred",
            Self::Required => "required",
        }
    }
}

/// The extension of an operation that is `false` if its MCP tool does not take the idempotency key
/// as an argument.
pub const KEY_ARGUMENT_EXTENSION: &str = "x-mcp-key-argument";

/// How an output is handled that violates its schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outputs {
    /// It is delivered and marked as a violation of its schema.
    Deliver,
    /// The call fails.
    Strict,
}

/// How much of the free text of a service about a failure is passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Redaction {
    /// All of it, without the secrets that are found.
    Found,
    /// None of it: only typed and declared facts.
    Strict,
}

impl CallSettings {
    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Applies the settings to an operation.
    pub fn apply(&self, spec: &mut OperationSpec) {
        if let Some(timeout_ms) = self.timeout_ms {
            spec.timeout_ms = Some(timeout_ms.get());
        }
        spec.retry = self.retry.or(spec.retry);
        spec.patience_ms = self.patience_ms.or(spec.patience_ms);
        spec.circuit = self.circuit.or(spec.circuit);
        spec.outputs = self.outputs.or(spec.outputs);
        spec.redaction = self.redaction.or(spec.redaction);
        if let Some(takes) = self.key_argument {
            let set = spec.extensions.insert(KEY_ARGUMENT_EXTENSION, takes.into());
            set.expect("the name starts with x-");
        }
        if let Some(task) = self.task {
            let set = spec.extensions.insert(TASK_EXTENSION, task.word().into());
            set.expect("the name starts with x-");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::operation::OperationType;

    fn settings(written: serde_json::Value) -> CallSettings {
        serde_json::from_value(written).unwrap()
    }

    #[test]
    fn later_settings_replace_earlier_ones_and_nothing_else() {
        let mut spec = OperationSpec::new("a/b".parse().unwrap(), OperationType::Query);
        let first = settings(json!({
            "timeout_ms": 120_000, "retry": "off", "patience_ms": 0, "circuit": "off",
            "outputs": "strict", "key_argument": false, "task": "required",
        }));
        first.apply(&mut spec);
        settings(json!({})).apply(&mut spec);
        assert_eq!(spec.timeout_ms, Some(120_000));
        assert_eq!(spec.retry, Some(RetryRule::OFF));
        assert_eq!(spec.patience_ms, Some(0));
        assert_eq!(spec.circuit, Some(CircuitRule::Off));
        assert_eq!(spec.outputs, Some(Outputs::Strict));
        assert_eq!(
            spec.extensions.get(KEY_ARGUMENT_EXTENSION),
            Some(&json!(false))
        );
        // Categories replace "off" completely.
        settings(json!({"retry": {"categories": ["NETWORK"]}})).apply(&mut spec);
        let retry = spec.retry.unwrap();
        assert!(retry.policy.is_none() && retry.categories.is_some());
        let text = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<OperationSpec>(&text).unwrap(), spec);
    }

    #[test]
    fn unknown_settings_are_rejected() {
        for written in [
            json!({"timeout_ms": 0}),
            json!({"timeouts": 1}),
            json!({"outputs": "lenient"}),
        ] {
            assert!(serde_json::from_value::<CallSettings>(written).is_err());
        }
        assert!(settings(json!({})).is_empty());
        assert!(!settings(json!({"patience_ms": 0})).is_empty());
    }
}
