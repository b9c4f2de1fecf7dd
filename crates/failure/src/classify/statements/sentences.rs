//! Splits a text into sentences, normalises whitespace, skips lists and detects hedges.

use std::sync::LazyLock;

use regex::Regex;

/// One sentence, and the reasons why it is not certain.
pub(super) struct Sentence {
    pub(super) text: String,
    /// The text in lower case.
    pub(super) lower: String,
    /// Whether it depends on a condition.
    pub(super) is_conditional: bool,
    /// Whether it is about something that may happen, not something that did.
    pub(super) is_hypothetical: bool,
    /// Whether it revokes, limits or doubts its statement.
    pub(super) is_hedged: bool,
}

static CONDITION: LazyLock<Regex> = LazyLock::new(|| {
    any_word("if|unless|whether|when|whenever|until|once|in case|depending|otherwise")
});

static HYPOTHESIS: LazyLock<Regex> = LazyLock::new(|| {
    any_word("if|unless|whether|in case|depending|otherwise|make sure|ensure|avoid|to prevent")
});

static HEDGE: LazyLock<Regex> = LazyLock::new(|| {
    any_word(
        "might|may have|maybe|perhaps|possibly|probably|likely|either|but|however|although|though|\
                 except|partially|partly|some|unclear|unsure|cannot tell|assume[ds]?|assuming|should have|yet",
    )
});

fn any_word(words: &str) -> Regex {
    Regex::new(&format!(r"(?i-u)\b(?:{words})\b")).expect("a fixed pattern compiles")
}

/// Abbreviations whose full stop does not end a sentence.
const ABBREVIATIONS: [&str; 8] = ["e.g", "i.e", "etc", "max", "min", "approx", "incl", "no"];

/// The sentences of a text; none if it is a list, because a list names several cases and only one of them
/// applies.
pub(super) fn of(text: &str) -> Vec<Sentence> {
    if text.lines().any(is_list_item) {
        return Vec::new();
    }
    let mut sentences = Vec::new();
    for paragraph in text.split("\n\n") {
        let words: Vec<&str> = paragraph.split_whitespace().collect();
        let mut from = 0;
        for at in 0..words.len() {
            if ends_sentence(words[at]) || at + 1 == words.len() {
                sentences.push(sentence(&words[from..=at]));
                from = at + 1;
            }
        }
    }
    sentences
}

fn sentence(words: &[&str]) -> Sentence {
    let text = words.join(" ");
    Sentence {
        is_conditional: CONDITION.is_match(&text),
        is_hypothetical: HYPOTHESIS.is_match(&text),
        is_hedged: HEDGE.is_match(&text),
        lower: text.to_ascii_lowercase(),
        text,
    }
}

fn ends_sentence(word: &str) -> bool {
    let bare = word.trim_end_matches(['"', '\'', ')']);
    let Some(before) = bare.strip_suffix(['.', '!', '?', ';']) else {
        return false;
    };
    let before = before.trim_start_matches('(').to_ascii_lowercase();
    !(bare.ends_with('.') && ABBREVIATIONS.contains(&before.as_str()))
}

fn is_list_item(line: &str) -> bool {
    let line = line.trim_start();
    let after_number = line.trim_start_matches(|it: char| it.is_ascii_digit());
    let is_numbered = after_number.len() < line.len()
        && (after_number.starts_with(". ") || after_number.starts_with(") "));
    ["- ", "* ", "+ ", "• "]
        .iter()
        .any(|it| line.starts_with(it))
        || is_numbered
}
