//! Finds configured secrets that were re-encoded, re-cased, wrapped or cut: everything that
//! comparing letter by letter misses.
//!
//! Text and secret are compared as [`folded`] reads them, without regard to case. Parts are searched
//! for only in tokens that look random: a part of a name or an address also occurs in innocent text.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use aho_corasick::Anchored;
use aho_corasick::automaton::Automaton;
use aho_corasick::nfa::contiguous::NFA;

use super::encodings::encoded;
use super::folded::{Place, folded};
use super::sets::build;
use super::spans::Spans;

/// The shortest secret that is found in a disguise.
const SHORTEST_WHOLE: usize = 8;

/// The shortest secret without digits: shorter ones could be words.
const SHORTEST_WORDED: usize = 16;

/// The shortest match that may contain white space.
const SHORTEST_WRAPPED: usize = 10;

/// The shortest part of a secret that is searched for on its own.
const PART: usize = 10;

/// The shortest token whose parts are searched for.
const SHORTEST_TOKEN: usize = 12;

/// The part of a longer token that is divided.
const TOKEN_LIMIT: usize = 4096;

/// What separates the tokens of a secret: `user:password`, `name=value; …`, a URL.
const BETWEEN_TOKENS: &str = ":;,&@\"'<>?(){}[]|";

/// The folded forms of secrets and of their parts, and the automaton that finds them, built on
/// first use.
#[derive(Clone, Default)]
pub(super) struct Disguises {
    forms: BTreeSet<Vec<u8>>,
    automaton: OnceLock<Option<Arc<NFA>>>,
}

impl Disguises {
    pub(super) fn add(&mut self, secret: &str) {
        self.automaton = OnceLock::new();
        let decoded = decoded(secret);
        // Also undecoded: a service decodes once what may have been encoded twice.
        let plain = without_blanks(secret);
        let wholes = [decoded, plain].into_iter();
        self.forms
            .extend(wholes.filter(|it| is_distinctive(it)).map(lower));
        let encoded = encoded(secret).map(String::into_bytes);
        self.forms
            .extend(encoded.filter(|it| it.len() >= SHORTEST_WORDED).map(lower));
        for token in secret.split(|it: char| it.is_whitespace() || BETWEEN_TOKENS.contains(it)) {
            self.forms.extend(parts(&self::decoded(token)).map(lower));
        }
    }

    /// Collects the places of secrets and parts.
    pub(super) fn find(&self, text: &str, spans: &mut Spans) {
        if self.forms.is_empty() || text.len() < SHORTEST_WHOLE {
            return;
        }
        let automaton = self.automaton.get_or_init(|| build(&self.forms));
        let Some(automaton) = automaton.as_deref() else {
            // Without an automaton no text can be cleared, so all of it is removed.
            spans.push(0..text.len());
            return;
        };
        let mut has_match = false;
        each_match(automaton, folded(text), |_| {
            has_match = true;
            false
        });
        // Places are kept only for a text that has a match.
        if has_match {
            let places: Vec<Place> = folded(text).collect();
            each_match(automaton, places.iter().cloned(), |found| {
                let written = places[found.start].written.start..places[found.end - 1].written.end;
                let is_wrapped = text[written.clone()].contains(char::is_whitespace);
                if !is_wrapped || found.len() >= SHORTEST_WRAPPED {
                    spans.push(written);
                }
                true
            });
        }
    }
}

/// Calls back with every match, as a range of folded bytes, until the callback returns `false`.
fn each_match(
    automaton: &NFA,
    places: impl Iterator<Item = Place>,
    mut callback: impl FnMut(Range<usize>) -> bool,
) {
    let Ok(mut state) = automaton.start_state(Anchored::No) else {
        return;
    };
    for (at, place) in places.enumerate() {
        state = automaton.next_state(Anchored::No, state, place.byte.to_ascii_lowercase());
        if automaton.is_special(state) && automaton.is_match(state) {
            // The longest comes first and contains every other match that ends here.
            let length = automaton.pattern_len(automaton.match_pattern(state, 0));
            if !callback(at + 1 - length..at + 1) {
                return;
            }
        }
    }
}

fn decoded(text: &str) -> Vec<u8> {
    folded(text).map(|it| it.byte).collect()
}

fn without_blanks(text: &str) -> Vec<u8> {
    let is_kept = |it: &u8| !it.is_ascii_whitespace() && *it != b'\\';
    text.bytes().filter(is_kept).collect()
}

fn lower(mut form: Vec<u8>) -> Vec<u8> {
    form.make_ascii_lowercase();
    form
}

/// Whether a secret can be told from everyday text without regard to case and white space.
fn is_distinctive(secret: &[u8]) -> bool {
    let has_letter = secret.iter().any(u8::is_ascii_alphabetic);
    let has_digit = secret.iter().any(u8::is_ascii_digit);
    has_letter && has_digit && secret.len() >= SHORTEST_WHOLE
        || (has_letter || !secret.is_ascii()) && secret.len() >= SHORTEST_WORDED
}

/// Every part of [`PART`] characters of a random token.
fn parts(token: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let divided = match token.len() >= SHORTEST_TOKEN && looks_random(token) {
        true => &token[..token.len().min(TOKEN_LIMIT)],
        false => &[],
    };
    // A part without changes could be a word or a number.
    let is_mixed = |part: &&[u8]| changes(part) >= 2;
    divided.windows(PART).filter(is_mixed).map(<[u8]>::to_vec)
}

/// Whether the kind of character changes as often as it rarely does in names: at every fifth place
/// with digits, at every third without.
fn looks_random(token: &[u8]) -> bool {
    let digits = token.iter().filter(|it| it.is_ascii_digit()).count();
    let reach = if digits >= 2 { 5 } else { 3 };
    changes(token) * reach >= token.len()
}

/// How often a letter or digit follows one of another kind. A capital at the beginning of a word is
/// no change, and neither is a change across punctuation.
fn changes(token: &[u8]) -> usize {
    let differs = |pair: &&[u8]| {
        let [before, behind] = pair else { return false };
        let is_word = before.is_ascii_uppercase() && behind.is_ascii_lowercase();
        match (kind(*before), kind(*behind)) {
            (Some(before), Some(behind)) => before != behind && !is_word,
            _ => false,
        }
    };
    token.windows(2).filter(differs).count()
}

/// Lower case, upper case or a digit.
const fn kind(byte: u8) -> Option<u8> {
    match byte {
        b'a'..=b'z' => Some(0),
        b'A'..=b'Z' => Some(1),
        b'0'..=b'9' => Some(2),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::Redactor;

    const KEY: &str = "Zk9/3hTq2L=mWx8Vb/N4Rj7+pQ";

    fn left(secret: &str, text: &str) -> String {
        let mut redactor = Redactor::new();
        redactor.learn_literal(secret);
        redactor.text(text).into_owned()
    }

    fn check(secret: &str, samples: &[&str], innocents: &[&str]) {
        for sample in samples {
            let text = format!("it was {sample} that we saw");
            assert_eq!(
                left(secret, &text),
                "it was [REDACTED] that we saw",
                "{sample}"
            );
        }
        for innocent in innocents {
            assert_eq!(left(secret, innocent), *innocent);
        }
    }

    #[test]
    fn a_secret_is_removed_however_it_is_escaped() {
        let each = |write: fn(u8) -> String| KEY.bytes().map(write).collect::<String>();
        let all = [
            each(|it| format!("\\u{it:04X}")),
            each(|it| format!("\\\\u{it:04x}")),
            each(|it| format!("\\x{it:02x}")),
            each(|it| format!("%{it:02X}")),
            each(|it| format!("%25{it:02x}")),
            each(|it| format!("&#{it};")),
            each(|it| format!("&#x{it:X};")),
            each(|it| format!("&amp;#{it};")),
            each(|it| format!("\\u{{{it:x}}}")),
        ];
        check(KEY, &all.each_ref().map(String::as_str), &[]);
        check(
            KEY,
            &[
                "Zk9/3hTq2L%3DmWx8Vb/N4Rj7%2BpQ",
                "Zk9%2F3hTq2L=mWx8Vb%2FN4Rj7+pQ",
                r"Zk9/3hTq2L=mWx8Vb/N4Rj7\u002BpQ",
                "Zk9~13hTq2L=mWx8Vb~1N4Rj7+pQ",
                "Zk9/3hTq2L=3DmWx8Vb/N4Rj7+pQ",
                "Zk9&sol;3hTq2L&equals;mWx8Vb/N4Rj7&plus;pQ",
            ],
            &[
                "Zk9/3 and N4Rj7",
                "%5A%6B%39 is not it",
                "3h Tq 2L",
                "https://a.example/x%2Fy?b=%2B",
            ],
        );
        check(
            "ab_12_cd",
            &["ab%5F12%5Fcd"],
            &["ab_12", "ab 12 cd", "ab-12-cd"],
        );
    }

    #[test]
    fn a_secret_is_removed_in_any_case_and_across_line_ends() {
        let (upper, lower) = (KEY.to_uppercase(), KEY.to_lowercase());
        check(
            KEY,
            &[
                &upper,
                &lower,
                "Zk9/3hTq2L=mW\nx8Vb/N4Rj7+pQ",
                "Zk9/3hTq2L=mW\r\n    x8Vb/N4Rj7+pQ",
                r"Zk9/3hTq2L=mW\nx8Vb/N4Rj7+pQ",
                "Zk9/3hTq2L=mW=\nx8Vb/N4Rj7+pQ",
                "Zk9/3hTq2L=mW\\\nx8Vb/N4Rj7+pQ",
                "Zk9/3hTq2L=mW\u{ad}x8Vb/N4Rj7+pQ",
            ],
            &[],
        );
        check(
            "correct-horse-battery",
            &["Correct-Horse-Battery", "correct-horse-\nbattery"],
            &["a correct horse, a battery"],
        );
    }

    #[test]
    fn short_and_everyday_secrets_are_removed_only_as_they_are() {
        check(
            "Production",
            &["Production"],
            &["in production", "PRODUCTION"],
        );
        check("room42x7", &["room42x7", "ROOM42X7"], &["room 42 x7"]);
        check("20261115", &["20261115"], &["2026 1115"]);
    }

    #[test]
    fn a_part_of_ten_characters_of_a_random_secret_is_removed() {
        check(
            KEY,
            &[
                &KEY[..12],
                &KEY[..10],
                &KEY[KEY.len() - 10..],
                &KEY[6..20],
                "Zk9%2F3hTq2L=m",
            ],
            &[&KEY[..9], &KEY[KEY.len() - 9..], "mWx8Vb"],
        );
        for secret in [
            "6f1c9a0e4b7d2853c0d9",
            "prod-eu-west-1-a8Fk29xQw71Lm",
            "mfzwizltoq2gk3tu5n",
        ] {
            let tail = &secret[secret.len() - 12..];
            assert!(left(secret, tail).contains("[REDACTED]"), "{secret}");
        }
    }

    #[test]
    fn parts_of_names_and_addresses_stay() {
        for (secret, text) in [
            (
                "prod-eu-west-1-a8Fk29xQw71Lm",
                "the bucket prod-eu-west-1-logs in eu-west-1-a",
            ),
            (
                "postgres://app1:Xk29vvT1xQ@db1.internal.example:5432/orders",
                "no route to db1.internal.example:5432/orders",
            ),
            (
                "https://api.example.com/v2/hooks/incoming",
                "https://api.example.com/v2/hooks",
            ),
            (
                "getUserById-findAllOrders",
                "getUserById failed in findAllOrders",
            ),
        ] {
            assert_eq!(left(secret, text), text);
        }
    }
}
