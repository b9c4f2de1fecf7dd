//! Truncates text from a service without leaving half a secret at the end.
//!
//! The runtime redacts a failure later, because it knows the secrets of the call. It would not recognise a secret
//! that was cut in two. So secrets of a known shape are removed first, and a token at the cut is dropped: what is
//! written without blanks, quotes, commas and brackets. Minified JSON, XML and CSV lose only their last value.

use panpan_redact::Redactor;
use serde_json::Value;

/// The longest part of a token that is dropped at a cut. Longer secrets have a shape that is known, or are recognised
/// by their parts.
const TOKEN_LIMIT: usize = 256;

/// Marks where a text was truncated.
pub(crate) const ELLIPSIS: &str = "…";

/// A text of at most `characters` characters, with an ellipsis if it was longer. `input` is the input of the call:
/// the service may have echoed a secret from it.
pub(crate) fn bounded(text: &str, characters: usize, input: &Value) -> String {
    if text.char_indices().nth(characters).is_none() {
        return text.to_owned();
    }
    let clean = Redactor::new().text(text);
    let Some((end, _)) = clean.char_indices().nth(characters) else {
        return clean.into_owned();
    };
    let end = cut_before(&clean, end, input);
    format!("{}{ELLIPSIS}", clean[..end].trim_end())
}

/// As [`bounded`], but cut in the middle, with blanks around the ellipsis: compilers, tests and tracebacks say at the end
/// what failed.
pub(crate) fn bounded_within(text: &str, characters: usize, input: &Value) -> String {
    if text.char_indices().nth(characters).is_none() {
        return text.to_owned();
    }
    let clean = Redactor::new().text(text);
    let Some(too_many) = clean.chars().count().checked_sub(characters + 1) else {
        return clean.into_owned();
    };
    let at = |index: usize| {
        let found = clean.char_indices().nth(index);
        found.map_or(clean.len(), |(at, _)| at)
    };
    let first = characters / 2;
    let head = cut_before(&clean, at(first), input);
    let tail = cut_after(&clean, at(first + too_many + 1), input);
    format!(
        "{} {ELLIPSIS} {}",
        clean[..head].trim_end(),
        clean[tail..].trim_start()
    )
}

/// The first position from `start` on that splits neither a token nor a value of the input.
fn cut_after(text: &str, start: usize, input: &Value) -> usize {
    let rest = text[start..].bytes().take(TOKEN_LIMIT);
    let start = match text[..start].bytes().next_back().is_some_and(is_of_token) {
        true => start + rest.take_while(|it| is_of_token(*it)).count(),
        false => start,
    };
    let mut latest = start;
    for_each_text(input, &mut |value| {
        let cut = |(at, _): &(usize, &str)| *at < start && at + value.len() > start;
        let found = text.match_indices(value).find(cut);
        latest = found.map_or(latest, |(at, _)| latest.max(at + value.len()));
    });
    latest
}

/// The last position up to `end` that splits neither a token nor a value of the input.
fn cut_before(text: &str, end: usize, input: &Value) -> usize {
    let rest = text[..end].bytes().rev().take(TOKEN_LIMIT);
    let end = match text[end..].bytes().next().is_some_and(is_of_token) {
        true => end - rest.take_while(|it| is_of_token(*it)).count(),
        false => end,
    };
    let mut earliest = end;
    for_each_text(input, &mut |value| {
        let cut = |(at, _): &(usize, &str)| *at < end && at + value.len() > end;
        let found = text.match_indices(value).find(cut);
        earliest = found.map_or(earliest, |(at, _)| earliest.min(at));
    });
    earliest
}

/// Whether a byte may be part of a code, key or token. They are ASCII, and some scripts have no spaces.
const fn is_of_token(byte: u8) -> bool {
    byte.is_ascii_graphic()
        && !matches!(
            byte,
            b'"' | b'\''
                | b'`'
                | b','
                | b';'
                | b'<'
                | b'>'
                | b'('
                | b')'
                | b'['
                | b']'
                | b'{'
                | b'}'
        )
}

/// Visits every text in a value.
fn for_each_text(value: &Value, visit: &mut dyn FnMut(&str)) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.values()),
            Value::String(text) => visit(text),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const LIMIT: usize = 20;

    #[test]
    fn a_text_over_the_limit_is_cut_between_words() {
        for (text, expected) in [
            ("é".repeat(LIMIT), "é".repeat(LIMIT)),
            ("é".repeat(LIMIT + 1), "é".repeat(LIMIT) + "…"),
            ("a".repeat(LIMIT + 1), "…".to_owned()),
            (
                format!("{} b", "a".repeat(LIMIT)),
                format!("{}…", "a".repeat(LIMIT)),
            ),
            (
                "one two three four five".to_owned(),
                "one two three four…".to_owned(),
            ),
        ] {
            assert_eq!(bounded(&text, LIMIT, &Value::Null), expected, "{text}");
        }
    }

    #[test]
    fn a_text_without_blanks_loses_only_its_last_value() {
        for (text, expected) in [
            (
                r#"{"a":["item-0","item-1","item-2"]}"#,
                r#"{"a":["item-0","…"#,
            ),
            ("<a><b>item-0</b><b>item-1</b></a>", "<a><b>item-0</b><b>…"),
            ("item-0,item-1,item-20,item-3", "item-0,item-1,…"),
            (
                r#"{"x":"abcdef","s":"p@ss:w0rd!-1"}"#,
                r#"{"x":"abcdef","s":"…"#,
            ),
        ] {
            assert_eq!(bounded(text, LIMIT, &Value::Null), expected);
        }
        let long = "z".repeat(TOKEN_LIMIT * 4);
        let left = bounded(&long, TOKEN_LIMIT * 3, &Value::Null);
        assert_eq!(left, "z".repeat(TOKEN_LIMIT * 2) + ELLIPSIS);
        let within = bounded_within(&long, TOKEN_LIMIT * 3, &Value::Null);
        let half = "z".repeat(TOKEN_LIMIT / 2);
        assert_eq!(within, format!("{half} {ELLIPSIS} {half}"));
    }

    #[test]
    fn a_text_that_is_cut_within_keeps_its_beginning_and_its_end() {
        for (text, expected) in [
            ("é".repeat(LIMIT), "é".repeat(LIMIT)),
            (
                "é".repeat(LIMIT + 1),
                format!("{} … {}", "é".repeat(LIMIT / 2), "é".repeat(LIMIT / 2)),
            ),
            (
                "first line, then a long log, and last line".to_owned(),
                "first line … last line".to_owned(),
            ),
            ("a".repeat(LIMIT * 2), " … ".to_owned()),
        ] {
            assert_eq!(
                bounded_within(&text, LIMIT, &Value::Null),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn a_cut_within_leaves_no_part_of_a_secret() {
        let phrase = json!({"login": [{"pass": "correct horse battery staple"}]});
        for before in 0..40 {
            let said = "x ".repeat(before) + "correct horse battery staple" + &" y".repeat(20);
            let text = bounded_within(&said, LIMIT, &phrase);
            assert!(
                text.contains("correct horse battery staple") || !text.contains("horse"),
                "{text}"
            );
        }
    }

    #[test]
    fn a_cut_leaves_no_part_of_a_secret() {
        let shaped = format!(
            "{} sk-live-{}",
            "a ".repeat(6),
            "0123456789abcdef".repeat(2)
        );
        let phrase = json!({"login": [{"pass": "correct horse battery staple"}]});
        for (text, input) in [
            (shaped.as_str(), Value::Null),
            ("you said hunter2hunter2", json!({"pin": "hunter2hunter2"})),
            ("said: correct horse battery staple", phrase),
            (
                "vous avez dit: sésame-ouvre",
                json!({"mot": "sésame-ouvre"}),
            ),
        ] {
            let text = bounded(text, LIMIT, &input);
            for part in ["sk-", "0123", "hunter", "correct", "horse", "sésa"] {
                assert!(!text.contains(part), "{text}");
            }
        }
    }
}
