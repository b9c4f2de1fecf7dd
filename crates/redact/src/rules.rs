//! The type of a value rule, and how the rules that may apply are run over a text. The rules are in
//! `generic_rules` and `provider_rules`.

use std::sync::OnceLock;

use regex::Regex;

use super::generic_rules::GENERIC_RULES;
use super::provider_rules::PROVIDER_RULES;
use super::spans::Spans;

/// One way to recognise a secret by its shape.
pub(super) struct Rule {
    pub(super) name: &'static str,
    pub(super) trigger: Trigger,
    pub(super) find: Find,
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "read by the test of the tables")
    )]
    pub(super) example: Example,
}

/// What a text must contain before a rule is worth running.
pub(super) enum Trigger {
    /// One of these literals, separated by blanks. Lower-case literals match in any case, others
    /// exactly. A leading `^` requires the start of a word and a trailing `$` its end; `~` stands
    /// for any separator between two words of a name.
    Anchors(&'static str),
    /// A word for a secret, in any language.
    Mention,
    /// Enough digits close together to be a card number.
    Digits,
    /// A long unbroken run of token characters.
    LongRun,
}

/// How a rule finds its secrets.
pub(super) enum Find {
    /// Group 1 of a regular expression is the secret, if the check accepts it.
    Pattern(Pattern, fn(&str) -> bool),
    /// A function that searches the text.
    Code(fn(&str, &mut Spans)),
}

/// A text that the rule must change, and a similar one that it must not.
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "read by the test of the tables")
)]
pub(super) struct Example {
    pub(super) sample: &'static str,
    /// The part of the sample that must be removed.
    pub(super) secret: &'static str,
    pub(super) innocent: &'static str,
}

/// A regular expression, compiled on first use.
pub(super) struct Pattern {
    source: &'static str,
    /// Whether the secret must start a word.
    at_word_start: bool,
    compiled: OnceLock<Regex>,
}

impl Find {
    /// Group 1 of the pattern is the secret.
    pub(super) const fn anywhere(source: &'static str, check: fn(&str) -> bool) -> Self {
        Self::Pattern(Pattern::new(source, false), check)
    }

    /// The whole match is the secret, after anything that may separate words.
    pub(super) const fn word(source: &'static str, check: fn(&str) -> bool) -> Self {
        Self::Pattern(Pattern::new(source, true), check)
    }
}

/// A rule with its example: a sample, the part of it that must be removed, and an innocent.
pub(super) const fn rule(
    name: &'static str,
    trigger: Trigger,
    find: Find,
    sample: &'static str,
    secret: &'static str,
    innocent: &'static str,
) -> Rule {
    Rule {
        name,
        trigger,
        find,
        example: Example {
            sample,
            secret,
            innocent,
        },
    }
}

impl Pattern {
    const fn new(source: &'static str, at_word_start: bool) -> Self {
        Self {
            source,
            at_word_start,
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

/// A fixed regular expression, compiled on first use.
macro_rules! pattern {
    ($source:expr) => {
        std::sync::LazyLock::new(|| regex::Regex::new($source).expect("a fixed pattern compiles"))
    };
}
pub(super) use pattern;

/// A pattern for a whole text in one of several forms.
pub(super) fn any_of(forms: &[&str]) -> String {
    let forms: Vec<String> = forms.iter().map(|form| format!("(?:{form})")).collect();
    format!("^(?s:{})$", forms.join("|"))
}

/// The rules that may apply: one bit each, in table order.
pub(super) type Hits = u128;

/// Every rule, in the order of the bits.
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
    fn every_rule_removes_its_sample_and_keeps_its_innocent() {
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
    fn every_rule_finds_its_sample_alone_and_the_prefilter_selects_it() {
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
    fn the_rules_fit_their_bits_and_have_unique_names() {
        let names: Vec<&str> = all().map(|rule| rule.name).collect();
        assert!(names.len() <= Hits::BITS as usize);
        for (index, name) in names.iter().enumerate() {
            assert!(!names[..index].contains(name), "duplicate name {name}");
        }
    }
}
