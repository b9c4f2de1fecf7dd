//! A failure without a word of the service's own: what is typed stays, and what is declared.
//!
//! For services whose texts may hold what no rule would find. Numbers, booleans, times and codes stay, because
//! an agent acts on them and they are no place for a secret; every other text goes.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::{Failure, Parts, Recovery, Upstream, Violation};

/// What is said about a value that the service does not accept, for reasons that are not passed on.
const REFUSED: &str = "the service does not accept this value";

/// The longest code, and the longest name of a member that stays.
const WORD_LIMIT: usize = 64;

impl Failure {
    /// Leaves out what a service said in its own words. `is_declared` tells whether a text is the contract's.
    pub fn without_words(mut self, is_declared: impl Fn(&str) -> bool) -> Self {
        let parts = &mut *self.0;
        parts.meaning = parts.meaning.take().filter(|it| is_declared(it));
        parts.leave_out_words();
        self
    }
}

impl Parts {
    fn leave_out_words(&mut self) {
        if let Some(upstream) = &mut self.upstream {
            upstream.excerpt = None;
            upstream.code = upstream.code.take().filter(|it| is_code(it));
        }
        self.message = sentence(&self.kind.title(), self.upstream.as_ref());
        if let Some(details) = &mut self.details {
            let before = details.clone();
            leave_out(details);
            self.defined &= before == *details;
        }
        self.details = self.details.take().filter(|it| !it.is_empty());
        self.violations
            .iter_mut()
            .for_each(Violation::leave_out_words);
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
    fn leave_out_words(&mut self) {
        self.expected = self.expected.take().filter(|it| is_plain(it));
        self.actual = None;
        self.reason = match &self.expected {
            Some(expected) => format!("expected {expected}"),
            None => REFUSED.to_owned(),
        };
    }
}

/// What happened, by what is known without the service's words.
fn sentence(title: &str, upstream: Option<&Upstream>) -> String {
    let who = upstream
        .and_then(|it| it.provider.as_deref())
        .unwrap_or("the service");
    let code = upstream.and_then(|it| it.code.as_deref());
    let code = code.map_or_else(String::new, |code| format!(" and the code {code}"));
    match upstream.and_then(|it| it.status) {
        Some(status) => {
            format!("{who} answered HTTP {status}{code}; what it said about it is not passed on")
        }
        None => format!("{title}; what {who} said about it is not passed on"),
    }
}

/// Keeps what is typed, and the members that lead to it.
fn leave_out(members: &mut Map<String, Value>) {
    members.retain(|name, member| is_name(name) && stays(name, member));
}

fn stays(name: &str, value: &mut Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => is_time(text) || says_code(name) && is_code(text),
        Value::Array(items) => {
            items.retain_mut(|item| stays(name, item));
            !items.is_empty()
        }
        Value::Object(members) => {
            leave_out(members);
            !members.is_empty()
        }
    }
}

/// Names under which services write the code of a failure or of a part of it.
fn says_code(name: &str) -> bool {
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

/// Whether a text is a code as programs write them: words joined by marks, or a few letters and a number. A
/// number of four digits, or of more than five, may be a code that a person was given.
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
    let personal = letters.is_empty() && text.len() == 4;
    !text.is_empty() && text.len() <= WORD_LIMIT && (joined || numbered && !personal)
}

/// Whether the name of a member is one that a program gave it.
fn is_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'-' | b'.');
    name.len() <= WORD_LIMIT && name.bytes().all(is_part)
}

fn is_time(text: &str) -> bool {
    text.parse::<Timestamp>().is_ok()
}

/// Whether an expectation is made of small words and numbers.
fn is_plain(expected: &str) -> bool {
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
    fn what_is_typed_stays_and_what_is_said_goes() {
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
        let wordless = failure
            .without_words(|it| it == "an export is running")
            .redacted();
        let written = serde_json::to_value(&wordless).unwrap();
        assert!(!written.to_string().contains("hunter2"), "{written}");
        assert!(!written.to_string().contains("swordfish"), "{written}");
        let kept = json!({"error": {"code": "EXPORT_RUNNING", "limit": 100, "resets_at": "2026-01-01T00:00:00Z"}});
        assert_eq!(written["details"], kept);
        assert_eq!(wordless.meaning(), Some("an export is running"));
        assert_eq!(wordless.violations()[0].reason, "expected at most 100");
        assert_eq!(wordless.violations()[1].reason, REFUSED);
        assert_eq!(
            wordless.message(),
            "shop answered HTTP 409 and the code EXPORT_RUNNING; what it said about it is not passed on"
        );
    }

    #[test]
    fn a_meaning_that_nobody_declared_goes() {
        let failure = Failure::new(codes::TOOL_FAILED)
            .with_meaning("hunter2")
            .without_words(|_| false);
        assert_eq!(failure.meaning(), None);
        assert!(
            failure
                .message()
                .ends_with("what the service said about it is not passed on")
        );
    }

    #[test]
    fn a_code_is_told_from_a_secret() {
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
