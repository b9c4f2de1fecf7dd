//! The parts of a failure: violations, recovery, upstream, causes.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::code::Code;
use crate::pointer::steps;

/// Longest excerpt of an upstream response, in characters.
pub const EXCERPT_CHARACTERS_LIMIT: usize = 1000;
/// Bytes of a response that are kept until redaction.
const EXCERPT_BYTES_KEPT: usize = 64 * 1024;
/// Longest chain of causes; deeper causes are left out.
pub const CAUSES_LIMIT: usize = 8;

/// One thing that is wrong with an input.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Violation {
    /// RFC 6901 pointer into the input; empty for the whole input.
    pub pointer: String,
    /// The kind of violation.
    #[serde(serialize_with = "crate::word::serialize")]
    #[serde(skip_serializing_if = "ViolationKind::is_default")]
    pub kind: ViolationKind,
    /// The expected value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// The actual value; absent if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual: Option<Value>,
    /// An explanation in words.
    pub reason: String,
}

panpan_catalogue::words! {
    /// The kind of a violation.
    #[derive(Default)]
    ViolationKind {
        /// A required value is missing.
        Missing = "missing",
        /// The value has the wrong type.
        Type = "type",
        /// The value has the right type but is invalid.
        #[default]
        Value = "value",
    }
}

impl ViolationKind {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The word, unless the kind is the default.
    pub(crate) fn stated_word(self) -> Option<&'static str> {
        (!self.is_default()).then(|| self.word())
    }
}

impl Violation {
    /// A required value is missing.
    pub fn missing(pointer: impl Into<String>) -> Self {
        Self {
            kind: ViolationKind::Missing,
            ..Self::value(pointer, "required value is missing")
        }
    }

    /// A value has the wrong type.
    pub fn wrong_type(
        pointer: impl Into<String>,
        expected: impl Into<String>,
        actual: Value,
    ) -> Self {
        Self {
            kind: ViolationKind::Type,
            expected: Some(expected.into()),
            actual: Some(actual),
            ..Self::value(pointer, "wrong type")
        }
    }

    /// A value has the right type but is invalid.
    pub fn value(pointer: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            pointer: pointer.into(),
            kind: ViolationKind::Value,
            expected: None,
            actual: None,
            reason: reason.into(),
        }
    }

    /// Sets the expected value.
    pub fn expected(mut self, expected: impl Into<String>) -> Self {
        self.expected = Some(expected.into());
        self
    }

    /// Sets the actual value.
    pub fn actual(mut self, actual: impl Into<Value>) -> Self {
        self.actual = Some(actual.into());
        self
    }

    /// The name of the field: the last step of the pointer, unescaped.
    pub fn field(&self) -> String {
        let last = steps(&self.pointer).last();
        last.unwrap_or_default().into_owned()
    }
}

/// The next steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recovery {
    /// How long to wait before the identical call is repeated.
    pub retry_after_ms: Option<u64>,
    /// How many repetitions are reasonable.
    pub max_retries: Option<u32>,
    /// Parameters that would make the call succeed.
    pub parameter_adjustments: Map<String, Value>,
    /// Other ways to reach the goal.
    pub alternatives: Vec<Alternative>,
    /// What to do first.
    pub required_actions: Vec<String>,
}

impl Recovery {
    /// Whether no next step is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl From<&panpan_catalogue::DefaultRecovery> for Recovery {
    fn from(default: &panpan_catalogue::DefaultRecovery) -> Self {
        Self {
            retry_after_ms: default.retry_after_ms,
            max_retries: default.max_retries,
            parameter_adjustments: Map::new(),
            alternatives: default
                .alternatives
                .iter()
                .copied()
                .map(Alternative::from)
                .collect(),
            required_actions: default.actions.iter().copied().map(str::to_owned).collect(),
        }
    }
}

/// The origin of the delay.
///
/// JSON does not contain it, so failures that differ only in this are equal.
#[derive(Clone, Copy, Debug)]
pub(crate) enum DelaySource {
    /// The default of the code.
    Code,
    /// Stated for this occurrence, usually by a server.
    Occurrence,
    /// Unknown, because the failure was read from JSON.
    Unknown,
}

impl PartialEq for DelaySource {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Another way to reach the goal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Alternative {
    /// What to do instead.
    pub description: String,
    /// An example.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub example: Option<String>,
}

impl From<&str> for Alternative {
    fn from(description: &str) -> Self {
        Self {
            description: description.to_owned(),
            example: None,
        }
    }
}

/// The response of the upstream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Upstream {
    /// The HTTP status.
    pub status: Option<u16>,
    /// The name of the upstream.
    pub provider: Option<String>,
    /// The upstream's code for the failure.
    pub code: Option<String>,
    /// The beginning of the response body; after redaction at most [`EXCERPT_CHARACTERS_LIMIT`] characters.
    pub excerpt: Option<String>,
}

impl Upstream {
    /// A response with a status.
    pub fn status(status: u16) -> Self {
        Self {
            status: Some(status),
            ..Self::default()
        }
    }

    /// Sets the name of the upstream.
    pub fn provider(mut self, provider: impl Into<String>) -> Self {
        self.provider = Some(provider.into());
        self
    }

    /// Sets the upstream's code.
    pub fn code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// Sets the beginning of the response body.
    ///
    /// It is cut to [`EXCERPT_CHARACTERS_LIMIT`] after redaction, because half a secret is not recognised.
    pub fn excerpt(mut self, body: &str) -> Self {
        self.excerpt = Some(body[..body.floor_char_boundary(EXCERPT_BYTES_KEPT)].to_owned());
        self
    }

    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// One cause in the chain of causes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// The code, if the cause is a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// The message.
    pub message: String,
}
