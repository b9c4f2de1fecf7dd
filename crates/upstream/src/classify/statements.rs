//! What the sentences of a response and of the contract imply for a failure.
//!
//! The response wins over the contract; a header or a member made for the purpose wins over both.

use panpan_failure::catalogue::{Entry, Remedies, Remedy};
use panpan_failure::classify::{Condition, InputMembers, Statements, statements};
use panpan_failure::{Effect, Failure, Inferred, Violation, codes};
use serde_json::Value;

/// The statements about one failure.
#[derive(Clone, Debug)]
pub(crate) struct CombinedStatements<'a> {
    /// Statements in the response.
    pub(crate) received: Statements,
    /// Statements in the contract's description of such a response.
    pub(crate) declared: Option<&'a Statements>,
}

impl CombinedStatements<'_> {
    /// The statements in a text of the response, without any of the contract.
    pub(crate) fn of(text: &str, members: &InputMembers) -> Self {
        Self {
            received: statements(text, members),
            declared: None,
        }
    }

    /// The delay before the call may be repeated. If something was done already, a stated delay is about checking
    /// on it later, not about repeating.
    pub(crate) fn retry_delay_ms(&self) -> Option<u64> {
        let declared = self.declared.filter(|it| !it.something_happened);
        self.delay_ms(declared)
            .filter(|_| !self.received.something_happened)
    }

    /// The code for a failure without a code of its own: by the condition, or by an invitation to repeat the call.
    pub(crate) fn code(&self) -> Option<&'static Entry> {
        let by_delay = self.retry_delay_ms().map(|_| codes::ERR_TRY_LATER);
        self.received.condition.map(condition_code).or(by_delay)
    }

    fn nothing_happened(&self) -> bool {
        self.received.nothing_happened || self.is_declared_harmless()
    }

    fn delay_ms(&self, declared: Option<&Statements>) -> Option<u64> {
        let declared = declared.and_then(|it| it.delay_ms);
        self.received.delay_ms.or(declared)
    }

    /// Whether the contract says that such a failure has no effect, and the response does not contradict it.
    fn is_declared_harmless(&self) -> bool {
        let is_declared = self.declared.is_some_and(|it| it.nothing_happened);
        is_declared && !self.received.something_happened
    }

    /// Adds the statements to a failure that does not know these facts yet, and marks them as inferred. Violations
    /// are added only if a different input is a way forward.
    pub(crate) fn apply_to(&self, failure: Failure, input: &Value, remedies: Remedies) -> Failure {
        let failure = self.add_delay(failure);
        let failure = self.add_effect(failure);
        match remedies.contains(Remedy::ChangeInput) {
            true => self.add_violations(failure, input),
            false => failure,
        }
    }

    fn add_delay(&self, failure: Failure) -> Failure {
        let is_open = failure.retryable() && failure.stated_retry_after_ms().is_none();
        match self.delay_ms(self.declared).filter(|_| is_open) {
            Some(delay_ms) => failure
                .with_retry_after_ms(delay_ms)
                .mark_inferred(Inferred::Delay),
            None => failure,
        }
    }

    /// An effect that the contract declares is certain; one from a sentence of the response is inferred.
    fn add_effect(&self, failure: Failure) -> Failure {
        match failure.effect() {
            Effect::Unknown if self.is_declared_harmless() => failure.with_effect(Effect::None),
            Effect::Unknown if self.nothing_happened() => failure
                .with_effect(Effect::None)
                .mark_inferred(Inferred::Effect),
            _ => failure,
        }
    }

    /// Adds violations to a failure that waiting does not fix. A declared limit counts only if this input breaks
    /// it.
    fn add_violations(&self, failure: Failure, input: &Value) -> Failure {
        if failure.retryable() {
            return failure;
        }
        let received = self.received.violations(input);
        let declared = self.declared.map(|it| it.broken_by(input));
        let mut added: Vec<Violation> = Vec::new();
        for violation in received.into_iter().chain(declared.unwrap_or_default()) {
            let mut known = failure.violations().iter().chain(&added);
            if known.all(|it| it.pointer != violation.pointer) {
                added.push(violation);
            }
        }
        if added.is_empty() {
            return failure;
        }
        failure
            .with_violations(added)
            .mark_inferred(Inferred::Violations)
    }
}

/// The code for a condition.
pub(super) const fn condition_code(condition: Condition) -> &'static Entry {
    match condition {
        Condition::SignIn => codes::ERR_HTTP_401_UNAUTHORIZED,
        Condition::RateLimit => codes::ERR_HTTP_429_RATE_LIMITED,
        Condition::Timeout => codes::ERR_TIMEOUT,
        Condition::NoConnection => codes::ERR_CONNECTION_REFUSED,
        Condition::ConnectionLost => codes::ERR_SOCKET_ERROR,
        Condition::Unavailable | Condition::Contention | Condition::Unfinished => {
            codes::ERR_TRY_LATER
        }
    }
}
