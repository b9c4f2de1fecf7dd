//! Strict redaction: removes the free text of a service and keeps typed and declared values.
//!
//! For services whose texts may contain secrets that no rule finds. Numbers, booleans, times and codes stay,
//! because an agent acts on them and they do not contain secrets.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::{Failure, Parts, Recovery, Upstream, Violation};

/// The reason of a violation whose text was removed.
const INVALID_VALUE: &str = "the service does not accept this value";

/// Longest code, and longest member name, that is kept.
const WORD_LIMIT: usize = 64;

impl Failure {
    /// Removes the free text of a service. `is_declared` tests whether a text comes from the contract.
    pub fn without_free_text(mut self, is_declared: impl Fn(&str) -> bool) -> Self {
        let parts = &mut *self.0;
        parts.meaning = parts.meaning.take().filter(|it| is_declared(it));
        parts.drop_free_text();
        self
    }
}

impl Parts {
    fn drop_free_text(&mut self) {
        let upstream = &mut self.upstream;
        upstream.excerpt = None;
        upstream.code = upstream.code.take().filter(|it| is_code(it));
        self.message = message(&self.kind.title(), upstream);
        if let Some(details) = &mut self.details {
            let before = details.clone();
            keep_typed(details);
            self.defined &= before == *details;
        }
        self.details = self.details.take().filter(|it| !it.is_empty());
        self.violations
            .iter_mut()
            .for_each(Violation::drop_free_text);
        self.causes.clear();
        let defaults = self.kind.default_recovery();
        self.recovery = Recovery {
            retry_after_ms: self.recovery.retry_after_ms,
            max_retries: self.recovery.max_retries,
            ..defaults
        };
    }
}

impl Violation {
    fn drop_free_text(&mut self) {
        self.expected = self.expected.take().filter(|it| is_simple(it));
        self.actual = None;
        self.reason = match &self.expected {
            Some(expected) => format!("expected {expected}"),
            None => INVALID_VALUE.to_owned(),
        };
    }
}

/// A message without the text of the service.
fn message(title: &str, upstream: &Upstream) -> String {
    let who = upstream.provider.as_deref().unwrap_or("the service");
    let code = upstream.code.as_deref();
    let code = code.map_or_else(String::new, |code| format!(" with code {code}"));
    match upstream.status {
        Some(status) => format!("{who} answered HTTP {status}{code}; its error text is withheld"),
        None => format!("{title}; the error text of {who} is withheld"),
    }
}

/// Keeps typed values and the members that contain them.
fn keep_typed(members: &mut Map<String, Value>) {
    members.retain(|name, member| is_name(name) && is_kept(name, member));
}

fn is_kept(name: &str, value: &mut Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => is_time(text) || is_code_name(name) && is_code(text),
        Value::Array(items) => {
            items.retain_mut(|item| is_kept(name, item));
            !items.is_empty()
        }
        Value::Object(members) => {
            keep_typed(members);
            !members.is_empty()
        }
    }
}

/// Whether services use this member name for a code.
fn is_code_name(name: &str) -> bool {
    const NAMES: [&str; 8] = [
        "code",
        "error",
        "kind",
        "reason",
        "status",
        "title",
        "type",
        "errorcode",
    ];
    let letters = name.chars().filter(char::is_ascii_alphabetic);
    let name: String = letters.map(|it| it.to_ascii_lowercase()).collect();
    NAMES.contains(&name.as_str())
}

/// Whether a text is a code of a program: words joined by punctuation, or a few letters and a number. A number
/// of four digits, or of more than five, may be a PIN or a one-time code.
fn is_code(text: &str) -> bool {
    const NUMBER_LIMIT: usize = 5;
    let is_word = |it: &str| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_alphabetic());
    let joined = text.split(['_', '-', '.']).all(is_word);
    let letters = text.trim_end_matches(|it: char| it.is_ascii_digit());
    let numbered = text.len() - letters.len() <= NUMBER_LIMIT
        && letters.len() <= NUMBER_LIMIT
        && letters
            .trim_end_matches(['_', '-'])
            .bytes()
            .all(|byte| byte.is_ascii_uppercase());
    let may_be_pin = letters.is_empty() && text.len() == 4;
    !text.is_empty() && text.len() <= WORD_LIMIT && (joined || numbered && !may_be_pin)
}

/// Whether a member name is an identifier of a program.
fn is_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'-' | b'.');
    name.len() <= WORD_LIMIT && name.bytes().all(is_part)
}

fn is_time(text: &str) -> bool {
    text.parse::<Timestamp>().is_ok()
}

/// Whether an expectation consists of short words and numbers.
fn is_simple(expected: &str) -> bool {
    expected.split([' ', ',', ':', '"', '`']).all(|word| {
        let is_number = word.parse::<f64>().is_ok();
        is_number
            || word.len() <= WORD_LIMIT
                && word
                    .bytes()
                    .all(|byte| byte.is_ascii_alphabetic() || byte == b'_')
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::codes;

    #[test]
    fn typed_values_are_kept_and_free_text_is_removed() {
        let details = json!({
            "error": {"code": "EXPORT_RUNNING", "message": "hunter2 is wrong", "limit": 100, "resets_at": "2026-01-01T00:00:00Z"},
            "swordfish1": true,
            "titles": ["hunter2"],
            "E": "E11000",
        });
        let failure = Failure::new(codes::ERR_HTTP_409_CONFLICT)
            .with_message("hunter2 is wrong")
            .with_meaning("an export is running")
            .with_details(details.as_object().unwrap().clone())
            .with_violations([
                Violation::value("/limit", "limit hunter2 is too much").expected("at most 100"),
                Violation::value("/name", "not hunter2"),
            ])
            .with_actions(["use hunter2"])
            .with_retry_after_ms(500)
            .with_upstream(
                Upstream::status(409)
                    .provider("shop")
                    .code("EXPORT_RUNNING")
                    .excerpt("hunter2"),
            );
        let strict = failure
            .without_free_text(|it| it == "an export is running")
            .redacted();
        let written = serde_json::to_value(&strict).unwrap();
        assert!(!written.to_string().contains("hunter2"), "{written}");
        assert!(!written.to_string().contains("swordfish"), "{written}");
        let kept = json!({"error": {"code": "EXPORT_RUNNING", "limit": 100, "resets_at": "2026-01-01T00:00:00Z"}});
        assert_eq!(written["details"], kept);
        assert_eq!(strict.meaning(), Some("an export is running"));
        assert_eq!(strict.violations()[0].reason, "expected at most 100");
        assert_eq!(strict.violations()[1].reason, INVALID_VALUE);
        assert_eq!(
            strict.message(),
            "shop answered HTTP 409 with code EXPORT_RUNNING; its error text is withheld"
        );
    }

    #[test]
    fn a_meaning_that_is_not_declared_is_removed() {
        let failure = Failure::new(codes::TOOL_FAILED)
            .with_meaning("hunter2")
            .without_free_text(|_| false);
        assert_eq!(failure.meaning(), None);
        assert!(
            failure
                .message()
                .ends_with("the error text of the service is withheld")
        );
    }

    #[test]
    fn codes_are_distinguished_from_secrets() {
        for code in [
            "not_found",
            "E11000",
            "P2002",
            "card_declined",
            "AuthError",
            "invalid-request",
            "40001",
        ] {
            assert!(is_code(code), "{code}");
        }
        for secret in [
            "hunter2",
            "",
            "4829",
            "482913",
            "a b",
            "ghp_0123",
            "Sommer2024",
            &"a".repeat(65),
        ] {
            assert!(!is_code(secret), "{secret}");
        }
    }
}
