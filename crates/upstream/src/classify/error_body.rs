//! Parses error bodies in the shapes that services use.
//!
//! Reads known members at known locations; only a body that says nothing there is searched as a whole. Texts are kept
//! long here and truncated by `classify`.

mod expected;
mod lists;
mod member_path;
mod search;
pub(super) mod texts;

use panpan_failure::dialect::{MCP_META_KEY, RESIDUAL, detect};
use panpan_failure::{Effect, Failure, Violation, read};
use serde_json::Value;

use super::{page, xml_error};
use lists::{Findings, is_errors_by_field};
pub(super) use member_path::spelled_as_in;
use texts::{Weight, append, best, has_words, localised_text, text, weight};

/// The maximum length of a text that is kept, in bytes.
const TEXT_BYTES_LIMIT: usize = 64 * 1024;
/// The maximum number of lines of a plain-text message; a longer text is a page or a stack trace.
const LINES_LIMIT: usize = 20;
/// The maximum length of a code, in characters.
const CODE_CHARACTERS_LIMIT: usize = 100;
/// The maximum number of entries of an error list that are read.
const ERRORS_LIMIT: usize = 50;
/// The maximum number of reasons that are added to a message.
const REASONS_LIMIT: usize = 8;

/// Members for the code, most specific first.
const CODES: &str = "code error_code errorCode reason type status __type error";
/// Members for the message, most specific first.
const MESSAGES: &str = "\
    error_user_msg userPresentableMessage message error_description detail error_message errorMessage Message Detail \
    description msg errmsg error_msg errorSummary error_summary faultstring mensaje mensagem erreur meldung title \
    error";
/// Members that are the message if they have a sentence: elsewhere they are codes or data.
const SENTENCES: &str = "errors reason details data errorDescription";
/// Members with the whole error in them.
const WRAPPERS: &str = "error fault Fault response Response";
/// Members with lists of errors in them, and other data.
const HOLDERS: &str = "_embedded data details";

/// The facts that an error body states.
#[derive(Debug, Default)]
pub(crate) struct ErrorBody {
    /// The codes of the service, most specific first.
    pub(crate) codes: Vec<String>,
    /// The message of the service.
    pub(crate) message: Option<String>,
    /// Whether the message was found by a search, under names that say nothing about its meaning.
    pub(crate) is_searched: bool,
    /// What is wrong with the input.
    pub(crate) violations: Vec<Violation>,
    /// Whether the body has the shape of a language-model provider's.
    pub(crate) is_model_provider: bool,
    /// The member `retryable`.
    pub(crate) retryable: Option<bool>,
    /// The member `effect`, if it has one of our values.
    pub(crate) effect: Option<Effect>,
}

/// The complete failure, if a panpan wrote the document.
pub(crate) fn panpan_failure(document: &Value) -> Option<Failure> {
    if !has_residual(document) {
        return None;
    }
    let parsed = detect(document).ok()?.read(document.clone()).ok()?;
    parsed.outcome.err()
}

impl ErrorBody {
    /// Parses a JSON document; it says nothing if it is no object and no list of objects or sentences.
    pub(crate) fn of_json(document: &Value) -> Self {
        let items = document.as_array();
        let first = items.and_then(|it| it.first()).unwrap_or(document);
        let mut body = Self {
            is_model_provider: has_model_provider_shape(first),
            ..Self::default()
        };
        let mut messages = Vec::new();
        for location in locations(first) {
            body.read(location);
            messages.extend(stated_messages(location));
        }
        body.message = best(&messages);
        let mut findings = findings(first);
        if let Some(items) = items {
            findings.read_array(items);
        }
        body.add(findings);
        if body.violations.is_empty() && !body.has_sentence() {
            let found = search::sentences(document);
            body.is_searched = found.is_some();
            body.message = found.or(body.message);
        }
        body
    }

    /// Adds what the lists say: their sentences to the message, or in its place if it is only the name of a status.
    fn add(&mut self, findings: Findings) {
        let Findings {
            violations,
            reasons,
            words,
            ..
        } = findings;
        self.violations = violations;
        let says_nothing = |it: &String| weight(it) == Weight::Phrase;
        let stated = self.message.take();
        let is_replaced = stated.as_ref().is_none_or(says_nothing);
        let mut message = match is_replaced {
            true => String::new(),
            false => stated.clone().unwrap_or_default(),
        };
        for reason in reasons.iter().take(REASONS_LIMIT) {
            append(&mut message, reason);
        }
        if message.is_empty() && self.violations.is_empty() {
            message = words.join("; ");
        }
        self.message = Some(message).filter(|it| !it.is_empty()).or(stated);
    }

    /// Whether the message is more than a word or the name of a status.
    fn has_sentence(&self) -> bool {
        let message = self.message.as_deref().unwrap_or_default();
        weight(message) >= Weight::General
    }

    /// Takes plain text as the message, unless it is a stack trace or broken JSON. An XML error states its code and
    /// message in elements, a page in its headings and paragraphs.
    pub(crate) fn of_text(body: &str) -> Self {
        if let Some(error) = xml_error::of(body) {
            let codes = error.codes.into_iter().filter_map(|it| code(&it.into()));
            return Self {
                codes: codes.collect(),
                message: text(&error.message.into()),
                ..Self::default()
            };
        }
        if let Some(message) = page::message(body) {
            return Self {
                message: Some(message),
                ..Self::default()
            };
        }
        let is_page = body.trim_start().starts_with(['<', '{', '['])
            || body.trim_end().lines().nth(LINES_LIMIT).is_some();
        let is_text = !is_page && !body.contains(|it: char| it.is_control() && !it.is_whitespace());
        Self {
            message: text(&Value::from(body)).filter(|_| is_text),
            ..Self::default()
        }
    }

    /// Adds what one object states and an earlier one did not.
    fn read(&mut self, location: &Value) {
        for name in CODES.split(' ') {
            let code = location.get(name).and_then(code);
            if let Some(code) = code.filter(|code| !self.codes.contains(code)) {
                self.codes.push(code);
            }
        }
        if self.retryable.is_none() {
            let stated = location.get("retryable").or(location.get("retriable"));
            self.retryable = stated.and_then(Value::as_bool);
        }
        if self.effect.is_none() {
            let stated = location.get("effect").and_then(Value::as_str);
            self.effect = stated.and_then(Effect::from_word);
        }
    }
}

/// The body as a JSON document, if it is one.
pub(super) fn parse_json(body: &str) -> Option<Value> {
    read::document(body.as_bytes()).ok()
}

/// Whether a document has a residual where one of the dialects puts it.
fn has_residual(document: &Value) -> bool {
    let error = &document["error"];
    let information = document["details"].as_array().into_iter().flatten();
    document[RESIDUAL].is_object()
        || error[RESIDUAL].is_object()
        || error["data"][RESIDUAL].is_object()
        || document["_meta"][MCP_META_KEY].is_object()
        || information
            .take(ERRORS_LIMIT)
            .any(|entry| entry["metadata"][RESIDUAL].is_string())
}

/// The objects that are read, inner ones first because they are more specific.
fn locations(document: &Value) -> impl Iterator<Item = &Value> {
    let error = document.get("error").filter(|error| error.is_object());
    let inner = error.and_then(|error| error.get("innererror"));
    let reasons = error.and_then(|error| error["details"].as_array());
    let information = reasons.into_iter().flatten().take(ERRORS_LIMIT);
    let is_known =
        |entry: &&Value| entry["reason"].is_string() || entry["fieldViolations"].is_array();
    let information = information.filter(is_known);
    let errors = document.get("errors").and_then(|errors| errors.get(0));
    let extensions = errors.and_then(|error| error.get("extensions"));
    information
        .chain(inner)
        .chain(wrapped(document).flat_map(first_errors))
        .chain(wrapped(document))
        .chain(extensions)
        .chain([document])
        .chain(errors)
}

/// The first entries of the lists in an error.
fn first_errors(error: &Value) -> impl Iterator<Item = &Value> {
    let lists = ["errors", "error", "Error"].into_iter();
    lists.filter_map(|it| error.get(it)?.get(0))
}

/// The objects that are the whole error, inside of a document.
fn wrapped(document: &Value) -> impl Iterator<Item = &Value> {
    let members = WRAPPERS.split(' ').filter_map(|it| document.get(it));
    members.filter(|it| it.is_object())
}

/// What the lists of errors in a document say, and errors that name their member.
fn findings(document: &Value) -> Findings {
    let mut findings = Findings::default();
    let held = |it| {
        HOLDERS
            .split(' ')
            .filter_map(move |name| Value::get(it, name))
    };
    let errors: Vec<&Value> = wrapped(document).chain([document]).collect();
    for error in &errors {
        findings.read_single(error, stated_messages(error).first().map(String::as_str));
    }
    let inner = errors.iter().filter_map(|it| it.get("innererror"));
    let extensions = document.pointer("/errors/0/extensions");
    let holders = errors.iter().flat_map(|it| held(it));
    for location in inner
        .chain(errors.iter().copied())
        .chain(extensions)
        .chain(holders)
    {
        findings.read_members(location);
    }
    match document.as_object() {
        Some(members) if findings.is_empty() && is_errors_by_field(members) => {
            findings.read_map(members);
        }
        _ => {}
    }
    findings
}

/// The texts of an object that may be the message.
fn stated_messages(location: &Value) -> Vec<String> {
    let stated = |names: &'static str| names.split(' ').filter_map(|it| location.get(it));
    let texts = stated(MESSAGES).filter_map(localised_text);
    let sentences = stated(SENTENCES).filter_map(text);
    texts.chain(sentences.filter(|it| has_words(it))).collect()
}

/// A code: one word, without a namespace that ends in `#`, `/` or `.`. A sentence that ends in an address has none.
fn code(value: &Value) -> Option<String> {
    let text = value.as_str()?.trim().trim_end_matches('/');
    if text.contains(char::is_whitespace) {
        return None;
    }
    let text = text.rsplit(['#', '/', '.']).next()?;
    let is_code = !text.is_empty()
        && text.len() <= CODE_CHARACTERS_LIMIT
        && text.contains(|letter: char| letter.is_ascii_alphabetic())
        && text
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || "_-:".contains(letter));
    (is_code && text != "about:blank").then(|| text.to_owned())
}

/// The two shapes that language-model providers share: an object with `type: "error"`, or an error that always has
/// the same four members.
fn has_model_provider_shape(document: &Value) -> bool {
    let Some(error) = document.get("error").and_then(Value::as_object) else {
        return false;
    };
    let has = |name: &str| error.contains_key(name);
    (document["type"] == "error" && has("type") && has("message"))
        || ["message", "type", "param", "code"].into_iter().all(has)
}

#[cfg(test)]
mod shapes;
#[cfg(test)]
mod tests;
