//! A failure being read: what was said so far, and what has to be filled in at the end.
//!
//! Every dialect fills a draft from its native members, then lets it absorb the residual.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::num::NonZeroU32;

use jiff::Timestamp;
use panpan_catalogue::{Category, Effect, Remedies, Remedy, codes, representative, row_for_status};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::bounds::cut_excerpt;
use super::canonical::{CONDITION, MAY_PASS};
use super::parts::DelayFrom;
use super::shared::Shared;
use super::{
    Alternative, CAUSES_LIMIT, Cause, Failure, Field, Fields, Inferred, Parts, Recovery, Repeat,
    Upstream, Violation, ViolationKind,
};
use crate::classify::category_of_words;
use crate::code::Code;
use crate::dialect::RESIDUAL;
use crate::kind::{Facts, Kind};
use crate::read::{Member, Members, ReadError, unexpected};
use panpan_redact::Redactor;

/// The fields of a failure as far as they are known.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) code: Option<String>,
    pub(crate) facts: Facts,
    pub(crate) effect: Option<Effect>,
    /// Whether the condition of the code may pass, where the boolean says that the call must not be
    /// repeated.
    pub(crate) may_pass: bool,
    pub(crate) repeat: Option<Repeat>,
    /// Whether the boolean of the dialect is also true where only the input has to be corrected.
    pub(crate) true_for_corrections: bool,
    pub(crate) message: Option<String>,
    pub(crate) meaning: Option<String>,
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
    pub(crate) attempts: Option<NonZeroU32>,
    pub(crate) causes: Vec<Cause>,
    pub(crate) inferred: BTreeSet<Inferred>,
}

impl Draft {
    /// Joins what the native members told with the residual, keeps what is left over, and gives the
    /// failure. What the dialect carried natively is not taken from the residual: the native members
    /// are what everyone else reads.
    pub(crate) fn finish_with(
        mut self,
        mut native: Members,
        carried: Fields,
    ) -> Result<Failure, ReadError> {
        let residual = native.told_members(RESIDUAL);
        if residual.is_none() {
            self.take_stated(&mut native);
        }
        self.keep_foreign(native.rest());
        if let Some(residual) = residual {
            self.absorb(residual, carried)?;
        }
        Ok(self.finish())
    }

    /// Takes what a foreign error states in our words in a place its dialect has no member for: category,
    /// effect, and whether to repeat it.
    pub(crate) fn take_stated(&mut self, members: &mut Members) {
        if self.facts.category.is_none() {
            let category = |word: &Value| Category::from_word(&word.as_str()?.to_ascii_uppercase());
            self.facts.category = members.told("category", category);
        }
        if self.effect.is_none() {
            self.effect = members.told("effect", |word| Effect::from_word(word.as_str()?));
        }
        if self.facts.retryable.is_none() {
            let stated = members.told_flag("retryable");
            self.facts.retryable = stated.or_else(|| members.told_flag("retriable"));
        }
    }

    /// Takes in a failure under its own field names, without the fields that were carried elsewhere.
    /// Members and words of later versions are passed over.
    pub(crate) fn absorb(&mut self, members: Members, carried: Fields) -> Result<(), ReadError> {
        members.each(|member| self.absorb_member(member, carried))
    }

    fn absorb_member(&mut self, member: Member<'_>, carried: Fields) -> Result<(), ReadError> {
        let recovery = &mut self.recovery;
        match member.name {
            "code" if !carried.has(Field::Code) => self.code = Some(member.text()?),
            "category" => set(
                &mut self.facts.category,
                member.known_word(Category::from_word)?,
            ),
            "retryable" if !carried.has(Field::Retryable) => {
                self.facts.retryable = Some(member.flag()?);
            }
            CONDITION => self.may_pass = member.text()? == MAY_PASS,
            "repeat" => set(&mut self.repeat, member.known_word(Repeat::from_word)?),
            "meaning" => self.meaning = Some(member.text()?),
            "remedy" => self.facts.remedies = Some(remedies(member)?),
            "effect" => set(&mut self.effect, member.known_word(Effect::from_word)?),
            "message" if !carried.has(Field::Message) => self.message = Some(member.text()?),
            "details" if !carried.has(Field::Details) => self.absorb_details(member.map()?),
            "defined" => self.defined = member.flag()?,
            "violations" if !carried.has(Field::Violations) => {
                self.violations = member.list(violation)?;
            }
            "recovery" => {
                member
                    .members()?
                    .each(|member| absorb_recovery(recovery, member, carried))?;
            }
            "source" => self.source = Some(member.text()?),
            "operation" => self.operation = Some(member.text()?),
            "parameters" if !carried.has(Field::Parameters) => {
                self.parameters = Some(member.map()?);
            }
            "upstream" => {
                member
                    .members()?
                    .each(|member| absorb_upstream(&mut self.upstream, member))?;
            }
            "id" if !carried.has(Field::Id) => {
                self.id = Some(member.word("a UUID", |text| Uuid::try_parse(text).ok())?);
            }
            "at" if !carried.has(Field::At) => self.at = Some(moment(member)?),
            "attempts" => self.attempts = Some(member.count()?),
            "causes" => self.causes = member.list(cause)?.into_iter().take(CAUSES_LIMIT).collect(),
            "http_status" if !carried.has(Field::HttpStatus) => {
                self.facts.http_status = Some(member.unsigned()?);
            }
            "jsonrpc_code" => self.facts.jsonrpc_code = Some(member.integer()?),
            "inferred" => self.inferred.extend(words(member, Inferred::from_word)?),
            _ => {}
        }
        Ok(())
    }

    /// Members the dialect had no place for; those it had stay as they are.
    fn absorb_details(&mut self, left: Map<String, Value>) {
        let details = self.details.get_or_insert_default();
        for (name, value) in left {
            details.entry(name).or_insert(value);
        }
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
        let fixed = Kind::of(code.as_str());
        let category = fixed.as_ref().map(Kind::category).or(self.facts.category);
        if self.true_for_corrections && category == Some(Category::Validation) {
            self.facts.retryable = Some(false);
        }
        let claimed = self.facts.retryable;
        if self.may_pass {
            self.facts.retryable = Some(true);
        }
        match fixed {
            Some(fixed) => self.note_contradiction(&fixed),
            None => self.infer_facts(&code),
        }
        let kind = Kind::resolve(code, self.facts);
        let effect = self.effect.unwrap_or_else(|| kind.default_effect());
        let told = [
            (self.effect.is_some(), Inferred::Effect),
            (self.message.is_some(), Inferred::Message),
        ];
        self.inferred.extend(
            told.into_iter()
                .filter_map(|(told, fact)| (!told).then_some(fact)),
        );
        let mut parts = Parts {
            effect,
            repeat: self.repeat,
            message: self.message.unwrap_or_else(|| kind.title().into_owned()),
            meaning: self.meaning,
            kind,
            details: self.details,
            defined: self.defined,
            violations: self.violations,
            recovery: self.recovery,
            delay_from: DelayFrom::Unknown,
            source: self.source,
            operation: self.operation,
            parameters: self.parameters,
            upstream: (!self.upstream.is_empty()).then_some(self.upstream),
            id: self.id,
            at: self.at,
            attempts: self.attempts,
            causes: self.causes,
            inferred: self.inferred,
        };
        parts.believe(claimed);
        parts.complete_recovery();
        Failure(Shared::new(parts))
    }

    /// The code as said, as it was most likely meant, or the one for a tool that says nothing.
    fn resolve_code(&mut self) -> Code {
        let said = match self.code.take().map(Code::new_or_text) {
            Some(Ok(code)) if Kind::of(code.as_str()).is_some() || !holds_secret(code.as_str()) => {
                return code;
            }
            Some(Ok(code)) => Some(String::from(code)),
            Some(Err(text)) => Some(text),
            None => None,
        };
        self.inferred.insert(Inferred::Code);
        let meant = said
            .as_deref()
            .filter(|said| !holds_secret(said))
            .and_then(Code::normalised);
        if self.upstream.code.is_none() {
            self.upstream.code = said;
        }
        let by_status = self
            .facts
            .http_status
            .and_then(panpan_catalogue::for_status);
        let stated = self.facts.category;
        let by_status = by_status.filter(|it| stated.is_none_or(|stated| it.category() == stated));
        let by_category = || stated.map_or(codes::TOOL_FAILED, representative).into();
        let fallback = by_status.map_or_else(by_category, Kind::from);
        meant.unwrap_or_else(|| fallback.code().clone())
    }

    /// The catalogue decides, but that someone said otherwise is worth knowing.
    fn note_contradiction(&mut self, fixed: &Kind) {
        if self.facts.retryable == Some(true) && !fixed.retryable() {
            self.inferred.insert(Inferred::Retryable);
        }
    }

    fn infer_facts(&mut self, code: &Code) {
        let facts = &mut self.facts;
        if facts.category.is_none() {
            self.inferred.insert(Inferred::Category);
            facts.category = probable_category(code, *facts);
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

impl Parts {
    /// What a document says about repeating is believed, as far as its code leaves room for it. Ours say
    /// nothing else than what follows from the other members.
    fn believe(&mut self, claimed: Option<bool>) {
        let Some(claimed) = claimed.filter(|_| self.kind.retryable()) else {
            return;
        };
        if claimed != self.may_repeat() {
            self.repeat = Some(match claimed {
                true => Repeat::Allowed,
                false => Repeat::Refused,
            });
        }
    }

    /// Every failure keeps a way forward, and one that must not be repeated names no delay.
    fn complete_recovery(&mut self) {
        self.no_delay_unless_repeatable();
        let recovery = &mut self.recovery;
        let has_action = !recovery.required_actions.is_empty();
        let suffices = match self.kind.retryable() {
            true => has_action || recovery.retry_after_ms.is_some(),
            false => has_action || !recovery.alternatives.is_empty(),
        };
        if suffices {
            return;
        }
        self.inferred.insert(Inferred::Recovery);
        let default = self.kind.default_recovery();
        recovery.retry_after_ms = default.retry_after_ms;
        recovery.max_retries = recovery.max_retries.or(default.max_retries);
        recovery.required_actions = default.required_actions;
        if recovery.alternatives.is_empty() {
            recovery.alternatives = default.alternatives;
        }
        self.no_delay_unless_repeatable();
    }
}

/// Whether a text has to be kept out of the code, which everyone logs and counts.
fn holds_secret(text: &str) -> bool {
    matches!(Redactor::new().text(text), Cow::Owned(_))
}

/// The class a foreign failure most likely belongs to: by its status, by a plain claim to be
/// retryable, which outweighs what a status usually means, then by the words of its code.
fn probable_category(code: &Code, facts: Facts) -> Option<Category> {
    let by_status = facts
        .http_status
        .map(|status| row_for_status(status).category);
    let by_words = || category_of_words(code.as_str());
    match facts.retryable {
        Some(true) => by_status
            .or_else(by_words)
            .filter(|category| category.retryable())
            .or(Some(Category::Transient)),
        Some(false) => by_status.or_else(|| by_words().filter(|category| !category.retryable())),
        None => by_status.or_else(by_words),
    }
}

fn set<T>(place: &mut Option<T>, value: Option<T>) {
    if value.is_some() {
        *place = value;
    }
}

fn absorb_recovery(
    recovery: &mut Recovery,
    member: Member<'_>,
    carried: Fields,
) -> Result<(), ReadError> {
    match member.name {
        "retry_after_ms" if !carried.has(Field::RetryAfter) => {
            recovery.retry_after_ms = Some(member.unsigned()?);
        }
        "max_retries" if !carried.has(Field::MaxRetries) => {
            recovery.max_retries = Some(member.unsigned()?);
        }
        "parameter_adjustments" if !carried.has(Field::Adjustments) => {
            recovery.parameter_adjustments = member.map()?;
        }
        "alternatives" if !carried.has(Field::Alternatives) => {
            recovery.alternatives = member.list(alternative)?;
        }
        "required_actions" if !carried.has(Field::Actions) => {
            recovery.required_actions = member.list(sentence)?;
        }
        _ => {}
    }
    Ok(())
}

fn absorb_upstream(upstream: &mut Upstream, member: Member<'_>) -> Result<(), ReadError> {
    match member.name {
        "status" => upstream.status = Some(member.unsigned()?),
        "provider" => upstream.provider = Some(member.text()?),
        "code" => upstream.code = Some(member.text()?),
        "excerpt" => upstream.excerpt = Some(cut_excerpt(member.text()?)),
        _ => {}
    }
    Ok(())
}

fn moment(member: Member<'_>) -> Result<Timestamp, ReadError> {
    member.word("a time such as 2026-01-31T12:00:00Z", |text| {
        text.parse().ok()
    })
}

/// Reads one violation.
pub(crate) fn violation(value: Value, path: String) -> Result<Violation, ReadError> {
    let mut members = Members::of(value, path)?;
    let kind = members.told("kind", |kind| ViolationKind::from_word(kind.as_str()?));
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
    let code = members.told("code", |code| {
        let text = code.as_str().filter(|text| !holds_secret(text))?;
        Code::new(text.to_owned()).ok()
    });
    Ok(Cause {
        code,
        message: members.text("message")?.unwrap_or_default(),
    })
}

fn remedies(member: Member<'_>) -> Result<Remedies, ReadError> {
    Ok(words(member, Remedy::from_word)?.into_iter().collect())
}

/// The words of a list that are known.
fn words<T>(
    member: Member<'_>,
    from_word: impl Fn(&str) -> Option<T>,
) -> Result<Vec<T>, ReadError> {
    let words = member.list(sentence)?;
    Ok(words.iter().filter_map(|word| from_word(word)).collect())
}
