//! Splits a text into words and sentences. Quoted text is one word, a name and its value are two,
//! and scripts without spaces are split where another script begins.

use std::ops::Range;

use super::lexicon::is_unspaced;

/// One word of a text, or a quoted passage.
#[derive(Debug)]
pub(super) struct Word {
    pub(super) range: Range<usize>,
    pub(super) quoted: bool,
}

/// Whether the text between two words ends a sentence or a line.
pub(super) fn ends_sentence(between: &str) -> bool {
    between.contains(['\n', '\r', '。', '；', '|', '•', ';'])
        || between.contains(". ")
        || between.contains(".</")
        || between.contains("! ")
        || between.contains("? ")
        || between.contains("; ")
}

/// Whether a text ends inside a URL.
pub(super) fn is_in_address(head: &str) -> bool {
    const REACH: usize = 256;
    let near = &head[head.ceil_char_boundary(head.len().saturating_sub(REACH))..];
    let word = near.rsplit(char::is_whitespace).next();
    word.is_some_and(|it| it.contains("://"))
}

const QUOTES: &[(char, &[char])] = &[
    ('"', &['"']),
    ('\'', &['\'']),
    ('`', &['`', '\'']),
    ('“', &['”']),
    ('„', &['“', '”', '"']),
    ('”', &['”']),
    ('«', &['»']),
    ('»', &['«', '»']),
    ('‘', &['’']),
    ('‚', &['‘', '’']),
    ('「', &['」']),
    ('『', &['』']),
    ('《', &['》']),
    ('"', &['"']),
    ('［', &['］']),
    ('【', &['】']),
];

/// The words of a text; a quoted passage is one word.
pub(super) fn words(text: &str) -> Vec<Word> {
    const QUOTED_LIMIT: usize = 160;
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let is_opening =
            at == 0 || !text[..at].ends_with(|it: char| it.is_alphanumeric() && !is_unspaced(it));
        let is_empty =
            QUOTES[..2].iter().any(|(open, _)| *open == first) && text[at + 1..].starts_with(first);
        if is_empty {
            at += 2;
            continue;
        }
        let closing = QUOTES.iter().find(|(open, _)| *open == first && is_opening);
        if let Some((_, closing)) = closing {
            let start = at + first.len_utf8();
            let reach = text.floor_char_boundary((start + QUOTED_LIMIT).min(text.len()));
            let inside = &text[start..reach];
            let line = inside.find('\n').unwrap_or(inside.len());
            if let Some(length) = closing_quote(&inside[..line], closing).filter(|it| *it > 0) {
                let end = start + length;
                let quoted = first != '`' && !is_in_data_format(text, at, end);
                let inside = text[start..end].trim();
                let open = start + text[start..end].find(inside).unwrap_or(0);
                words.push(Word {
                    range: open..open + inside.len(),
                    quoted,
                });
                at = end + text[end..].chars().next().map_or(0, char::len_utf8);
                continue;
            }
        }
        let end = at + word_length(&text[at..]);
        if end > at {
            push_trimmed(text, at..end, &mut words);
            at = end;
        } else {
            at += first.len_utf8();
        }
    }
    join_groups(text, words)
}

/// Whether quotes belong to a data format and not to a sentence, by the colon, comma or bracket
/// next to them.
fn is_in_data_format(text: &str, open: usize, close: usize) -> bool {
    let head = text[..open].trim_end();
    let behind = text[close..].chars().nth(1);
    // In a sentence a colon follows a word, in a data format the quote of a name.
    let is_member = head
        .strip_suffix(':')
        .is_some_and(|it| it.ends_with(['"', '\'', '\\']));
    let is_listed = head.ends_with(['{', '[', '=', '\\'])
        || head.ends_with(',') && behind.is_some_and(|it| ",]})".contains(it));
    let is_name = (head.is_empty() || head.ends_with(['{', ',', '['])) && behind == Some(':')
        || behind == Some('=');
    is_member || is_listed || is_name
}

/// The end of the quoted text. A quote before a letter is an apostrophe.
fn closing_quote(inside: &str, closing: &[char]) -> Option<usize> {
    let mut found = inside.match_indices(|it: char| closing.contains(&it));
    found
        .find(|(at, quote)| {
            let behind = inside[at + quote.len()..].chars().next();
            behind.is_none_or(|it| !it.is_alphanumeric() || is_unspaced(it))
        })
        .map(|(at, _)| at)
}

/// The length of the word at the start of a text: a run of one script, up to a blank or a
/// separator. A name and its value are two words.
fn word_length(text: &str) -> usize {
    let Some(first) = text.chars().next().filter(|it| !is_separator(*it)) else {
        return 0;
    };
    let unspaced = is_unspaced(first);
    let ends = |(at, letter): &(usize, char)| {
        let rest = &text[at + letter.len_utf8()..];
        let is_escape = *letter == '\\' && rest.starts_with(['n', 'r', 't', '"', '\'']);
        is_separator(*letter)
            || is_escape
            || is_unspaced(*letter) != unspaced
            || *at <= NAME_LIMIT && links_value(&text[..*at], *letter, rest)
    };
    let end = text.char_indices().find(ends);
    end.map_or(text.len(), |(at, _)| at)
}

/// A longer word is not the name of a value.
const NAME_LIMIT: usize = 64;

/// Whether this character is the only separator between a name and its value.
fn links_value(name: &str, mark: char, rest: &str) -> bool {
    let is_value = |it: char| it.is_alphanumeric() || "\"'([{<-$".contains(it);
    let is_only = || {
        let near = &rest[..rest.floor_char_boundary(NAME_LIMIT)];
        let value = near.split(is_separator).next();
        !value.is_some_and(|it| it.contains(':'))
    };
    matches!(mark, '=' | ':')
        && rest.starts_with(is_value)
        && is_name(name)
        && (mark == '=' || is_only())
}

fn is_name(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'-' | b'.'))
}

#[rustfmt::skip]
fn is_separator(letter: char) -> bool {
    letter.is_whitespace()
        || matches!(
            letter,
            ',' | ';' | '"' | '“' | '”' | '„' | '«' | '»' | '「' | '」' | '『' | '』' | '《' | '》' | '（' | '）'
                | '、' | '，' | '。' | '：' | '；' | '`' | '|' | '<' | '>' | '【' | '】' | '！' | '？'
        )
}

/// Joins groups of digits that are separated by blanks, as in codes.
fn join_groups(text: &str, words: Vec<Word>) -> Vec<Word> {
    let mut joined: Vec<Word> = Vec::with_capacity(words.len());
    let is_group =
        |it: &str| (2..=4).contains(&it.len()) && it.bytes().all(|byte| byte.is_ascii_digit());
    for word in words {
        if let Some(last) = joined.last_mut()
            && !word.quoted
            && is_group(&text[word.range.clone()])
            && last.range.end + 1 == word.range.start
            && text.as_bytes()[last.range.end] == b' '
            && text[last.range.clone()].split(' ').all(is_group)
        {
            last.range.end = word.range.end;
            last.quoted = true;
            continue;
        }
        joined.push(word);
    }
    joined
}

/// Adds a word without the brackets and punctuation around it.
fn push_trimmed(text: &str, range: Range<usize>, words: &mut Vec<Word>) {
    let word = &text[range.clone()];
    let start = range.start + word.len()
        - word
            .trim_start_matches(['(', '[', '{', '\'', '=', ':', '‘', '’'])
            .len();
    let trimmed = text[start..range.end]
        .trim_end_matches(['.', ':', ')', ']', '}', '\'', '?', '’', '‘', '…']);
    let trimmed = match trimmed.strip_suffix('!') {
        Some(rest) if !rest.bytes().any(|byte| byte.is_ascii_digit()) => rest,
        _ => trimmed,
    };
    if !trimmed.is_empty() {
        words.push(Word {
            range: start..start + trimmed.len(),
            quoted: false,
        });
    }
}
