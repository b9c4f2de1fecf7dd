//! A failure being read: what was said so far, and what has to be filled in at the end.
//!
//! Every dialect fills a draft from its native members, then lets it absorb the residual.

use std::collections::BTreeSet;

use jiff::Timestamp;
use panpan_catalogue::{Category, Effect, Remedies, Remedy, codes, row_for_status};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::{
    Alternative, CAUSES_LIMIT, Cause, EXCERPT_CHARACTERS_LIMIT, Failure, Inferred, Parts, Recovery,
    Upstream, Violation, ViolationKind,
};
use crate::code::Code;
use crate::kind::{Facts, Kind};
use crate::read::{Member, Members, ReadError, unexpected};

/// The fields of a failure as far as they are known.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) code: Option<String>,
    pub(crate) facts: Facts,
    pub(crate) effect: Option<Effect>,
    pub(crate) message: Option<String>,
    pub(crate) details: Option<Map<String, Value>>,
    pub(crate) defined: bool,
    pub(crate) violations: Vec<Violation>,
    pub(crate) recovery: Recovery,
    pub(crate) source: Option<String>,
    pub(crate) operation: Option<String>,
    pub(crate) parameters: Option<Map<String, Value>>,
    pub(crate) upstream: Upstream,
    pub(crate) id: Option<Uuid>,
    pub(crate) at: Option<Timestamp>,
    pub(crate) causes: Vec<Cause>,
    pub(crate) inferred: BTreeSet<Inferred>,
}

impl Draft {
    /// Takes in a failure under its own field names: a residual, or a whole one. Members of later
    /// versions are passed over.
    pub(crate) fn absorb(&mut self, members: Members) -> Result<(), ReadError> {
        members.each(|member| self.absorb_member(member))
    }

    fn absorb_member(&mut self, member: Member<'_>) -> Result<(), ReadError> {
        match member.name {
            "code" => self.code = Some(member.text()?),
            "category" => self.facts.category = Some(category(member)?),
            "retryable" => self.facts.retryable = Some(member.flag()?),
            "remedy" => self.facts.remedies = Some(remedies(member)?),
            "effect" => self.effect = Some(effect(member)?),
            "message" => self.message = Some(member.text()?),
            "details" => self.details.get_or_insert_default().extend(member.map()?),
            "defined" => self.defined = member.flag()?,
            "violations" => self.violations = member.list(violation)?,
            "recovery" => member
                .members()?
                .each(|member| absorb_recovery(&mut self.recovery, member))?,
            "source" => self.source = Some(member.text()?),
            "operation" => self.operation = Some(member.text()?),
            "parameters" => self.parameters = Some(member.map()?),
            "upstream" => member
                .members()?
                .each(|member| absorb_upstream(&mut self.upstream, member))?,
            "id" => self.id = Some(member.word("a UUID", |text| Uuid::try_parse(text).ok())?),
            "at" => self.at = Some(moment(member)?),
            "causes" => self.causes = member.list(cause)?.into_iter().take(CAUSES_LIMIT).collect(),
            "http_status" => self.facts.http_status = Some(member.unsigned()?),
            "jsonrpc_code" => self.facts.jsonrpc_code = Some(member.integer()?),
            "inferred" => self
                .inferred
                .extend(member.list(|value, path| inferred(&value, path))?),
            _ => {}
        }
        Ok(())
    }

    /// Puts foreign members nobody asked for where they are not lost: into the details.
    pub(crate) fn keep_foreign(&mut self, rest: Map<String, Value>) {
        if !rest.is_empty() {
            self.details.get_or_insert_default().extend(rest);
        }
    }

    /// Details of any shape: an object as it is, anything else under the name it had.
    pub(crate) fn details_of_any_shape(&mut self, value: Option<Value>) {
        match value {
            None => {}
            Some(Value::Object(map)) => self.details = Some(map),
            Some(other) => self.keep_foreign(Map::from_iter([("details".to_owned(), other)])),
        }
    }

    /// Fills in what was not said, marking it, and gives the failure.
    pub(crate) fn finish(mut self) -> Failure {
        let is_failing = |status: &u16| (400..=599).contains(status);
        self.facts.http_status = self.facts.http_status.filter(is_failing);
        let code = self.resolve_code();
        let catalogued = Kind::of(code.as_str()).is_some();
        if !catalogued {
            self.infer_facts();
        }
        let kind = Kind::resolve(code, self.facts);
        if self.effect.is_none() {
            self.inferred.insert(Inferred::Effect);
        }
        if self.message.is_none() {
            self.inferred.insert(Inferred::Message);
        }
        if self.recovery.is_empty() {
            self.inferred.insert(Inferred::Recovery);
            self.recovery = kind.default_recovery();
        }
        Failure(Box::new(Parts {
            effect: self.effect.unwrap_or_else(|| kind.default_effect()),
            message: self.message.unwrap_or_else(|| kind.title().into_owned()),
            kind,
            details: self.details,
            defined: self.defined,
            violations: self.violations,
            recovery: self.recovery,
            source: self.source,
            operation: self.operation,
            parameters: self.parameters,
            upstream: (!self.upstream.is_empty()).then_some(self.upstream),
            id: self.id,
            at: self.at,
            causes: self.causes,
            inferred: self.inferred,
        }))
    }

    /// The code as said, as it was most likely meant, or the one for a tool that says nothing.
    fn resolve_code(&mut self) -> Code {
        let said = match self.code.take().map(Code::new_or_text) {
            Some(Ok(code)) => return code,
            Some(Err(text)) => Some(text),
            None => None,
        };
        self.inferred.insert(Inferred::Code);
        let meant = said.as_deref().and_then(Code::normalised);
        if self.upstream.code.is_none() {
            self.upstream.code = said;
        }
        let by_status = self
            .facts
            .http_status
            .and_then(panpan_catalogue::for_status);
        let fallback = by_status.map_or_else(|| codes::TOOL_FAILED.into(), Kind::from);
        meant.unwrap_or_else(|| fallback.code().clone())
    }

    fn infer_facts(&mut self) {
        let facts = &mut self.facts;
        if facts.category.is_none() {
            self.inferred.insert(Inferred::Category);
            // A plain claim to be retryable outweighs what a status usually means.
            let by_status = facts
                .http_status
                .map(|status| row_for_status(status).category);
            if facts.retryable == Some(true) && !by_status.is_some_and(Category::retryable) {
                facts.category = Some(Category::Transient);
            }
        }
        let claimed_in_vain = facts.retryable == Some(true)
            && facts.category.is_some_and(|category| !category.retryable());
        if facts.retryable.is_none() || claimed_in_vain {
            self.inferred.insert(Inferred::Retryable);
        }
        if facts.remedies.is_none() {
            self.inferred.insert(Inferred::Remedy);
        }
    }
}

fn absorb_recovery(recovery: &mut Recovery, member: Member<'_>) -> Result<(), ReadError> {
    match member.name {
        "retry_after_ms" => recovery.retry_after_ms = Some(member.unsigned()?),
        "max_retries" => recovery.max_retries = Some(member.unsigned()?),
        "parameter_adjustments" => recovery.parameter_adjustments.extend(member.map()?),
        "alternatives" => recovery.alternatives = member.list(alternative)?,
        "required_actions" => recovery.required_actions = member.list(sentence)?,
        _ => {}
    }
    Ok(())
}

fn absorb_upstream(upstream: &mut Upstream, member: Member<'_>) -> Result<(), ReadError> {
    match member.name {
        "status" => upstream.status = Some(member.unsigned()?),
        "provider" => upstream.provider = Some(member.text()?),
        "code" => upstream.code = Some(member.text()?),
        "excerpt" => upstream.excerpt = Some(cut(member.text()?)),
        _ => {}
    }
    Ok(())
}

fn cut(text: String) -> String {
    match text.char_indices().nth(EXCERPT_CHARACTERS_LIMIT) {
        Some((end, _)) => text[..end].to_owned(),
        None => text,
    }
}

/// Reads a category by its word.
pub(crate) fn category(member: Member<'_>) -> Result<Category, ReadError> {
    member.word(
        "one of the ten categories, such as TRANSIENT",
        Category::from_word,
    )
}

fn effect(member: Member<'_>) -> Result<Effect, ReadError> {
    member.word("none, unknown or applied", Effect::from_word)
}

fn moment(member: Member<'_>) -> Result<Timestamp, ReadError> {
    member.word("a time such as 2026-01-31T12:00:00Z", |text| {
        text.parse().ok()
    })
}

/// Reads one violation.
pub(crate) fn violation(value: Value, path: String) -> Result<Violation, ReadError> {
    let mut members = Members::of(value, path)?;
    let kind = members.word("kind", "missing, type or value", ViolationKind::from_word)?;
    Ok(Violation {
        pointer: members.text("pointer")?.unwrap_or_default(),
        kind: kind.unwrap_or_default(),
        expected: members.text("expected")?,
        actual: members.take_even_null("actual"),
        reason: members.text("reason")?.unwrap_or_default(),
    })
}

/// Reads one alternative.
pub(crate) fn alternative(value: Value, path: String) -> Result<Alternative, ReadError> {
    let mut members = Members::of(value, path)?;
    let description = members.text("description")?;
    Ok(Alternative {
        description: description.ok_or_else(|| members.missing("description", "a string"))?,
        example: members.text("example")?,
    })
}

/// Reads one sentence.
pub(crate) fn sentence(value: Value, path: String) -> Result<String, ReadError> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(unexpected(path, "a string", &other)),
    }
}

fn cause(value: Value, path: String) -> Result<Cause, ReadError> {
    let mut members = Members::of(value, path)?;
    let code = members.word("code", "a code", |text| Code::new(text.to_owned()).ok())?;
    Ok(Cause {
        code,
        message: members.text("message")?.unwrap_or_default(),
    })
}

fn inferred(value: &Value, path: String) -> Result<Inferred, ReadError> {
    let fact = value.as_str().and_then(Inferred::from_word);
    fact.ok_or_else(|| unexpected(path, "the name of a field that was filled in", value))
}

fn remedies(member: Member<'_>) -> Result<Remedies, ReadError> {
    let read = |value: Value, path| {
        let remedy = value.as_str().and_then(Remedy::from_word);
        remedy.ok_or_else(|| unexpected(path, "a remedy, such as wait or change_input", &value))
    };
    Ok(member.list(read)?.into_iter().collect())
}
