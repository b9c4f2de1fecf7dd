//! Reads JSON from any source within limits; errors carry a JSON pointer.
//!
//! Knows JSON types and limits, but not the meaning of any member.

use std::marker::PhantomData;
use std::num::NonZeroU32;

use serde::de::DeserializeSeed;
use serde_json::{Map, Value};

use crate::pointer::joined;

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

/// Parses a caller's request of at most `limit` bytes with `seed`; the result may borrow from the bytes.
/// An integer that would be rounded is refused, because the caller would not notice the change.
pub fn request_as<'a, S: DeserializeSeed<'a>>(
    bytes: &'a [u8],
    limit: usize,
    seed: S,
) -> Result<S::Value, ReadError> {
    let request = document_as(bytes, limit, seed)?;
    match wide_numbers(bytes).next() {
        Some(offset) => Err(wide_number_at(bytes, offset)),
        None => Ok(request),
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

/// The members of an object that are not read yet, with the pointer of the object.
#[derive(Debug)]
pub(crate) struct Members {
    map: Map<String, Value>,
    pointer: String,
}

impl Members {
    /// The members of the object at `pointer`, or an error with that pointer.
    pub(crate) fn of(value: Value, pointer: impl Into<String>) -> Result<Self, ReadError> {
        let pointer = pointer.into();
        match value {
            Value::Object(map) => Ok(Self { map, pointer }),
            other => Err(unexpected(pointer, "an object", &other)),
        }
    }

    pub(crate) fn peek(&self, name: &str) -> Option<&Value> {
        self.map.get(name)
    }

    /// Takes a member; null counts as absent.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        self.map.remove(name).filter(|value| !value.is_null())
    }

    /// Takes a member that may be null.
    pub(crate) fn take_nullable(&mut self, name: &str) -> Option<Value> {
        self.map.remove(name)
    }

    pub(crate) fn text(&mut self, name: &str) -> Result<Option<String>, ReadError> {
        self.read(name, |member| member.text())
    }

    pub(crate) fn flag(&mut self, name: &str) -> Result<Option<bool>, ReadError> {
        self.read(name, |member| member.flag())
    }

    pub(crate) fn unsigned<T: TryFrom<u64>>(&mut self, name: &str) -> Result<Option<T>, ReadError> {
        self.read(name, |member| member.unsigned())
    }

    pub(crate) fn integer(&mut self, name: &str) -> Result<Option<i64>, ReadError> {
        self.read(name, |member| member.integer())
    }

    pub(crate) fn members(&mut self, name: &str) -> Result<Option<Members>, ReadError> {
        self.read(name, |member| member.members())
    }

    /// Takes a member if `read` accepts its value; otherwise the member stays.
    pub(crate) fn lenient_as<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Option<T> {
        let found = self.map.get(name).and_then(read);
        if found.is_some() {
            self.map.remove(name);
        }
        found
    }

    pub(crate) fn lenient_text(&mut self, name: &str) -> Option<String> {
        match self.take_if(name, Value::is_string) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    fn take_if(&mut self, name: &str, is: fn(&Value) -> bool) -> Option<Value> {
        self.map
            .get(name)
            .is_some_and(is)
            .then(|| self.map.remove(name))?
    }

    pub(crate) fn lenient_flag(&mut self, name: &str) -> Option<bool> {
        self.lenient_as(name, Value::as_bool)
    }

    pub(crate) fn lenient_unsigned<T: TryFrom<u64>>(&mut self, name: &str) -> Option<T> {
        self.lenient_as(name, |value| T::try_from(value.as_u64()?).ok())
    }

    pub(crate) fn lenient_map(&mut self, name: &str) -> Option<Map<String, Value>> {
        match self.take_if(name, Value::is_object) {
            Some(Value::Object(map)) => Some(map),
            _ => None,
        }
    }

    pub(crate) fn lenient_members(&mut self, name: &str) -> Option<Members> {
        let map = self.lenient_map(name)?;
        Some(Members {
            map,
            pointer: self.pointer_to(name),
        })
    }

    /// Takes a list if `read` accepts every item.
    pub(crate) fn lenient_list<T>(
        &mut self,
        name: &str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Option<Vec<T>> {
        self.lenient_as(name, |value| value.as_array()?.iter().map(read).collect())
    }

    /// Reads all members; null counts as absent.
    pub(crate) fn each(
        self,
        mut read: impl FnMut(Member<'_>) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        let Self { map, pointer } = self;
        let mut present = map.into_iter().filter(|(_, value)| !value.is_null());
        present.try_for_each(|(name, value)| {
            read(Member {
                value,
                parent: &pointer,
                name: &name,
            })
        })
    }

    /// The members that were not taken.
    pub(crate) fn rest(self) -> Map<String, Value> {
        self.map
    }

    /// JSON pointer of a member.
    pub(crate) fn pointer_to(&self, name: &str) -> String {
        joined(&self.pointer, name)
    }

    /// The error for a required member that is missing.
    pub(crate) fn missing(&self, name: &str, expected: &str) -> ReadError {
        ReadError::Shape {
            pointer: self.pointer_to(name),
            expected: expected.to_owned(),
            found: "nothing".to_owned(),
        }
    }

    /// Takes a member and reads it.
    pub(crate) fn read<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(Member<'_>) -> Result<T, ReadError>,
    ) -> Result<Option<T>, ReadError> {
        let Some(value) = self.take(name) else {
            return Ok(None);
        };
        read(Member {
            value,
            parent: &self.pointer,
            name,
        })
        .map(Some)
    }
}

/// One member of an object. Its pointer is only built when it is needed.
#[derive(Debug)]
pub(crate) struct Member<'a> {
    value: Value,
    parent: &'a str,
    pub(crate) name: &'a str,
}

impl Member<'_> {
    pub(crate) fn text(self) -> Result<String, ReadError> {
        self.typed("a string", |value| match value {
            Value::String(text) => Ok(text),
            other => Err(other),
        })
    }

    pub(crate) fn flag(self) -> Result<bool, ReadError> {
        self.typed("true or false", |value| value.as_bool().ok_or(value))
    }

    pub(crate) fn unsigned<T: TryFrom<u64>>(self) -> Result<T, ReadError> {
        let fits = |value: &Value| value.as_u64().and_then(|number| T::try_from(number).ok());
        self.typed("a whole number of 0 or more, within range", |value| {
            fits(&value).ok_or(value)
        })
    }

    /// A count of at least 1.
    pub(crate) fn count(self) -> Result<NonZeroU32, ReadError> {
        let fits = |value: &Value| NonZeroU32::new(u32::try_from(value.as_u64()?).ok()?);
        self.typed("a whole number of 1 or more, within range", |value| {
            fits(&value).ok_or(value)
        })
    }

    pub(crate) fn integer(self) -> Result<i64, ReadError> {
        self.typed("a whole number", |value| value.as_i64().ok_or(value))
    }

    pub(crate) fn map(self) -> Result<Map<String, Value>, ReadError> {
        self.typed("an object", |value| match value {
            Value::Object(map) => Ok(map),
            other => Err(other),
        })
    }

    pub(crate) fn members(self) -> Result<Members, ReadError> {
        let pointer = self.pointer();
        Ok(Members {
            map: self.map()?,
            pointer,
        })
    }

    pub(crate) fn list<T>(
        self,
        read: impl Fn(Value, String) -> Result<T, ReadError>,
    ) -> Result<Vec<T>, ReadError> {
        let pointer = self.pointer();
        let items = self.typed("a list", |value| match value {
            Value::Array(items) => Ok(items),
            other => Err(other),
        })?;
        let read_at =
            |(index, item): (usize, Value)| read(item, joined(&pointer, &index.to_string()));
        items.into_iter().enumerate().map(read_at).collect()
    }

    pub(crate) fn word<T>(
        self,
        expected: &str,
        from_word: impl Fn(&str) -> Option<T>,
    ) -> Result<T, ReadError> {
        self.typed(expected, |value| {
            value.as_str().and_then(from_word).ok_or(value)
        })
    }

    /// Sets a field to a word of a vocabulary; an unknown word, which a later version may have added, is ignored.
    pub(crate) fn known_word<T>(
        self,
        field: &mut Option<T>,
        from_word: impl Fn(&str) -> Option<T>,
    ) -> Result<(), ReadError> {
        *field = from_word(&self.text()?).or(field.take());
        Ok(())
    }

    fn pointer(&self) -> String {
        joined(self.parent, self.name)
    }

    fn typed<T>(
        self,
        expected: &str,
        read: impl FnOnce(Value) -> Result<T, Value>,
    ) -> Result<T, ReadError> {
        let Self {
            value,
            parent,
            name,
        } = self;
        read(value).map_err(|other| unexpected(joined(parent, name), expected, &other))
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

    #[test]
    fn a_type_error_shows_the_pointer_but_not_the_value() {
        let value = serde_json::json!({"a/b": "hunter2"});
        let mut members = Members::of(value, "/error").unwrap();
        let error = members.flag("a/b").unwrap_err();
        assert_eq!(error.pointer(), "/error/a~1b");
        assert_eq!(
            error.to_string(),
            "at /error/a~1b: expected true or false, found a string"
        );
    }
}
