//! What the people of a service know and its description does not say, written down once and applied
//! after every import.
//!
//! Here is the file; what its lines do to operations is in `apply`.

mod apply;
mod renamed;

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use panpan_contract::binding::{ResponseRule, SuccessBodies};
use panpan_contract::circuit::CircuitRule;
use panpan_contract::operation::{CallSettings, Idempotency, Outputs, Redaction};
use panpan_contract::retry::RetryRule;
use panpan_failure::{Code, Effect, ErrorDefinition};
use serde::{Deserialize, Serialize};

use crate::parse::{ParseError, parse};
pub use apply::{
    OverlayProblem, apply_matching_lines, apply_overlay, apply_to_shown, lines_beyond_shown,
    unmatched_lines,
};

/// Changes to the operations of an import.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overlay {
    /// The lines, applied in their order.
    #[serde(default)]
    pub operations: Vec<OverlayLine>,
}

/// Changes to the operations of some names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OverlayLine {
    /// The names; `*` stands for any text.
    #[serde(rename = "match")]
    pub pattern: String,
    /// Whether they cannot be called from outside.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hide: bool,
    /// Another title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Another description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Declared codes, and what they are called instead.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rename: BTreeMap<Code, Code>,
    /// Failures declared besides those of the description.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ErrorDefinition>,
    /// What is assumed about side effects, by declared code.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub effects: BTreeMap<Code, AssumedEffect>,
    /// What answers mean beyond their status, also those of a success.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<ResponseRule>,
    /// What becomes of successful answers whose bodies are failures: `read` (the default) or `as_sent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success_bodies: Option<SuccessBodies>,
    /// Whether calling twice does harm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency: Option<Idempotency>,
    /// The header in which the service honours an idempotency key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_header: Option<String>,
    /// How long one attempt may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<NonZeroU64>,
    /// Which failures are retried, and how.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryRule>,
    /// How long after a call began another attempt may start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patience_ms: Option<u64>,
    /// When calls are refused because earlier ones failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub circuit: Option<CircuitRule>,
    /// What becomes of an output that breaks its schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outputs: Option<Outputs>,
    /// How much of what a service says in its own words is passed on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redaction: Option<Redaction>,
    /// Whether the MCP tool takes the idempotency key as an argument.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_argument: Option<bool>,
}

impl OverlayLine {
    /// What it sets about calls.
    pub fn calls(&self) -> CallSettings {
        CallSettings {
            timeout_ms: self.timeout_ms,
            retry: self.retry,
            patience_ms: self.patience_ms,
            circuit: self.circuit,
            outputs: self.outputs,
            redaction: self.redaction,
            key_argument: self.key_argument,
        }
    }
}

/// What is assumed about side effects: `none`, `unknown` or `applied`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub struct AssumedEffect(pub Effect);

impl TryFrom<String> for AssumedEffect {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        let effect = Effect::from_word(&word);
        let words: Vec<_> = Effect::ALL.iter().map(|it| it.word()).collect();
        let refused = || format!("{word:?} is no effect; write {}", words.join(", "));
        effect.map(Self).ok_or_else(refused)
    }
}

impl From<AssumedEffect> for &'static str {
    fn from(effect: AssumedEffect) -> &'static str {
        effect.0.word()
    }
}

/// Why a text is no overlay.
#[derive(Debug, thiserror::Error)]
pub enum OverlayError {
    /// It is neither JSON nor YAML.
    #[error(transparent)]
    Text(#[from] ParseError),
    /// It is something else than an overlay.
    #[error("this is no overlay")]
    Shape(#[from] serde_json::Error),
}

impl Overlay {
    /// Reads an overlay that is written in JSON or YAML.
    pub fn read(text: &[u8]) -> Result<Self, OverlayError> {
        Ok(serde_json::from_value(parse(text)?)?)
    }
}
