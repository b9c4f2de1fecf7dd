//! Secrets that are known by value, removed wherever they appear again. Also decides which values
//! under a sensitive name are distinctive enough to be searched for elsewhere.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use super::disguises::Disguises;
use super::encodings::{encodings, in_base64, in_hexadecimal, parts};
use super::glyphs::ends_escape;
use super::lexicon;
use super::names::is_empty_value;
use super::prose::is_everyday_word;
use super::sets::Set;
use super::spans::Spans;
use super::{LEARNED_BYTES_LIMIT, LEARNED_LIMIT, REPLACEMENT};

/// Shorter values are never searched for: they would blank innocent text.
pub(super) const SHORTEST_LITERAL: usize = 4;

/// Shorter values are not searched for even after a word for a secret.
const SHORTEST_NAMED: usize = 2;

/// The most everyday words that are searched for.
const WORD_LIKE_LIMIT: usize = 16;

/// Configured secrets, and values found under sensitive names.
#[derive(Clone, Default)]
pub(super) struct Literals {
    configured: Arc<Configured>,
    learned: Set,
    /// Learned values in base64.
    learned_in_base64: Set,
    /// Values that could be everyday words: removed only after a word for a secret.
    word_like: BTreeSet<String>,
    learned_count: usize,
    learned_bytes: usize,
    /// The length of the shortest secret that exceeded the limit.
    shortest_unlearned: Option<usize>,
}

/// Configured secrets in the encodings that keep their letters, and in disguises.
#[derive(Clone, Default)]
struct Configured {
    texts: Set,
    disguises: Disguises,
}

impl Literals {
    /// Adds a secret that is removed everywhere, even inside a word, in every encoding and with its
    /// parts.
    pub(super) fn add_configured(&mut self, secret: &str) {
        let configured = Arc::make_mut(&mut self.configured);
        for secret in parts(secret).into_iter().chain([secret.to_owned()]) {
            if secret.chars().count() >= SHORTEST_LITERAL && !is_harmless(&secret) {
                configured.texts.add_all(encodings(&secret));
                configured.disguises.add(&secret);
            }
        }
    }

    /// Adds a secret that is removed as a whole word, unless it could be an everyday word or the
    /// limit is reached.
    pub(super) fn learn(&mut self, secret: &str) {
        if self.learned_count == LEARNED_LIMIT {
            return;
        }
        if !is_distinctive(secret) {
            if secret.chars().count() >= SHORTEST_NAMED
                && !is_harmless(secret)
                && self.word_like.len() < WORD_LIKE_LIMIT
            {
                self.word_like.insert(secret.to_owned());
            }
            return;
        }
        if self.learned_bytes + secret.len() > LEARNED_BYTES_LIMIT {
            let shortest = self.shortest_unlearned.unwrap_or(usize::MAX);
            self.shortest_unlearned = Some(shortest.min(secret.len()));
        } else if self.learned.add(secret) {
            let hexadecimal = in_hexadecimal(secret);
            (self.learned).add_all([hexadecimal.to_ascii_uppercase(), hexadecimal]);
            self.learned_in_base64.add_all(in_base64(secret));
            self.learned_count += 1;
            self.learned_bytes += secret.len();
        }
    }

    /// The same without learned values, for texts that contain names and no values.
    pub(super) fn configured_only(&self) -> Self {
        // Spelled out for speed: `..Self::default()` would allocate a set only to drop it.
        Self {
            configured: Arc::clone(&self.configured),
            learned: Set::default(),
            learned_in_base64: Set::default(),
            word_like: BTreeSet::new(),
            learned_count: 0,
            learned_bytes: 0,
            shortest_unlearned: None,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.configured.texts.texts.is_empty()
            && self.learned.texts.is_empty()
            && self.word_like.is_empty()
            && self.shortest_unlearned.is_none()
    }

    pub(super) fn find(&self, text: &str, spans: &mut Spans) {
        if self
            .shortest_unlearned
            .is_some_and(|length| text.len() >= length)
        {
            spans.push(0..text.len());
            return;
        }
        let number = |start, end| is_inside_number(text.as_bytes(), start, end);
        (self.configured.texts).find(text, spans, |_| true, |start, end| !number(start, end));
        self.configured.disguises.find(text, spans);
        let ends = |end| ends_word(text, end);
        self.learned
            .find(text, spans, ends, |start, _| starts_word(text, start));
        find_in_base64(&self.learned_in_base64, text, spans);
        for secret in &self.word_like {
            find_named(text, secret, spans);
        }
    }
}

/// Finds encoded values, with the characters at either end that contain some of their bits.
fn find_in_base64(encoded: &Set, text: &str, spans: &mut Spans) {
    let bytes = text.as_bytes();
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte);
    let mut found = Spans::default();
    encoded.find(text, &mut found, |_| true, |_, _| true);
    for span in found.ranges() {
        let before = bytes[..span.start].last().is_some_and(is_part);
        let behind = bytes.get(span.end).is_some_and(is_part);
        let end = span.end + usize::from(behind);
        let padding = bytes[end..].iter().take_while(|it| **it == b'=').count();
        spans.push(span.start - usize::from(before)..end + padding.min(2));
    }
}

/// Finds a word after a word for a secret: "with password tea".
fn find_named(text: &str, secret: &str, spans: &mut Spans) {
    const REACH: usize = 24;
    for (start, _) in text.match_indices(secret) {
        let end = start + secret.len();
        let before = &text[text.floor_char_boundary(start.saturating_sub(REACH))..start];
        let is_named =
            || lexicon::mentions(before).any(|it| before[it.end..].split_whitespace().count() <= 1);
        if ends_word(text, start) && ends_word(text, end) && is_named() {
            spans.push(start..end);
        }
    }
}

impl fmt::Debug for Literals {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.configured.texts.texts.len() + self.learned.texts.len();
        write!(formatter, "{count} literals")
    }
}

fn is_harmless(text: &str) -> bool {
    REPLACEMENT.contains(text) || is_empty_value(text)
}

/// Whether a value is distinctive: finding it elsewhere means that it is the secret.
pub(super) fn is_distinctive(secret: &str) -> bool {
    const SHORTEST_PLAIN: usize = 8;
    const SHORTEST_MIXED: usize = 6;
    let has = |class: fn(char) -> bool| secret.contains(class);
    let digit = has(|character| character.is_ascii_digit());
    let upper = has(char::is_uppercase);
    let lower = has(char::is_lowercase);
    let number = secret.bytes().all(|byte| byte.is_ascii_digit());
    let mixed = number || digit && (upper || lower) || upper && lower;
    let shortest = if mixed {
        SHORTEST_MIXED
    } else {
        SHORTEST_PLAIN
    };
    secret.chars().count() >= shortest && !is_harmless(secret) && !is_everyday_word(secret)
}

/// Whether there is a word boundary at this position.
fn ends_word(text: &str, at: usize) -> bool {
    let before = text[..at].chars().next_back();
    let behind = text[at..].chars().next();
    !before.is_some_and(char::is_alphanumeric) || !behind.is_some_and(char::is_alphanumeric)
}

fn starts_word(text: &str, at: usize) -> bool {
    ends_word(text, at) || ends_escape(text.as_bytes(), at)
}

/// Whether a number is only part of a longer one.
fn is_inside_number(bytes: &[u8], start: usize, end: usize) -> bool {
    let digit = |at: Option<usize>| {
        at.and_then(|at| bytes.get(at))
            .is_some_and(u8::is_ascii_digit)
    };
    (digit(start.checked_sub(1)) || digit(Some(end)))
        && bytes[start..end].iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(literals: &Literals, text: &str, expected: Option<&str>) {
        let mut spans = Spans::default();
        literals.find(text, &mut spans);
        assert_eq!(spans.cut(text).as_deref(), expected, "{text}");
    }

    fn check_configured(secret: &str, text: &str, expected: Option<&str>) {
        let mut literals = Literals::default();
        literals.add_configured(secret);
        check(&literals, text, expected);
    }

    fn check_learned(secret: &str, text: &str, expected: Option<&str>) {
        let mut literals = Literals::default();
        literals.learn(secret);
        check(&literals, text, expected);
    }

    #[test]
    fn a_literal_is_removed_in_every_encoding() {
        check_configured("swordfish", "xswordfishx", Some("x[REDACTED]x"));
        check_configured("p@ss/w", "/login/p%40ss%2Fw", Some("/login/[REDACTED]"));
        check_configured(
            "a\"b\nc",
            r#"{"x":"a\"b\nc"}"#,
            Some(r#"{"x":"[REDACTED]"}"#),
        );
        check_configured("4711", "room 4711.", Some("room [REDACTED]."));
    }

    #[test]
    fn short_and_empty_values_are_not_added() {
        check_configured("abc", "abc", None);
        check_configured("abcd", "abcd", Some("[REDACTED]"));
        check_configured("true", "true", None);
        check_configured("REDACTED", "[REDACTED]", None);
        check_configured("4711", "147119", None);
    }

    #[test]
    fn only_distinctive_values_are_learned() {
        let distinctive = "swordfish hunter2 aBcDeF 482913 a1b2c3 sw%rdf!sh";
        for secret in distinctive.split(' ') {
            check_learned(secret, secret, Some("[REDACTED]"));
        }
        let everyday = "user https string abcdefg abc9Z 48291 password required Bearer";
        for word in everyday.split(' ') {
            check_learned(word, word, None);
        }
    }

    #[test]
    fn a_learned_literal_is_removed_only_as_a_whole_word() {
        let secret = "swordfish";
        check_learned(secret, "(swordfish)", Some("([REDACTED])"));
        check_learned(secret, r"a\nswordfish", Some(r"a\n[REDACTED]"));
        check_learned(secret, "a%20swordfish%20b", Some("a%20[REDACTED]%20b"));
        check_learned(secret, "swordfishing and oswordfish", None);
        check_learned(secret, "\u{e9}swordfish", None);
        check_learned("sword+fish+", "sword+fish+x", Some("[REDACTED]x"));
    }

    #[test]
    fn a_learned_literal_is_removed_in_hexadecimal_and_in_base64() {
        for (text, expected) in [
            ("got aHVudGVyMjI= back", "got [REDACTED] back"),
            ("got aHVudGVyMjI back", "got [REDACTED] back"),
            ("Basic YW5uOmh1bnRlcjIy", "Basic YW5uO[REDACTED]"),
            ("got 68756e7465723232.", "got [REDACTED]."),
            ("got 68756E7465723232.", "got [REDACTED]."),
        ] {
            check_learned("hunter22", text, Some(expected));
        }
        check_learned("hunter22", "YW5uOmh1bnRl and 68756e74657232", None);
        check_learned("hunter22", "aHVudGVyIHNhaWQgc28=", None);
    }

    #[test]
    fn a_literal_inside_another_is_found_where_the_longer_one_is_not() {
        let mut literals = Literals::default();
        literals.learn("open sesame");
        literals.learn("open sesame 12");
        literals.learn("sesame 123 now");
        check(&literals, "open sesame 123", Some("[REDACTED] 123"));
        check(&literals, "open sesame 123 now", Some("[REDACTED]"));
    }

    #[test]
    fn learning_ends_at_its_limit() {
        let mut literals = Literals::default();
        for number in 0..=LEARNED_LIMIT {
            literals.learn(&format!("secret-number-{number}"));
        }
        let last = format!("secret-number-{}", LEARNED_LIMIT - 1);
        check(&literals, &last, Some("[REDACTED]"));
        let beyond = format!("secret-number-{LEARNED_LIMIT}");
        check(&literals, &beyond, None);
    }

    #[test]
    fn a_text_that_may_contain_an_unlearned_secret_is_replaced_whole() {
        let long = |bytes: usize| "s3cret+".chars().cycle().take(bytes).collect::<String>();
        for (bytes, expected) in [
            (LEARNED_BYTES_LIMIT, "x [REDACTED]"),
            (LEARNED_BYTES_LIMIT + 1, "[REDACTED]"),
        ] {
            let mut literals = Literals::default();
            literals.learn(&long(bytes));
            check(&literals, &format!("x {}", long(bytes)), Some(expected));
            check(&literals, "x is innocent", None);
        }
    }
}
