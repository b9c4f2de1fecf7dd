//! Splits a text into sentences, normalises whitespace, skips the items of lists and detects hedges.

use std::sync::LazyLock;

use regex::Regex;

use super::quoted;

/// One sentence, and the reasons why it is not certain.
pub(super) struct Sentence {
    pub(super) text: String,
    /// The text with its quotations blanked out.
    pub(super) bare: String,
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

/// The sentences of a text, without the items of its lists: a list names several cases, and only one of them
/// applies. A line that starts like a sentence ends the one before.
pub(super) fn of(text: &str) -> Vec<Sentence> {
    let text = without_items(quoted::unwrapped(text));
    let bare = quoted::without_quotations(&text);
    let mut sentences = Vec::new();
    for (text, bare) in text.split("\n\n").zip(bare.split("\n\n")) {
        let words = words_of(text);
        let bare: Vec<&str> = bare.split_whitespace().collect();
        let mut from = 0;
        for at in 0..words.len() {
            let next_starts = words.get(at + 1).is_none_or(|it| it.starts_sentence);
            if ends_sentence(words[at].text) || (next_starts && !words[at].text.ends_with(',')) {
                let text: Vec<&str> = words[from..=at].iter().map(|it| it.text).collect();
                sentences.push(sentence(&text, &bare[from..=at]));
                from = at + 1;
            }
        }
    }
    sentences
}

/// A word, and whether it starts a line that looks like a new sentence.
struct Word<'a> {
    text: &'a str,
    starts_sentence: bool,
}

fn words_of(paragraph: &str) -> Vec<Word<'_>> {
    let lines = paragraph.lines().map(str::split_whitespace);
    let words = lines.flat_map(|line| {
        line.enumerate().map(|(at, text)| Word {
            text,
            starts_sentence: at == 0 && looks_like_start(text),
        })
    });
    words.collect()
}

/// Whether a line with this first word is a new sentence, not a wrapped one: `Please`, `fatal:`.
fn looks_like_start(word: &str) -> bool {
    word.starts_with(char::is_uppercase) || word.ends_with(':')
}

fn sentence(words: &[&str], bare: &[&str]) -> Sentence {
    let text = words.join(" ");
    Sentence {
        is_conditional: CONDITION.is_match(&text),
        is_hypothetical: HYPOTHESIS.is_match(&text),
        is_hedged: HEDGE.is_match(&text),
        lower: text.to_ascii_lowercase(),
        bare: bare.join(" "),
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

/// The text without the items of its lists and reports of tests, each with the deeper lines below it.
fn without_items(text: &str) -> String {
    let mut item_depth = None;
    let is_kept = |line: &&str| {
        let depth = line.len() - line.trim_start().len();
        if is_list_item(line) {
            item_depth = Some(depth);
        } else if item_depth.is_some_and(|it| depth <= it) {
            item_depth = None;
        }
        item_depth.is_none()
    };
    let lines: Vec<&str> = text.lines().filter(is_kept).collect();
    lines.join("\n")
}

fn is_list_item(line: &str) -> bool {
    let line = line.trim_start();
    let after_number = line.trim_start_matches(|it: char| it.is_ascii_digit());
    let is_numbered = after_number.len() < line.len()
        && (after_number.starts_with(". ") || after_number.starts_with(") "));
    ["- ", "* ", "+ ", "• ", "✓ ", "✔ ", "✗ ", "✖ ", "× "]
        .iter()
        .any(|it| line.starts_with(it))
        || is_numbered
}
