//! Reads JSON from any source within limits; errors carry a JSON pointer.
//!
//! Knows JSON types and limits, but not the meaning of any member. `members` reads the members of an object.

mod any_value;
mod members;

use std::marker::PhantomData;

use serde::de::DeserializeSeed;
use serde_json::Value;

pub use any_value::{AnyValue, DuplicateMember};
pub(crate) use members::{Member, Members};

/// Largest document that is parsed, in bytes.
pub const DOCUMENT_BYTES_LIMIT: usize = 4 * 1024 * 1024;
/// Deepest nesting that is parsed; one more level is refused.
pub const DOCUMENT_DEPTH_LIMIT: usize = 127;

/// An error while reading a JSON document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The document is larger than the limit.
    #[error("the document has {bytes} bytes; the limit is {limit}")]
    TooLarge {
        /// Size of the document.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// Nested deeper than [`DOCUMENT_DEPTH_LIMIT`].
    #[error(
        "the document is nested more than {DOCUMENT_DEPTH_LIMIT} levels deep (line {line}, column {column})"
    )]
    TooDeep {
        /// Line, counted from 1.
        line: usize,
        /// Column, counted from 1.
        column: usize,
    },
    /// Not JSON.
    #[error("not valid JSON: {problem} (line {line}, column {column})")]
    Syntax {
        /// The error of the parser.
        problem: String,
        /// Line, counted from 1.
        line: usize,
        /// Column, counted from 1.
        column: usize,
    },
    /// An integer that does not fit in 64 bits and would be rounded.
    #[error(
        "the integer at line {line}, column {column} does not fit in 64 bits and would be rounded; send it as a \
         string if the operation accepts one, or send a smaller number"
    )]
    WideNumber {
        /// Line, counted from 1.
        line: usize,
        /// Column, counted from 1.
        column: usize,
    },
    /// A member is missing or has the wrong type.
    #[error("at {}: expected {expected}, found {found}", display_pointer(pointer))]
    Shape {
        /// RFC 6901 pointer to the member.
        pointer: String,
        /// The expected type.
        expected: String,
        /// The type that was found.
        found: String,
    },
    /// The document matches no dialect.
    #[error("the document matches no dialect: {hint}")]
    Unrecognised {
        /// Advice for the caller.
        hint: String,
    },
}

impl ReadError {
    /// RFC 6901 pointer to the error; the whole document where it is not JSON.
    pub fn pointer(&self) -> &str {
        match self {
            ReadError::Shape { pointer, .. } => pointer,
            _ => "",
        }
    }
}

/// A JSON pointer as messages show it; the empty pointer is the top of the document.
pub fn display_pointer(pointer: &str) -> &str {
    if pointer.is_empty() {
        "the top of the document"
    } else {
        pointer
    }
}

/// Parses a document of at most [`DOCUMENT_BYTES_LIMIT`] bytes.
pub fn document(bytes: &[u8]) -> Result<Value, ReadError> {
    document_within(bytes, DOCUMENT_BYTES_LIMIT)
}

/// Parses a document of at most `limit` bytes.
pub fn document_within(bytes: &[u8], limit: usize) -> Result<Value, ReadError> {
    document_as(bytes, limit, PhantomData::<Value>)
}

/// Parses a caller's request of at most `limit` bytes. Also returns the JSON pointer to its first duplicate
/// member, because parsers disagree on which duplicate counts. An integer that would be rounded is refused,
/// because the caller would not notice the change.
pub fn request(bytes: &[u8], limit: usize) -> Result<(Value, Option<String>), ReadError> {
    let mut duplicate = DuplicateMember::default();
    let request = document_as(bytes, limit, AnyValue(&mut duplicate))?;
    match wide_numbers(bytes).next() {
        Some(offset) => Err(wide_number_at(bytes, offset)),
        None => Ok((request, duplicate.pointer())),
    }
}

/// The error for an integer at this offset that would be rounded.
pub fn wide_number_at(bytes: &[u8], offset: usize) -> ReadError {
    let (line, column) = position(bytes, offset);
    ReadError::WideNumber { line, column }
}

/// Offsets of the integers in a JSON text that do not fit in 64 bits.
pub fn wide_numbers(text: &[u8]) -> impl Iterator<Item = usize> {
    // Every run of 19 digits covers one of the sampled offsets, and few texts have such a run.
    const SHORTEST: usize = 19;
    let digits = |bytes: &mut dyn Iterator<Item = &u8>| {
        bytes
            .take(SHORTEST)
            .take_while(|it| it.is_ascii_digit())
            .count()
    };
    let is_run = |at: usize| {
        text[at].is_ascii_digit()
            && digits(&mut text[at..].iter()) + digits(&mut text[..at].iter().rev()) >= SHORTEST
    };
    let has_run = (SHORTEST - 1..text.len()).step_by(SHORTEST).any(is_run);
    let mut from = if has_run { 0 } else { text.len() };
    std::iter::from_fn(move || {
        let (start, end) = next_wide_number(text, from)?;
        from = end;
        Some(start)
    })
}

/// Start and end of the next such integer; `from` lies outside of every string.
fn next_wide_number(text: &[u8], from: usize) -> Option<(usize, usize)> {
    let (mut at, mut in_string) = (from, false);
    while let Some(byte) = text.get(at) {
        match byte {
            b'\\' if in_string => at += 1,
            b'"' => in_string = !in_string,
            b'-' | b'0'..=b'9' if !in_string => {
                let is_part =
                    |byte: &&u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
                let length = text[at..].iter().take_while(is_part).count();
                let number = std::str::from_utf8(&text[at..at + length]).unwrap_or_default();
                if is_rounded(number) {
                    return Some((at, at + length));
                }
                at += length - 1;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// Whether parsing changes the value of an integer.
fn is_rounded(number: &str) -> bool {
    let is_whole = !number.contains(['.', 'e', 'E']);
    let fits = || number.parse::<u64>().is_ok() || number.parse::<i64>().is_ok();
    let as_float = || number.parse::<f64>().map(|it| format!("{it:.0}"));
    is_whole && !fits() && as_float().is_ok_and(|it| it != number)
}

/// Parses a document of at most `limit` bytes with `seed`; the result may borrow from the bytes.
pub fn document_as<'a, S: DeserializeSeed<'a>>(
    bytes: &'a [u8],
    limit: usize,
    seed: S,
) -> Result<S::Value, ReadError> {
    if bytes.len() > limit {
        let bytes = bytes.len();
        return Err(ReadError::TooLarge { bytes, limit });
    }
    // One check of the whole text is faster than one per string.
    let text = std::str::from_utf8(bytes).map_err(|error| not_utf8(bytes, error.valid_up_to()))?;
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = seed.deserialize(&mut reader);
    value
        .and_then(|value| reader.end().map(|()| value))
        .map_err(|error| syntax(&error))
}

fn not_utf8(bytes: &[u8], offset: usize) -> ReadError {
    let (line, column) = position(bytes, offset);
    ReadError::Syntax {
        problem: "the text is not UTF-8".to_owned(),
        line,
        column,
    }
}

/// Line and column of a byte, counted from 1.
fn position(bytes: &[u8], offset: usize) -> (usize, usize) {
    let before = &bytes[..offset];
    let line_start = before
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
    (line, 1 + offset - line_start)
}

fn syntax(error: &serde_json::Error) -> ReadError {
    let (line, column) = (error.line(), error.column());
    let text = error.to_string();
    if text.starts_with("recursion limit exceeded") {
        return ReadError::TooDeep { line, column };
    }
    let problem = text
        .split(" at line ")
        .next()
        .unwrap_or_default()
        .to_owned();
    ReadError::Syntax {
        problem,
        line,
        column,
    }
}

/// The error for a value of the wrong type.
pub(crate) fn unexpected(pointer: String, expected: &str, found: &Value) -> ReadError {
    ReadError::Shape {
        pointer,
        expected: expected.to_owned(),
        found: type_name(found).to_owned(),
    }
}

/// Name of a JSON type, for messages. Values are not shown, because they may be secret.
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nesting_is_parsed_up_to_the_limit_and_no_deeper() {
        let nested = |depth: usize| [vec![b'['; depth], vec![b']'; depth]].concat();
        assert!(document(&nested(DOCUMENT_DEPTH_LIMIT)).is_ok());
        let error = document(&nested(DOCUMENT_DEPTH_LIMIT + 1)).unwrap_err();
        assert!(
            matches!(error, ReadError::TooDeep { line: 1, .. }),
            "{error}"
        );
    }

    #[test]
    fn documents_are_parsed_up_to_the_size_limit_and_no_larger() {
        let text = |bytes: usize| [b"\"".to_vec(), vec![b'a'; bytes - 2], b"\"".to_vec()].concat();
        assert!(document(&text(DOCUMENT_BYTES_LIMIT)).is_ok());
        let error = document(&text(DOCUMENT_BYTES_LIMIT + 1)).unwrap_err();
        assert_eq!(
            error,
            ReadError::TooLarge {
                bytes: DOCUMENT_BYTES_LIMIT + 1,
                limit: DOCUMENT_BYTES_LIMIT
            }
        );
    }

    #[test]
    fn syntax_errors_carry_line_and_column() {
        let error = document(b"{\n  \"a\": }").unwrap_err();
        assert_eq!(
            error.to_string(),
            "not valid JSON: expected value (line 2, column 8)"
        );
        let error = document(b"{\n \"a\": \"\xff\"}").unwrap_err();
        assert_eq!(
            error.to_string(),
            "not valid JSON: the text is not UTF-8 (line 2, column 8)"
        );
    }
}
