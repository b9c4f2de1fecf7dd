//! Redacts one text: literals, JSON inside the text, then the value rules, repeated until nothing
//! changes. This fixed point makes redaction idempotent.

use std::borrow::Cow;

use serde_json::Value;

use super::literals::Literals;
use super::rules::Hits;
use super::spans::Spans;
use super::{REPLACEMENT, prefilter, rules, tree};

/// A text that still changes after this many rounds is replaced whole.
const ROUND_LIMIT: usize = 6;

/// Longer JSON texts are treated as prose.
pub(super) const JSON_LIMIT_BYTES: usize = 4 << 20;

/// How deep JSON inside strings is read; deeper JSON is replaced whole.
pub(super) const JSON_NESTING: usize = 5;

/// A longer text is truncated to this size first: redaction is linear but not cheap.
pub const TEXT_BYTES_LIMIT: usize = 64 * 1024;

/// The text without its secrets, borrowed if there were none.
pub(super) fn redact<'a>(literals: &Literals, text: &'a str, nesting: usize) -> Cow<'a, str> {
    redact_prefiltered(literals, text, prefilter::hits(text.as_bytes()), nesting)
}

/// The same for a text that already went through the prefilter.
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

/// The part of a long text that is redacted.
fn beginning(text: &str) -> &str {
    let limit = TEXT_BYTES_LIMIT - REPLACEMENT.len();
    whole_words(&text[..text.floor_char_boundary(limit)])
}

/// Drops the last, possibly incomplete word of a truncated text: half a secret would not be
/// recognised.
pub fn whole_words(cut: &str) -> &str {
    let is_of_token = |it: char| it.is_alphanumeric() || "-_+/=.~%:@!#$&*".contains(it);
    cut.trim_end_matches(is_of_token)
}

/// The JSON value of a text, if it could hide something from the rules.
pub(super) fn inner_json(text: &str, hits: Hits) -> Option<Value> {
    let start = text.trim_start().as_bytes().first()?;
    let worth_reading = matches!(start, b'{' | b'[' | b'"')
        && text.len() <= JSON_LIMIT_BYTES
        && (hits != 0 || text.contains('\\'));
    worth_reading.then(|| serde_json::from_str(text).ok())?
}

/// One pass over the text; `None` if it changes nothing.
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
    // The rules are skipped for JSON that was read completely.
    if !is_read {
        rules::find(text, hits, &mut spans);
    }
    spans.cut(text)
}

/// The result of reading a text as JSON.
enum Json {
    /// Not JSON, or not all of it was read.
    Not,
    /// JSON without a secret.
    Clean,
    /// JSON that contained a secret.
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

/// The number of members of all objects in a value. Of duplicate members, only one is counted.
fn members(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(members).sum(),
        Value::Object(inner) => inner.len() + inner.values().map(members).sum::<usize>(),
        _ => 0,
    }
}

/// The number of members of all objects in a JSON text.
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
    fn json_in_text_is_rewritten_only_if_it_contains_a_secret() {
        check(r#"{ "password" : "x" }"#, r#"{"password":"[REDACTED]"}"#);
        check(r#"{ "keyboard" : "x" }"#, r#"{ "keyboard" : "x" }"#);
        check(r#"{"\u0070assword":"x"}"#, r#"{"password":"[REDACTED]"}"#);
        check(r#""password=x""#, r#""password=[REDACTED]""#);
    }

    #[test]
    fn a_long_text_is_truncated_at_a_word() {
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
    fn a_duplicate_key_hides_nothing() {
        check(
            r#"{"password":"hunter2","password":null}"#,
            r#"{"password":"[REDACTED]","password":null}"#,
        );
    }

    #[test]
    fn nested_json_is_read_up_to_its_limit_and_replaced_beyond() {
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
