//! The secrets known by their exact value, removed wherever they reappear.

use std::fmt;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};

use super::REPLACEMENT;
use super::names::is_nothing;
use super::spans::Spans;

/// Shorter values are not learned: they would blank innocent text.
pub(super) const SHORTEST_LITERAL: usize = 4;

/// A set of literals and the automaton that finds them.
#[derive(Clone, Default)]
pub(super) struct Literals {
    texts: Vec<String>,
    automaton: Option<Arc<AhoCorasick>>,
}

impl Literals {
    /// Adds the literals that are long enough and new, each also as URLs and JSON write it.
    pub(super) fn add<'a>(&mut self, secrets: impl IntoIterator<Item = &'a str>) {
        let before = self.texts.len();
        for secret in secrets {
            for text in [
                secret.to_owned(),
                percent_encoded(secret),
                json_escaped(secret),
            ] {
                if is_worth_learning(&text) {
                    self.texts.push(text);
                }
            }
        }
        self.texts.sort_unstable();
        self.texts.dedup();
        if self.texts.len() > before {
            self.automaton = AhoCorasick::builder()
                .match_kind(MatchKind::Standard)
                .build(&self.texts)
                .ok()
                .map(Arc::new);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    pub(super) fn find(&self, text: &str, spans: &mut Spans) {
        if self.is_empty() {
            return;
        }
        let Some(automaton) = &self.automaton else {
            // Without an automaton nothing can be cleared, so nothing is let through.
            spans.push(0..text.len());
            return;
        };
        for found in automaton.find_overlapping_iter(text) {
            let literal = &self.texts[found.pattern().as_usize()];
            if !is_inside_number(text, literal, found.start(), found.end()) {
                spans.push(found.range());
            }
        }
    }
}

impl fmt::Debug for Literals {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} literals", self.texts.len())
    }
}

fn is_worth_learning(text: &str) -> bool {
    text.chars().count() >= SHORTEST_LITERAL && !REPLACEMENT.contains(text) && !is_nothing(text)
}

/// A learned number is not the middle of a longer one.
fn is_inside_number(text: &str, literal: &str, start: usize, end: usize) -> bool {
    let digit = |at: Option<usize>| {
        at.and_then(|at| text.as_bytes().get(at))
            .is_some_and(u8::is_ascii_digit)
    };
    literal.bytes().all(|byte| byte.is_ascii_digit())
        && (digit(start.checked_sub(1)) || digit(Some(end)))
}

fn percent_encoded(secret: &str) -> String {
    const HEXADECIMAL: &[u8; 16] = b"0123456789ABCDEF";
    let mut encoded = String::with_capacity(secret.len());
    for byte in secret.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push('%');
            encoded.push(char::from(HEXADECIMAL[usize::from(byte >> 4)]));
            encoded.push(char::from(HEXADECIMAL[usize::from(byte & 15)]));
        }
    }
    encoded
}

fn json_escaped(secret: &str) -> String {
    let quoted = serde_json::Value::from(secret).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(secret: &str, text: &str, expected: Option<&str>) {
        let mut literals = Literals::default();
        literals.add([secret]);
        let mut spans = Spans::default();
        literals.find(text, &mut spans);
        assert_eq!(spans.cut(text).as_deref(), expected, "{secret} in {text}");
    }

    #[test]
    fn a_literal_goes_in_every_writing() {
        check("swordfish", "xswordfishx", Some("x[REDACTED]x"));
        check("p@ss/w", "/login/p%40ss%2Fw", Some("/login/[REDACTED]"));
        check(
            "a\"b\nc",
            r#"{"x":"a\"b\nc"}"#,
            Some(r#"{"x":"[REDACTED]"}"#),
        );
        check("4711", "room 4711.", Some("room [REDACTED]."));
    }

    #[test]
    fn what_is_too_short_or_no_secret_is_not_learned() {
        check("abc", "abc", None);
        check("abcd", "abcd", Some("[REDACTED]"));
        check("true", "true", None);
        check("REDACTED", "[REDACTED]", None);
        check("4711", "147119", None);
    }
}
