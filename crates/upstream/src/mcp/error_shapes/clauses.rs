//! Where a text can state its own failure: at its beginning, and behind an introduction such as `Error: `.
//!
//! What a text quotes, or prints as the output of a program, is data and states nothing.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// How far into a text a statement is searched for, in bytes.
const SEARCH_BYTES: usize = 1_000;

/// The beginning of a Python traceback, whose error is in its last lines.
const TRACEBACK: &str = "Traceback (most recent call last)";

/// Opening quotes with their closing ones.
const QUOTES: [(char, char); 6] = [
    ('\'', '\''),
    ('"', '"'),
    ('`', '`'),
    ('“', '”'),
    ('‘', '’'),
    ('«', '»'),
];

/// What comes before a quote that contains the text of a Python exception, not data.
const EXCEPTIONS: [&str; 2] = ["Error(", "Exception("];

/// Words before a statement that make it a part of another one: `expected HTTP 429`.
const OTHER_SUBJECTS: &str = "about assertion assert asserted called expect expected expecting expects got handle \
                              handles handling how if invalid named near no not should title titled unknown unless \
                              when without";

/// Beginnings of a text that announces the failure of the whole call.
const ANNOUNCEMENTS: [&str; 9] = [
    "failed to ",
    "failed:",
    "unable ",
    "cannot ",
    "could not ",
    "couldn't ",
    "request ",
    "access denied",
    "rejected",
];

/// Words that tell of something before the failure.
const EARLIER_WORK: &str = "after and but then while";

/// The methods of HTTP, with which clients begin the text of an error.
const METHODS: [&str; 6] = ["GET ", "POST ", "PUT ", "PATCH ", "DELETE ", "HEAD "];

/// A word before a statement, with the space behind it.
pub(super) const WORD: &str = r#"[^\s'"`“‘«(\[{<]*[^\s'"`“‘«(\[{<:;,.!?] "#;

/// The first line of the output of a program that failed.
static PROGRAM_OUTPUT: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?i)^(?:error: )?(?:(?:command|process|script) (?:failed|exited)|exit(?:ed)?\b[a-z ]*[:=]? ?-?\d|[^\n]*\(exit(?: code| status)? -?\d+\))";
    Regex::new(pattern).expect("a fixed pattern compiles")
});

/// A place in a text where a statement can begin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clause<'a> {
    /// The text before.
    pub(super) before: &'a str,
    /// The text from there on, not only to the end of the clause.
    pub(super) text: &'a str,
}

/// The places in a text where it can state its own failure; none in the output of a program.
pub(super) fn clauses(text: &str) -> Vec<Clause<'_>> {
    let text = error_of_traceback(text);
    let text = &text[..text.floor_char_boundary(SEARCH_BYTES)];
    if is_program_output(text) {
        return Vec::new();
    }
    let quoted = quoted(text);
    let is_open = |at: &usize| !quoted.iter().any(|it| it.contains(at));
    let beginnings = beginnings(text).into_iter().filter(is_open);
    let clause = |at| Clause {
        before: &text[..at],
        text: &text[at..],
    };
    beginnings.map(clause).collect()
}

impl Clause<'_> {
    /// Whether the text before only announces a failure, so that it reports nothing else. `Receipt failed: ` is
    /// about a part of the work.
    pub(super) fn is_announced(&self) -> bool {
        let lower = self.before.trim().to_ascii_lowercase();
        let mut words = lower.split(|it: char| !it.is_alphanumeric());
        let tells_more = words.any(|word| EARLIER_WORK.split(' ').any(|it| it == word));
        !tells_more && lower.split_inclusive([':', ';', '.']).all(is_announcement)
    }

    /// Whether the text before is empty or the title of an error, such as `Error executing tool x:`.
    pub(super) fn is_opening(&self) -> bool {
        let before = self.before.trim();
        let is_title = before.to_ascii_lowercase().contains("error") && before.ends_with(':');
        (is_title && !before.contains('\n')) || !before.contains(char::is_whitespace)
    }
}

/// Whether a part of a text is the title of an error, or announces one.
fn is_announcement(part: &str) -> bool {
    let part = part.trim();
    let is_title = part.contains("error") || part.contains("exception");
    is_title
        || !part.contains(char::is_whitespace)
        || METHODS
            .iter()
            .any(|it| part.starts_with(&it.to_ascii_lowercase()))
        || ANNOUNCEMENTS.iter().any(|it| part.starts_with(it))
}

/// Whether the words before a statement belong to another one.
pub(super) fn is_about_something_else(head: &str) -> bool {
    let is_other = |word: &str| {
        let word = word.to_ascii_lowercase();
        OTHER_SUBJECTS.split_ascii_whitespace().any(|it| it == word)
    };
    head.split_whitespace().any(is_other)
}

/// Whether a text is the output of a program that failed, of more than one line.
pub(in crate::mcp) fn is_program_output(text: &str) -> bool {
    text.trim().contains('\n') && PROGRAM_OUTPUT.is_match(text.trim_start())
}

/// Where a part of a text begins.
pub(super) fn position(text: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize)
}

/// The last lines of a traceback, without the lines of code.
fn error_of_traceback(text: &str) -> &str {
    if !text.trim_start().starts_with(TRACEBACK) {
        return text;
    }
    let is_code = |line: &&str| line.starts_with([' ', '\t']);
    let code = text.lines().rfind(is_code);
    let end = code.map(|line| position(text, line) + line.len());
    &text[end.unwrap_or_default()..]
}

/// The positions where a clause begins.
fn beginnings(text: &str) -> Vec<usize> {
    let start = |at: usize| at + text[at..].len() - text[at..].trim_start().len();
    let mut found = vec![start(0)];
    for (at, character) in text.char_indices() {
        let next = at + character.len_utf8();
        let is_space = text[next..].starts_with(char::is_whitespace);
        let begins = match character {
            '\n' | '(' | '[' => true,
            ':' | ';' | '.' | '!' | '?' | '–' | '—' => is_space,
            '-' => is_space && text[..at].ends_with(' '),
            _ => false,
        };
        let next = start(next);
        if begins && next < text.len() && found.last() != Some(&next) {
            found.push(next);
        }
    }
    found
}

/// The quoted parts of a text. A quote ends in its line; an apostrophe is not a quote.
fn quoted(text: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut end = 0;
    for (at, character) in text.char_indices() {
        if at < end || !opens(text, at, character) {
            continue;
        }
        if let Some(close) = closing(text, at, character) {
            ranges.push(at..close);
            end = close + 1;
        }
    }
    ranges
}

fn opens(text: &str, at: usize, character: char) -> bool {
    let before = &text[..at];
    QUOTES.iter().any(|(open, _)| *open == character)
        && !before.ends_with(char::is_alphanumeric)
        && !EXCEPTIONS.iter().any(|it| before.ends_with(it))
}

fn closing(text: &str, at: usize, open: char) -> Option<usize> {
    let (_, close) = QUOTES.iter().find(|(it, _)| *it == open)?;
    let begin = at + open.len_utf8();
    let line = text[begin..].split('\n').next().unwrap_or_default();
    let mut found = line.match_indices(*close);
    let ends = |at: usize| !line[at + close.len_utf8()..].starts_with(char::is_alphanumeric);
    found.find_map(|(at, _)| ends(at).then_some(begin + at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clauses_begin_behind_introductions_and_not_in_quotes_or_output() {
        let texts = |text| -> Vec<String> {
            let clauses = clauses(text).into_iter();
            clauses.map(|it| it.text.to_owned()).collect()
        };
        for (text, expected) in [
            ("failed: HTTP 500", vec!["failed: HTTP 500", "HTTP 500"]),
            ("a 'b: c' d", vec!["a 'b: c' d"]),
            (
                "it's gone: that's it",
                vec!["it's gone: that's it", "that's it"],
            ),
            ("no end 'of: quote", vec!["no end 'of: quote", "quote"]),
            (
                "X(Error('a: b'))",
                vec!["X(Error('a: b'))", "Error('a: b'))", "'a: b'))", "b'))"],
            ),
            ("Command failed: x\nHTTP 500", vec![]),
            ("exit code: 1\na", vec![]),
            ("Tests failed (exit 1):\n a", vec![]),
            ("Command failed: x", vec!["Command failed: x", "x"]),
            (
                "Traceback (most recent call last):\n  File \"a\"\n    b: c\nKeyError: d",
                vec!["KeyError: d", "d"],
            ),
        ] {
            assert_eq!(texts(text), expected, "{text}");
        }
    }

    #[test]
    fn a_text_is_searched_up_to_its_limit() {
        for (before, count) in [(SEARCH_BYTES - 3, 2), (SEARCH_BYTES - 2, 1)] {
            let text = format!("{}: b", "a".repeat(before));
            assert_eq!(clauses(&text).len(), count, "{before}");
        }
    }

    #[test]
    fn an_announcement_reports_nothing_but_the_failure() {
        for (before, is_announced, is_opening) in [
            ("", true, true),
            ("Error executing tool put: ", true, true),
            ("failed to get issue: GET https://a.example: ", true, false),
            ("AxiosError: ", true, true),
            ("Wrote 3 rows: ", false, false),
            ("Receipt e-mail failed: AxiosError: ", false, true),
            ("Failed after sending 2 of 3: Error: ", false, true),
        ] {
            let clause = Clause { before, text: "" };
            let found = (clause.is_announced(), clause.is_opening());
            assert_eq!(found, (is_announced, is_opening), "{before}");
        }
    }
}
