//! The pieces of a failure: violations, recovery, upstream, causes.

use serde_json::{Map, Value};

use crate::code::Code;
use crate::pointer::steps;

/// The longest excerpt of an upstream's answer, in characters.
pub const EXCERPT_CHARACTERS_LIMIT: usize = 1000;
/// How much of an answer is kept until it is redacted; what lies behind is not shown.
const EXCERPT_BYTES_KEPT: usize = 64 * 1024;
/// The longest chain of causes; what lies deeper is left out.
pub const CAUSES_LIMIT: usize = 8;

/// One place where an input does not fit its schema.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// Where, as an RFC 6901 pointer into the input; empty for the whole input.
    pub pointer: String,
    /// In which way.
    pub kind: ViolationKind,
    /// What would have been right.
    pub expected: Option<String>,
    /// What was found; absent when nothing was there.
    pub actual: Option<Value>,
    /// A sentence about it.
    pub reason: String,
}

/// In which way a value does not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ViolationKind {
    /// A required value is not there.
    Missing,
    /// The value has the wrong type.
    Type,
    /// The value is of the right type and still not acceptable.
    #[default]
    Value,
}

impl ViolationKind {
    /// The word this kind is written as.
    pub const fn word(self) -> &'static str {
        match self {
            ViolationKind::Missing => "missing",
            ViolationKind::Type => "type",
            ViolationKind::Value => "value",
        }
    }

    /// The kind a word stands for.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Missing, Self::Type, Self::Value]
            .into_iter()
            .find(|kind| kind.word() == word)
    }
}

impl Violation {
    /// A required value that is not there.
    pub fn missing(pointer: impl Into<String>) -> Self {
        Self {
            kind: ViolationKind::Missing,
            ..Self::value(pointer, "required value is missing")
        }
    }

    /// A value of the wrong type.
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

    /// A value of the right type that is not acceptable.
    pub fn value(pointer: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            pointer: pointer.into(),
            kind: ViolationKind::Value,
            expected: None,
            actual: None,
            reason: reason.into(),
        }
    }

    /// Says what would have been right.
    pub fn expected(mut self, expected: impl Into<String>) -> Self {
        self.expected = Some(expected.into());
        self
    }

    /// Says what was found.
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

/// The way forward.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recovery {
    /// How long to wait before the identical call is worth repeating.
    pub retry_after_ms: Option<u64>,
    /// How often repeating is reasonable.
    pub max_retries: Option<u32>,
    /// Parameters that would make the call succeed.
    pub parameter_adjustments: Map<String, Value>,
    /// Other ways to the goal.
    pub alternatives: Vec<Alternative>,
    /// What has to be done first.
    pub required_actions: Vec<String>,
}

impl Recovery {
    /// Whether nothing is said.
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

/// Who said how long to wait.
///
/// JSON has the delay and not who said it, so failures that differ only in this are the same.
#[derive(Clone, Copy, Debug)]
pub(crate) enum DelayFrom {
    /// The code: it is the same for all of its failures.
    Code,
    /// This occurrence, usually by what a server asked for.
    Occurrence,
    /// Nobody knows any more: the failure was read.
    Unknown,
}

impl PartialEq for DelayFrom {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Another way to the goal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alternative {
    /// What to do instead.
    pub description: String,
    /// How that looks.
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

/// How the failure arrived from the service behind the tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Upstream {
    /// The HTTP status it answered with.
    pub status: Option<u16>,
    /// Who it is.
    pub provider: Option<String>,
    /// Its own code for the failure.
    pub code: Option<String>,
    /// The beginning of what it said; once redacted, at most [`EXCERPT_CHARACTERS_LIMIT`] characters.
    pub excerpt: Option<String>,
}

impl Upstream {
    /// An upstream that answered with a status.
    pub fn status(status: u16) -> Self {
        Self {
            status: Some(status),
            ..Self::default()
        }
    }

    /// Names the upstream.
    pub fn provider(mut self, provider: impl Into<String>) -> Self {
        self.provider = Some(provider.into());
        self
    }

    /// Gives the upstream's own code.
    pub fn code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// Keeps the beginning of the upstream's answer.
    ///
    /// It is cut to [`EXCERPT_CHARACTERS_LIMIT`] when the failure is redacted and not before: half a
    /// key is no longer recognised as one.
    pub fn excerpt(mut self, body: &str) -> Self {
        self.excerpt = Some(body[..body.floor_char_boundary(EXCERPT_BYTES_KEPT)].to_owned());
        self
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// One step in the chain of what led to the failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// Its code, when it was a failure itself.
    pub code: Option<Code>,
    /// What it said.
    pub message: String,
}
