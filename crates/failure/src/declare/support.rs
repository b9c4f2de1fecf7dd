//! Helpers for derived code. Not a public interface: they change without notice.
//!
//! Facts arrive as constants that the macro has checked; they are not checked again.

use std::borrow::Cow;
use std::error::Error;
use std::time::Duration;

use panpan_catalogue::{Effect, Facts};
use serde::Serialize;

use super::DeclareFailures;
use super::details::Details;
use crate::code::Code;
use crate::failure::{Alternative, Failure};
use crate::kind::Kind;
use crate::{ErrorDefinition, StatusPattern};

/// The attributes of one variant.
#[derive(Clone, Copy, Debug)]
pub struct Declaration {
    /// The code; the macro has checked its syntax.
    pub code: &'static str,
    /// The description.
    pub description: Option<&'static str>,
    /// The declared facts.
    pub facts: Facts,
    /// The assumed effect.
    pub effect: Option<Effect>,
    /// How long to wait, unless the occurrence states a delay.
    pub retry_after_ms: Option<u64>,
    /// The required actions.
    pub actions: &'static [&'static str],
    /// The alternatives.
    pub alternatives: &'static [&'static str],
}

impl Declaration {
    /// The code with its facts.
    pub fn kind(&self) -> Kind {
        Kind::resolve(self.code(), self.facts)
    }

    /// The default message, for a variant without one.
    pub fn message(&self) -> Cow<'static, str> {
        match self.description {
            Some(description) => description.into(),
            None => self.kind().title(),
        }
    }

    /// Starts a failure of this code.
    pub fn occurs(&self, message: impl Into<String>) -> Occurrence {
        let mut failure = Failure::new(self.kind())
            .with_message(message)
            .with_actions(self.actions.iter().copied());
        if let Some(effect) = self.effect {
            failure = failure.with_effect(effect);
        }
        if !self.alternatives.is_empty() {
            let alternatives = self.alternatives.iter().copied();
            failure = failure.with_alternatives(alternatives.map(Alternative::from));
        }
        Occurrence(failure).retry_after(&self.retry_after_ms)
    }

    fn definition(&self, details: Details) -> ErrorDefinition {
        let description = self.description.map(Cow::Borrowed);
        let description = description.unwrap_or_else(|| self.kind().title());
        ErrorDefinition {
            schema: details.schema(),
            http_status: self.facts.http_status.map(StatusPattern::Exact),
            category: self.facts.category,
            retryable: self.facts.retryable,
            remedy: self.facts.remedies,
            effect: self.effect,
            jsonrpc_code: self.facts.jsonrpc_code,
            ..ErrorDefinition::new(self.code(), description)
        }
    }

    fn code(&self) -> Code {
        Code::new(self.code).expect("the macro refuses a malformed code")
    }
}

/// Builder of a failure.
#[derive(Debug)]
pub struct Occurrence(Failure);

impl Occurrence {
    /// Adds a field to the details. A value that cannot be serialized is left out; the check against the
    /// declared schema then reports it.
    pub fn detail<T: Serialize>(self, name: &'static str, value: &T) -> Self {
        match serde_json::to_value(value) {
            Ok(value) => Self(self.0.with_detail(name, value)),
            Err(_) => self,
        }
    }

    /// Adds a field to the details, if it has a value.
    pub fn optional_detail<T: Serialize>(self, name: &'static str, value: &Option<T>) -> Self {
        match value {
            Some(value) => self.detail(name, value),
            None => self,
        }
    }

    /// Sets how long to wait, if known.
    pub fn retry_after<T: DelayMs>(self, delay: &T) -> Self {
        match delay.delay_ms() {
            Some(delay_ms) => Self(self.0.with_retry_after_ms(delay_ms)),
            None => self,
        }
    }

    /// Adds an error and its sources as causes.
    pub fn caused_by(self, source: Option<&(dyn Error + 'static)>) -> Self {
        match source {
            Some(source) => Self(self.0.caused_by(source)),
            None => self,
        }
    }

    /// The finished failure.
    pub fn failure(self) -> Failure {
        self.0
    }
}

/// Types that can be a delay.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a delay",
    label = "not a number of milliseconds",
    note = "a field marked `#[failure(retry_after_ms)]` has type u64, u32, u16, Duration, or an Option of one of them"
)]
pub trait DelayMs {
    /// The delay, if known.
    fn delay_ms(&self) -> Option<u64>;
}

macro_rules! delays {
    ($($number:ty)+) => {
        $(impl DelayMs for $number {
            fn delay_ms(&self) -> Option<u64> {
                Some(u64::from(*self))
            }
        })+
    };
}

delays!(u16 u32 u64);

impl DelayMs for Duration {
    fn delay_ms(&self) -> Option<u64> {
        Some(u64::try_from(self.as_millis()).unwrap_or(u64::MAX))
    }
}

impl<T: DelayMs> DelayMs for Option<T> {
    fn delay_ms(&self) -> Option<u64> {
        self.as_ref().and_then(DelayMs::delay_ms)
    }
}

/// Conversion of an error behind any pointer, including boxed trait objects, to `&dyn Error`.
pub trait AsSource {
    /// The error itself.
    fn as_source(&self) -> &(dyn Error + 'static);
}

impl<T: Error + 'static> AsSource for T {
    fn as_source(&self) -> &(dyn Error + 'static) {
        self
    }
}

macro_rules! trait_object_sources {
    ($($object:ty,)+) => {
        $(impl AsSource for $object {
            fn as_source(&self) -> &(dyn Error + 'static) {
                self
            }
        })+
    };
}

trait_object_sources! {
    dyn Error + 'static,
    dyn Error + Send + 'static,
    dyn Error + Send + Sync + 'static,
}

/// The kind of a transparent variant.
pub fn inner_kind<T: DeclareFailures>(inner: &T) -> Kind {
    inner.kind()
}

/// The failure of a transparent variant.
pub fn inner_failure<T: DeclareFailures>(inner: T) -> Failure {
    inner.into()
}

/// Builder of the definitions of a type.
#[derive(Debug, Default)]
pub struct Definitions(Vec<ErrorDefinition>);

impl Definitions {
    /// Adds a variant with its own code.
    pub fn declare(mut self, declaration: &Declaration, details: Details) -> Self {
        self.add(declaration.definition(details));
        self
    }

    /// Adds the definitions of an inner type.
    pub fn include<T: DeclareFailures>(mut self) -> Self {
        for definition in T::definitions() {
            self.add(definition);
        }
        self
    }

    /// The finished list.
    pub fn finish(self) -> Vec<ErrorDefinition> {
        self.0
    }

    /// Two inner types may declare the same failure. Different declarations of one code are kept, so that
    /// the registry can refuse them.
    fn add(&mut self, definition: ErrorDefinition) {
        if !self.0.contains(&definition) {
            self.0.push(definition);
        }
    }
}
