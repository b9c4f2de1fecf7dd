//! What the body of a failing answer says, in the shapes services use.
//!
//! Known members in known places, and no search through the whole body. What is lifted is longer than what is
//! shown of it: `classify` cuts that.

use panpan_failure::classify::expectation;
use panpan_failure::dialect::{MCP_META_KEY, RESIDUAL, detect};
use panpan_failure::{Effect, Failure, Violation, ViolationKind, read};
use serde_json::Value;

/// How much of a sentence is lifted, in bytes.
const SENTENCE_BYTES_LIMIT: usize = 64 * 1024;
/// The most lines a text has that is not a page, nor a trace of what the service was doing.
const LINES_LIMIT: usize = 20;
/// The longest word that is taken for a code, in characters.
const WORD_CHARACTERS_LIMIT: usize = 100;
/// How many entries of a list of errors are looked at.
const ERRORS_LIMIT: usize = 50;

/// Where services write their code, most telling first.
const WORDS: &[&str] = &[
    "code",
    "error_code",
    "errorCode",
    "reason",
    "type",
    "status",
    "__type",
    "error",
];
/// Where services write what happened, most telling first.
const MESSAGES: &[&str] = &[
    "message",
    "error_description",
    "detail",
    "error_message",
    "errorMessage",
    "Message",
    "description",
    "msg",
    "title",
    "error",
];
/// Where services list what is wrong with an input.
const LISTS: &[&str] = &[
    "errors",
    "detail",
    "details",
    "violations",
    "invalid_params",
    "field_errors",
    "fieldErrors",
    "validation_errors",
    "validationErrors",
];
/// Those of them whose objects are of anything: texts in them are no complaints about members of an input.
const OF_ANYTHING: &[&str] = &["detail", "details"];

/// What a body says.
#[derive(Debug, Default)]
pub(crate) struct Lifted {
    /// The service's words for the failure, most specific first.
    pub(crate) words: Vec<String>,
    /// The sentence it sent along.
    pub(crate) message: Option<String>,
    /// Where the input does not fit.
    pub(crate) violations: Vec<Violation>,
    /// Whether the shape is that of a language-model provider.
    pub(crate) is_model_provider: bool,
    /// Whether it says, in our words, that the call can be repeated.
    pub(crate) retryable: Option<bool>,
    /// What it says, in our words, about side effects.
    pub(crate) effect: Option<Effect>,
}

/// The failure of a panpan, which carries everything it was made of.
pub(crate) fn panpan_failure(document: &Value) -> Option<Failure> {
    if !holds_residual(document) {
        return None;
    }
    let reply = detect(document).ok()?.read(document.clone()).ok()?;
    reply.outcome.err()
}

/// What a body of another service says; nothing where it is no object.
pub(crate) fn lift(document: &Value) -> Lifted {
    let first = match document {
        Value::Array(items) => items.first().unwrap_or(document),
        _ => document,
    };
    let mut lifted = Lifted {
        is_model_provider: is_of_model_provider(first),
        ..Lifted::default()
    };
    for place in places(first) {
        lifted.read(place);
    }
    lifted.violations.truncate(ERRORS_LIMIT);
    lifted
}

/// What a body of text says: a sentence or two, and no page.
pub(crate) fn lift_text(body: &str) -> Lifted {
    let is_page = body.trim_start().starts_with(['<', '{', '['])
        || body.trim_end().lines().nth(LINES_LIMIT).is_some();
    let is_text = !is_page && !body.contains(|it: char| it.is_control() && !it.is_whitespace());
    Lifted {
        message: sentence(&Value::from(body)).filter(|_| is_text),
        ..Lifted::default()
    }
}

/// The document a body is, if it is JSON.
pub(crate) fn parsed(body: &str) -> Option<Value> {
    read::document(body.as_bytes()).ok()
}

/// Where the residual of each dialect stands.
fn holds_residual(document: &Value) -> bool {
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

/// The places that are read, inner ones first: they are more specific.
fn places(document: &Value) -> impl Iterator<Item = &Value> {
    let error = document.get("error").filter(|error| error.is_object());
    let inner = error.and_then(|error| error.get("innererror"));
    let reasons = error.and_then(|error| error["details"].as_array());
    let information = reasons.into_iter().flatten().take(ERRORS_LIMIT);
    let information = information.filter(|entry| entry["reason"].is_string());
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

impl Lifted {
    fn read(&mut self, place: &Value) {
        for name in WORDS {
            let word = place.get(name).and_then(word);
            if let Some(word) = word.filter(|word| !self.words.contains(word)) {
                self.words.push(word);
            }
        }
        let says = |name: &&str| place.get(*name).and_then(sentence);
        if self.message.is_none() {
            self.message = MESSAGES.iter().find_map(says);
        }
        if self.retryable.is_none() {
            let stated = place.get("retryable").or(place.get("retriable"));
            self.retryable = stated.and_then(Value::as_bool);
        }
        if self.effect.is_none() {
            let stated = place.get("effect").and_then(Value::as_str);
            self.effect = stated.and_then(Effect::from_word);
        }
        if self.violations.is_empty() {
            let lists = LISTS.iter().filter_map(|name| {
                let list = place.get(*name)?;
                (list.is_array() || !OF_ANYTHING.contains(name)).then_some(list)
            });
            self.violations = lists.flat_map(violations).collect();
        }
    }
}

/// A word without blanks; the part after the last `#`, `/` or `.`, where a namespace stands before it.
fn word(value: &Value) -> Option<String> {
    let text = value.as_str()?.trim_end_matches('/');
    let text = text.rsplit(['#', '/', '.']).next()?;
    let is_word = !text.is_empty()
        && text.len() <= WORD_CHARACTERS_LIMIT
        && text.contains(|letter: char| letter.is_ascii_alphabetic())
        && text
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || "_-:".contains(letter));
    (is_word && text != "about:blank").then(|| text.to_owned())
}

fn sentence(value: &Value) -> Option<String> {
    let text = value.as_str()?.trim();
    let end = text.floor_char_boundary(SENTENCE_BYTES_LIMIT);
    (!text.is_empty()).then(|| text[..end].to_owned())
}

/// The places of an input a list of errors names: a list of objects, or texts by field.
fn violations(list: &Value) -> Vec<Violation> {
    match list {
        Value::Array(entries) => {
            let entries = entries.iter().take(ERRORS_LIMIT);
            entries.filter_map(violation).collect()
        }
        Value::Object(fields) => fields
            .iter()
            .take(ERRORS_LIMIT)
            .filter_map(|(field, said)| {
                let said = sentence(said.get(0).unwrap_or(said))?;
                Some(explained(Violation::value(pointer([field.as_str()]), said)))
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn violation(entry: &Value) -> Option<Violation> {
    let reason = [
        "message",
        "detail",
        "msg",
        "reason",
        "description",
        "title",
        "code",
        "type",
    ];
    let reason = reason
        .iter()
        .find_map(|name| entry.get(name).and_then(sentence));
    let mut violation = Violation::value(named(entry)?, reason?);
    let kind = entry.get("type").or(entry.get("code"));
    let is_missing = |it: &str| ["missing", "required", "value_error.missing"].contains(&it);
    if kind.and_then(Value::as_str).is_some_and(is_missing) {
        violation.kind = ViolationKind::Missing;
    }
    violation.expected = expected(entry);
    let actual = [
        "actual",
        "input",
        "rejected_value",
        "rejectedValue",
        "value",
    ];
    let actual = actual.iter().find_map(|name| entry.get(name));
    violation.actual = actual
        .filter(|it| !it.is_object() && !it.is_array())
        .cloned();
    Some(explained(violation))
}

/// Where an entry says what is expected, and in which words that is told.
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
const CHOICES: [&str; 8] = [
    "allowed",
    "allowed_values",
    "allowedValues",
    "choices",
    "enum",
    "options",
    "permitted",
    "valid_values",
];

/// What an entry, or the context it has, says would have been right.
fn expected(entry: &Value) -> Option<String> {
    let inner = ["ctx", "context", "params"].map(|name| entry.get(name));
    let places = [Some(entry)].into_iter().chain(inner).flatten();
    places.into_iter().find_map(expected_at)
}

fn expected_at(place: &Value) -> Option<String> {
    if let Some(expected) = place.get("expected").and_then(sentence) {
        return Some(expected);
    }
    let mut choices = CHOICES
        .iter()
        .filter_map(|name| place.get(*name)?.as_array());
    if let Some(choices) = choices.find(|it| !it.is_empty() && it.len() <= ERRORS_LIMIT) {
        let choices = choices.iter().map(|it| match it {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        return Some(format!("one of {}", choices.collect::<Vec<_>>().join(", ")));
    }
    let bounds = BOUNDS.iter().filter_map(|(name, words)| {
        let number = place.get(*name).filter(|it| it.is_number())?;
        Some(match words.contains("{}") {
            true => words.replace("{}", &number.to_string()),
            false => format!("{words} {number}"),
        })
    });
    let bounds: Vec<String> = bounds.take(2).collect();
    (!bounds.is_empty()).then(|| bounds.join(", "))
}

/// A violation with what its reason says would have been right, if that is certain.
fn explained(mut violation: Violation) -> Violation {
    let read = match violation.expected {
        None => expectation(&violation.reason),
        Some(_) => None,
    };
    if let Some(read) = read {
        violation.kind = read.kind();
        violation.expected = Some(read.to_string());
    }
    violation
}

/// The pointer of what an entry is about.
fn named(entry: &Value) -> Option<String> {
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
    let escaped = |step: &str| step.replace('~', "~0").replace('/', "~1");
    let steps = steps.into_iter();
    steps
        .map(|step| format!("/{}", escaped(step.as_ref())))
        .collect()
}

/// The two shapes providers of language models have in common: one with `type: "error"` around it, one
/// whose error always has these four members.
fn is_of_model_provider(document: &Value) -> bool {
    let Some(error) = document.get("error").and_then(Value::as_object) else {
        return false;
    };
    let has = |name: &str| error.contains_key(name);
    (document["type"] == "error" && has("type") && has("message"))
        || ["message", "type", "param", "code"].into_iter().all(has)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_and_sentences_are_found_in_the_shapes_services_use() {
        for (body, words, message) in [
            (
                json!({"type": "https://example.com/probs/out-of-credit", "title": "No credit", "detail": "Your balance is 30", "status": 403}),
                &["out-of-credit"][..],
                Some("Your balance is 30"),
            ),
            (
                json!({"type": "about:blank", "title": "Gone"}),
                &[],
                Some("Gone"),
            ),
            (
                json!({"error": {"code": "card_declined", "message": "No", "type": "card_error"}}),
                &["card_declined", "card_error"],
                Some("No"),
            ),
            (
                json!({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Slow", "details": [
                    {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "RATE_LIMIT_EXCEEDED", "domain": "googleapis.com"}]}}),
                &["RATE_LIMIT_EXCEEDED", "RESOURCE_EXHAUSTED"],
                Some("Slow"),
            ),
            (
                json!({"error": {"errors": [{"reason": "userRateLimitExceeded", "message": "Too fast"}], "code": 403, "message": "Too fast"}}),
                &["userRateLimitExceeded"],
                Some("Too fast"),
            ),
            (
                json!({"errors": [{"status": "422", "code": "too_short", "title": "Short", "detail": "Name is short"}]}),
                &["too_short"],
                Some("Name is short"),
            ),
            (
                json!({"errors": [{"message": "Not yours", "extensions": {"code": "FORBIDDEN"}}]}),
                &["FORBIDDEN"],
                Some("Not yours"),
            ),
            (json!({"message": "Not Found"}), &[], Some("Not Found")),
            (
                json!({"error": "invalid_grant", "error_description": "Code expired"}),
                &["invalid_grant"],
                Some("Code expired"),
            ),
            (json!({"error": "It is broken"}), &[], Some("It is broken")),
            (
                json!({"__type": "com.amazonaws.dynamodb#ThrottlingException", "Message": "Rate exceeded"}),
                &["ThrottlingException"],
                Some("Rate exceeded"),
            ),
            (
                json!([{"message": "first"}, {"message": "second"}]),
                &[],
                Some("first"),
            ),
            (json!("text"), &[], None),
            (json!(null), &[], None),
        ] {
            let lifted = lift(&body);
            assert_eq!(lifted.words, words, "{body}");
            assert_eq!(lifted.message.as_deref(), message, "{body}");
        }
    }

    #[test]
    fn what_is_wrong_with_an_input_becomes_violations() {
        for (body, pointer, reason) in [
            (
                json!({"detail": [{"loc": ["body", "items", 0, "a/b"], "msg": "field required", "type": "missing"}]}),
                "/body/items/0/a~1b",
                "field required",
            ),
            (
                json!({"errors": [{"detail": "is too short", "source": {"pointer": "/data/attributes/name"}}]}),
                "/data/attributes/name",
                "is too short",
            ),
            (
                json!({"errors": [{"detail": "must be positive", "pointer": "#/age"}]}),
                "/age",
                "must be positive",
            ),
            (
                json!({"errors": {"name": ["can't be blank"]}}),
                "/name",
                "can't be blank",
            ),
            (
                json!({"field_errors": {"name": "can't be blank"}}),
                "/name",
                "can't be blank",
            ),
            (
                json!({"message": "Validation Failed", "errors": [{"field": "user.email", "message": "is taken"}]}),
                "/user/email",
                "is taken",
            ),
            (
                json!({"invalid_params": [{"name": "age", "reason": "must be positive"}]}),
                "/age",
                "must be positive",
            ),
        ] {
            let lifted = lift(&body);
            assert_eq!(lifted.violations.len(), 1, "{body}");
            assert_eq!(lifted.violations[0].pointer, pointer, "{body}");
            assert_eq!(lifted.violations[0].reason, reason, "{body}");
        }
        for body in [
            json!({"message": "Card declined", "details": {"decline_code": "insufficient_funds", "charge": "ch_1"}}),
            json!({"detail": {"reason": "closed"}}),
            json!({"error": {"message": "no", "details": {"id": "7"}}}),
        ] {
            assert!(lift(&body).violations.is_empty(), "{body}");
        }
        for (entry, expected) in [
            (
                json!({"field": "a", "message": "must be an integer"}),
                Some("integer"),
            ),
            (
                json!({"field": "a", "code": "out_of_range", "maximum": 250}),
                Some("at most 250"),
            ),
            (
                json!({"field": "a", "code": "range", "min": 1, "max": 9}),
                Some("at most 9, at least 1"),
            ),
            (
                json!({"pointer": "/a", "detail": "is not an allowed value", "allowed": ["x", "y"]}),
                Some("one of x, y"),
            ),
            (
                json!({"loc": ["query", "a"], "msg": "Input should be greater than or equal to 1", "ctx": {"ge": 1}}),
                Some("at least 1"),
            ),
            (
                json!({"loc": ["body", "a"], "msg": "Input should be 'low' or 'high'", "ctx": {"expected": "'low' or 'high'"}}),
                Some("'low' or 'high'"),
            ),
            (json!({"field": "a", "message": "is odd"}), None),
        ] {
            let lifted = lift(&json!({"errors": [entry]}));
            assert_eq!(
                lifted.violations[0].expected.as_deref(),
                expected,
                "{entry}"
            );
        }
        let missing = lift(
            &json!({"detail": [{"type": "missing", "loc": ["body", "a"], "msg": "Field required", "input": {}}]}),
        );
        assert_eq!(missing.violations[0].kind, ViolationKind::Missing);
        assert!(
            lift(&json!({"errors": ["no", 3, {}]}))
                .violations
                .is_empty()
        );
    }

    #[test]
    fn a_sentence_is_lifted_from_a_text_and_a_page_is_not() {
        let said = |body: &str| lift_text(body).message;
        assert_eq!(
            said(" limit may not exceed 100\n").as_deref(),
            Some("limit may not exceed 100")
        );
        for body in [
            "",
            "<html>Not Found</html>",
            "{\"error\": \"cut o",
            "a\u{1}b",
            &"a\n".repeat(LINES_LIMIT + 1),
        ] {
            assert_eq!(said(body), None, "{body}");
        }
        assert!(said(&"a\n".repeat(LINES_LIMIT)).is_some());
    }

    #[test]
    fn what_is_said_in_our_words_is_read_where_the_error_is() {
        for (body, retryable, effect) in [
            (
                json!({"retryable": true, "effect": "none"}),
                Some(true),
                Some(Effect::None),
            ),
            (
                json!({"error": {"retriable": false, "effect": "applied"}}),
                Some(false),
                Some(Effect::Applied),
            ),
            (json!({"retryable": "yes", "effect": "odd"}), None, None),
            (json!({"data": {"retryable": true}}), None, None),
        ] {
            let lifted = lift(&body);
            assert_eq!(
                (lifted.retryable, lifted.effect),
                (retryable, effect),
                "{body}"
            );
        }
    }

    #[test]
    fn what_is_too_long_is_cut_or_not_lifted_and_both_sides_of_every_limit_are_known() {
        let said = |length: usize| lift(&json!({"message": "a".repeat(length)})).message;
        for length in [SENTENCE_BYTES_LIMIT, SENTENCE_BYTES_LIMIT + 1] {
            let said = said(length).map(|it| it.len());
            assert_eq!(said, Some(SENTENCE_BYTES_LIMIT), "{length}");
        }
        let word = |length: usize| lift(&json!({"code": "a".repeat(length)})).words;
        assert_eq!(word(WORD_CHARACTERS_LIMIT).len(), 1);
        assert!(word(WORD_CHARACTERS_LIMIT + 1).is_empty());
        let errors = |count: usize| {
            let entries = vec![json!({"field": "a", "message": "b"}); count];
            lift(&json!({"errors": entries})).violations.len()
        };
        assert_eq!(errors(ERRORS_LIMIT), ERRORS_LIMIT);
        assert_eq!(errors(ERRORS_LIMIT + 1), ERRORS_LIMIT);
    }
}
