//! A failure as JSON under its own field names: whole, or without what a dialect carries natively.
//!
//! This is the one place that names the members; `draft` reads the same names back.

use panpan_catalogue::Remedy;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

use super::{Alternative, Cause, Failure, Inferred, Recovery, Upstream, Violation, ViolationKind};

/// Where the code's own fact is written when it is not what the caller may do, and its one word. It is
/// no boolean: nothing that a program could take for leave to repeat the call.
pub(super) const CONDITION: &str = "condition";
pub(super) const MAY_PASS: &str = "may_pass";

/// A part of a failure that some dialect has a place of its own for.
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
    Upstream,
    Causes,
    HttpStatus,
    Id,
    At,
    Attempts,
}

/// A set of such parts.
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
}

/// Chooses members of the details by name and value.
pub(crate) type DetailFilter<'a> = &'a dyn Fn(&str, &Value) -> bool;

/// Writes a failure without the parts that were carried elsewhere.
pub(crate) struct Canonical<'a> {
    failure: &'a Failure,
    carried: Fields,
    /// Which members of the details were *not* carried, where only some were.
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

    /// What is left when a dialect has carried some fields. Category and remedy of a catalogue code
    /// are carried by the code; whether to repeat the call is written in every dialect.
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

    /// Keeps only those members of the details that the dialect had no place for.
    pub(crate) fn keeping_details(self, kept: DetailFilter<'a>) -> Self {
        Self {
            kept_details: Some(kept),
            ..self
        }
    }

    fn details<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let Some(details) = &self.failure.0.details else {
            return Ok(());
        };
        let Some(kept) = self.kept_details else {
            return map.serialize_entry("details", details);
        };
        // An empty object differs from an absent one, and no dialect that splits can show it.
        if details.is_empty() || details.iter().any(|(name, value)| kept(name, value)) {
            map.serialize_entry("details", &Filtered { details, kept })?;
        }
        Ok(())
    }
}

impl Serialize for Canonical<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let failure = &*self.failure.0;
        let kind = &failure.kind;
        let mut map = serializer.serialize_map(None)?;
        if !self.carried.has(Field::Code) {
            map.serialize_entry("code", kind.code().as_str())?;
        }
        if !self.carried.has(Field::Category) {
            map.serialize_entry("category", kind.category().word())?;
        }
        if !self.carried.has(Field::Retryable) {
            map.serialize_entry("retryable", &failure.may_repeat())?;
        }
        if kind.retryable() && !failure.may_repeat() {
            map.serialize_entry(CONDITION, MAY_PASS)?;
        }
        if let Some(repeat) = failure.repeat {
            map.serialize_entry("repeat", repeat.word())?;
        }
        if !self.carried.has(Field::Remedy) {
            map.serialize_entry(
                "remedy",
                &Sequence(|| kind.remedies().iter().map(Remedy::word)),
            )?;
        }
        map.serialize_entry("effect", failure.effect.word())?;
        if !self.carried.has(Field::Message) {
            map.serialize_entry("message", &failure.message)?;
        }
        if let Some(meaning) = &failure.meaning {
            map.serialize_entry("meaning", meaning)?;
        }
        if !self.carried.has(Field::Details) {
            self.details(&mut map)?;
        }
        if failure.defined {
            map.serialize_entry("defined", &true)?;
        }
        if !self.carried.has(Field::Violations) && !failure.violations.is_empty() {
            map.serialize_entry("violations", &failure.violations)?;
        }
        let recovery = RecoveryLeft {
            recovery: &failure.recovery,
            carried: self.carried,
        };
        if !recovery.is_empty() {
            map.serialize_entry("recovery", &recovery)?;
        }
        for (field, name, value) in [
            (Field::Source, "source", &failure.source),
            (Field::Operation, "operation", &failure.operation),
        ] {
            if let Some(value) = value.as_ref().filter(|_| !self.carried.has(field)) {
                map.serialize_entry(name, value)?;
            }
        }
        if let Some(parameters) = failure
            .parameters
            .as_ref()
            .filter(|_| !self.carried.has(Field::Parameters))
        {
            map.serialize_entry("parameters", parameters)?;
        }
        if let Some(upstream) = failure
            .upstream
            .as_ref()
            .filter(|_| !self.carried.has(Field::Upstream))
        {
            let left = UpstreamLeft {
                upstream,
                carried: self.carried,
            };
            if !left.is_empty() {
                map.serialize_entry("upstream", &left)?;
            }
        }
        if let Some(id) = failure.id.filter(|_| !self.carried.has(Field::Id)) {
            map.serialize_entry("id", &Text(id.hyphenated()))?;
        }
        if let Some(at) = failure.at.filter(|_| !self.carried.has(Field::At)) {
            map.serialize_entry("at", &Text(at))?;
        }
        if let Some(attempts) = failure
            .attempts
            .filter(|_| !self.carried.has(Field::Attempts))
        {
            map.serialize_entry("attempts", &attempts)?;
        }
        if !self.carried.has(Field::Causes) && !failure.causes.is_empty() {
            map.serialize_entry("causes", &failure.causes)?;
        }
        if let Some(status) = kind
            .stated_http_status()
            .filter(|_| !self.carried.has(Field::HttpStatus))
        {
            map.serialize_entry("http_status", &status)?;
        }
        if let Some(number) = kind.stated_jsonrpc_code() {
            map.serialize_entry("jsonrpc_code", &number)?;
        }
        if !failure.inferred.is_empty() {
            map.serialize_entry(
                "inferred",
                &Sequence(|| failure.inferred.iter().copied().map(Inferred::word)),
            )?;
        }
        map.end()
    }
}

struct RecoveryLeft<'a> {
    recovery: &'a Recovery,
    carried: Fields,
}

impl RecoveryLeft<'_> {
    fn delay(&self) -> Option<u64> {
        self.recovery
            .retry_after_ms
            .filter(|_| !self.carried.has(Field::RetryAfter))
    }

    fn max_retries(&self) -> Option<u32> {
        self.recovery
            .max_retries
            .filter(|_| !self.carried.has(Field::MaxRetries))
    }

    fn has_adjustments(&self) -> bool {
        !self.carried.has(Field::Adjustments) && !self.recovery.parameter_adjustments.is_empty()
    }

    fn has_alternatives(&self) -> bool {
        !self.carried.has(Field::Alternatives) && !self.recovery.alternatives.is_empty()
    }

    fn has_actions(&self) -> bool {
        !self.carried.has(Field::Actions) && !self.recovery.required_actions.is_empty()
    }

    fn is_empty(&self) -> bool {
        self.delay().is_none()
            && self.max_retries().is_none()
            && !self.has_adjustments()
            && !self.has_alternatives()
            && !self.has_actions()
    }
}

impl Serialize for RecoveryLeft<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(delay_ms) = self.delay() {
            map.serialize_entry("retry_after_ms", &delay_ms)?;
        }
        if let Some(max_retries) = self.max_retries() {
            map.serialize_entry("max_retries", &max_retries)?;
        }
        if self.has_adjustments() {
            map.serialize_entry(
                "parameter_adjustments",
                &self.recovery.parameter_adjustments,
            )?;
        }
        if self.has_alternatives() {
            map.serialize_entry("alternatives", &self.recovery.alternatives)?;
        }
        if self.has_actions() {
            map.serialize_entry("required_actions", &self.recovery.required_actions)?;
        }
        map.end()
    }
}

struct UpstreamLeft<'a> {
    upstream: &'a Upstream,
    carried: Fields,
}

impl UpstreamLeft<'_> {
    fn status(&self) -> Option<u16> {
        self.upstream
            .status
            .filter(|_| !self.carried.has(Field::UpstreamStatus))
    }

    fn provider(&self) -> Option<&String> {
        self.upstream
            .provider
            .as_ref()
            .filter(|_| !self.carried.has(Field::UpstreamProvider))
    }

    fn is_empty(&self) -> bool {
        self.status().is_none()
            && self.provider().is_none()
            && self.upstream.code.is_none()
            && self.upstream.excerpt.is_none()
    }
}

impl Serialize for UpstreamLeft<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(status) = self.status() {
            map.serialize_entry("status", &status)?;
        }
        for (name, text) in [
            ("provider", self.provider()),
            ("code", self.upstream.code.as_ref()),
            ("excerpt", self.upstream.excerpt.as_ref()),
        ] {
            if let Some(text) = text {
                map.serialize_entry(name, text)?;
            }
        }
        map.end()
    }
}

impl Serialize for Violation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("pointer", &self.pointer)?;
        if self.kind != ViolationKind::Value {
            map.serialize_entry("kind", self.kind.word())?;
        }
        if let Some(expected) = &self.expected {
            map.serialize_entry("expected", expected)?;
        }
        if let Some(actual) = &self.actual {
            map.serialize_entry("actual", actual)?;
        }
        map.serialize_entry("reason", &self.reason)?;
        map.end()
    }
}

impl Serialize for Alternative {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("description", &self.description)?;
        if let Some(example) = &self.example {
            map.serialize_entry("example", example)?;
        }
        map.end()
    }
}

impl Serialize for Cause {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(code) = &self.code {
            map.serialize_entry("code", code.as_str())?;
        }
        map.serialize_entry("message", &self.message)?;
        map.end()
    }
}

/// The members of the details that pass a filter.
pub(crate) struct Filtered<'a> {
    pub(crate) details: &'a Map<String, Value>,
    pub(crate) kept: DetailFilter<'a>,
}

impl Serialize for Filtered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(
            self.details
                .iter()
                .filter(|(name, value)| (self.kept)(name, value)),
        )
    }
}

/// A value written by its display form.
pub(crate) struct Text<T>(pub(crate) T);

impl<T: std::fmt::Display> Serialize for Text<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// A sequence made anew each time it is written.
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
