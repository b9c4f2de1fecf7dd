//! The failure: the result that a caller gets when a call does not succeed.
//!
//! Helpers and background work return their own error types.

mod bounds;
mod build;
mod canonical;
mod draft;
mod parts;
mod redacted;
mod repeat;
mod shared;
mod strict;

use std::collections::BTreeSet;
use std::fmt;
use std::num::NonZeroU32;

use jiff::Timestamp;
use panpan_catalogue::{Category, Effect, Remedies, codes};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::classify::JsonFailure;
use crate::code::Code;
use crate::kind::Kind;
use crate::read::{Members, ReadError};
use panpan_redact::Redactor;

pub use bounds::FAILURE_BYTES_LIMIT;
pub(crate) use bounds::cut_within;
pub(crate) use canonical::{Canonical, Field, Fields};
pub(crate) use draft::{Draft, lenient_violation, violation};
use parts::DelaySource;
pub use parts::{
    Alternative, CAUSES_LIMIT, Cause, EXCERPT_CHARACTERS_LIMIT, Recovery, Upstream, Violation,
    ViolationKind,
};
pub use redacted::{Marked, Redacted};
pub use repeat::{LONG_DELAY_MS, NextMove, Repeat, invites_repeat};
use shared::Shared;

/// A typed failure.
///
/// The code fixes category, retryability and remedy; an occurrence cannot override them.
#[derive(Clone, PartialEq)]
pub struct Failure(pub(crate) Shared<Parts>);

/// The fields of a failure; behind a pointer, because failures are the error type of many results.
#[derive(Clone, PartialEq)]
pub(crate) struct Parts {
    pub(crate) kind: Kind,
    pub(crate) effect: Effect,
    pub(crate) repeat: Option<Repeat>,
    pub(crate) message: String,
    pub(crate) meaning: Option<String>,
    pub(crate) details: Option<Map<String, Value>>,
    pub(crate) defined: bool,
    pub(crate) violations: Vec<Violation>,
    pub(crate) recovery: Recovery,
    pub(crate) delay_source: DelaySource,
    pub(crate) source: Option<String>,
    pub(crate) operation: Option<String>,
    pub(crate) parameters: Option<Map<String, Value>>,
    /// Empty if there was no response.
    pub(crate) upstream: Upstream,
    pub(crate) id: Option<Uuid>,
    pub(crate) at: Option<Timestamp>,
    pub(crate) attempts: Option<NonZeroU32>,
    pub(crate) causes: Vec<Cause>,
    pub(crate) inferred: BTreeSet<Inferred>,
}

panpan_catalogue::words! {
    /// A fact that was inferred: a third-party failure did not state it.
    Inferred {
        /// The code.
        Code = "code",
        /// The category.
        Category = "category",
        /// Whether the identical call can succeed later.
        Retryable = "retryable",
        /// The remedies.
        Remedy = "remedy",
        /// The effect.
        Effect = "effect",
        /// The message.
        Message = "message",
        /// The recovery.
        Recovery = "recovery",
        /// The delay.
        Delay = "delay",
        /// The violations.
        Violations = "violations",
    }
}

/// A failure without any stated fact.
impl Default for Parts {
    fn default() -> Self {
        let kind = Kind::from(codes::TOOL_FAILED);
        Self {
            effect: kind.default_effect(),
            kind,
            repeat: None,
            message: String::new(),
            meaning: None,
            details: None,
            defined: false,
            violations: Vec::new(),
            recovery: Recovery::default(),
            delay_source: DelaySource::Unknown,
            source: None,
            operation: None,
            parameters: None,
            upstream: Upstream::default(),
            id: None,
            at: None,
            attempts: None,
            causes: Vec::new(),
            inferred: BTreeSet::new(),
        }
    }
}

/// The party that has to act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The caller: its input, its credentials or its rate.
    Caller,
    /// The tool or its upstream.
    Callee,
    /// The network between them.
    Transport,
}

impl Failure {
    /// Reads a failure from its canonical JSON, as used in the store, in recordings and in MCP's `_meta`.
    pub fn from_canonical(document: Value) -> Result<Self, ReadError> {
        let members = Members::of(document, "")?;
        if members.peek("code").is_none() {
            return Err(members.missing("code", "a string"));
        }
        let mut draft = Draft::default();
        draft.absorb(members, Fields::default())?;
        Ok(draft.finish())
    }

    /// The code.
    pub fn code(&self) -> &Code {
        self.0.kind.code()
    }

    /// The code with its fixed facts.
    pub fn kind(&self) -> &Kind {
        &self.0.kind
    }

    /// The category; fixed by the code.
    pub fn category(&self) -> Category {
        self.0.kind.category()
    }

    /// Whether the condition can pass, so that the identical call can succeed later; fixed by the code.
    /// Whether this call may be repeated is [`may_repeat`](Self::may_repeat).
    pub fn retryable(&self) -> bool {
        self.0.kind.retryable()
    }

    /// The kinds of next step that can help; fixed by the code.
    pub fn remedies(&self) -> Remedies {
        self.0.kind.remedies()
    }

    /// Whether the call changed anything before it failed.
    pub fn effect(&self) -> Effect {
        self.0.effect
    }

    /// What happened, in words.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The description from the contract.
    pub fn meaning(&self) -> Option<&str> {
        self.0.meaning.as_deref()
    }

    /// The details.
    pub fn details(&self) -> Option<&Map<String, Value>> {
        self.0.details.as_ref()
    }

    /// Whether the details were checked against a declared schema after redaction. In a failure that was
    /// read, this is the claim of its writer.
    pub fn is_defined(&self) -> bool {
        self.0.defined
    }

    /// The violations of the input.
    pub fn violations(&self) -> &[Violation] {
        &self.0.violations
    }

    /// The recovery.
    pub fn recovery(&self) -> &Recovery {
        &self.0.recovery
    }

    /// The delay, if it was stated for this occurrence and is not the default of the code. In a failure that
    /// was read, any delay that differs from the default counts as stated.
    pub fn stated_retry_after_ms(&self) -> Option<u64> {
        let delay_ms = self.0.recovery.retry_after_ms;
        match self.0.delay_source {
            DelaySource::Code => None,
            DelaySource::Occurrence => delay_ms,
            DelaySource::Unknown => {
                let default_ms = self.0.kind.default_recovery().retry_after_ms;
                delay_ms.filter(|_| delay_ms != default_ms)
            }
        }
    }

    /// The source: the gateway or an operation.
    pub fn source(&self) -> Option<&str> {
        self.0.source.as_deref()
    }

    /// The operation.
    pub fn operation(&self) -> Option<&str> {
        self.0.operation.as_deref()
    }

    /// The parameters.
    pub fn parameters(&self) -> Option<&Map<String, Value>> {
        self.0.parameters.as_ref()
    }

    /// The response of the upstream.
    pub fn upstream(&self) -> Option<&Upstream> {
        Some(&self.0.upstream).filter(|it| !it.is_empty())
    }

    /// The id of this occurrence.
    pub fn id(&self) -> Option<Uuid> {
        self.0.id
    }

    /// When it happened.
    pub fn at(&self) -> Option<Timestamp> {
        self.0.at
    }

    /// The number of attempts, if known.
    pub fn attempts(&self) -> Option<u32> {
        self.0.attempts.map(NonZeroU32::get)
    }

    /// Whether there was more than one attempt.
    pub fn was_repeated(&self) -> bool {
        self.attempts().is_some_and(|attempts| attempts > 1)
    }

    /// The causes, nearest first.
    pub fn causes(&self) -> &[Cause] {
        &self.0.causes
    }

    /// The facts that were inferred.
    pub fn inferred(&self) -> &BTreeSet<Inferred> {
        &self.0.inferred
    }

    /// The party that has to act.
    pub fn fault(&self) -> Fault {
        match self.category() {
            Category::ClientError
            | Category::AuthFail
            | Category::Validation
            | Category::RateLimit => Fault::Caller,
            Category::Network => Fault::Transport,
            Category::Transient
            | Category::ServerError
            | Category::Resource
            | Category::Timeout
            | Category::Permanent => Fault::Callee,
        }
    }
}

/// The code and the redacted message, since it ends up in logs.
impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{}: {}",
            self.code(),
            Redactor::new().text(&self.0.message)
        )
    }
}

/// The redacted failure as JSON.
impl fmt::Debug for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let redacted = self.clone().redacted();
        let json = serde_json::to_string(&redacted).map_err(|_| fmt::Error)?;
        write!(formatter, "Failure {json}")
    }
}

impl std::error::Error for Failure {}

/// A read error is a failure with the pointer in its details.
impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        Failure::new(JsonFailure::from(&error))
            .with_message(error.to_string())
            .with_detail("pointer", error.pointer())
    }
}

impl<'de> Deserialize<'de> for Failure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let document = Value::deserialize(deserializer)?;
        Self::from_canonical(document).map_err(serde::de::Error::custom)
    }
}
