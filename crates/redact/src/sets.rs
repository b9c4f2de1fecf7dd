//! Sets of texts that are searched for all at once, letter by letter. Which texts, and where a match
//! counts, is decided in `literals`.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use aho_corasick::automaton::Automaton;
use aho_corasick::nfa::contiguous::NFA;
use aho_corasick::{Anchored, MatchKind};

use super::spans::Spans;

/// Texts and the automaton that finds them, built on first use.
#[derive(Clone, Default)]
pub(super) struct Set {
    pub(super) texts: BTreeSet<String>,
    automaton: OnceLock<Option<Arc<NFA>>>,
}

impl Set {
    /// Adds a secret in plain, percent-encoded and JSON-escaped form. Returns whether it was new.
    pub(super) fn add(&mut self, secret: &str) -> bool {
        let is_new = self.texts.insert(secret.to_owned());
        if is_new {
            self.add_all([percent_encoded(secret), json_escaped(secret)]);
        }
        is_new
    }

    pub(super) fn add_all(&mut self, texts: impl IntoIterator<Item = String>) {
        self.texts.extend(texts);
        self.automaton = OnceLock::new();
    }

    /// Finds the texts whose end and range are accepted. The end is checked first, because many
    /// texts may share it.
    pub(super) fn find(
        &self,
        text: &str,
        spans: &mut Spans,
        ends: impl Fn(usize) -> bool,
        fits: impl Fn(usize, usize) -> bool,
    ) {
        if self.texts.is_empty() {
            return;
        }
        let automaton = self.automaton.get_or_init(|| build(&self.texts));
        let start = automaton
            .as_deref()
            .and_then(|automaton| Some((automaton, automaton.start_state(Anchored::No).ok()?)));
        let Some((automaton, mut state)) = start else {
            // Without an automaton no text can be cleared, so all of it is removed.
            spans.push(0..text.len());
            return;
        };
        for (at, byte) in text.bytes().enumerate() {
            state = automaton.next_state(Anchored::No, state, byte);
            if automaton.is_special(state) && automaton.is_match(state) && ends(at + 1) {
                // The longest comes first and contains every other match that ends here.
                let found = (0..automaton.match_len(state))
                    .map(|index| automaton.pattern_len(automaton.match_pattern(state, index)))
                    .map(|length| at + 1 - length)
                    .find(|start| fits(*start, at + 1));
                if let Some(start) = found {
                    spans.push(start..at + 1);
                }
            }
        }
    }
}

/// An automaton for texts, or for bytes; `None` if there are too many.
pub(super) fn build<T: AsRef<[u8]>>(texts: &BTreeSet<T>) -> Option<Arc<NFA>> {
    let automaton = NFA::builder()
        .match_kind(MatchKind::Standard)
        .prefilter(false)
        .build(texts);
    automaton.ok().map(Arc::new)
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
