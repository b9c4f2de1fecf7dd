//! Text from elsewhere on a terminal: what could command the terminal is shown instead of done.

use std::fmt::Write;

/// How a piece of text stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// What went wrong.
    Alarm,
    /// A heading.
    Heading,
    /// A place in the input.
    Place,
    /// What is rarely needed.
    Aside,
}

impl Style {
    const fn sequence(self) -> &'static str {
        match self {
            Self::Alarm => "\u{1b}[1;31m",
            Self::Heading => "\u{1b}[1m",
            Self::Place => "\u{1b}[36m",
            Self::Aside => "\u{1b}[2m",
        }
    }
}

const RESET: &str = "\u{1b}[0m";

/// Whether text is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paint {
    /// It is.
    Colour,
    /// It is not.
    Plain,
}

impl Paint {
    /// The text on one line, in a style, with nothing in it that a terminal would obey.
    pub(super) fn styled(self, style: Style, text: &str) -> String {
        let text = visible(text);
        match self {
            Self::Colour => format!("{}{text}{RESET}", style.sequence()),
            Self::Plain => text,
        }
    }
}

/// The text on one line, with nothing in it that a terminal would obey.
pub(super) fn visible(text: &str) -> String {
    escaped(text, is_hidden)
}

/// A JSON document with nothing in it that a terminal would obey: the same document, since what is
/// escaped can only stand in its strings.
pub(super) fn visible_json(text: &str) -> String {
    escaped(text, |character| character != '\n' && is_hidden(character))
}

fn escaped(text: &str, is_hidden: fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' if is_hidden('\n') => shown.push_str("\\n"),
            '\t' => shown.push_str("\\t"),
            _ if is_hidden(character) => escape(character, &mut shown),
            _ => shown.push(character),
        }
    }
    shown
}

fn escape(character: char, shown: &mut String) {
    for unit in character.encode_utf16(&mut [0; 2]) {
        // Writing to memory does not fail.
        let _ = write!(shown, "\\u{unit:04x}");
    }
}

/// Characters that command a terminal, change the direction of what follows, or cannot be seen.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}'
                | '\u{200b}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn nothing_a_terminal_would_obey_is_left() {
        for (text, shown) in [
            ("plain, é, 日本, 👩‍💻", "plain, é, 日本, 👩‍💻"),
            ("\u{1b}[2Jgone", "\\u001b[2Jgone"),
            ("\u{1b}]0;title\u{7}", "\\u001b]0;title\\u0007"),
            ("\u{9b}31m", "\\u009b31m"),
            ("a\r\nb\tc\u{8}\u{7f}", "a\\u000d\\nb\\tc\\u0008\\u007f"),
            ("\u{202e}evil\u{2066}", "\\u202eevil\\u2066"),
            ("\u{e0041}", "\\udb40\\udc41"),
        ] {
            assert_eq!(visible(text), shown);
            assert_eq!(Paint::Plain.styled(Style::Alarm, text), shown);
        }
        let alarm = Paint::Colour.styled(Style::Alarm, "\u{1b}[0m");
        assert_eq!(alarm, "\u{1b}[1;31m\\u001b[0m\u{1b}[0m");
    }

    #[test]
    fn json_stays_the_same_document() {
        let document = json!({"a\u{9b}": ["\u{1b}[2J\n\t", "\u{202e}\u{e0041}\u{7f}"], "b": 1});
        for text in [document.to_string(), format!("{document:#}")] {
            let shown = visible_json(&text);
            let left = shown.chars().filter(|character| *character != '\n');
            assert!(!left.into_iter().any(is_hidden), "{shown}");
            assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), document);
        }
    }
}
