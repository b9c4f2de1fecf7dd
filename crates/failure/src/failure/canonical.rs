//! Writes the canonical JSON of a failure: the whole failure, or the residual of a dialect.
//!
//! `draft` reads the same members.

use panpan_catalogue::Remedy;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

use super::{Alternative, Cause, Failure, Inferred, Recovery, Repeat, Upstream, Violation};
use crate::code::Code;
use crate::write::OptionalMembers;

/// The member, and its only value, that states the fact of the code where the call must not be repeated
/// although the condition can pass. It is not a boolean, so that no program takes it for permission to repeat.
pub(super) const CONDITION: &str = "condition";
pub(super) const MAY_PASS: &str = "may_pass";

/// A field that at least one dialect has a native member for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Code,
    Category,
    Retryable,
    Remedy,
    Message,
    Details,
    Violations,
    RetryAfter,
    MaxRetries,
    Adjustments,
    Alternatives,
    Actions,
    Source,
    Operation,
    Parameters,
    UpstreamStatus,
    UpstreamProvider,
    HttpStatus,
    Id,
    At,
}

/// A set of fields.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fields(u32);

impl Fields {
    pub(crate) const fn of(fields: &[Field]) -> Self {
        let mut bits = 0;
        let mut index = 0;
        while index < fields.len() {
            bits |= 1 << fields[index] as u32;
            index += 1;
        }
        Self(bits)
    }

    pub(crate) const fn and(self, field: Field, condition: bool) -> Self {
        Self(self.0 | (condition as u32) << field as u32)
    }

    pub(crate) const fn has(self, field: Field) -> bool {
        self.0 & (1 << field as u32) != 0
    }

    /// The value of a field, unless the set has the field.
    fn unless_has<T>(self, field: Field, value: Option<T>) -> Option<T> {
        value.filter(|_| !self.has(field))
    }
}

/// Selects members of the details by name and value.
pub(crate) type DetailFilter<'a> = &'a dyn Fn(&str, &Value) -> bool;

/// Writes a failure without the fields that a dialect carries natively.
pub(crate) struct Canonical<'a> {
    failure: &'a Failure,
    carried: Fields,
    /// The details that the dialect does *not* carry, where it carries only some.
    kept_details: Option<DetailFilter<'a>>,
}

impl<'a> Canonical<'a> {
    /// The whole failure.
    pub(crate) fn whole(failure: &'a Failure) -> Self {
        Self {
            failure,
            carried: Fields::default(),
            kept_details: None,
        }
    }

    /// The residual of a dialect that carries some fields natively. Category and remedy of a catalogue code
    /// follow from the code; every dialect writes whether the call may be repeated.
    pub(crate) fn without(failure: &'a Failure, carried: Fields) -> Self {
        let fixed = failure.kind().is_catalogued();
        let carried = carried
            .and(Field::Category, fixed)
            .and(Field::Remedy, fixed);
        Self {
            failure,
            carried,
            kept_details: None,
        }
    }

    /// Writes only the details that the dialect does not carry.
    pub(crate) fn keeping_details(self, kept: DetailFilter<'a>) -> Self {
        Self {
            kept_details: Some(kept),
            ..self
        }
    }

    fn details(&self) -> Option<Details<'a>> {
        let details = Details {
            members: self.failure.0.details.as_ref()?,
            kept: self.kept_details,
        };
        // An empty object differs from an absent one, and no dialect that splits details can show it.
        let is_written = details.members.is_empty() || details.iter().next().is_some();
        is_written.then_some(details)
    }
}

impl Serialize for Canonical<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let failure = &*self.failure.0;
        let kind = &failure.kind;
        let may_repeat = failure.may_repeat();
        let may_pass = kind.retryable() && !may_repeat;
        let remedies = Sequence(|| kind.remedies().iter().map(Remedy::word));
        let recovery = ResidualRecovery::of(&failure.recovery, self.carried);
        let upstream = failure.upstream.as_ref();
        let upstream = upstream.and_then(|it| ResidualUpstream::of(it, self.carried));
        let inferred = Sequence(|| failure.inferred.iter().copied().map(Inferred::word));
        let has_inferred = !failure.inferred.is_empty();

        let mut writer = Writer {
            map: serializer.serialize_map(None)?,
            carried: self.carried,
        };
        writer.field(Field::Code, "code", Some(kind.code().as_str()))?;
        writer.field(Field::Category, "category", Some(kind.category().word()))?;
        writer.field(Field::Retryable, "retryable", Some(may_repeat))?;
        writer
            .map
            .optional(CONDITION, may_pass.then_some(MAY_PASS))?;
        writer
            .map
            .optional("repeat", failure.repeat.map(Repeat::word))?;
        writer.field(Field::Remedy, "remedy", Some(remedies))?;
        writer.map.optional("effect", Some(failure.effect.word()))?;
        writer.field(Field::Message, "message", Some(&failure.message))?;
        writer.map.optional("meaning", failure.meaning.as_ref())?;
        writer.field(Field::Details, "details", self.details())?;
        writer
            .map
            .optional("defined", failure.defined.then_some(true))?;
        let violations = non_empty(&failure.violations);
        writer.field(Field::Violations, "violations", violations)?;
        writer.map.optional("recovery", recovery)?;
        writer.field(Field::Source, "source", failure.source.as_ref())?;
        writer.field(Field::Operation, "operation", failure.operation.as_ref())?;
        let parameters = failure.parameters.as_ref();
        writer.field(Field::Parameters, "parameters", parameters)?;
        writer.map.optional("upstream", upstream)?;
        let id = failure.id.map(|it| Text(it.hyphenated()));
        writer.field(Field::Id, "id", id)?;
        writer.field(Field::At, "at", failure.at.map(Text))?;
        writer.map.optional("attempts", failure.attempts)?;
        writer.map.optional("causes", non_empty(&failure.causes))?;
        writer.field(Field::HttpStatus, "http_status", kind.stated_http_status())?;
        writer
            .map
            .optional("jsonrpc_code", kind.stated_jsonrpc_code())?;
        writer
            .map
            .optional("inferred", has_inferred.then_some(inferred))?;
        writer.map.end()
    }
}

struct Writer<M> {
    map: M,
    carried: Fields,
}

impl<M: SerializeMap> Writer<M> {
    /// Writes a member if it has a value and the dialect does not carry its field.
    fn field<T: Serialize>(
        &mut self,
        field: Field,
        name: &'static str,
        value: Option<T>,
    ) -> Result<(), M::Error> {
        self.map
            .optional(name, self.carried.unless_has(field, value))
    }
}

fn non_empty<T>(items: &Vec<T>) -> Option<&Vec<T>> {
    Some(items).filter(|it| !it.is_empty())
}

/// The members of a recovery that a dialect does not carry.
#[derive(Default, PartialEq)]
struct ResidualRecovery<'a> {
    retry_after_ms: Option<u64>,
    max_retries: Option<u32>,
    parameter_adjustments: Option<&'a Map<String, Value>>,
    alternatives: Option<&'a Vec<Alternative>>,
    required_actions: Option<&'a Vec<String>>,
}

impl<'a> ResidualRecovery<'a> {
    fn of(recovery: &'a Recovery, carried: Fields) -> Option<Self> {
        let adjustments = Some(&recovery.parameter_adjustments).filter(|it| !it.is_empty());
        let alternatives = non_empty(&recovery.alternatives);
        let actions = non_empty(&recovery.required_actions);
        let left = Self {
            retry_after_ms: carried.unless_has(Field::RetryAfter, recovery.retry_after_ms),
            max_retries: carried.unless_has(Field::MaxRetries, recovery.max_retries),
            parameter_adjustments: carried.unless_has(Field::Adjustments, adjustments),
            alternatives: carried.unless_has(Field::Alternatives, alternatives),
            required_actions: carried.unless_has(Field::Actions, actions),
        };
        (left != Self::default()).then_some(left)
    }
}

impl Serialize for ResidualRecovery<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.optional("retry_after_ms", self.retry_after_ms)?;
        map.optional("max_retries", self.max_retries)?;
        map.optional("parameter_adjustments", self.parameter_adjustments)?;
        map.optional("alternatives", self.alternatives)?;
        map.optional("required_actions", self.required_actions)?;
        map.end()
    }
}

/// The members of an upstream that a dialect does not carry.
#[derive(Default, PartialEq)]
struct ResidualUpstream<'a> {
    status: Option<u16>,
    provider: Option<&'a String>,
    code: Option<&'a String>,
    excerpt: Option<&'a String>,
}

impl<'a> ResidualUpstream<'a> {
    fn of(upstream: &'a Upstream, carried: Fields) -> Option<Self> {
        let left = Self {
            status: carried.unless_has(Field::UpstreamStatus, upstream.status),
            provider: carried.unless_has(Field::UpstreamProvider, upstream.provider.as_ref()),
            code: upstream.code.as_ref(),
            excerpt: upstream.excerpt.as_ref(),
        };
        (left != Self::default()).then_some(left)
    }
}

impl Serialize for ResidualUpstream<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.optional("status", self.status)?;
        map.optional("provider", self.provider)?;
        map.optional("code", self.code)?;
        map.optional("excerpt", self.excerpt)?;
        map.end()
    }
}

impl Serialize for Violation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("pointer", &self.pointer)?;
        map.optional("kind", self.kind.stated_word())?;
        map.optional("expected", self.expected.as_ref())?;
        map.optional("actual", self.actual.as_ref())?;
        map.serialize_entry("reason", &self.reason)?;
        map.end()
    }
}

impl Serialize for Alternative {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("description", &self.description)?;
        map.optional("example", self.example.as_ref())?;
        map.end()
    }
}

impl Serialize for Cause {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.optional("code", self.code.as_ref().map(Code::as_str))?;
        map.serialize_entry("message", &self.message)?;
        map.end()
    }
}

/// The details, or the members of them that pass a filter.
struct Details<'a> {
    members: &'a Map<String, Value>,
    kept: Option<DetailFilter<'a>>,
}

impl<'a> Details<'a> {
    fn iter(&self) -> impl Iterator<Item = (&'a String, &'a Value)> {
        let kept = self.kept;
        let members = self.members.iter();
        members.filter(move |(name, value)| kept.is_none_or(|kept| kept(name, value)))
    }
}

impl Serialize for Details<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

/// A value that is written by its `Display`.
pub(crate) struct Text<T>(pub(crate) T);

impl<T: std::fmt::Display> Serialize for Text<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// A sequence that is produced when it is written.
struct Sequence<F>(F);

impl<F, I> Serialize for Sequence<F>
where
    F: Fn() -> I,
    I: Iterator<Item: Serialize>,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}
