//! What follows from the sentences of an answer and of the contract.
//!
//! What was received comes before what was declared; what a header or a member of its own states comes
//! before both.

use panpan_failure::catalogue::{Entry, Remedies, Remedy};
use panpan_failure::classify::{Condition, Statements};
use panpan_failure::{Effect, Facts, Failure, Inferred, Kind, Violation, codes};
use serde_json::Value;

/// What sentences state.
#[derive(Clone, Debug)]
pub(crate) struct Heard<'a> {
    /// Those of the answer.
    pub(crate) received: Statements,
    /// Those of the contract's description of such answers.
    pub(crate) declared: Option<&'a Statements>,
}

impl Heard<'_> {
    /// How long they ask to wait before the call is repeated. Beside what was done already, a delay is
    /// that of something to look at later.
    pub(crate) fn invited_ms(&self) -> Option<u64> {
        let declared = self.declared.filter(|it| !it.something_happened);
        self.delay_of(declared)
            .filter(|_| !self.received.something_happened)
    }

    /// The code of a failure that has none of its own: by what they say has happened, or that it may be repeated.
    pub(crate) fn code(&self) -> Option<&'static Entry> {
        let invited = self.invited_ms().map(|_| codes::ERR_TRY_LATER);
        self.received.condition.map(of_condition).or(invited)
    }

    /// Whether they say that nothing happened.
    pub(crate) fn nothing_happened(&self) -> bool {
        self.received.nothing_happened || self.is_declared_harmless()
    }

    fn delay_of(&self, declared: Option<&Statements>) -> Option<u64> {
        let declared = declared.and_then(|it| it.delay_ms);
        self.received.delay_ms.or(declared)
    }

    /// Whether the contract says that nothing happens in such a case, and the service does not say
    /// otherwise in this one.
    fn is_declared_harmless(&self) -> bool {
        let is_declared = self.declared.is_some_and(|it| it.nothing_happened);
        is_declared && !self.received.something_happened
    }

    /// Adds what they state to a failure that does not state it otherwise, and marks it. What is wrong
    /// with the input is told only where other input is a way forward.
    pub(crate) fn told(&self, failure: Failure, input: &Value, remedies: Remedies) -> Failure {
        let failure = self.timed(failure);
        let failure = self.unharmed(failure);
        match remedies.contains(Remedy::ChangeInput) {
            true => self.corrected(failure, input),
            false => failure,
        }
    }

    fn timed(&self, failure: Failure) -> Failure {
        let is_open = failure.retryable() && failure.stated_retry_after_ms().is_none();
        match self.delay_of(self.declared).filter(|_| is_open) {
            Some(delay_ms) => failure
                .with_retry_after_ms(delay_ms)
                .mark_inferred(Inferred::Delay),
            None => failure,
        }
    }

    /// What a contract declares is no guess; what an answer says in a sentence is one.
    fn unharmed(&self, failure: Failure) -> Failure {
        match failure.effect() {
            Effect::Unknown if self.is_declared_harmless() => failure.with_effect(Effect::None),
            Effect::Unknown if self.nothing_happened() => failure
                .with_effect(Effect::None)
                .mark_inferred(Inferred::Effect),
            _ => failure,
        }
    }

    /// What is wrong with the input is told only of failures that waiting does not cure. Of what is
    /// declared, only what this input breaks can be what happened.
    fn corrected(&self, failure: Failure, input: &Value) -> Failure {
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

const fn of_condition(condition: Condition) -> &'static Entry {
    match condition {
        Condition::SignIn => codes::ERR_HTTP_401_UNAUTHORIZED,
        Condition::RateLimit => codes::ERR_HTTP_429_RATE_LIMITED,
        Condition::Timeout => codes::ERR_TIMEOUT,
        Condition::NoConnection => codes::ERR_CONNECTION_REFUSED,
        Condition::ConnectionLost => codes::ERR_SOCKET_ERROR,
        Condition::Unavailable => codes::ERR_TRY_LATER,
    }
}

/// The code for an answer that is final by its status and says that it is not.
pub(crate) fn try_later(status: u16) -> Kind {
    let entry = codes::ERR_TRY_LATER;
    let kind = Kind::from(entry);
    let facts = Facts {
        http_status: Some(status),
        ..Facts::default()
    };
    Kind::declared(kind.code().clone(), facts).unwrap_or(kind)
}
