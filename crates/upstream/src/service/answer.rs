//! From an answer to an output or a failure.
//!
//! In this order: what the contract's rules say, whatever the status; what another panpan said, recovered
//! whole; what the status says, with what its body tells people and programs; what a successful answer is
//! that is exactly a failure.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use panpan_contract::binding::{
    BodyPattern, HeaderPattern, HttpBinding, ResponsePattern, ResponseRule, SuccessBodies,
};
use panpan_contract::operation::OperationSpec;
use panpan_failure::classify::statements;
use panpan_failure::dialect::{disguised_failure, stated_problem};
use panpan_failure::hint::parse_retry_after;
use panpan_failure::{Effect, Failure, Inferred, Kind, StatusPattern, Upstream, codes, hint, read};
use serde_json::{Map, Value};

use crate::answerable::answerable;
use crate::asked::{Asked, Declarations, Declared};
use crate::client::{Incoming, REDIRECTED_FROM};
use crate::events::Event;
use crate::heard::Heard;
use crate::lift;
use crate::repeating::{silent, unrepeated};

/// The operation that asked, and what it asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question<'a> {
    pub(super) binding: &'a HttpBinding,
    pub(super) spec: &'a OperationSpec,
    pub(super) declarations: &'a Declarations,
    pub(super) input: &'a Value,
}

impl<'a> Question<'a> {
    /// What an answer means for it.
    pub(super) fn read(&self, incoming: &Incoming, now: Timestamp) -> Result<Value, Failure> {
        let body = Body::of(incoming);
        let mut rules = self.binding.rules.iter();
        if let Some(rule) = rules.find(|it| fits(&it.fits, incoming, &body)) {
            return Err(self.ruled(rule, incoming, &body, now));
        }
        let told = told_by_a_panpan(incoming, &body);
        if let Some(failure) = told.filter(|it| is_answerable(it, self.spec)) {
            return Err(relayed(failure, self.spec));
        }
        let declared = self.declarations.of_status(incoming.status);
        match incoming.failure_for(self.asked(declared, None), now) {
            Some(failure) if !is_answerable(&failure, self.spec) => {
                Err(unknown(failure, incoming.status))
            }
            Some(failure) => Err(of_import(failure, incoming.status, &body, declared)),
            None if !(200..300).contains(&incoming.status) => Err(no_answer(incoming)),
            None if incoming.content_encoding().is_some() => Err(encoded(incoming)),
            None => match self.disguised(incoming, &body, now) {
                Some(failure) => Err(failure),
                None => Ok(body.output(incoming)),
            },
        }
    }

    fn asked<'b>(&'b self, declared: Option<&'b Declared>, ruled: Option<&'b Kind>) -> Asked<'b> {
        Asked {
            members: &self.declarations.members,
            declared,
            input: self.input,
            ruled,
        }
    }

    /// The failure a successful answer is, if it is exactly one and the contract does not say otherwise.
    fn disguised(&self, incoming: &Incoming, body: &Body, now: Timestamp) -> Option<Failure> {
        let document = body
            .json()
            .filter(|_| self.binding.success_bodies == SuccessBodies::Read)?;
        let found = disguised_failure(document);
        let found = found.filter(|_| !self.declarations.is_output(document));
        let failure = found.or_else(|| match incoming.media_type().as_deref() {
            Some("application/problem+json") => stated_problem(document),
            _ => None,
        })?;
        let code = failure.code().as_str().to_owned();
        let own = own_code(&failure);
        let is_declared = |code: &str| self.spec.definition(code).is_some();
        let provider = incoming.url.host_str().unwrap_or_default();
        let mut failure = answerable(failure, false, provider, is_declared);
        let heard = Heard {
            received: statements(failure.message(), &self.declarations.members),
            declared: self.declarations.of_code(&code).map(|it| &it.statements),
        };
        let hint = hint::from_body(document, now).map(|hint| hint.delay_ms);
        let code = heard.code().or(hint.map(|_| codes::ERR_TRY_LATER));
        let is_unnamed = failure.code().as_str() == codes::TOOL_FAILED.code;
        if let Some(code) = code.filter(|_| is_unnamed) {
            failure = failure.restated(Kind::from(code));
        }
        if let Some(delay_ms) = hint.filter(|_| failure.stated_retry_after_ms().is_none()) {
            failure = failure.with_retry_after_ms(delay_ms);
        }
        let remedies = failure.remedies();
        let failure = unrepeated(heard.told(failure, self.input, remedies));
        let failure = match own {
            Some(own) => {
                let upstream = upstream(incoming).code(own.as_str());
                failure.with_detail("code", own).with_upstream(upstream)
            }
            None => failure.with_upstream(upstream(incoming)),
        };
        Some(imported(failure))
    }

    /// The failure a rule of the contract makes of an answer. The rule has the last word on code and
    /// effect.
    fn ruled(
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
        let read = incoming.failure_for(self.asked(described, Some(&kind)), now);
        // Nothing happened where the service or the contract says so, unless the rule knows better.
        let is_declared = described.is_some_and(|it| it.statements.nothing_happened);
        let is_said = |it: &&Failure| {
            it.effect() == Effect::None
                && (is_declared || it.inferred().contains(&Inferred::Effect))
        };
        let said = read.as_ref().filter(is_said).map(Failure::effect);
        let effect = rule.effect.or(assumed).or(said).unwrap_or(usual.effect());
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
            failure = failure.with_details(silent(members.clone()));
        }
        let headers = incoming.headers.iter();
        let headers =
            headers.filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
        let stated = at(&rule.retry_after_pointer).map(|it| match it {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        let wait = stated.and_then(|text| parse_retry_after(&text, now));
        let wait = wait.or_else(|| hint::from_headers(headers, now).map(|hint| hint.delay_ms));
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

/// The code a service gave its failure, as it wrote it; none where the code was found by other means.
fn own_code(failure: &Failure) -> Option<String> {
    let said = failure.upstream().and_then(|it| it.code.clone());
    let is_given = !failure.inferred().contains(&Inferred::Code);
    said.or_else(|| is_given.then(|| failure.code().as_str().to_owned()))
}

fn told_by_a_panpan(incoming: &Incoming, body: &Body) -> Option<Failure> {
    let fails = incoming.status >= 400;
    body.json().filter(|_| fails).and_then(lift::panpan_failure)
}

/// Whether a code is one this operation may answer.
fn is_answerable(failure: &Failure, spec: &OperationSpec) -> bool {
    let code = failure.code().as_str();
    Kind::of(code).is_some() || spec.definition(code).is_some()
}

/// What looks like the failure of another panpan and has a code nobody declared: of such a code only the
/// status is known, and nothing it says about effects is believed.
fn unknown(failure: Failure, status: u16) -> Failure {
    let kind = Kind::of(&format!("HTTP_{status}"));
    let kind = kind.unwrap_or_else(|| codes::ERR_HTTP_502_BAD_GATEWAY.into());
    let code = failure.code().as_str().to_owned();
    let effect = Failure::new(kind.clone()).effect();
    let failure = failure.restated(kind).with_effect(effect);
    failure.with_detail("code", code)
}

/// What another panpan said, as it said it. Who spoke is told by the names things behind it have here;
/// what was tried is this operation.
fn relayed(failure: Failure, spec: &OperationSpec) -> Failure {
    let speaker = failure
        .source()
        .map(|it| format!("{}/{it}", spec.name.namespace()));
    let failure = failure.with_operation(spec.name.as_str());
    match speaker {
        Some(speaker) => failure.with_source(speaker),
        None => failure,
    }
}

/// A failure that came in no answer of its status, as one of an imported operation.
pub(super) fn imported(failure: Failure) -> Failure {
    match import_kind(&failure, failure.kind().http_status()) {
        Some(kind) => failure.restated(kind),
        None => failure,
    }
}

/// A failure to get an answer. Where a redirect is to blame, that is the service's and not the caller's to correct.
pub(super) fn unanswered(failure: Failure) -> Failure {
    let failure = imported(failure);
    let detail = |name: &str| failure.details()?.get(name)?.as_str();
    let (Some(host), Some(_)) = (detail("host"), detail(REDIRECTED_FROM)) else {
        return failure;
    };
    let message = format!("the service redirected to {host}, which is not allowed");
    failure.with_message(message).with_actions([
        "Ask the person responsible for the service where it should redirect to, or for leave to ask that host",
    ])
}

/// An item of a stream: JSON, or else text. What another panpan ends its stream with is a failure.
pub(super) fn item(event: &Event, spec: &OperationSpec) -> Result<Value, Failure> {
    let text = || Value::from(String::from_utf8_lossy(&event.data).into_owned());
    let item = read::document(&event.data).unwrap_or_else(|_| text());
    let ends = event.name == "error";
    match lift::panpan_failure(&item).filter(|_| ends) {
        Some(failure) => Err(relayed(failure, spec)),
        None => Ok(item),
    }
}

/// The body of an answer, read if it is JSON.
enum Body {
    Nothing,
    Json(Value),
    Text(String),
    Bytes,
}

impl Body {
    fn of(incoming: &Incoming) -> Self {
        if incoming.body.is_empty() {
            return Self::Nothing;
        }
        let kind = incoming.media_type().unwrap_or_default();
        let says_json = kind == "application/json" || kind.ends_with("+json");
        let Some(text) = incoming.decoded() else {
            return Self::Bytes;
        };
        match read::document(text.as_bytes()) {
            Ok(value) if says_json || kind.is_empty() || is_structure(&value) => Self::Json(value),
            // Whatever it says it is, the caller is to have what came.
            _ => Self::Text(text.into_owned()),
        }
    }

    fn json(&self) -> Option<&Value> {
        match self {
            Self::Json(value) => Some(value),
            _ => None,
        }
    }

    fn output(self, incoming: &Incoming) -> Value {
        match self {
            Self::Nothing => Value::Null,
            Self::Json(value) => value,
            Self::Text(text) => Value::String(text),
            Self::Bytes => Value::String(BASE64_STANDARD.encode(&incoming.body)),
        }
    }
}

/// Text that happens to be JSON is text, unless it is plainly more: services label JSON as text.
fn is_structure(value: &Value) -> bool {
    value.is_object() || value.is_array()
}

/// What an answer is that means nothing.
fn garbled(incoming: &Incoming, message: String) -> Failure {
    let kind = Kind::of("HTTP_502").unwrap_or(codes::ERR_HTTP_502_BAD_GATEWAY.into());
    let failure = Failure::new(kind).with_message(message);
    failure.with_upstream(upstream(incoming))
}

/// It was done, and what it gave cannot be read; asking again gives the same.
fn encoded(incoming: &Incoming) -> Failure {
    let how = incoming.content_encoding().unwrap_or_default();
    let message = format!(
        "the service packed its answer ({how}) although it was asked not to, so it cannot be read"
    );
    Failure::new(codes::ERR_OUTPUT_INVALID)
        .with_message(message)
        .with_detail("content_encoding", how)
        .with_actions(["Ask the people who run the service to send this answer unpacked"])
        .with_effect(Effect::Applied)
        .with_upstream(upstream(incoming))
}

fn upstream(incoming: &Incoming) -> Upstream {
    let upstream = Upstream::status(incoming.status);
    let upstream = match incoming.url.host_str() {
        Some(host) => upstream.provider(host),
        None => upstream,
    };
    match incoming.content_encoding() {
        Some(_) => upstream,
        None => upstream.excerpt(&incoming.text()),
    }
}

/// A redirect that leads nowhere, or a status that is not one.
fn no_answer(incoming: &Incoming) -> Failure {
    let status = incoming.status;
    if status == 304 {
        let message = "the service says that nothing has changed (HTTP 304) and sent no content";
        return Failure::new(codes::ERR_REDIRECT_FAILED)
            .with_message(message)
            .with_actions([
                "Ask the person responsible for the service why it sends no content; an argument that asks \
                 only for what has changed would explain it",
            ])
            .with_upstream(upstream(incoming));
    }
    if (300..400).contains(&status) {
        let message = format!("the service redirected with HTTP {status} and named no address");
        let failure = Failure::new(codes::ERR_REDIRECT_FAILED).with_message(message);
        return failure.with_upstream(upstream(incoming));
    }
    let message =
        format!("the service answered HTTP {status}, which is neither a success nor a failure");
    garbled(incoming, message)
}

/// A failure of an imported operation: its code is that of the status, and its details are the body, with
/// the service's own code where it can be found at once.
fn of_import(failure: Failure, status: u16, body: &Body, declared: Option<&Declared>) -> Failure {
    let failure = match import_kind(&failure, status) {
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
    let members = silent(members);
    if members.is_empty() {
        return failure;
    }
    let failure = failure.with_details(members);
    let takes_more = declared.is_none_or(|it| it.takes_more);
    match code.filter(|code| takes_more && !says_code(failure.details(), code)) {
        Some(code) => failure.with_detail("code", code),
        None => failure,
    }
}

/// Whether details have a code already, of whatever kind, or say this one as that of their error.
fn says_code(details: Option<&Map<String, Value>>, code: &str) -> bool {
    details.is_some_and(|it| {
        let of_error = it.get("error").and_then(|error| error.get("code"));
        it.contains_key("code") || of_error.is_some_and(|it| it == code)
    })
}

/// `HTTP_<status>` for what only the status is known of; a code that says more is kept.
fn import_kind(failure: &Failure, status: u16) -> Option<Kind> {
    if !failure.code().as_str().starts_with("ERR_HTTP_") {
        return None;
    }
    let stated = failure.kind().http_status();
    let status = match status {
        // A rate limit that arrives as another status is a rate limit.
        _ if stated == 429 => 429,
        400..600 => status,
        // Beyond that there is no HTTP: whoever answered garbled what stands behind.
        _ => 502,
    };
    Kind::of(&format!("HTTP_{status}"))
}

fn fits(pattern: &ResponsePattern, incoming: &Incoming, body: &Body) -> bool {
    let ResponsePattern {
        status,
        header,
        body: member,
    } = pattern;
    // What stands for every other failure stands for no success.
    let covers = |it: StatusPattern| {
        it.covers(incoming.status) && (it != StatusPattern::Default || incoming.status >= 400)
    };
    status.is_none_or(covers)
        && header.as_ref().is_none_or(|it| has_header(it, incoming))
        && member.as_ref().is_none_or(|it| has_member(it, body))
}

fn has_header(pattern: &HeaderPattern, incoming: &Incoming) -> bool {
    let values = incoming.headers.get_all(&pattern.name).iter();
    let mut values = values.filter_map(|value| value.to_str().ok());
    values.any(|value| {
        let equals = pattern.equals.as_ref().is_none_or(|it| it == value);
        let contains = pattern.contains.as_ref();
        equals && contains.is_none_or(|it| value.contains(it))
    })
}

fn has_member(pattern: &BodyPattern, body: &Body) -> bool {
    let Some(value) = body.json().and_then(|it| it.pointer(&pattern.pointer)) else {
        return false;
    };
    let equals = pattern.equals.as_ref().is_none_or(|it| it == value);
    let contains = pattern.contains.as_ref().is_none_or(|part| {
        let text = value.as_str().unwrap_or_default().to_lowercase();
        text.contains(&part.to_lowercase())
    });
    equals && contains
}
