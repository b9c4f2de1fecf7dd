//! Texts in error bodies: which of them is the message, and how several become one.

use http::StatusCode;
use serde_json::Value;

use super::TEXT_BYTES_LIMIT;
use crate::classify::declarations::is_specific;

/// The longest text that can be the name of a status, in bytes.
const PHRASE_BYTES_LIMIT: usize = 80;
/// Names of statuses that servers write differently than the standard, in lower case.
const PHRASES: [&str; 10] = [
    "access denied",
    "application error",
    "gateway time out",
    "internal error",
    "no server is available to handle this request",
    "request entity too large",
    "request uri too large",
    "server error",
    "service temporarily unavailable",
    "the service is unavailable",
];
/// Words that servers write around the name of a status.
const FRAMING: [&str; 5] = ["code", "error", "http", "status", "page"];

/// Characters that change the direction of the text around them, so that it reads as something else.
const DIRECTIONS: [char; 12] = [
    '\u{61c}', '\u{200e}', '\u{200f}', '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}', '\u{202e}',
    '\u{2066}', '\u{2067}', '\u{2068}', '\u{2069}',
];

/// A text that is not empty, truncated at its limit, without characters that change its direction.
pub(super) fn text(value: &Value) -> Option<String> {
    let text = value.as_str()?.trim();
    let end = text.floor_char_boundary(TEXT_BYTES_LIMIT);
    let text = text[..end].replace(DIRECTIONS, "");
    (!text.is_empty()).then_some(text)
}

/// A text, or the text in an object of a text and its language.
pub(super) fn localised_text(value: &Value) -> Option<String> {
    let Some(members) = value.as_object() else {
        return text(value);
    };
    let is_language = |name: &str| ["lang", "language", "locale"].contains(&name);
    let is_known = members.keys().all(|it| it == "value" || is_language(it));
    members.get("value").filter(|_| is_known).and_then(text)
}

/// Whether a text has more than one word. A single word is mostly a code.
pub(super) fn has_words(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let is_word = |it: &str| it.chars().any(char::is_alphabetic);
    // Some languages write sentences without spaces.
    let is_other_script = |it: char| it.is_alphabetic() && ('\u{2e80}'..).contains(&it);
    (words.any(is_word) && words.any(is_word)) || text.chars().any(is_other_script)
}

/// How much a text says, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// The name of a status.
    Phrase,
    /// One word.
    Word,
    /// A sentence that only says that there was an error.
    General,
    /// A sentence about this error.
    Specific,
}

pub(super) fn weight(text: &str) -> Weight {
    match has_words(text) {
        _ if is_status_phrase(text) => Weight::Phrase,
        false => Weight::Word,
        true if is_specific(text, None) => Weight::Specific,
        true => Weight::General,
    }
}

/// Whether a text is only the name of a status: `Bad Request`, `HTTP Error 502: Bad Gateway`.
pub(in crate::classify) fn is_status_phrase(text: &str) -> bool {
    if text.len() > PHRASE_BYTES_LIMIT {
        return false;
    }
    let phrase = normalised(text);
    let is_name = |status: u16| {
        let status = StatusCode::from_u16(status).ok();
        let name = status.and_then(|it| it.canonical_reason());
        name.is_some_and(|it| normalised(it) == phrase)
    };
    phrase.is_empty() || PHRASES.contains(&phrase.as_str()) || (300..600).any(is_name)
}

/// The words in lower case, without numbers and the words around them.
fn normalised(text: &str) -> String {
    let text = text.to_lowercase().replace(['\'', '’'], "");
    let words = text.split(|it: char| !it.is_alphanumeric());
    let says_something = |it: &&str| {
        let is_number = it.bytes().all(|it| it.is_ascii_digit());
        !is_number && !FRAMING.contains(it)
    };
    words.filter(says_something).collect::<Vec<_>>().join(" ")
}

/// The text that says most; of two that say the same, the longer one. The order decides otherwise.
pub(super) fn best(texts: &[String]) -> Option<String> {
    let heaviest = texts.iter().map(|it| weight(it)).max()?;
    let first = texts.iter().find(|it| weight(it) == heaviest)?;
    let longer = texts.iter().filter(|it| it.len() > first.len());
    let longer = longer.filter(|it| it.to_lowercase().contains(&first.to_lowercase()));
    longer.max_by_key(|it| it.len()).or(Some(first)).cloned()
}

/// Adds a sentence to a text, unless one of them contains the other.
pub(in crate::classify) fn append(message: &mut String, addition: &str) {
    if message.contains(addition) {
        return;
    }
    if addition.contains(message.as_str()) {
        *message = addition.to_owned();
        return;
    }
    let separator = match message.chars().next_back() {
        None => "",
        Some('.' | '!' | '?' | ';' | ':') => " ",
        Some(_) => "; ",
    };
    message.push_str(separator);
    message.push_str(addition);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_character_changes_the_direction_of_a_text() {
        let read = |it: &str| text(&Value::from(it));
        assert_eq!(
            read("user \u{202e}nimda\u{202c} is unknown").as_deref(),
            Some("user nimda is unknown")
        );
        assert_eq!(read("\u{2066}\u{2069}"), None);
        assert_eq!(read("שלום עולם").as_deref(), Some("שלום עולם"));
    }

    #[test]
    fn a_text_weighs_what_it_says() {
        for (text, expected) in [
            ("Bad Request", Weight::Phrase),
            ("HTTP Error 502: Bad Gateway", Weight::Phrase),
            ("503 Service Temporarily Unavailable", Weight::Phrase),
            ("I'm a teapot", Weight::Phrase),
            ("NOT_FOUND", Weight::Phrase),
            ("Error", Weight::Phrase),
            ("conflict", Weight::Phrase),
            ("not_in_channel", Weight::Word),
            ("TOO_MANY_ATTEMPTS", Weight::Word),
            ("Validation failed", Weight::General),
            ("An error occurred", Weight::General),
            ("Bad Request: qty is missing", Weight::Specific),
            ("Session expired", Weight::Specific),
            ("余额不足", Weight::Specific),
        ] {
            assert_eq!(weight(text), expected, "{text}");
        }
    }

    #[test]
    fn the_text_that_says_most_is_the_message() {
        for (texts, expected) in [
            (&["Bad Request", "qty is missing"][..], "qty is missing"),
            (&["E_QTY", "Validation failed"], "Validation failed"),
            (&["Validation failed", "qty is odd"], "qty is odd"),
            (&["qty is odd", "sku is short"], "qty is odd"),
            (
                &["Quota exceeded", "Quota exceeded for reads per minute"],
                "Quota exceeded for reads per minute",
            ),
            (&["Not Found"], "Not Found"),
        ] {
            let texts: Vec<String> = texts.iter().map(|it| (*it).to_owned()).collect();
            assert_eq!(best(&texts).as_deref(), Some(expected));
        }
        assert_eq!(best(&[]), None);
    }

    #[test]
    fn sentences_are_joined_once() {
        for (message, addition, expected) in [
            ("", "a", "a"),
            ("Invalid.", "was paid", "Invalid. was paid"),
            ("Invalid", "was paid", "Invalid; was paid"),
            ("Invalid: was paid", "was paid", "Invalid: was paid"),
            ("was paid", "It was paid twice", "It was paid twice"),
        ] {
            let mut text = message.to_owned();
            append(&mut text, addition);
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn an_object_with_a_language_is_a_text() {
        for (value, expected) in [
            (serde_json::json!({"lang": "en", "value": "no"}), Some("no")),
            (serde_json::json!({"value": "no"}), Some("no")),
            (serde_json::json!({"value": "no", "unit": "EUR"}), None),
            (serde_json::json!({"value": 3}), None),
            (serde_json::json!(" no "), Some("no")),
            (serde_json::json!(""), None),
        ] {
            assert_eq!(localised_text(&value).as_deref(), expected, "{value}");
        }
    }
}
