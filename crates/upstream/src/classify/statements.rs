//! What the sentences of a response and of the contract imply for a failure.
//!
//! The response wins over the contract; a header or a member made for the purpose wins over both.

use jiff::Timestamp;
use panpan_failure::catalogue::{Entry, Remedies, Remedy};
use panpan_failure::classify::{Condition, InputMembers, Statements, statements};
use panpan_failure::{Effect, Failure, Inferred, Violation, codes};
use serde_json::Value;

/// The action where a person declined a call.
const DECLINED: &str =
    "A person declined this call: do not make it again in another form; ask what to do instead";

/// The action where a sign-in is required. Many servers have a tool for it.
const SIGN_IN: &str = "Sign in with a tool of the same server if it has one, then call again; else ask the person \
                       responsible for this tool to renew its credential";

/// The delay where a text names a time that no clock can compare, such as `tomorrow`: the delay of the code would be
/// too short.
const SOME_DAY_MS: u64 = 3_600_000;

/// The statements about one failure.
#[derive(Clone, Debug)]
pub(crate) struct CombinedStatements<'a> {
    /// Statements in the response.
    pub(crate) received: Statements,
    /// Statements in the contract's description of such a response.
    pub(crate) declared: Option<&'a Statements>,
}

impl CombinedStatements<'_> {
    /// The statements in a text of the response to a call, without any of the contract.
    pub(crate) fn of(text: &str, members: &InputMembers, now: Timestamp, reads: bool) -> Self {
        let received = statements(text, members).at(now);
        Self {
            received: match reads {
                true => received.of_read(),
                false => received,
            },
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
        self.condition().map(condition_code).or(by_delay)
    }

    /// The action for the condition that the response reports, if it needs another one than its code.
    pub(crate) fn action(&self) -> Option<String> {
        match (self.condition()?, &self.received.sign_in_url) {
            (Condition::Declined, _) => Some(DECLINED.to_owned()),
            (Condition::SignIn, Some(url)) => {
                Some(format!("Ask a person to open {url}, then call again"))
            }
            (Condition::SignIn, None) => Some(SIGN_IN.to_owned()),
            _ => None,
        }
    }

    /// The reported condition. A quota that is renewed after a stated delay is a rate limit, and a rate limit that
    /// ends on another day is a spent quota.
    fn condition(&self) -> Option<Condition> {
        let delay = self.retry_delay_ms();
        match self.received.condition? {
            Condition::Exhausted if delay.is_some() => Some(Condition::RateLimit),
            Condition::RateLimit if delay.is_none() && self.received.states_uncertain_moment => {
                Some(Condition::Exhausted)
            }
            condition => Some(condition),
        }
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
        let some_day = self.received.states_uncertain_moment;
        let some_day_ms = some_day.then_some(SOME_DAY_MS);
        let delay_ms = self.delay_ms(self.declared).or(some_day_ms);
        match delay_ms.filter(|_| is_open) {
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
        Condition::Declined => codes::DECLINED,
        Condition::Exhausted => codes::ERR_RESOURCE_EXHAUSTED,
        Condition::Forbidden => codes::NOT_AUTHORIZED,
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
