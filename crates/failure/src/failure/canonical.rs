//! The canonical JSON of a failure: the whole failure, or the residual of a dialect.
//!
//! One table per object says how each member is written and how it is read.

use std::ops::Deref;

use jiff::Timestamp;
use panpan_catalogue::{Category, Effect, Remedy};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::bounds::cut_excerpt;
use super::draft::{Draft, alternative, cause, sentence, violation, words};
use super::{CAUSES_LIMIT, Failure, Inferred, Parts, Recovery, Repeat, Upstream};
use crate::read::{Member, ReadError};
use crate::write::{Sequence, Text, non_empty};

/// The only value of `condition`, which states the fact of the code where the call must not be repeated
/// although the condition can pass. It is not a boolean, so that no program takes it for permission to repeat.
const MAY_PASS: &str = "may_pass";

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

    const fn has_any(self, fields: Fields) -> bool {
        self.0 & fields.0 != 0
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

/// Declares an object: the value of each member (none if it is not written), and how the member is read. A
/// member with a field is neither written nor read where a dialect carries the field natively, because other
/// programs read the native member. Members and words that later versions may add are ignored.
macro_rules! object {
    (
        $written:ident($from:ident: $From:ty) $read:ident($to:ident: $To:ty, $member:ident, $carried:ident)
        $($name:literal $([$field:ident])?: $value:expr => $store:expr;)+
    ) => {
        struct $written<'a>(&'a $From, Fields);

        impl Object for $written<'_> {
            fn has_members(&self) -> bool {
                let Self($from, $carried) = *self;
                $(!$carried.has_any(const { Fields::of(&[$(Field::$field)?]) }) && $value.is_some())||+
            }
        }

        impl Serialize for $written<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let Self($from, $carried) = *self;
                let mut map = serializer.serialize_map(None)?;
                $(if !$carried.has_any(const { Fields::of(&[$(Field::$field)?]) }) && let Some(value) = $value {
                    map.serialize_entry($name, &value)?;
                })+
                map.end()
            }
        }

        pub(super) fn $read($to: &mut $To, $member: Member<'_>, $carried: Fields) -> Result<(), ReadError> {
            match $member.name {
                $($name if !$carried.has_any(const { Fields::of(&[$(Field::$field)?]) }) => $store,)+
                _ => {}
            }
            Ok(())
        }
    };
}

object! {
    WrittenFailure(it: Canonical<'a>) read_failure(to: Draft, member, carried)
    "code" [Code]: Some(it.kind.code().as_str()) => to.code = Some(member.text()?);
    "category" [Category]: Some(it.kind.category().word())
        => member.known_word(&mut to.facts.category, Category::from_word)?;
    "retryable" [Retryable]: Some(it.may_repeat()) => to.facts.retryable = Some(member.flag()?);
    "condition": (it.kind.retryable() && !it.may_repeat()).then_some(MAY_PASS)
        => to.may_pass = member.text()? == MAY_PASS;
    "repeat": it.repeat.map(Repeat::word) => member.known_word(&mut to.parts.repeat, Repeat::from_word)?;
    "remedy" [Remedy]: Some(Sequence(|| it.kind.remedies().iter().map(Remedy::word)))
        => to.facts.remedies = Some(words(member, Remedy::from_word)?.into_iter().collect());
    "effect": Some(it.effect.word()) => member.known_word(&mut to.effect, Effect::from_word)?;
    "message" [Message]: Some(&it.message) => to.message = Some(member.text()?);
    "meaning": it.meaning.as_ref() => to.parts.meaning = Some(member.text()?);
    "details" [Details]: it.details() => to.absorb_details(member.map()?);
    "defined": it.defined.then_some(true) => to.parts.defined = member.flag()?;
    "violations" [Violations]: non_empty(&it.violations) => to.parts.violations = member.list(violation)?;
    "recovery": unless_empty(WrittenRecovery(&it.recovery, carried))
        => member.members()?.each(|member| read_recovery(&mut to.parts.recovery, member, carried))?;
    "source" [Source]: it.source.as_ref() => to.parts.source = Some(member.text()?);
    "operation" [Operation]: it.operation.as_ref() => to.parts.operation = Some(member.text()?);
    "parameters" [Parameters]: it.parameters.as_ref() => to.parts.parameters = Some(member.map()?);
    "upstream": unless_empty(WrittenUpstream(&it.upstream, carried))
        => member.members()?.each(|member| read_upstream(&mut to.parts.upstream, member, carried))?;
    "id" [Id]: it.id.map(|id| Text(id.hyphenated()))
        => to.parts.id = Some(member.word("a UUID", |text| Uuid::try_parse(text).ok())?);
    "at" [At]: it.at.map(Text) => to.parts.at = Some(moment(member)?);
    "attempts": it.attempts => to.parts.attempts = Some(member.count()?);
    "causes": non_empty(&it.causes)
        => to.parts.causes = member.list(cause)?.into_iter().take(CAUSES_LIMIT).collect();
    "http_status" [HttpStatus]: it.kind.stated_http_status() => to.facts.http_status = Some(member.unsigned()?);
    "jsonrpc_code": it.kind.stated_jsonrpc_code() => to.facts.jsonrpc_code = Some(member.integer()?);
    "inferred": (!it.inferred.is_empty()).then_some(Sequence(|| it.inferred.iter().map(|fact| fact.word())))
        => to.parts.inferred.extend(words(member, Inferred::from_word)?);
}

object! {
    WrittenRecovery(it: Recovery) read_recovery(to: Recovery, member, carried)
    "retry_after_ms" [RetryAfter]: it.retry_after_ms => to.retry_after_ms = Some(member.unsigned()?);
    "max_retries" [MaxRetries]: it.max_retries => to.max_retries = Some(member.unsigned()?);
    "parameter_adjustments" [Adjustments]: Some(&it.parameter_adjustments).filter(|it| !it.is_empty())
        => to.parameter_adjustments = member.map()?;
    "alternatives" [Alternatives]: non_empty(&it.alternatives) => to.alternatives = member.list(alternative)?;
    "required_actions" [Actions]: non_empty(&it.required_actions) => to.required_actions = member.list(sentence)?;
}

object! {
    WrittenUpstream(it: Upstream) read_upstream(to: Upstream, member, carried)
    "status" [UpstreamStatus]: it.status => to.status = Some(member.unsigned()?);
    "provider" [UpstreamProvider]: it.provider.as_ref() => to.provider = Some(member.text()?);
    "code": it.code.as_ref() => to.code = Some(member.text()?);
    "excerpt": it.excerpt.as_ref() => to.excerpt = Some(cut_excerpt(member.text()?));
}

/// A canonical object, as a dialect writes it.
trait Object {
    /// Whether any member is written.
    fn has_members(&self) -> bool;
}

impl Deref for Canonical<'_> {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.failure.0
    }
}

impl Serialize for Canonical<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        WrittenFailure(self, self.carried).serialize(serializer)
    }
}

fn moment(member: Member<'_>) -> Result<Timestamp, ReadError> {
    member.word("a time such as 2026-01-31T12:00:00Z", |text| {
        text.parse().ok()
    })
}

fn unless_empty<T: Object>(object: T) -> Option<T> {
    Some(object).filter(Object::has_members)
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
