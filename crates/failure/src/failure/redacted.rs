//! A redacted failure: the only form that can be rendered or serialised.
//!
//! Applies the rules of `panpan-redact` to the fields of a failure.

use std::ops::Deref;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::{Alternative, Canonical, Failure, Parts, Recovery, Repeat, Violation};
use crate::Effect;
use crate::kind::Kind;
use crate::pointer::joined;
use panpan_redact::{Markers, Redactor, is_clean, is_clean_object, is_clean_text};

/// A failure without secrets.
///
/// Only a [`Redactor`] can make one, and nothing else can be rendered in a dialect.
#[derive(Clone, Debug, PartialEq)]
pub struct Redacted(Failure);

/// The markers in the schemas of an operation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Marked<'a> {
    /// Markers of the input, which a failure shows as its parameters.
    pub parameters: Option<&'a Markers>,
    /// Markers of the details of this code.
    pub details: Option<&'a Markers>,
}

impl Marked<'_> {
    fn is_empty(self) -> bool {
        let mut markers = [self.parameters, self.details].into_iter().flatten();
        markers.all(Markers::is_empty)
    }
}

impl Failure {
    /// Removes secrets with the built-in rules.
    pub fn redacted(self) -> Redacted {
        self.redacted_by(Redactor::new(), Marked::default())
    }

    /// Removes secrets with the built-in rules, the literals of the redactor and the markers of schemas.
    ///
    /// A secret that is found by its name is removed everywhere: a password in the parameters is removed
    /// from the message too.
    pub fn redacted_by(mut self, mut redactor: Redactor, marked: Marked<'_>) -> Redacted {
        // Most failures contain no secret, and one pass proves it.
        let is_clean = marked.is_empty() && self.0.is_clean();
        if !is_clean {
            self.0.learn(&mut redactor, marked);
        }
        if !is_clean || !redactor.knows_none() {
            self.0.bound_for_redaction();
            self.0.redact(&redactor, marked);
        }
        self.0.bound();
        Redacted(self).without_misleading_delay()
    }
}

impl Redacted {
    /// The failure, to be changed and redacted again.
    pub fn into_failure(self) -> Failure {
        self.0
    }

    /// The same occurrence with another kind.
    pub fn restated(self, kind: Kind) -> Self {
        Self(self.0.restated(kind)).without_misleading_delay()
    }

    /// Sets the effect.
    pub fn with_effect(self, effect: Effect) -> Self {
        Self(self.0.with_effect(effect)).without_misleading_delay()
    }

    /// Sets whether the call may be repeated.
    pub fn with_repeat(self, repeat: Repeat) -> Self {
        Self(self.0.with_repeat(repeat)).without_misleading_delay()
    }

    /// Prefixes the pointers of violations, for a caller that sent its input inside a member.
    pub fn within(mut self, member: &str) -> Self {
        let prefix = joined("", member);
        for violation in &mut self.0.0.violations {
            violation.pointer.insert_str(0, &prefix);
        }
        self
    }

    /// Takes the recovery out, to be put back by [`with_recovery`](Self::with_recovery).
    pub fn take_recovery(&mut self) -> Recovery {
        std::mem::take(&mut self.0.0.recovery)
    }

    /// Replaces the recovery. It is not redacted: it may only contain our own sentences and values that are
    /// redacted already.
    pub fn with_recovery(self, mut recovery: Recovery) -> Self {
        recovery.bound();
        Self(self.0.with_recovery(recovery)).without_misleading_delay()
    }

    /// Drops the delay unless the call may be repeated.
    fn without_misleading_delay(mut self) -> Self {
        let recovery = &self.0.0.recovery;
        let has_delay = recovery.retry_after_ms.is_some() || recovery.max_retries.is_some();
        if has_delay && !self.0.may_repeat() {
            self.0.0.drop_delay_unless_repeatable();
        }
        self
    }

    /// Sets the number of attempts.
    pub fn with_attempts(self, attempts: u32) -> Self {
        Self(self.0.with_attempts(attempts))
    }

    /// Marks the details as checked against their declared schema.
    pub fn with_details_checked(mut self) -> Self {
        self.0.0.defined = true;
        self
    }
}

/// For a handler that passes on the failure of another operation.
impl From<Redacted> for Failure {
    fn from(redacted: Redacted) -> Self {
        redacted.into_failure()
    }
}

impl Deref for Redacted {
    type Target = Failure;

    fn deref(&self) -> &Failure {
        &self.0
    }
}

/// The canonical JSON; unset fields are absent.
impl Serialize for Redacted {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Canonical::whole(&self.0).serialize(serializer)
    }
}

impl Parts {
    /// Whether no rule can find a secret. Covers every field that [`redact`](Self::redact) cleans.
    fn is_clean(&self) -> bool {
        let upstream = &self.upstream;
        let texts = [
            &self.meaning,
            &self.source,
            &self.operation,
            &upstream.provider,
            &upstream.code,
            &upstream.excerpt,
        ];
        is_clean_text(&self.message)
            && texts.into_iter().flatten().all(|it| is_clean_text(it))
            && self.causes.iter().all(|it| is_clean_text(&it.message))
            && self.violations.iter().all(Violation::is_clean)
            && self.recovery.is_clean(&self.kind)
            && [&self.parameters, &self.details]
                .into_iter()
                .flatten()
                .all(is_clean_object)
    }

    fn learn(&self, redactor: &mut Redactor, marked: Marked<'_>) {
        for (object, markers) in [
            (&self.parameters, marked.parameters),
            (&self.details, marked.details),
        ] {
            if let Some(object) = object {
                redactor.learn(object, markers);
            }
        }
        redactor.learn(&self.recovery.parameter_adjustments, marked.parameters);
        for violation in &self.violations {
            if let Some(actual) = &violation.actual {
                violation
                    .pointer
                    .split('/')
                    .for_each(|step| redactor.learn_named(step, actual));
            }
        }
        let excerpt = self.upstream.excerpt.as_deref();
        let causes = self.causes.iter().map(|cause| cause.message.as_str());
        for text in [self.message.as_str()]
            .into_iter()
            .chain(self.meaning.as_deref())
            .chain(excerpt)
            .chain(causes)
        {
            redactor.learn_text(text);
        }
    }

    fn redact(&mut self, redactor: &Redactor, marked: Marked<'_>) {
        clean(redactor, &mut self.message);
        let upstream = &mut self.upstream;
        for text in [
            &mut self.meaning,
            &mut self.source,
            &mut self.operation,
            &mut upstream.provider,
            &mut upstream.code,
            &mut upstream.excerpt,
        ] {
            clean_option(redactor, text);
        }
        // Details that lose a secret are no longer the value that was checked.
        self.defined &= !clean_object(redactor, &mut self.details, marked.details);
        let built_in = redactor.without_learned();
        for violation in &mut self.violations {
            clean_violation(redactor, &built_in, violation);
        }
        let defaults = self.kind.default_recovery();
        clean_recovery(redactor, &mut self.recovery, &defaults, marked.parameters);
        clean_object(redactor, &mut self.parameters, marked.parameters);
        for cause in &mut self.causes {
            clean(redactor, &mut cause.message);
        }
    }
}

impl Violation {
    fn is_clean(&self) -> bool {
        is_clean_text(&self.pointer)
            && is_clean_text(&self.reason)
            && self.expected.as_deref().is_none_or(is_clean_text)
            && self.actual.as_ref().is_none_or(is_clean)
    }
}

impl Recovery {
    /// Default sentences come from the catalogue and cannot contain a secret.
    fn is_clean(&self, kind: &Kind) -> bool {
        let is_clean = |it: &Alternative| {
            is_clean_text(&it.description) && it.example.as_deref().is_none_or(is_clean_text)
        };
        is_clean_object(&self.parameter_adjustments)
            && (kind.has_default_alternatives(&self.alternatives)
                || self.alternatives.iter().all(is_clean))
            && (kind.has_default_actions(&self.required_actions)
                || self.required_actions.iter().all(|it| is_clean_text(it)))
    }
}

fn clean(redactor: &Redactor, text: &mut String) {
    if let std::borrow::Cow::Owned(cleaned) = redactor.text(text) {
        *text = cleaned;
    }
}

fn clean_option(redactor: &Redactor, text: &mut Option<String>) {
    if let Some(text) = text {
        clean(redactor, text);
    }
}

/// Returns whether the object contained a secret.
fn clean_object(
    redactor: &Redactor,
    object: &mut Option<Map<String, Value>>,
    markers: Option<&Markers>,
) -> bool {
    object
        .as_mut()
        .is_some_and(|object| redactor.object(object, markers))
}

/// Pointer and expectation quote no value, so only the built-in rules apply to them.
fn clean_violation(redactor: &Redactor, built_in: &Redactor, violation: &mut Violation) {
    if let Some(actual) = &mut violation.actual {
        // A value is secret if any step of its pointer is: all of /credentials, not only /credentials/key.
        violation
            .pointer
            .split('/')
            .for_each(|step| redactor.named(step, actual));
    }
    clean(built_in, &mut violation.pointer);
    clean_option(built_in, &mut violation.expected);
    clean(redactor, &mut violation.reason);
}

/// Default sentences come from the catalogue and cannot contain a secret.
fn clean_recovery(
    redactor: &Redactor,
    recovery: &mut Recovery,
    defaults: &Recovery,
    markers: Option<&Markers>,
) {
    redactor.object(&mut recovery.parameter_adjustments, markers);
    for alternative in &mut recovery.alternatives {
        if !defaults.alternatives.contains(alternative) {
            clean(redactor, &mut alternative.description);
            clean_option(redactor, &mut alternative.example);
        }
    }
    for action in &mut recovery.required_actions {
        if !defaults.required_actions.contains(action) {
            clean(redactor, action);
        }
    }
}
