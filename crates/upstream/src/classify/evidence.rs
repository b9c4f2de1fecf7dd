//! Weighs what a response and the contract say: the code, the effect, the delay, the message and the violations.

use jiff::Timestamp;
use panpan_failure::catalogue::{Remedies, Remedy};
use panpan_failure::classify::Condition;
use panpan_failure::{Effect, Failure, Inferred, Kind, Repeat, Upstream, Violation, hint};
use serde_json::Value;

use super::challenge::Challenge;
use super::delay::StatedDelays;
use super::error_body::ErrorBody;
use super::error_body::texts::append;
use super::refusal::{self, Refusal};
use super::statements::CombinedStatements;
use super::{ErrorResponse, RequestContext, advice, counts, kind, stated_code};
use crate::bounded::{ELLIPSIS, bounded};

/// The maximum length of a message, and of the reason of a violation, in characters.
pub(super) const MESSAGE_CHARACTERS_LIMIT: usize = 1_000;

/// The maximum number of violations that are told in a message.
pub(super) const MESSAGE_VIOLATIONS_LIMIT: usize = 8;

/// Everything that a response and the contract say about what happened.
pub(super) struct Evidence<'a> {
    /// The response, with the status that it means.
    response: &'a ErrorResponse<'a>,
    pub(super) received_status: u16,
    request: RequestContext<'a>,
    body: ErrorBody,
    statements: CombinedStatements<'a>,
    delays: StatedDelays<'a>,
    challenge: Challenge,
    /// Whether members of the body count finished work.
    counts_work: bool,
}

/// What follows from the evidence.
pub(super) struct Verdict {
    kind: Kind,
    /// Whether the service says not to repeat the call.
    forbids_retry: bool,
    /// Whether the service may have begun the work.
    may_have_begun: bool,
    refusal: Option<Refusal>,
}

impl<'a> Evidence<'a> {
    pub(super) fn read(
        response: &'a ErrorResponse<'a>,
        request: RequestContext<'a>,
        document: Option<&'a Value>,
        now: Timestamp,
    ) -> Self {
        let mut body = match document {
            Some(document) => ErrorBody::of_json(document),
            None => ErrorBody::of_text(response.body),
        };
        let challenge = Challenge::of(response.headers);
        challenge.add_to(&mut body);
        let says_transient = |it: &Value| it["error"]["is_transient"] == true;
        let is_transient = document.is_some_and(says_transient);
        body.retryable = body.retryable.or(is_transient.then_some(true));
        // The whole message is read before it is truncated: its end could take back its beginning. A sentence under an
        // unknown name is shown, but may be about anything.
        let text = body.message.as_deref().filter(|_| !body.is_searched);
        let text = text.unwrap_or_default();
        let mut statements = CombinedStatements::of(text, request.members, now, request.reads);
        statements.declared = request.declared.map(|it| &it.statements);
        // A member made for the effect wins over any sentence.
        statements.received.nothing_happened &= body.effect.is_none();
        body.truncate(request.input);
        Self {
            response,
            received_status: response.status,
            request,
            body,
            statements,
            delays: StatedDelays {
                response,
                document,
                now,
            },
            challenge,
            counts_work: !request.reads && document.is_some_and(counts::report_work),
        }
    }

    pub(super) fn judge(&self) -> Verdict {
        let status = self.response.status;
        let forbids_retry = hint::forbids_retry(self.response.headers.iter().copied())
            || self.body.retryable == Some(false);
        let asks_to_wait =
            self.delays.request().is_some() || self.statements.retry_delay_ms().is_some();
        let invites_retry = asks_to_wait || self.body.retryable == Some(true);
        // If the response says what is wrong with the input, its other sentences are about the input too.
        let received = &self.statements.received;
        let is_about_input = !self.body.violations.is_empty() || !received.demands.is_empty();
        let condition = stated_code::condition(&self.body.codes).or(received.condition);
        let condition = condition.filter(|_| !is_about_input);
        let kind = kind::kind(self.response, &self.body, condition, asks_to_wait);
        let can_pass = condition.is_some_and(|it| kind::can_pass(status, it));
        let is_final = forbids_retry || !kind::is_final_by_status(&kind, status);
        let kind = match !is_final && (invites_retry || can_pass) {
            true => kind::try_later(status),
            false => kind,
        };
        // Work that failed inside the service, or was cut short there, may have begun.
        // A declined payment was not made.
        let is_refused = condition.is_some_and(Condition::is_refusal) || status == 402;
        let is_cut_short = can_pass && !invites_retry && !is_refused;
        // The unfinished work may be an earlier attempt of this call.
        let is_unfinished = can_pass && condition == Some(Condition::Unfinished);
        let message = self.body.message.as_deref().unwrap_or_default();
        Verdict {
            kind,
            forbids_retry,
            may_have_begun: !self.request.reads && (is_cut_short || is_unfinished || status == 500),
            refusal: refusal::refusal(self.response, &self.body.codes, message),
        }
    }

    /// Whether the response reports finished work. What is retryable is refused by its code alone, so there any
    /// sentence is enough; otherwise it may be about earlier work ("was already cancelled").
    fn reports_work(&self, failure: &Failure) -> bool {
        let received = &self.statements.received;
        let is_stated = received.done_in_part || received.done_before_failure || self.counts_work;
        is_stated || (failure.retryable() && received.work_done)
    }

    /// The effect by everything that the response says. A member made for it wins, then a report of finished work.
    fn with_effect(&self, failure: Failure, refusal: Option<Refusal>) -> Failure {
        if let Some(effect) = self.body.effect {
            return failure.with_effect(effect);
        }
        if self.reports_work(&failure) {
            return match failure.effect() {
                Effect::None => failure.with_effect(Effect::Unknown),
                _ => failure,
            };
        }
        match (refusal, failure.effect()) {
            (Some(Refusal::Certain), Effect::Unknown) => failure.with_effect(Effect::None),
            (Some(Refusal::Said), Effect::Unknown) => failure
                .with_effect(Effect::None)
                .mark_inferred(Inferred::Effect),
            _ => failure,
        }
    }

    pub(super) fn into_failure(mut self, verdict: Verdict) -> Failure {
        let remedies = self
            .request
            .kind_by_rule
            .unwrap_or(&verdict.kind)
            .remedies();
        let violations = self.take_violations(remedies);
        let message = self.message();
        let mut failure = Failure::new(verdict.kind)
            .with_message(message)
            .with_upstream(self.upstream())
            .with_violations(violations);
        if verdict.may_have_begun {
            failure = failure.with_effect(Effect::Unknown);
        }
        if let Some(message) = &self.body.message {
            failure = failure.with_detail("upstream_message", message.as_str());
        }
        if let Some(code) = self.body.codes.first() {
            failure = failure.with_detail("code", code.as_str());
        }
        let declared = self.request.declared;
        if let Some(meaning) = declared.and_then(|it| it.meaning.as_deref()) {
            failure = failure.with_meaning(meaning);
        }
        if let Some(scope) = &self.challenge.scope {
            failure = failure.with_detail("scope", scope.as_str());
        }
        failure = self
            .delays
            .apply_to(failure, self.statements.received.something_happened);
        failure = self
            .statements
            .apply_to(failure, self.request.input, remedies);
        failure = self.with_effect(failure, verdict.refusal);
        if verdict.forbids_retry && failure.retryable() {
            failure = failure.with_max_retries(0).with_repeat(Repeat::Refused);
        } else if failure.retryable() && is_replayed(self.response.headers) {
            // The key of the call can only return this response again.
            failure = failure.with_max_retries(0).with_repeat(Repeat::Frozen);
        }
        match &self.body.message {
            Some(message) => {
                advice::with_action(failure, self.received_status, &self.body.codes, message)
            }
            None => unexplained(failure, self.response),
        }
    }

    /// The violations, by pointers into the input; none unless a different input is a way forward. What they say
    /// about anything else is added to the message.
    fn take_violations(&mut self, remedies: Remedies) -> Vec<Violation> {
        let stated = std::mem::take(&mut self.body.violations);
        let is_about_input = remedies.contains(Remedy::ChangeInput);
        let demanded = self.statements.received.violations(self.request.input);
        let (mut located, mut other) = (Vec::new(), Vec::new());
        for mut violation in stated {
            match self.request.input_pointer(&violation.pointer) {
                Some(pointer) if is_about_input => {
                    violation.pointer = pointer;
                    add_demand(&mut violation, &demanded);
                    if !located.contains(&violation) {
                        located.push(violation);
                    }
                }
                _ => other.push(violation),
            }
        }
        self.add_to_message(&other);
        located
    }

    /// Adds what is wrong with members that the input does not have under their name, unless the message says it.
    fn add_to_message(&mut self, violations: &[Violation]) {
        let mut message = self.body.message.take().unwrap_or_default();
        for violation in violations.iter().take(MESSAGE_VIOLATIONS_LIMIT) {
            match message == violation.reason {
                true => message = named_reason(violation),
                false if message.contains(&violation.reason) => {}
                false => append(&mut message, &named_reason(violation)),
            }
        }
        let message = bounded(&message, MESSAGE_CHARACTERS_LIMIT, self.request.input);
        self.body.message = Some(message).filter(|it| !it.is_empty());
    }

    /// The message of the service, or a sentence about the status.
    fn message(&self) -> String {
        let status = self.response.status;
        let provider = self.response.provider.unwrap_or("the upstream");
        match &self.body.message {
            Some(message) if status > 599 => {
                format!("{message} (status {status}, which is not an HTTP status)")
            }
            Some(message) => message.clone(),
            None if status > 599 => {
                format!("{provider} answered with status {status}, which is not an HTTP status")
            }
            None => match self.response.compression() {
                Some(encoding) => format!(
                    "{provider} answered HTTP {status}; its body is compressed ({encoding}) and was not read"
                ),
                None => format!("{provider} answered HTTP {status}"),
            },
        }
    }

    fn upstream(&self) -> Upstream {
        let mut upstream = Upstream::status(self.received_status);
        if let Some(provider) = self.response.provider {
            upstream = upstream.provider(provider);
        }
        if let Some(code) = self.body.codes.first() {
            upstream = upstream.code(code.as_str());
        }
        if !self.response.body.is_empty() {
            upstream = upstream.excerpt(self.response.body);
        }
        upstream
    }
}

/// Whether the service says that it stored this response under the idempotency key of the call.
fn is_replayed(headers: &[(&str, &str)]) -> bool {
    const NAMES: [&str; 2] = ["idempotent-replayed", "idempotency-replayed"];
    headers.iter().any(|(name, value)| {
        let is_known = NAMES.iter().any(|it| name.eq_ignore_ascii_case(it));
        is_known && value.trim().eq_ignore_ascii_case("true")
    })
}

/// Adds the expected value if a sentence of the message states it for the same member.
fn add_demand(violation: &mut Violation, demanded: &[Violation]) {
    let mut demanded = demanded.iter();
    let demand = demanded.find(|it| it.pointer == violation.pointer);
    if let Some(demand) = demand.filter(|_| violation.expected.is_none()) {
        violation.kind = demand.kind;
        violation.expected.clone_from(&demand.expected);
    }
}

/// The reason of a violation, with the name of its member behind it. In front it would look like the label of a
/// secret where the member is a password.
fn named_reason(violation: &Violation) -> String {
    let name = violation.pointer.trim_start_matches('/').replace('/', ".");
    let reason = &violation.reason;
    let is_named = reason.to_lowercase().contains(&name.to_lowercase());
    match is_named {
        true => reason.clone(),
        false => format!("{reason} ({name})"),
    }
}

/// Replaces an action that refers to the message of the service, because there is none.
fn unexplained(failure: Failure, response: &ErrorResponse<'_>) -> Failure {
    let usual = failure.kind().default_recovery().required_actions;
    let refers_to_message = usual.iter().any(|action| action.contains("the message"));
    let is_explained = failure.meaning().is_some() || !failure.violations().is_empty();
    let is_about_input = failure.remedies().contains(Remedy::ChangeInput);
    let reason = match response.compression() {
        Some(_) => "sent a compressed reason that could not be read",
        None => "did not say why",
    };
    match refers_to_message && is_about_input && !is_explained {
        true => failure.with_actions([format!(
            "Compare the input with the input schema of the operation: the service rejected it and {reason}"
        )]),
        false => failure,
    }
}

impl ErrorBody {
    fn truncate(&mut self, input: &Value) {
        let truncated = |text: String| bounded(&text, MESSAGE_CHARACTERS_LIMIT, input);
        self.message = self
            .message
            .take()
            .map(truncated)
            .filter(|it| it != ELLIPSIS);
        for violation in &mut self.violations {
            violation.reason = truncated(std::mem::take(&mut violation.reason));
        }
    }
}
