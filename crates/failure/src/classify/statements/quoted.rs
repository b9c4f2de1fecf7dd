//! Blanks out what a text only quotes: names in quotes, addresses, paths and files.
//!
//! `No results for 'connection refused'` reports no connection. Each quoted character becomes a filler, so that
//! words keep their places. Quotes that hold the error itself stay: `desc = "connection refused"`.

use std::sync::LazyLock;

use regex::Regex;

/// What a quoted character becomes: no letter, and no end of a sentence.
pub(super) const FILLER: char = '·';

/// Longest quotation, in characters; a longer one is more likely a pair of unrelated quotes.
const QUOTATION_LIMIT: usize = 600;

/// The words before the quotes of an error: a member or a word that names an error, a constructor of an
/// exception, or the start of a list of its arguments.
static ERROR_LABEL: LazyLock<Regex> = LazyLock::new(|| {
    fixed(
        r#"(?i)(?:\b(?:message|msg|details?|description|desc|reason|cause|code|type|status|errors?|err|stderr|output)["'`]? ?[:=] ?[\[(]?|\b(?:error|limit|returned|replied|said|(?:responded|failed|answered)(?: with)?):? |(?:error|exception|failure|timeout)\(|^\((?:[0-9]+, )?)$"#,
    )
});

/// A whole text in quotes, or the same after the announcement of an error.
static WRAPPED: LazyLock<Regex> = LazyLock::new(|| {
    fixed(
        r#"(?is)^\s*(?:(?:[a-z_]*(?:error|exception|failed|failure)|fatal):?\s*)?(?:"(?P<a>[^"]+)"|'(?P<b>[^']+)'|`(?P<c>[^`]+)`|“(?P<d>[^”]+)”)[.!]?\s*$"#,
    )
});

/// Addresses and paths, files of common kinds with the words of a path before them, and names such as
/// `fix-timed-out`.
static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    fixed(
        r#"(?ix)
        [^\s"'`()\[\]{}<>|]* [/\\] [^\s:;,"'`()\[\]{}<>|]* (?: [^\n:;,"'`()\[\]{}<>/\\]{1,60}? \.(?:EXT)\b )?
        | [^\s/\\:;,"'`()\[\]{}<>|]+ \.(?:EXT)\b
        | \b[a-z][a-z0-9_]* (?: -[a-z0-9_]+ ){2,}\b
        "#,
    )
});

/// The kinds of files that are known by the ends of their names.
const EXTENSIONS: &str = "c|cfg|conf|cpp|cs|css|csv|docx?|gif|go|gz|h|html?|ini|ipynb|java|jpe?g|json|jsx?|kt|lock|\
                          log|md|mdx|pdf|php|png|pptx?|py|rb|rs|sh|sql|svg|toml|tsv|tsx?|txt|xlsx?|xml|ya?ml|zip";

fn fixed(pattern: &str) -> Regex {
    let pattern = pattern.replace("EXT", EXTENSIONS);
    Regex::new(&pattern).expect("a fixed pattern compiles")
}

/// The text without the quotes around all of it.
pub(super) fn unwrapped(text: &str) -> &str {
    let captures = WRAPPED.captures(text);
    let inner = captures.and_then(|it| it.iter().skip(1).flatten().next());
    inner.map_or(text, |it| it.as_str())
}

/// The text with quotations and places blanked out.
pub(super) fn without_quotations(text: &str) -> String {
    let text = without_places(text);
    let mut chars: Vec<char> = text.chars().collect();
    let mut at = 0;
    while at < chars.len() {
        match closing(&chars, at) {
            Some(end) if !holds_error(&chars, at, end) => {
                fill(&mut chars[at + 1..end]);
                at = end + 1;
            }
            _ => at += 1,
        }
    }
    chars.into_iter().collect()
}

/// Where the quotation ends that starts here. An apostrophe in a word neither starts nor ends one.
fn closing(chars: &[char], at: usize) -> Option<usize> {
    let is_inside_word = |at: usize| {
        let is_letter = |it: Option<&char>| it.is_some_and(|it| it.is_alphanumeric());
        is_letter(chars.get(at + 1)) && at > 0 && is_letter(chars.get(at - 1))
    };
    let close = match chars[at] {
        it @ ('"' | '`') => it,
        '\'' if at == 0 || !chars[at - 1].is_alphanumeric() => '\'',
        '“' => '”',
        '‘' => '’',
        _ => return None,
    };
    let from = at + 1;
    let length = chars[from..]
        .iter()
        .take(QUOTATION_LIMIT)
        .enumerate()
        .position(|(offset, it)| *it == close && !(close == '\'' && is_inside_word(from + offset)));
    length.filter(|it| *it > 0).map(|it| from + it)
}

/// Whether a quotation is the error or the name of a member, and no data.
fn holds_error(chars: &[char], start: usize, end: usize) -> bool {
    let is_member = chars[start + 1..end]
        .iter()
        .all(|it| it.is_ascii_alphanumeric() || matches!(it, '_' | '-'))
        && matches!(chars.get(end + 1), Some(':' | '='));
    let before: String = chars[start.saturating_sub(40)..start].iter().collect();
    is_member || ERROR_LABEL.is_match(&before)
}

fn without_places(text: &str) -> String {
    let mut chars = String::with_capacity(text.len());
    let mut from = 0;
    // The name of a header or member is no place.
    let is_member = |end: usize| text[end..].starts_with([':', '=']);
    for place in PLACE.find_iter(text) {
        let is_name = !place.as_str().contains(['/', '\\', '.']);
        if is_name && is_member(place.end()) {
            continue;
        }
        chars.push_str(&text[from..place.start()]);
        let bare = place.as_str().trim_end_matches(['.', '!', '?']);
        chars.extend(bare.chars().map(filled));
        chars.push_str(&place.as_str()[bare.len()..]);
        from = place.end();
    }
    chars.push_str(&text[from..]);
    chars
}

fn fill(chars: &mut [char]) {
    for it in chars {
        *it = filled(*it);
    }
}

/// Blanks stay, so that the words can be counted.
fn filled(it: char) -> char {
    match it.is_whitespace() {
        true => it,
        false => FILLER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotations_and_places_are_blanked_out() {
        for (text, expected) in [
            (
                "No results for 'rate limited'",
                "No results for '···· ·······'",
            ),
            ("near \"rate limited)\"", "near \"···· ········\""),
            (
                "can't connect to the users' server",
                "can't connect to the users' server",
            ),
            ("can't find 'it's lost' here", "can't find '···· ····' here"),
            ("No page “timed out”.", "No page “····· ···”."),
            (
                "open /etc/hosts: Permission denied",
                "open ··········: Permission denied",
            ),
            (
                "Get \"https://a.b/c?d=e\": EOF",
                "Get \"·················\": EOF",
            ),
            (
                "not found: docs/rate limit exceeded.md",
                "not found: ········· ····· ···········",
            ),
            (
                "no such file timed-out.txt here",
                "no such file ············· here",
            ),
            (
                "branch fix-timed-out is unknown",
                "branch ············· is unknown",
            ),
            ("see https://a.b/c. Retry", "see ·············. Retry"),
            (
                "desc = \"connection refused\"",
                "desc = \"connection refused\"",
            ),
            ("{'message': 'Rate limited'}", "{'message': 'Rate limited'}"),
            ("{\"retry_after\": 5}", "{\"retry_after\": 5}"),
            ("ConnectError('all failed')", "ConnectError('all failed')"),
            ("(1045, \"Access denied\")", "(1045, \"Access denied\")"),
            (
                "connect ECONNREFUSED 127.0.0.1:5432",
                "connect ECONNREFUSED 127.0.0.1:5432",
            ),
            ("an open \" quote", "an open \" quote"),
            ("''", "''"),
        ] {
            assert_eq!(without_quotations(text), expected, "{text}");
            let words = |it: &str| it.split_whitespace().count();
            assert_eq!(words(&without_quotations(text)), words(text), "{text}");
        }
    }

    #[test]
    fn only_quotes_around_the_whole_text_are_removed() {
        for (text, expected) in [
            ("\"Connection refused\"", "Connection refused"),
            ("Error: \"Connection refused\"", "Connection refused"),
            ("ValueError: 'timed out'.", "timed out"),
            ("'a' and 'b'", "'a' and 'b'"),
            ("Unknown name: 'timed out'", "Unknown name: 'timed out'"),
            ("", ""),
        ] {
            assert_eq!(unwrapped(text), expected, "{text}");
        }
    }
}
