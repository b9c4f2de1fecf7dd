//! Tells a sentence about a secret from the secret by the share of words that such sentences
//! consist of. Passphrases are words too, so at least half must be such words.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::lexicon::is_unspaced;
use super::names::{is_number, is_sentence_word, listed};
use super::shape::{Shape, shape_of};
use super::word_lists::{REMARK_WORDS, SENTENCE_WORDS, SINGLE};

/// Longer texts are judged by their first words.
const WORDS_LIMIT: usize = 32;

/// Whether a text is a sentence about a secret.
pub(super) fn is_sentence(text: &str) -> bool {
    let (mut count, mut known) = (0, 0);
    for word in words(text) {
        if is_revealing(word) {
            return false;
        }
        count += 1;
        known += usize::from(is_everyday_word(word) || is_number(word));
    }
    let begins = words(text)
        .next()
        .is_some_and(|it| is_everyday_word(it) || is_number(it));
    let is_short = || {
        words(text)
            .next()
            .is_some_and(|it| listed!("already never no none not only too", it))
    };
    let is_known = count >= 2 && known * 2 >= count && begins && (known >= 2 || is_short());
    is_known || is_written_out(text, count) || is_counted(text, count) || is_unspaced_script(text)
}

/// Whether a text of several words starts with a count.
fn is_counted(text: &str, count: usize) -> bool {
    const LONGEST: usize = 3;
    count >= 2
        && words(text)
            .next()
            .is_some_and(|it| is_number(it) && it.len() <= LONGEST)
}

/// Whether a text is mostly in a script without spaces, in which passwords are not typed.
fn is_unspaced_script(text: &str) -> bool {
    const SHORTEST: usize = 4;
    let letters = text.chars().filter(|it| it.is_alphabetic()).count();
    let unspaced = text.chars().filter(|it| is_unspaced(*it)).count();
    letters >= SHORTEST && unspaced * 2 >= letters
}

/// Whether a text is punctuated as a sentence in any language: a capital at the start and a full
/// stop at the end.
fn is_written_out(text: &str, count: usize) -> bool {
    let text = text.trim();
    let is_closed = text.ends_with(['.', '!', '。', '！', '।', '۔', '။', '።']);
    // Many scripts have no capitals.
    let is_opened = text.starts_with(|it: char| it.is_alphabetic() && !it.is_lowercase());
    let has_small_word =
        words(text).any(|it| it.chars().count() <= 3) || text.contains(is_unspaced);
    is_closed
        && (is_opened && count >= 4 && has_small_word
            || text.ends_with('。') && text.chars().count() >= 8)
}

/// Whether a text contains a word that looks like a secret.
pub(super) fn reveals(text: &str) -> bool {
    words(text).any(is_revealing)
}

/// Whether a text can be a remark where remarks are expected: several words, and none that looks
/// like a secret.
pub(super) fn is_remark(text: &str) -> bool {
    let several = words(text).nth(1).is_some();
    several && !words(text).any(is_revealing) || is_sentence_word(text)
}

/// Whether a word is common in sentences about secrets, or names a secret.
pub(super) fn is_everyday_word(word: &str) -> bool {
    let word = word.trim_end_matches(|mark: char| mark.is_ascii_punctuation());
    word.len() <= LONGEST_WORD && EVERYDAY.contains(word.to_ascii_lowercase().as_str())
}

const LONGEST_WORD: usize = 24;

/// A hash set, because one remark looks up many words.
static EVERYDAY: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let lists = [SENTENCE_WORDS, REMARK_WORDS];
    let words = lists.into_iter().flat_map(str::split_ascii_whitespace);
    words.chain(SINGLE.iter().map(|row| row.0)).collect()
});

/// Whether a text is punctuation, as parsers report tokens.
pub(super) fn is_punctuation(text: &str) -> bool {
    text.len() <= 2 && text.bytes().all(|byte| byte.is_ascii_punctuation())
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace()
        .take(WORDS_LIMIT)
        .map(|word| word.trim_matches(|mark: char| mark.is_ascii_punctuation()))
        .filter(|word| !word.is_empty())
}

fn is_revealing(word: &str) -> bool {
    if word.contains(is_unspaced) {
        return word
            .split(is_unspaced)
            .any(|it| !it.is_empty() && is_revealing(it));
    }
    match shape_of(word) {
        Shape::Password | Shape::Opaque | Shape::Uuid => true,
        Shape::Digits => word.len() > 4 && !is_example_number(word),
        Shape::Word | Shape::KnownFormat => false,
    }
}

/// Whether digits are an example, such as 1234 or 0000.
fn is_example_number(digits: &str) -> bool {
    let mut bytes = digits.bytes();
    let first = bytes.next();
    bytes.all(|byte| Some(byte) == first) || "1234567890".starts_with(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_about_a_secret_is_told_apart_from_a_passphrase() {
        let sentences = [
            "is too short (minimum is 8 characters)",
            "can't be blank",
            "must be at least 8 characters long",
            "String should have at least 8 characters",
            "has already been taken",
            "rotated 2 days ago",
            "is invalid",
        ];
        for text in sentences {
            assert!(is_sentence(text), "{text}");
        }
        let secrets = [
            "correct horse battery staple",
            "open sesame",
            "is hunter2",
            "meet at the old mill",
            "swordfish is not valid",
            "swordfish",
            "required",
            "",
        ];
        for text in secrets {
            assert!(!is_sentence(text), "{text}");
        }
    }

    #[test]
    fn among_errors_plain_words_are_a_remark() {
        assert!(is_remark("does too little against guessing"));
        assert!(is_remark("missing"));
        for text in ["hunter2", "swordfish", "bad value hunter2"] {
            assert!(!is_remark(text), "{text}");
        }
    }
}
