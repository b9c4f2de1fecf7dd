//! Builder methods: a failure starts from a code and gets the facts of this occurrence.

use std::num::NonZeroU32;

use jiff::Timestamp;
use panpan_catalogue::Effect;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::parts::DelaySource;
use super::shared::Shared;
use super::{
    Alternative, CAUSES_LIMIT, Cause, Failure, Inferred, Parts, Recovery, Upstream, Violation,
};
use crate::kind::Kind;

impl Failure {
    /// A failure of a kind, with the default message, effect and recovery of its code.
    ///
    /// ```
    /// use panpan_failure::{Failure, codes};
    ///
    /// let failure = Failure::new(codes::ERR_TIMEOUT)
    ///     .with_message("no answer from api.example.com within 30000 ms")
    ///     .with_detail("timeout_ms", 30_000);
    /// assert!(failure.retryable());
    /// ```
    pub fn new(kind: impl Into<Kind>) -> Self {
        let kind = kind.into();
        Self(Shared::new(Parts {
            effect: kind.default_effect(),
            message: kind.title().into_owned(),
            recovery: kind.default_recovery(),
            delay_source: DelaySource::Code,
            kind,
            ..Parts::default()
        }))
    }

    /// The same occurrence with another kind. Defaults of the old code become defaults of the new code, and
    /// the details count as unchecked.
    pub fn restated(mut self, kind: Kind) -> Self {
        let stated_ms = self.stated_retry_after_ms();
        let parts = &mut *self.0;
        parts.defined = false;
        if parts.kind == kind {
            parts.drop_delay_unless_retryable();
            return self;
        }
        let default = kind.default_recovery();
        let delay_ms = stated_ms.or(default.retry_after_ms);
        if parts.recovery == parts.kind.default_recovery() {
            parts.recovery = default;
        }
        let recovery = &mut parts.recovery;
        recovery.retry_after_ms = delay_ms.or(recovery.retry_after_ms);
        parts.delay_source = match stated_ms {
            Some(_) => DelaySource::Occurrence,
            None => DelaySource::Code,
        };
        parts.kind = kind;
        parts.drop_delay_unless_retryable();
        self
    }

    /// Sets the message. Dynamic values in it belong in the details or violations too.
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.0.message = message.into();
        self
    }

    /// Sets the effect.
    pub fn with_effect(mut self, effect: Effect) -> Self {
        if self.0.effect != effect {
            self.0.effect = effect;
        }
        self
    }

    /// Sets the description from the contract.
    pub fn with_meaning(mut self, meaning: impl Into<String>) -> Self {
        self.0.meaning = Some(meaning.into());
        self
    }

    /// Marks a fact as inferred: read from free text or filled in.
    pub fn mark_inferred(mut self, fact: Inferred) -> Self {
        self.0.inferred.insert(fact);
        self
    }

    /// Sets the details; they count as unchecked until they are marked as checked.
    pub fn with_details(mut self, details: Map<String, Value>) -> Self {
        self.0.details = Some(details);
        self.0.defined = false;
        self
    }

    /// Adds one member to the details.
    pub fn with_detail(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        let parts = &mut *self.0;
        let details = parts.details.get_or_insert_default();
        details.insert(name.into(), value.into());
        parts.defined = false;
        self
    }

    /// Adds a violation.
    pub fn with_violation(mut self, violation: Violation) -> Self {
        self.0.violations.push(violation);
        self
    }

    /// Adds violations.
    pub fn with_violations(mut self, violations: impl IntoIterator<Item = Violation>) -> Self {
        self.0.violations.extend(violations);
        self
    }

    /// Sets how long to wait before the identical call is repeated. Ignored if the code is not retryable.
    pub fn with_retry_after_ms(mut self, delay_ms: u64) -> Self {
        self.0.recovery.retry_after_ms = self.retryable().then_some(delay_ms);
        self.0.delay_source = DelaySource::Occurrence;
        self
    }

    /// Sets how many repetitions are reasonable. Ignored if the code is not retryable.
    pub fn with_max_retries(mut self, max_retries: u32) -> Self {
        self.0.recovery.max_retries = self.retryable().then_some(max_retries);
        self
    }

    /// Suggests another value for a parameter.
    pub fn with_adjustment(
        mut self,
        parameter: impl Into<String>,
        value: impl Into<Value>,
    ) -> Self {
        self.0
            .recovery
            .parameter_adjustments
            .insert(parameter.into(), value.into());
        self
    }

    /// Replaces the required actions. An empty list changes nothing, so that every failure keeps a next
    /// step.
    pub fn with_actions<S: Into<String>>(mut self, actions: impl IntoIterator<Item = S>) -> Self {
        let actions: Vec<String> = actions.into_iter().map(Into::into).collect();
        if !actions.is_empty() {
            self.0.recovery.required_actions = actions;
        }
        self
    }

    /// Replaces the alternatives.
    pub fn with_alternatives(
        mut self,
        alternatives: impl IntoIterator<Item = Alternative>,
    ) -> Self {
        self.0.recovery.alternatives = alternatives.into_iter().collect();
        self
    }

    /// Replaces the recovery. A delay is ignored if the code is not retryable.
    pub fn with_recovery(mut self, recovery: Recovery) -> Self {
        let parts = &mut *self.0;
        parts.recovery = recovery;
        parts.drop_delay_unless_retryable();
        self
    }

    /// Sets the source: the gateway or an operation.
    pub fn with_source(mut self, source: impl Into<String>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Sets the operation.
    pub fn with_operation(mut self, operation: impl Into<String>) -> Self {
        self.0.operation = Some(operation.into());
        self
    }

    /// Sets the parameters.
    pub fn with_parameters(mut self, parameters: Map<String, Value>) -> Self {
        self.0.parameters = Some(parameters);
        self
    }

    /// Sets the response of the upstream.
    pub fn with_upstream(mut self, upstream: Upstream) -> Self {
        self.0.upstream = upstream;
        self
    }

    /// Sets id and time, unless they are set.
    pub fn stamped(mut self, id: Uuid, at: Timestamp) -> Self {
        let parts = &mut *self.0;
        parts.id.get_or_insert(id);
        parts.at.get_or_insert(at);
        self
    }

    /// Sets the number of attempts; 0 clears it.
    pub fn with_attempts(mut self, attempts: u32) -> Self {
        self.0.attempts = NonZeroU32::new(attempts);
        self
    }

    /// Adds a cause, up to [`CAUSES_LIMIT`].
    pub fn with_cause(mut self, cause: Cause) -> Self {
        if self.0.causes.len() < CAUSES_LIMIT {
            self.0.causes.push(cause);
        }
        self
    }

    /// Adds a Rust error and its sources as causes.
    pub fn caused_by(mut self, error: &(dyn std::error::Error + 'static)) -> Self {
        let mut next = Some(error);
        while let Some(error) = next.filter(|_| self.0.causes.len() < CAUSES_LIMIT) {
            self = self.with_cause(Cause {
                code: None,
                message: error.to_string(),
            });
            next = error.source();
        }
        self
    }
}

impl Parts {
    /// Drops the delay if the identical call can never succeed.
    fn drop_delay_unless_retryable(&mut self) {
        if !self.kind.retryable() {
            self.recovery.retry_after_ms = None;
            self.recovery.max_retries = None;
        }
    }
}
