//! One fast pass that selects the rules that may apply to a text, so that clean text costs nothing
//! more. False positives are fine; a false negative would hide a secret.

use std::sync::LazyLock;

use aho_corasick::automaton::Automaton;
use aho_corasick::dfa::DFA;
use aho_corasick::nfa::contiguous::NFA;
use aho_corasick::{Anchored, MatchKind};

use super::generic_rules::NAMED_VALUE;
use super::glyphs::ends_escape;
use super::lexicon;
use super::rules::{self, Hits, Trigger};

/// Whether these bytes may contain a secret; `false` is certain.
///
/// Every text goes through this pass first. It is public so that a benchmark can measure it alone.
#[must_use]
pub fn scan(bytes: &[u8]) -> bool {
    hits(bytes) != 0
}

/// The rules that may apply to these bytes.
pub(super) fn hits(bytes: &[u8]) -> Hits {
    let mut found = 0;
    each_anchor(bytes, |anchor, _| found |= 1 << anchor.rule);
    if has_card_digits(bytes) {
        found |= PREFILTER.digits;
    }
    if has_long_run(bytes) {
        found |= PREFILTER.long_run;
    }
    found
}

/// Whether a name contains the stem of a sensitive name.
pub(super) fn may_be_sensitive_name(name: &[u8]) -> bool {
    is_name_hit(hits(name))
}

/// Whether the hits of a name include the stem of a sensitive name.
pub(super) fn is_name_hit(hits: Hits) -> bool {
    hits & (PREFILTER.names | PREFILTER.mentions) != 0
}

/// Calls back with the end of every stem of a sensitive name, in order.
pub(super) fn each_name_stem(bytes: &[u8], mut callback: impl FnMut(usize)) {
    each_anchor(bytes, |anchor, end| {
        if PREFILTER.names >> anchor.rule & 1 == 1 {
            callback(end - anchor.literal.len() + anchor.stem_length());
        }
    });
}

struct Prefilter {
    /// Finds the anchors in ASCII; the other anchors cannot occur there.
    of_ascii: DFA,
    /// Finds all anchors. As large a DFA as this would take 10 MB, so it is slower and small.
    of_any_text: NFA,
    /// Those in ASCII first, so that both automata number them alike.
    anchors: Vec<Anchor>,
    names: Hits,
    mentions: Hits,
    digits: Hits,
    long_run: Hits,
}

struct Anchor {
    literal: Vec<u8>,
    rule: usize,
    exact: bool,
    at_start: bool,
    at_end: bool,
}

static PREFILTER: LazyLock<Prefilter> = LazyLock::new(|| {
    let (mut anchors, mut names, mut mentions, mut digits, mut long_run) = (Vec::new(), 0, 0, 0, 0);
    for (index, rule) in rules::all().enumerate() {
        match rule.trigger {
            Trigger::Anchors(list) => {
                let list = list.split_ascii_whitespace();
                anchors.extend(list.flat_map(|text| Anchor::read(text, index)));
                names |= Hits::from(rule.name == NAMED_VALUE) << index;
            }
            Trigger::Mention => {
                mentions |= 1 << index;
                anchors.extend(lexicon::forms().map(|word| Anchor::of_word(&word, index)));
            }
            Trigger::Digits => digits |= 1 << index,
            Trigger::LongRun => long_run |= 1 << index,
        }
    }
    anchors.sort_by_key(|anchor| !anchor.literal.is_ascii());
    let literals = anchors.iter().map(|anchor| &anchor.literal);
    let of_ascii = DFA::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::Standard)
        .start_kind(aho_corasick::StartKind::Unanchored)
        .prefilter(false)
        .build(literals.clone().filter(|it| it.is_ascii()))
        .expect("a few hundred short literals fit an automaton");
    let of_any_text = NFA::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::Standard)
        .prefilter(false)
        .build(literals)
        .expect("a few hundred short literals fit an automaton");
    Prefilter {
        of_ascii,
        of_any_text,
        anchors,
        names,
        mentions,
        digits,
        long_run,
    }
});

impl Anchor {
    /// One anchor for each way to write the `~` between two words.
    fn read(text: &'static str, rule: usize) -> Vec<Self> {
        const BETWEEN: &[&str] = &["", "_", "-", " ", "."];
        let inner = text.strip_prefix('^').unwrap_or(text);
        let literal = inner.strip_suffix('$').unwrap_or(inner);
        let spellings = if literal.contains('~') {
            BETWEEN
        } else {
            &BETWEEN[..1]
        };
        let read = |between: &&str| Self {
            literal: literal.replace('~', between).into_bytes(),
            rule,
            exact: literal.bytes().any(|byte| byte.is_ascii_uppercase()),
            at_start: text.starts_with('^'),
            at_end: text.ends_with('$'),
        };
        spellings.iter().map(read).collect()
    }

    /// An anchor for a word for a secret. Scripts without spaces have no word boundaries.
    fn of_word(word: &str, rule: usize) -> Self {
        const SHORT: usize = 5;
        Self {
            literal: word.as_bytes().to_vec(),
            rule,
            exact: false,
            at_start: !word.starts_with(lexicon::is_unspaced)
                && word.chars().count() < lexicon::COMPOUND,
            at_end: word.is_ascii() && word.len() <= SHORT,
        }
    }

    /// The length without the separator that some stems include.
    fn stem_length(&self) -> usize {
        let separator = self
            .literal
            .iter()
            .position(|byte| matches!(byte, b'=' | b'%'));
        separator.unwrap_or(self.literal.len())
    }

    fn accepts(&self, bytes: &[u8], end: usize) -> bool {
        let start = end - self.literal.len();
        (!self.exact || bytes[start..end] == self.literal)
            && (!self.at_start || is_word_start(bytes, start))
            && (!self.at_end || is_word_end(bytes, end))
    }
}

#[inline]
fn each_anchor(bytes: &[u8], callback: impl FnMut(&Anchor, usize)) {
    let Prefilter {
        of_ascii,
        of_any_text,
        anchors,
        ..
    } = &*PREFILTER;
    match bytes.is_ascii() {
        true => each_found(of_ascii, anchors, bytes, callback),
        false => each_found(of_any_text, anchors, bytes, callback),
    }
}

#[inline]
fn each_found(
    automaton: &impl Automaton,
    anchors: &[Anchor],
    bytes: &[u8],
    mut callback: impl FnMut(&Anchor, usize),
) {
    let Ok(mut state) = automaton.start_state(Anchored::No) else {
        return;
    };
    for (at, byte) in bytes.iter().enumerate() {
        state = automaton.next_state(Anchored::No, state, *byte);
        if automaton.is_special(state) && automaton.is_match(state) {
            for index in 0..automaton.match_len(state) {
                let anchor = &anchors[automaton.match_pattern(state, index).as_usize()];
                if anchor.accepts(bytes, at + 1) {
                    callback(anchor, at + 1);
                }
            }
        }
    }
}

fn is_word_start(bytes: &[u8], start: usize) -> bool {
    let Some(before) = start.checked_sub(1).map(|at| bytes[at]) else {
        return true;
    };
    !before.is_ascii_alphabetic()
        || before.is_ascii_lowercase() && bytes[start].is_ascii_uppercase()
        || ends_escape(bytes, start)
}

fn is_word_end(bytes: &[u8], end: usize) -> bool {
    let letter = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphabetic);
    let plural = matches!(bytes.get(end), Some(b's' | b'S')) && !letter(end + 1);
    let camel =
        bytes[end - 1].is_ascii_lowercase() && bytes.get(end).is_some_and(u8::is_ascii_uppercase);
    !letter(end) || plural || camel
}

/// The fewest digits of a card number.
const FEWEST_DIGITS: usize = 13;

/// The first digits of a card number, with a separator between any two, fit two blocks of this
/// size.
const DIGIT_BLOCK: usize = 32;

fn has_card_digits(bytes: &[u8]) -> bool {
    let mut before = 0;
    let dense = bytes.len() >= FEWEST_DIGITS
        && bytes.chunks(DIGIT_BLOCK).any(|block| {
            let digits = block.iter().map(|byte| u8::from(byte.is_ascii_digit()));
            let here: u8 = digits.sum();
            let dense = usize::from(before + here) >= FEWEST_DIGITS;
            before = here;
            dense
        });
    dense && has_card_groups(bytes)
}

/// Times, dates and identifiers are dense too. Only a card number has one long group or starts with
/// groups of 4-4-4 or 4-6-4.
fn has_card_groups(bytes: &[u8]) -> bool {
    let (mut run, mut groups) = (0, (0, 0));
    bytes.iter().any(|byte| {
        match byte {
            b'0'..=b'9' => run += 1,
            b' ' | b'-' => (run, groups) = (0, (groups.1, run)),
            _ => (run, groups) = (0, (0, 0)),
        }
        run >= FEWEST_DIGITS || run >= 4 && matches!(groups, (4, 4 | 6))
    })
}

/// Shorter runs contain none of the secrets that have no literal to search for.
const LONG_RUN: usize = 56;

fn has_long_run(bytes: &[u8]) -> bool {
    // A long run covers two neighbouring probes, so the bytes between are read only if both match.
    const STRIDE: usize = LONG_RUN / 2;
    let probes = (0..bytes.len().div_ceil(STRIDE)).map(|probe| probe * STRIDE);
    bytes.len() >= LONG_RUN
        && probes.skip(1).any(|at| {
            is_token_byte(bytes[at])
                && is_token_byte(bytes[at - STRIDE])
                && bytes[at - STRIDE..at]
                    .iter()
                    .all(|byte| is_token_byte(*byte))
        })
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_automata_fit_three_megabytes() {
        let Prefilter {
            of_ascii,
            of_any_text,
            ..
        } = &*PREFILTER;
        let bytes = of_ascii.memory_usage() + of_any_text.memory_usage();
        assert!(bytes < 3_000_000, "{bytes}");
    }

    #[test]
    fn both_automata_find_the_same_anchors_in_ascii() {
        let ascii = PREFILTER.anchors.iter().map(|it| &it.literal);
        let ascii: Vec<&Vec<u8>> = ascii.filter(|it| it.is_ascii()).collect();
        assert!(ascii.len() > 500);
        let prefix = "é ".len();
        let stems = |bytes: &[u8]| {
            let mut stems = Vec::new();
            each_name_stem(bytes, |end| stems.push(end));
            stems
        };
        for literal in ascii {
            for text in [literal.clone(), literal.to_ascii_uppercase()] {
                let other = [b"\xc3\xa9 ", &text[..]].concat();
                let shifted: Vec<usize> = stems(&text).iter().map(|it| it + prefix).collect();
                assert_eq!(hits(&text), hits(&other), "{other:?}");
                assert_eq!(shifted, stems(&other), "{other:?}");
            }
        }
    }

    #[test]
    fn ordinary_text_is_clean() {
        let clean = [
            "",
            "The quick brown fox jumps over the lazy dog.",
            "shipping, passed, spinner, design, classname, incredible, hotplug",
            "order 1234-5678 550e8400-e29b-41d4 of 2026-11-15T08:48:30Z took 42 ms",
            "task-17 is at risk-free disk-usage",
        ];
        for text in clean {
            assert!(!scan(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn card_digits_are_found_across_blocks() {
        for shift in 0..70 {
            let text = format!("{}4111 1111 1111 1111", "x".repeat(shift));
            assert!(has_card_digits(text.as_bytes()), "{shift}");
        }
        assert!(!has_card_digits(b"1234 5678 9012"));
    }

    #[test]
    fn a_long_run_is_found_wherever_it_starts() {
        for shift in 0..100 {
            let padding = " ".repeat(shift);
            let long = format!("{padding}{}", "a".repeat(LONG_RUN));
            let short = format!("{padding}{} ", "a".repeat(LONG_RUN / 2 - 1));
            assert!(has_long_run(long.as_bytes()), "{shift}");
            assert!(!has_long_run(short.as_bytes()), "{shift}");
        }
    }
}
