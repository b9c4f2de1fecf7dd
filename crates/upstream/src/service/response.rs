//! Turns the response of a service into an output or a failure.
//!
//! In this order: the rules of the contract, for any status; a complete failure of another panpan; an error status,
//! with what its body says; a failure in the body of a success.

use jiff::Timestamp;
use panpan_contract::binding::{HttpBinding, ResponseRule, SuccessBodies};
use panpan_contract::operation::{OperationSpec, OperationType};
use panpan_failure::dialect::{disguised_failure, stated_problem};
use panpan_failure::hint::parse_retry_after;
use panpan_failure::{Effect, Failure, Inferred, Kind, Upstream, codes, hint, read};
use serde_json::{Map, Value};

use crate::classify::{
    CombinedStatements, Declarations, DeclaredFailure, RequestContext, panpan_failure, stated_kind,
    with_body,
};
use crate::client::{Incoming, REDIRECTED_FROM};
use crate::events::Event;
use crate::exchange;
use crate::known_code::with_known_code;
use crate::retry_members::{strip, without_retry_members};
use crate::transport::header_pairs;

use super::body::{Body, matches};
use super::import_code::{import_kind, of_status, with_import_code};
use super::page::failure_in_page;

/// Reads responses to a call, with the contract of its operation and its input.
#[derive(Clone, Copy, Debug)]
pub(super) struct ResponseReader<'a> {
    pub(super) binding: &'a HttpBinding,
    pub(super) spec: &'a OperationSpec,
    pub(super) declarations: &'a Declarations,
    pub(super) input: &'a Value,
}

impl ResponseReader<'_> {
    /// The output or the failure that a response means.
    pub(super) fn read(&self, incoming: &Incoming, now: Timestamp) -> Result<Value, Failure> {
        let body = Body::of(incoming);
        let mut rules = self.binding.rules.iter();
        if let Some(rule) = rules.find(|it| matches(&it.fits, incoming, &body)) {
            return Err(self.by_rule(rule, incoming, &body, now));
        }
        let complete = panpan_error(incoming, &body);
        if let Some(failure) = complete.filter(|it| has_known_code(it, self.spec)) {
            return Err(relayed(failure, self.spec));
        }
        let declared = self.declarations.of_status(incoming.status);
        match incoming.failure_for(self.request(declared, None), now) {
            Some(failure) if !has_known_code(&failure, self.spec) => {
                Err(undeclared(failure, incoming.status))
            }
            Some(failure) => Err(error_status(failure, &body, declared)),
            None if !(200..300).contains(&incoming.status) => Err(unusable_status(incoming)),
            None if incoming.compression().is_some() => Err(compressed(incoming)),
            None => match self.failure_in_success(incoming, &body, now) {
                Some(failure) => Err(failure),
                None => match failure_in_page(self.binding, incoming) {
                    Some(failure) => Err(failure.with_upstream(upstream(incoming))),
                    None => Ok(body.output(incoming)),
                },
            },
        }
    }

    fn request<'b>(
        &'b self,
        declared: Option<&'b DeclaredFailure>,
        kind_by_rule: Option<&'b Kind>,
    ) -> RequestContext<'b> {
        RequestContext {
            members: &self.declarations.members,
            declared,
            input: self.input,
            kind_by_rule,
            reads: self.reads(),
        }
    }

    fn reads(&self) -> bool {
        self.spec.op_type == OperationType::Query
    }

    /// The failure in the body of a success, if its shape is unmistakable and the contract does not declare it as
    /// output.
    fn failure_in_success(
        &self,
        incoming: &Incoming,
        body: &Body,
        now: Timestamp,
    ) -> Option<Failure> {
        let document = body
            .json()
            .filter(|_| self.binding.success_bodies == SuccessBodies::Read)?;
        let found = disguised_failure(document);
        let found = found.filter(|_| !self.declarations.is_output(document));
        let is_problem = |it: &str| it.eq_ignore_ascii_case("application/problem+json");
        let is_problem = incoming.media_type().is_some_and(is_problem);
        let problem = || is_problem.then(|| stated_problem(document)).flatten();
        let failure = found.or_else(problem)?;
        let code = failure.code().as_str().to_owned();
        let service_code = service_code(&failure);
        let is_declared = |code: &str| self.spec.definition(code).is_some();
        let provider = incoming.url.host_str().unwrap_or_default();
        let mut failure = with_known_code(failure, false, provider, is_declared);
        if let Some(kind) = service_code.as_deref().and_then(stated_kind)
            && !is_declared(&code)
            && kind.category() != failure.category()
        {
            let is_refusal = matches!(kind.http_status(), 401 | 403 | 412 | 423 | 429);
            failure = failure.restated(kind);
            // A call that the service refuses with a code made for that was not carried out.
            if is_refusal && failure.effect() == Effect::Unknown {
                failure = failure.with_effect(Effect::None);
            }
        }
        let members = &self.declarations.members;
        let statements = CombinedStatements {
            declared: self.declarations.of_code(&code).map(|it| &it.statements),
            ..CombinedStatements::of(failure.message(), members, now, self.reads())
        };
        let hint = hint::from_body(document, now).filter(|it| !it.is_estimate());
        let hint = hint.map(|it| it.delay_ms);
        let code = statements.code().or(hint.map(|_| codes::ERR_TRY_LATER));
        let is_generic = failure.code().as_str() == codes::TOOL_FAILED.code;
        if let Some(code) = code.filter(|_| is_generic) {
            failure = failure.restated(Kind::from(code));
        }
        if let Some(delay_ms) = hint.filter(|_| failure.stated_retry_after_ms().is_none()) {
            failure = failure.with_retry_after_ms(delay_ms);
        }
        let remedies = failure.remedies();
        let failure = statements.apply_to(failure, self.input, remedies);
        let happened = statements.received.something_happened;
        let failure = with_body(failure, document, self.request(None, None), happened);
        let failure = without_retry_members(failure);
        let failure = match service_code {
            Some(code) => {
                let upstream = upstream(incoming).code(code.as_str());
                failure.with_detail("code", code).with_upstream(upstream)
            }
            None => failure.with_upstream(upstream(incoming)),
        };
        Some(with_import_code(failure))
    }

    /// The failure that a rule of the contract makes of a response. The rule decides code and effect.
    fn by_rule(
        &self,
        rule: &ResponseRule,
        incoming: &Incoming,
        body: &Body,
        now: Timestamp,
    ) -> Failure {
        let declared = self.spec.definition(rule.code.as_str());
        let kind = declared.and_then(|it| it.kind().ok());
        let kind = kind.or_else(|| Kind::of(rule.code.as_str()));
        let kind = kind.unwrap_or_else(|| codes::ERR_HTTP_502_BAD_GATEWAY.into());
        let assumed = declared.and_then(|it| it.effect);
        let usual = Failure::new(kind.clone());
        let described = self.declarations.of_code(rule.code.as_str());
        let read = incoming.failure_for(self.request(described, Some(&kind)), now);
        // There was no effect if the service or the contract says so, unless the rule says otherwise.
        let is_declared = described.is_some_and(|it| it.statements.nothing_happened);
        let is_stated = |it: &&Failure| {
            it.effect() == Effect::None
                && (is_declared || it.inferred().contains(&Inferred::Effect))
        };
        let stated = read.as_ref().filter(is_stated).map(Failure::effect);
        let effect = rule.effect.or(assumed).or(stated);
        let effect = effect.unwrap_or(usual.effect());
        let mut failure = match read {
            Some(failure) => failure.restated(kind),
            None => usual.with_message(format!(
                "the service answered HTTP {} with a failure",
                incoming.status
            )),
        };
        let at = |pointer: &Option<String>| body.json()?.pointer(pointer.as_deref()?);
        if let Some(message) = at(&rule.message_pointer).and_then(Value::as_str) {
            failure = failure.with_message(message);
        }
        if let Some(Value::Object(members)) = body.json() {
            failure = failure.with_details(strip(members.clone()));
        }
        let stated = at(&rule.retry_after_pointer).map(|it| match it {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        let wait = stated.and_then(|text| parse_retry_after(&text, now));
        let in_headers = || hint::from_headers(header_pairs(&incoming.headers), now);
        let wait = wait.or_else(|| in_headers().map(|hint| hint.delay_ms));
        if let Some(delay_ms) = wait.filter(|_| failure.retryable()) {
            failure = failure.with_retry_after_ms(delay_ms);
        }
        let failure = failure.with_effect(effect);
        let meaning = described.and_then(|it| it.meaning.as_deref());
        let failure = match meaning {
            Some(meaning) => failure.with_meaning(meaning),
            None => failure,
        };
        match failure.upstream() {
            Some(_) => failure,
            None => failure.with_upstream(upstream(incoming)),
        }
    }
}

/// The code in the spelling of the service; `None` if our code was inferred.
fn service_code(failure: &Failure) -> Option<String> {
    let upstream = failure.upstream().and_then(|it| it.code.clone());
    let is_stated = !failure.inferred().contains(&Inferred::Code);
    upstream.or_else(|| is_stated.then(|| failure.code().as_str().to_owned()))
}

/// The complete failure in an error response of another panpan.
fn panpan_error(incoming: &Incoming, body: &Body) -> Option<Failure> {
    let is_error = incoming.status >= 400;
    body.json().filter(|_| is_error).and_then(panpan_failure)
}

/// Whether callers of this operation know the code.
fn has_known_code(failure: &Failure, spec: &OperationSpec) -> bool {
    let code = failure.code().as_str();
    Kind::of(code).is_some() || spec.definition(code).is_some()
}

/// A failure that looks like one of another panpan but has an undeclared code: only its status counts, and its effect
/// is not believed.
fn undeclared(failure: Failure, status: u16) -> Failure {
    let kind = of_status(status);
    let code = failure.code().as_str().to_owned();
    let effect = Failure::new(kind.clone()).effect();
    let failure = failure.restated(kind).with_effect(effect);
    failure.with_detail("code", code)
}

/// The unchanged failure of another panpan, as a failure of this operation. Its source gets the namespace that the
/// other panpan has here.
fn relayed(failure: Failure, spec: &OperationSpec) -> Failure {
    let source = failure
        .source()
        .map(|it| format!("{}/{it}", spec.name.namespace()));
    let failure = failure.with_operation(spec.name.as_str());
    match source {
        Some(source) => failure.with_source(source),
        None => failure,
    }
}

/// A failure without a response. If a redirect led to a blocked host, the service has to correct that, not the caller.
pub(super) fn no_response(failure: Failure) -> Failure {
    let failure = with_import_code(failure);
    let detail = |name: &str| failure.details()?.get(name)?.as_str();
    let (Some(host), Some(_)) = (detail("host"), detail(REDIRECTED_FROM)) else {
        return failure;
    };
    let message = format!("the service redirected to {host}, which is not allowed");
    failure.with_message(message).with_actions([
        "Ask the person responsible for the service where it should redirect to, or ask the operator to allow that host",
    ])
}

/// An item of a stream: JSON, or else text. The last event of another panpan may be a failure.
pub(super) fn item(event: &Event, spec: &OperationSpec) -> Result<Value, Failure> {
    let text = || Value::from(String::from_utf8_lossy(&event.data).into_owned());
    let item = read::document(&event.data).unwrap_or_else(|_| text());
    let is_error = event.name == "error";
    match panpan_failure(&item).filter(|_| is_error) {
        Some(failure) => Err(relayed(failure, spec)),
        None => Ok(item),
    }
}

/// The failure for a response that makes no sense.
fn bad_gateway(incoming: &Incoming, message: String) -> Failure {
    let failure = Failure::new(of_status(502)).with_message(message);
    failure.with_upstream(upstream(incoming))
}

/// The call succeeded, but its output cannot be read; a retry would not change that.
fn compressed(incoming: &Incoming) -> Failure {
    let encoding = incoming.compression().unwrap_or_default();
    let message = format!(
        "the response is compressed ({encoding}) although the request did not accept that, so it cannot be used"
    );
    Failure::new(codes::ERR_OUTPUT_INVALID)
        .with_message(message)
        .with_detail("content_encoding", encoding)
        .with_actions(["Ask the people who run the service to send this response uncompressed"])
        .with_effect(Effect::Applied)
        .with_upstream(upstream(incoming))
}

fn upstream(incoming: &Incoming) -> Upstream {
    let upstream = exchange::upstream(&incoming.url, incoming.status);
    match incoming.text() {
        Some(text) => upstream.excerpt(&text),
        None => upstream,
    }
}

/// The failure for a status below 400 that is not a success.
fn unusable_status(incoming: &Incoming) -> Failure {
    let status = incoming.status;
    if status == 304 {
        let message = "the service answered HTTP 304 (not modified) without content";
        return Failure::new(codes::ERR_REDIRECT_FAILED)
            .with_message(message)
            .with_actions([
                "Ask the person responsible for the service why it sends no content; an argument that asks \
                 only for changes would explain it",
            ])
            .with_upstream(upstream(incoming));
    }
    if (300..400).contains(&status) {
        let message = format!("the service redirected with HTTP {status} but named no address");
        let failure = Failure::new(codes::ERR_REDIRECT_FAILED).with_message(message);
        return failure.with_upstream(upstream(incoming));
    }
    let message =
        format!("the service answered HTTP {status}, which is neither a success nor a failure");
    bad_gateway(incoming, message)
}

/// The failure of an error status: its code is that of the status, its details are the body, with the service's code
/// as the member `code`.
fn error_status(failure: Failure, body: &Body, declared: Option<&DeclaredFailure>) -> Failure {
    let failure = match import_kind(&failure) {
        Some(kind) => failure.restated(kind),
        None if failure.code().as_str() == codes::ERR_TRY_LATER.code => failure,
        None => return failure,
    };
    let code = failure.upstream().and_then(|it| it.code.clone());
    let members = match body.json() {
        Some(Value::Object(members)) => members.clone(),
        Some(other) => Map::from_iter([("body".to_owned(), other.clone())]),
        None => return failure,
    };
    let members = strip(members);
    if members.is_empty() {
        return failure;
    }
    let scope = failure.details().and_then(|it| it.get("scope").cloned());
    let failure = failure.with_details(members);
    let failure = match scope {
        Some(scope) => failure.with_detail("scope", scope),
        None => failure,
    };
    let accepts_code = declared.is_none_or(|it| it.accepts_code_member);
    match code.filter(|code| accepts_code && !states_code(failure.details(), code)) {
        Some(code) => failure.with_detail("code", code),
        None => failure,
    }
}

/// Whether details have a member `code`, or this code in a member `error`.
fn states_code(details: Option<&Map<String, Value>>, code: &str) -> bool {
    details.is_some_and(|it| {
        let error_code = it.get("error").and_then(|error| error.get("code"));
        it.contains_key("code") || error_code.is_some_and(|it| it == code)
    })
}
