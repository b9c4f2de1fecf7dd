//! A failure that is being read: the facts found so far, and the inference of the rest.
//!
//! Every dialect fills a draft from its native members and then absorbs the residual.

use std::borrow::Cow;

use panpan_catalogue::{Category, Effect, codes, representative, row_for_status};
use serde_json::{Map, Value};

use super::canonical::read_failure;
use super::shared::Shared;
use super::{
    Alternative, Cause, Failure, Fields, Inferred, Parts, Repeat, Violation, ViolationKind,
};
use crate::classify::category_of_words;
use crate::code::Code;
use crate::dialect::RESIDUAL;
use crate::kind::{Facts, Kind};
use crate::read::{Member, Members, ReadError, unexpected};
use panpan_redact::Redactor;

/// The facts of a failure that are known so far.
#[derive(Default)]
pub(crate) struct Draft {
    pub(crate) code: Option<String>,
    pub(crate) facts: Facts,
    pub(crate) effect: Option<Effect>,
    /// Whether the condition can pass although the call must not be repeated.
    pub(crate) may_pass: bool,
    /// Whether the boolean of the dialect is also true if only the input has to be corrected.
    pub(crate) retryable_includes_corrections: bool,
    pub(crate) message: Option<String>,
    /// All other fields. Kind, effect and message are set when the draft is finished.
    pub(crate) parts: Parts,
}

impl Draft {
    /// Adds the residual, keeps unknown members as details, and returns the failure. Fields that the dialect
    /// carries natively are not read from the residual, because other programs read the native members.
    pub(crate) fn finish_with(
        mut self,
        mut native: Members,
        carried: Fields,
    ) -> Result<Failure, ReadError> {
        let residual = native.lenient_members(RESIDUAL);
        if residual.is_none() {
            self.take_stated(&mut native);
        }
        self.keep_foreign(native.rest());
        if let Some(residual) = residual {
            self.absorb(residual, carried)?;
        }
        Ok(self.finish())
    }

    /// Takes category, effect and retryability, where a third-party error states them in our words.
    pub(crate) fn take_stated(&mut self, members: &mut Members) {
        if self.facts.category.is_none() {
            let category = |word: &Value| Category::from_word(&word.as_str()?.to_ascii_uppercase());
            self.facts.category = members.lenient_as("category", category);
        }
        if self.effect.is_none() {
            self.effect = members.lenient_as("effect", |word| Effect::from_word(word.as_str()?));
        }
        if self.facts.retryable.is_none() {
            let stated = members.lenient_flag("retryable");
            self.facts.retryable = stated.or_else(|| members.lenient_flag("retriable"));
        }
    }

    /// Reads canonical members, except for the fields that the dialect carries natively.
    pub(crate) fn absorb(&mut self, members: Members, carried: Fields) -> Result<(), ReadError> {
        members.each(|member| read_failure(self, member, carried))
    }

    /// Adds the details that the dialect does not carry; native details win.
    pub(super) fn absorb_details(&mut self, residual: Map<String, Value>) {
        let details = self.parts.details.get_or_insert_default();
        for (name, value) in residual {
            details.entry(name).or_insert(value);
        }
    }

    /// Keeps unknown third-party members as details.
    pub(crate) fn keep_foreign(&mut self, rest: Map<String, Value>) {
        if !rest.is_empty() {
            self.parts.details.get_or_insert_default().extend(rest);
        }
    }

    /// Sets details of any shape: an object directly, any other value as a member named `details`.
    pub(crate) fn details_of_any_shape(&mut self, value: Option<Value>) {
        match value {
            None => {}
            Some(Value::Object(map)) => self.parts.details = Some(map),
            Some(other) => self.keep_foreign(Map::from_iter([("details".to_owned(), other)])),
        }
    }

    /// Infers the missing facts, marks them, and returns the failure.
    pub(crate) fn finish(mut self) -> Failure {
        let is_failing = |status: &u16| (400..=599).contains(status);
        self.facts.http_status = self.facts.http_status.filter(is_failing);
        let code = self.resolve_code();
        let fixed = Kind::of(code.as_str());
        let category = fixed.as_ref().map(Kind::category).or(self.facts.category);
        if self.retryable_includes_corrections && category == Some(Category::Validation) {
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
        let mut parts = self.parts;
        if self.effect.is_none() {
            parts.inferred.insert(Inferred::Effect);
        }
        if self.message.is_none() {
            parts.inferred.insert(Inferred::Message);
        }
        parts.effect = self.effect.unwrap_or_else(|| kind.default_effect());
        parts.message = self.message.unwrap_or_else(|| kind.title().into_owned());
        parts.kind = kind;
        parts.accept_claim(claimed);
        parts.complete_recovery();
        Failure(Shared::new(parts))
    }

    /// The stated code, the code that a stated name most likely means, or the code for the status or
    /// category.
    fn resolve_code(&mut self) -> Code {
        let stated = match self.code.take().map(Code::new_or_text) {
            Some(Ok(code)) if Kind::of(code.as_str()).is_some() || !holds_secret(code.as_str()) => {
                return code;
            }
            Some(Ok(code)) => Some(String::from(code)),
            Some(Err(text)) => Some(text),
            None => None,
        };
        self.parts.inferred.insert(Inferred::Code);
        let normalised = stated
            .as_deref()
            .filter(|stated| !holds_secret(stated))
            .and_then(Code::normalised);
        if self.parts.upstream.code.is_none() {
            self.parts.upstream.code = stated;
        }
        let by_status = self
            .facts
            .http_status
            .and_then(panpan_catalogue::for_status);
        let category = self.facts.category;
        let by_status =
            by_status.filter(|it| category.is_none_or(|stated| it.category() == stated));
        let by_category = || category.map_or(codes::TOOL_FAILED, representative).into();
        let fallback = by_status.map_or_else(by_category, Kind::from);
        normalised.unwrap_or_else(|| fallback.code().clone())
    }

    /// The catalogue decides, but a contradiction is marked.
    fn note_contradiction(&mut self, fixed: &Kind) {
        if self.facts.retryable == Some(true) && !fixed.retryable() {
            self.parts.inferred.insert(Inferred::Retryable);
        }
    }

    fn infer_facts(&mut self, code: &Code) {
        let facts = &mut self.facts;
        if facts.category.is_none() {
            self.parts.inferred.insert(Inferred::Category);
            facts.category = probable_category(code, *facts);
        }
        let contradicts_category = facts.retryable == Some(true)
            && facts.category.is_some_and(|category| !category.retryable());
        if facts.retryable.is_none() || contradicts_category {
            self.parts.inferred.insert(Inferred::Retryable);
        }
        if facts.remedies.is_none() {
            self.parts.inferred.insert(Inferred::Remedy);
        }
    }
}

impl Parts {
    /// Accepts the claim of a document about repeating, if its code is retryable. In our own documents the
    /// claim follows from the other members.
    fn accept_claim(&mut self, claimed: Option<bool>) {
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

    /// Ensures a next step, and drops the delay of a call that must not be repeated.
    fn complete_recovery(&mut self) {
        self.drop_delay_unless_repeatable();
        let recovery = &mut self.recovery;
        let has_action = !recovery.required_actions.is_empty();
        let is_complete = match self.kind.retryable() {
            true => has_action || recovery.retry_after_ms.is_some(),
            false => has_action || !recovery.alternatives.is_empty(),
        };
        if is_complete {
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
        self.drop_delay_unless_repeatable();
    }
}

/// Whether a text contains a secret. It must not become a code, because codes are logged and counted.
fn holds_secret(text: &str) -> bool {
    matches!(Redactor::new().text(text), Cow::Owned(_))
}

/// The most likely category of a third-party failure: by its status, by an explicit `retryable`, which
/// overrides the status, and then by the words of its code.
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

/// Reads one violation.
pub(crate) fn violation(value: Value, pointer: String) -> Result<Violation, ReadError> {
    let mut members = Members::of(value, pointer)?;
    let kind = members.lenient_as("kind", |kind| ViolationKind::from_word(kind.as_str()?));
    Ok(Violation {
        pointer: members.text("pointer")?.unwrap_or_default(),
        kind: kind.unwrap_or_default(),
        expected: members.text("expected")?,
        actual: members.take_nullable("actual"),
        reason: members.text("reason")?.unwrap_or_default(),
    })
}

/// Reads one violation whose reason has this name; `None` for any other shape.
pub(crate) fn lenient_violation(value: &Value, reason: &str) -> Option<Violation> {
    let text = |name: &str| value.get(name)?.as_str().map(str::to_owned);
    let kind = text("kind").and_then(|kind| ViolationKind::from_word(&kind));
    Some(Violation {
        kind: kind.unwrap_or_default(),
        expected: text("expected"),
        actual: value.get("actual").cloned(),
        ..Violation::value(text("pointer")?, text(reason)?)
    })
}

/// Reads one alternative.
pub(crate) fn alternative(value: Value, pointer: String) -> Result<Alternative, ReadError> {
    let mut members = Members::of(value, pointer)?;
    Ok(Alternative {
        description: members.required("description", "a string", |it| it.text())?,
        example: members.text("example")?,
    })
}

/// Reads one sentence.
pub(crate) fn sentence(value: Value, pointer: String) -> Result<String, ReadError> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(unexpected(pointer, "a string", &other)),
    }
}

pub(super) fn cause(value: Value, pointer: String) -> Result<Cause, ReadError> {
    let mut members = Members::of(value, pointer)?;
    let code = members.lenient_as("code", |code| {
        let text = code.as_str().filter(|text| !holds_secret(text))?;
        Code::new(text.to_owned()).ok()
    });
    Ok(Cause {
        code,
        message: members.text("message")?.unwrap_or_default(),
    })
}

/// The known words of a list.
pub(super) fn words<T>(
    member: Member<'_>,
    from_word: impl Fn(&str) -> Option<T>,
) -> Result<Vec<T>, ReadError> {
    let words = member.list(sentence)?;
    Ok(words.iter().filter_map(|word| from_word(word)).collect())
}
