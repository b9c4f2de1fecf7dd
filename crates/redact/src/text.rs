//! Redacts one text: learned literals, JSON inside the text, then the value rules, again and
//! again until nothing changes. That fixed point is what makes redaction idempotent.

use std::borrow::Cow;

use serde_json::Value;

use super::literals::Literals;
use super::rules::Hits;
use super::spans::Spans;
use super::{REPLACEMENT, prefilter, rules, tree};

/// A text that still changes after this many rounds is replaced whole.
const ROUND_LIMIT: usize = 6;

/// JSON texts longer than this are treated as prose.
pub(super) const JSON_LIMIT_BYTES: usize = 4 << 20;

/// JSON inside JSON inside text is read this deep; what lies deeper is replaced whole.
pub(super) const JSON_NESTING: usize = 5;

/// Of a longer text only the beginning is looked at, and only that is kept: looking is linear, but not cheap.
pub const TEXT_BYTES_LIMIT: usize = 64 * 1024;

/// The text without its secrets, borrowed when there were none.
pub(super) fn redact<'a>(literals: &Literals, text: &'a str, nesting: usize) -> Cow<'a, str> {
    redact_prefiltered(literals, text, prefilter::hits(text.as_bytes()), nesting)
}

/// The same for a text that went through the prefilter already.
pub(super) fn redact_prefiltered<'a>(
    literals: &Literals,
    text: &'a str,
    hits: Hits,
    nesting: usize,
) -> Cow<'a, str> {
    if text.len() > TEXT_BYTES_LIMIT {
        let beginning = format!("{}{REPLACEMENT}", beginning(text));
        return Cow::Owned(redact(literals, &beginning, nesting).into_owned());
    }
    let Some(mut current) = round(literals, text, hits, nesting) else {
        return Cow::Borrowed(text);
    };
    for _ in 1..ROUND_LIMIT {
        let hits = prefilter::hits(current.as_bytes());
        match round(literals, &current, hits, nesting) {
            Some(next) => current = next,
            None => return Cow::Owned(current),
        }
    }
    Cow::Borrowed(REPLACEMENT)
}

/// As much of a text as is looked at.
fn beginning(text: &str) -> &str {
    let limit = TEXT_BYTES_LIMIT - REPLACEMENT.len();
    whole_words(&text[..text.floor_char_boundary(limit)])
}

/// The beginning of a text without the word it was cut in: half a secret would not be recognised.
pub fn whole_words(cut: &str) -> &str {
    let is_of_token = |it: char| it.is_alphanumeric() || "-_+/=.~%:@!#$&*".contains(it);
    cut.trim_end_matches(is_of_token)
}

/// The JSON value a text holds, when it could hide something from the rules.
pub(super) fn inner_json(text: &str, hits: Hits) -> Option<Value> {
    let start = text.trim_start().as_bytes().first()?;
    let worth_reading = matches!(start, b'{' | b'[' | b'"')
        && text.len() <= JSON_LIMIT_BYTES
        && (hits != 0 || text.contains('\\'));
    worth_reading.then(|| serde_json::from_str(text).ok())?
}

/// One pass over the text; nothing when it changes nothing.
fn round(literals: &Literals, text: &str, hits: Hits, nesting: usize) -> Option<String> {
    let is_read = match redact_json(literals, text, hits, nesting) {
        Json::Changed(redacted) => return Some(redacted),
        Json::Clean => true,
        Json::Not => false,
    };
    if hits == 0 && literals.is_empty() {
        return None;
    }
    let mut spans = Spans::default();
    literals.find(text, &mut spans);
    // What was read as what it is says more than its writing.
    if !is_read {
        rules::find(text, hits, &mut spans);
    }
    spans.cut(text)
}

/// What became of a text as JSON.
enum Json {
    /// It is none, or not all of it was read.
    Not,
    /// It holds no secret.
    Clean,
    /// It held one.
    Changed(String),
}

fn redact_json(literals: &Literals, text: &str, hits: Hits, nesting: usize) -> Json {
    let Some(mut value) = inner_json(text, hits) else {
        return Json::Not;
    };
    if nesting == JSON_NESTING {
        return Json::Changed(REPLACEMENT.to_owned());
    }
    let is_whole = (value.is_object() || value.is_array()) && members(&value) == colons(text);
    match tree::redact(literals, &mut value, nesting + 1) {
        true => Json::Changed(value.to_string()),
        false if is_whole => Json::Clean,
        false => Json::Not,
    }
}

/// How many members the objects of a value have. Of members with the same name only one is read.
fn members(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(members).sum(),
        Value::Object(inner) => inner.len() + inner.values().map(members).sum::<usize>(),
        _ => 0,
    }
}

/// How many members the objects of a JSON text have.
fn colons(text: &str) -> usize {
    let (mut count, mut in_string, mut is_escaped) = (0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            b':' if !in_string => count += 1,
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(redact(&Literals::default(), text, 0), expected);
    }

    #[test]
    fn json_in_text_is_rewritten_only_when_it_held_a_secret() {
        check(r#"{ "password" : "x" }"#, r#"{"password":"[REDACTED]"}"#);
        check(r#"{ "keyboard" : "x" }"#, r#"{ "keyboard" : "x" }"#);
        check(r#"{"\u0070assword":"x"}"#, r#"{"password":"[REDACTED]"}"#);
        check(r#""password=x""#, r#""password=[REDACTED]""#);
    }

    #[test]
    fn of_a_long_text_the_beginning_is_kept_up_to_a_word() {
        let kept = "word ".repeat(TEXT_BYTES_LIMIT / 5);
        check(&kept, &kept);
        let long = format!("{kept}{kept}");
        let redacted = redact(&Literals::default(), &long, 0);
        assert!(redacted.ends_with(&format!("word {REPLACEMENT}")));
        assert!(redacted.len() <= TEXT_BYTES_LIMIT);
        check(&redacted, &redacted);
        check(&"\u{e9}".repeat(TEXT_BYTES_LIMIT), REPLACEMENT);
    }

    #[test]
    fn a_doubled_key_hides_nothing() {
        check(
            r#"{"password":"hunter2","password":null}"#,
            r#"{"password":"[REDACTED]","password":null}"#,
        );
    }

    #[test]
    fn nested_json_is_read_to_its_limit_and_replaced_beyond() {
        for levels in 1..JSON_NESTING + 3 {
            let mut text = r#"{"password":"hunter2","note":"kept"}"#.to_owned();
            for _ in 1..levels {
                text = Value::from(text).to_string();
            }
            let redacted = redact(&Literals::default(), &text, 0);
            assert!(!redacted.contains("hunter2"), "{levels}");
            assert_eq!(
                redacted.contains("kept"),
                levels <= JSON_NESTING,
                "{levels}"
            );
        }
    }
}
