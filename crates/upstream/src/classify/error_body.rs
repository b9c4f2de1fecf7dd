//! Parses error bodies in the shapes that services use.
//!
//! Reads known members at known locations; it does not search the whole body. Texts are kept long here and
//! truncated by `classify`.

use panpan_failure::classify::expectation;
use panpan_failure::dialect::{MCP_META_KEY, RESIDUAL, detect};
use panpan_failure::pointer::joined;
use panpan_failure::{Effect, Failure, Violation, ViolationKind, read};
use serde_json::Value;

use super::xml_error;

/// The maximum length of a text that is kept, in bytes.
const TEXT_BYTES_LIMIT: usize = 64 * 1024;
/// The maximum number of lines of a plain-text message; a longer text is a page or a stack trace.
const LINES_LIMIT: usize = 20;
/// The maximum length of a code, in characters.
const CODE_CHARACTERS_LIMIT: usize = 100;
/// The maximum number of entries of an error list that are read.
const ERRORS_LIMIT: usize = 50;

/// Members for the code, most specific first.
const CODES: &str = "code error_code errorCode reason type status __type error";
/// Members for the message, most specific first.
const MESSAGES: &str = "\
    message error_description detail error_message errorMessage Message description msg title error";
/// Members for messages that count only if no other is present: lists of texts, and words that are elsewhere codes.
const LAST_MESSAGES: &str = "\
    errorMessages error_messages messages errors reason";
/// Members for lists of input errors.
const LISTS: &str = "\
    errors detail details violations invalid_params field_errors fieldErrors fieldViolations \
    field_violations validation_errors validationErrors";
/// Members for the reason of an input error, most specific first.
const REASONS: &str = "message detail msg reason description title code type";
/// Members for the rejected value.
const ACTUAL: &str = "actual input rejected_value rejectedValue value";
/// Lists that count only as arrays: as objects they have members of any kind, not errors by field.
const ONLY_ARRAYS: &[&str] = &["detail", "details"];

/// The facts that an error body states.
#[derive(Debug, Default)]
pub(crate) struct ErrorBody {
    /// The codes of the service, most specific first.
    pub(crate) codes: Vec<String>,
    /// The message of the service.
    pub(crate) message: Option<String>,
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
    /// Parses a JSON document; it says nothing if it is not an object.
    pub(crate) fn of_json(document: &Value) -> Self {
        let first = match document {
            Value::Array(items) => items.first().unwrap_or(document),
            _ => document,
        };
        let mut body = Self {
            is_model_provider: has_model_provider_shape(first),
            ..Self::default()
        };
        for location in locations(first) {
            body.read(location);
        }
        if body.message.is_none() {
            body.message = locations(first).find_map(last_message);
        }
        if body.message.is_none() && body.violations.is_empty() && is_errors_by_field(first) {
            body.violations = violations(first);
        }
        body.violations.truncate(ERRORS_LIMIT);
        body
    }

    /// Takes plain text as the message, unless it is a page, a stack trace or broken JSON. An XML error states its
    /// code and message in elements.
    pub(crate) fn of_text(body: &str) -> Self {
        if let Some(error) = xml_error::of(body) {
            return Self {
                codes: error
                    .code
                    .and_then(|it| code(&it.into()))
                    .into_iter()
                    .collect(),
                message: text(&error.message.into()),
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
        if self.message.is_none() {
            self.message = first_text(location, MESSAGES);
        }
        if self.retryable.is_none() {
            let stated = location.get("retryable").or(location.get("retriable"));
            self.retryable = stated.and_then(Value::as_bool);
        }
        if self.effect.is_none() {
            let stated = location.get("effect").and_then(Value::as_str);
            self.effect = stated.and_then(Effect::from_word);
        }
        if self.violations.is_empty() {
            let lists = LISTS.split(' ').filter_map(|name| {
                let list = location.get(name)?;
                (list.is_array() || !ONLY_ARRAYS.contains(&name)).then_some(list)
            });
            self.violations = lists.flat_map(violations).collect();
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
    let first = error.and_then(|error| error["errors"].get(0));
    let errors = document.get("errors").and_then(|errors| errors.get(0));
    let extensions = errors.and_then(|error| error.get("extensions"));
    information
        .chain(inner)
        .chain(first)
        .chain(error)
        .chain(extensions)
        .chain([document])
        .chain(errors)
}

/// A code: one word, without a namespace that ends in `#`, `/` or `.`.
fn code(value: &Value) -> Option<String> {
    let text = value.as_str()?.trim_end_matches('/');
    let text = text.rsplit(['#', '/', '.']).next()?;
    let is_code = !text.is_empty()
        && text.len() <= CODE_CHARACTERS_LIMIT
        && text.contains(|letter: char| letter.is_ascii_alphabetic())
        && text
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || "_-:".contains(letter));
    (is_code && text != "about:blank").then(|| text.to_owned())
}

/// The text of the first of these members that has one.
fn first_text(location: &Value, names: &str) -> Option<String> {
    let mut names = names.split(' ');
    names.find_map(|name| location.get(name).and_then(text))
}

/// The text of one of the last members: a sentence, or a list of texts.
fn last_message(location: &Value) -> Option<String> {
    LAST_MESSAGES.split(' ').find_map(|name| {
        let texts = match location.get(name)? {
            Value::Array(items) => items.iter().take(ERRORS_LIMIT).filter_map(text).collect(),
            sentence => Vec::from_iter(text(sentence).filter(|it| it.contains(' '))),
        };
        (!texts.is_empty()).then(|| texts.join("; "))
    })
}

/// Whether a whole document is a map of errors: every member is a list of texts.
fn is_errors_by_field(document: &Value) -> bool {
    let is_list = |value: &Value| {
        let texts = value.as_array();
        texts.is_some_and(|it| !it.is_empty() && it.iter().all(Value::is_string))
    };
    let members = document.as_object();
    members.is_some_and(|it| !it.is_empty() && it.values().all(is_list))
}

fn text(value: &Value) -> Option<String> {
    let text = value.as_str()?.trim();
    let end = text.floor_char_boundary(TEXT_BYTES_LIMIT);
    (!text.is_empty()).then(|| text[..end].to_owned())
}

/// The violations in an error list: an array of objects, or an object with texts by field.
fn violations(list: &Value) -> Vec<Violation> {
    match list {
        Value::Array(entries) => {
            let entries = entries.iter().take(ERRORS_LIMIT);
            entries.filter_map(violation).collect()
        }
        Value::Object(fields) => fields
            .iter()
            .take(ERRORS_LIMIT)
            .filter_map(|(field, reason)| {
                let reason = text(reason.get(0).unwrap_or(reason))?;
                Some(with_expectation(Violation::value(
                    pointer([field.as_str()]),
                    reason,
                )))
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn violation(entry: &Value) -> Option<Violation> {
    let reason = first_text(entry, REASONS);
    let mut violation = Violation::value(entry_pointer(entry)?, reason?);
    let kind = entry.get("type").or(entry.get("code"));
    let is_missing = |it: &str| ["missing", "required", "value_error.missing"].contains(&it);
    if kind.and_then(Value::as_str).is_some_and(is_missing) {
        violation.kind = ViolationKind::Missing;
    }
    violation.expected = expected(entry);
    let actual = ACTUAL.split(' ').find_map(|name| entry.get(name));
    violation.actual = actual
        .filter(|it| !it.is_object() && !it.is_array())
        .cloned();
    Some(with_expectation(violation))
}

/// Members for bounds, and the words that describe them.
const BOUNDS: [(&str, &str); 12] = [
    ("maximum", "at most"),
    ("max", "at most"),
    ("le", "at most"),
    ("lt", "less than"),
    ("exclusive_maximum", "less than"),
    ("max_length", "at most {} characters"),
    ("minimum", "at least"),
    ("min", "at least"),
    ("ge", "at least"),
    ("gt", "greater than"),
    ("exclusive_minimum", "greater than"),
    ("min_length", "at least {} characters"),
];
/// Members for lists of allowed values.
const CHOICES: &str = "\
    allowed allowed_values allowedValues choices enum options permitted valid_values";

/// The expected value by an entry of an error list, or by its context object.
fn expected(entry: &Value) -> Option<String> {
    let inner = ["ctx", "context", "params"].map(|name| entry.get(name));
    let mut locations = [Some(entry)].into_iter().chain(inner).flatten();
    locations.find_map(expected_at)
}

fn expected_at(location: &Value) -> Option<String> {
    if let Some(expected) = location.get("expected").and_then(text) {
        return Some(expected);
    }
    let mut choices = CHOICES
        .split(' ')
        .filter_map(|name| location.get(name)?.as_array());
    if let Some(choices) = choices.find(|it| !it.is_empty() && it.len() <= ERRORS_LIMIT) {
        let choices = choices.iter().map(|it| match it {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        return Some(format!("one of {}", choices.collect::<Vec<_>>().join(", ")));
    }
    let bounds = BOUNDS.iter().filter_map(|(name, words)| {
        let number = location.get(*name).filter(|it| it.is_number())?;
        Some(match words.contains("{}") {
            true => words.replace("{}", &number.to_string()),
            false => format!("{words} {number}"),
        })
    });
    let bounds: Vec<String> = bounds.take(2).collect();
    (!bounds.is_empty()).then(|| bounds.join(", "))
}

/// Adds the expected value if the reason states it with certainty.
fn with_expectation(mut violation: Violation) -> Violation {
    let stated = match violation.expected {
        None => expectation(&violation.reason),
        Some(_) => None,
    };
    if let Some(stated) = stated {
        violation.kind = stated.kind();
        violation.expected = Some(stated.to_string());
    }
    violation
}

/// The pointer to the member that an entry is about.
fn entry_pointer(entry: &Value) -> Option<String> {
    let source = entry.get("source").unwrap_or(entry);
    if let Some(pointer) = source.get("pointer").and_then(Value::as_str) {
        return Some(pointer.trim_start_matches('#').to_owned());
    }
    if let Some(steps) = entry.get("loc").and_then(Value::as_array) {
        let steps = steps.iter().map(|step| match step {
            Value::String(step) => step.clone(),
            other => other.to_string(),
        });
        return Some(pointer(steps));
    }
    let field = ["field", "parameter", "param", "name", "path", "property"]
        .iter()
        .find_map(|name| source.get(name)?.as_str())?;
    Some(pointer(field.split('.')))
}

fn pointer(steps: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let steps = steps.into_iter();
    steps.fold(String::new(), |at, step| joined(&at, step.as_ref()))
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
mod tests;
