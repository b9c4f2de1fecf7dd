//! What a value rule is, and how the rules that may apply are run over one text.
//! The rules themselves stand in `shapes` and `providers`.

use std::sync::OnceLock;

use regex::Regex;

use super::generic_rules::GENERIC_RULES;
use super::provider_rules::PROVIDER_RULES;
use super::spans::Spans;

/// One way to recognise a secret by how it looks.
pub(super) struct Rule {
    pub(super) name: &'static str,
    pub(super) trigger: Trigger,
    pub(super) find: Find,
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "proof of the rule, read by its test")
    )]
    pub(super) example: Example,
}

/// What a text must hold before a rule is worth running.
pub(super) enum Trigger {
    /// One of these literals, apart by blanks. Lower-case ones match in any case, others exactly; a leading `^`
    /// asks for the start of a word, a trailing `$` for its end, and `~` stands for whatever joins
    /// two words of a name.
    Anchors(&'static str),
    /// A word that calls a secret, in any language.
    Mention,
    /// Enough digits close together to be a card number.
    Digits,
    /// A long unbroken run of token characters.
    LongRun,
}

/// How a rule finds its secrets.
pub(super) enum Find {
    /// Group 1 of a regular expression is the secret, if the check agrees.
    Pattern(Pattern, fn(&str) -> bool),
    /// A function that reads the text itself.
    Code(fn(&str, &mut Spans)),
}

/// What the rule must remove, and what looks alike and must survive.
#[cfg_attr(not(test), expect(dead_code, reason = "read by the table's test"))]
pub(super) struct Example {
    pub(super) sample: &'static str,
    /// The part of the sample that must be gone afterwards.
    pub(super) secret: &'static str,
    pub(super) innocent: &'static str,
}

/// A regular expression compiled when a text first asks for it.
pub(super) struct Pattern {
    source: &'static str,
    /// Whether the secret must not be the continuation of a longer word.
    at_word_start: bool,
    compiled: OnceLock<Regex>,
}

impl Pattern {
    pub(super) const fn anywhere(source: &'static str) -> Self {
        Self {
            source,
            at_word_start: false,
            compiled: OnceLock::new(),
        }
    }

    /// Wraps the source in group 1, behind anything that may separate a word from it.
    pub(super) const fn word(source: &'static str) -> Self {
        Self {
            source,
            at_word_start: true,
            compiled: OnceLock::new(),
        }
    }

    fn regex(&self) -> &Regex {
        const START: &str = r"(?:^|[^A-Za-z0-9]|%[0-9A-Fa-f]{2}|\\(?:[bfnrt]|u[0-9A-Fa-f]{4}))";
        self.compiled.get_or_init(|| {
            let source = if self.at_word_start {
                format!("{START}({})", self.source)
            } else {
                self.source.to_owned()
            };
            Regex::new(&source).expect("every pattern of the tables compiles")
        })
    }

    fn find(&self, text: &str, accept: fn(&str) -> bool, spans: &mut Spans) {
        for captures in self.regex().captures_iter(text) {
            let secret = captures.get(1).filter(|found| accept(found.as_str()));
            if let Some(secret) = secret {
                spans.push(secret.range());
            }
        }
    }
}

/// Which rules may apply: one bit for each, in table order.
pub(super) type Hits = u128;

/// Every rule, in the order that numbers their bits.
pub(super) fn all() -> impl Iterator<Item = &'static Rule> {
    GENERIC_RULES.iter().chain(&PROVIDER_RULES)
}

/// Collects the secrets found by the rules whose bits are set.
pub(super) fn find(text: &str, hits: Hits, spans: &mut Spans) {
    for (index, rule) in all().enumerate() {
        if hits >> index & 1 == 1 {
            match &rule.find {
                Find::Pattern(pattern, accept) => pattern.find(text, *accept, spans),
                Find::Code(code) => code(text, spans),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Redactor, prefilter};

    #[test]
    fn every_rule_removes_its_sample_and_spares_its_innocent() {
        let redactor = Redactor::new();
        for rule in all() {
            let Example {
                sample,
                secret,
                innocent,
            } = rule.example;
            let redacted = redactor.text(sample);
            assert!(!redacted.contains(secret), "{}: {redacted}", rule.name);
            assert_eq!(redactor.text(innocent), innocent, "{}", rule.name);
        }
    }

    #[test]
    fn every_rule_finds_its_sample_by_itself_once_the_prefilter_lets_it_run() {
        for (index, rule) in all().enumerate() {
            let sample = rule.example.sample;
            let bit = prefilter::hits(sample.as_bytes()) & (1 << index);
            assert_ne!(bit, 0, "{}", rule.name);
            let mut spans = Spans::default();
            find(sample, bit, &mut spans);
            assert!(spans.cut(sample).is_some(), "{}", rule.name);
        }
    }

    #[test]
    fn the_rules_fit_their_bits_and_have_names_of_their_own() {
        let names: Vec<&str> = all().map(|rule| rule.name).collect();
        assert!(names.len() <= Hits::BITS as usize);
        for (index, name) in names.iter().enumerate() {
            assert!(!names[..index].contains(name), "{name} stands twice");
        }
    }
}
