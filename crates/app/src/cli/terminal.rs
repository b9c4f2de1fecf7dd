//! Untrusted text on a terminal: control characters are escaped, and styles are applied.

use std::env;
use std::fmt::Write as _;
use std::io::{self, Write};

use clap::ColorChoice;
use serde::Serialize;

/// The style of a piece of text: its escape sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Style(&'static str);

impl Style {
    /// An error code.
    pub(super) const ERROR: Self = Self("\u{1b}[1;31m");
    /// A heading.
    pub(super) const HEADING: Self = Self("\u{1b}[1m");
    /// A JSON pointer into the input.
    pub(super) const POINTER: Self = Self("\u{1b}[36m");
    /// Something that is happening now.
    pub(super) const ACTIVE: Self = Self::POINTER;
    /// A rarely needed detail.
    pub(super) const DIMMED: Self = Self("\u{1b}[2m");
}

const RESET: &str = "\u{1b}[0m";

/// Whether text is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Colour {
    On,
    Off,
}

impl Colour {
    /// The choice of the user; `auto` looks at the terminal and at the environment.
    pub(super) fn choose(choice: ColorChoice, is_terminal: bool) -> Self {
        let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_supported = || is_terminal && !is_set("NO_COLOR") && !is_dumb();
        match choice {
            ColorChoice::Always => Self::On,
            ColorChoice::Auto if is_supported() => Self::On,
            ColorChoice::Auto | ColorChoice::Never => Self::Off,
        }
    }

    /// The text on one line, escaped, in a style.
    pub(super) fn styled(self, style: Style, text: &str) -> String {
        let text = escape(text);
        match self {
            Self::On => format!("{}{text}{RESET}", style.0),
            Self::Off => text,
        }
    }
}

/// Whether the terminal understands no escape sequences.
pub(super) fn is_dumb() -> bool {
    env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// The text on one line, without control characters or invisible characters.
pub(super) fn escape(text: &str) -> String {
    escape_where(text, must_escape)
}

/// Writes a JSON document: several lines on a terminal, escaped, and one line elsewhere.
pub(super) fn write_document(
    document: &impl Serialize,
    is_terminal: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    if is_terminal {
        let text = serde_json::to_string_pretty(document)?;
        writeln!(out, "{}", escape_json(&text))?;
    } else {
        serde_json::to_writer(&mut *out, document)?;
        writeln!(out)?;
    }
    out.flush()
}

/// [`escape`] for a JSON document, which stays the same document: the escaped characters only occur in its strings.
fn escape_json(text: &str) -> String {
    escape_where(text, |character| {
        character != '\n' && must_escape(character)
    })
}

fn escape_where(text: &str, must_escape: fn(char) -> bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' if must_escape('\n') => escaped.push_str("\\n"),
            '\t' => escaped.push_str("\\t"),
            _ if must_escape(character) => push_escaped(character, &mut escaped),
            _ => escaped.push(character),
        }
    }
    escaped
}

fn push_escaped(character: char, escaped: &mut String) {
    for unit in character.encode_utf16(&mut [0; 2]) {
        // Writing to memory does not fail.
        let _ = write!(escaped, "\\u{unit:04x}");
    }
}

/// Whether a character controls the terminal, changes the direction of text, or is invisible.
fn must_escape(character: char) -> bool {
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
    fn control_and_invisible_characters_are_escaped() {
        for (text, shown) in [
            ("plain, é, 日本, 👩‍💻", "plain, é, 日本, 👩‍💻"),
            ("\u{1b}[2Jgone", "\\u001b[2Jgone"),
            ("\u{1b}]0;title\u{7}", "\\u001b]0;title\\u0007"),
            ("\u{9b}31m", "\\u009b31m"),
            ("a\r\nb\tc\u{8}\u{7f}", "a\\u000d\\nb\\tc\\u0008\\u007f"),
            ("\u{202e}evil\u{2066}", "\\u202eevil\\u2066"),
            ("\u{e0041}", "\\udb40\\udc41"),
        ] {
            assert_eq!(escape(text), shown);
            assert_eq!(Colour::Off.styled(Style::ERROR, text), shown);
        }
        let coloured = Colour::On.styled(Style::ERROR, "\u{1b}[0m");
        assert_eq!(coloured, "\u{1b}[1;31m\\u001b[0m\u{1b}[0m");
    }

    #[test]
    fn escaped_json_is_the_same_document() {
        let document = json!({"a\u{9b}": ["\u{1b}[2J\n\t", "\u{202e}\u{e0041}\u{7f}"], "b": 1});
        for text in [document.to_string(), format!("{document:#}")] {
            let shown = escape_json(&text);
            let left = shown.chars().filter(|character| *character != '\n');
            assert!(!left.into_iter().any(must_escape), "{shown}");
            assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), document);
        }
    }
}
