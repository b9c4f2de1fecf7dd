//! Reading JSON from anywhere: bounded, and with a pointer to whatever is wrong.
//!
//! Knows limits and types of JSON. Does not know what any member means.

use std::marker::PhantomData;
use std::num::NonZeroU32;

use serde::de::DeserializeSeed;
use serde_json::{Map, Value};

use crate::pointer::joined;

/// The largest document that is read, in bytes.
pub const DOCUMENT_BYTES_LIMIT: usize = 4 * 1024 * 1024;
/// The deepest nesting that is read; one more is refused.
pub const DOCUMENT_DEPTH_LIMIT: usize = 127;

/// Why a document could not be read as what it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// More bytes than are read.
    #[error("the document has {bytes} bytes; at most {limit} are read")]
    TooLarge {
        /// How many there were.
        bytes: usize,
        /// How many are read at most.
        limit: usize,
    },
    /// Nested deeper than [`DOCUMENT_DEPTH_LIMIT`].
    #[error(
        "the document is nested more than {DOCUMENT_DEPTH_LIMIT} levels deep (line {line}, column {column})"
    )]
    TooDeep {
        /// Where, counted from 1.
        line: usize,
        /// Where, counted from 1.
        column: usize,
    },
    /// Not JSON.
    #[error("not valid JSON: {problem} (line {line}, column {column})")]
    Syntax {
        /// What the parser met.
        problem: String,
        /// Where, counted from 1.
        line: usize,
        /// Where, counted from 1.
        column: usize,
    },
    /// A whole number that would not be passed on as it is.
    #[error(
        "the whole number at line {line}, column {column} does not fit into 64 bits and would not be passed on \
         exactly; send it as a string if the operation takes one, or a smaller number"
    )]
    WideNumber {
        /// Where, counted from 1.
        line: usize,
        /// Where, counted from 1.
        column: usize,
    },
    /// A member is missing or has the wrong type.
    #[error("at {}: expected {expected}, found {found}", shown(pointer))]
    Shape {
        /// Where, as an RFC 6901 pointer.
        pointer: String,
        /// What should stand there.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// No dialect has this shape.
    #[error("the document has the shape of no dialect: {hint}")]
    Unrecognised {
        /// What to do about it.
        hint: String,
    },
}

impl ReadError {
    /// Where in the document, as an RFC 6901 pointer; the whole document when it is no JSON at all.
    pub fn pointer(&self) -> &str {
        match self {
            ReadError::Shape { pointer, .. } => pointer,
            _ => "",
        }
    }
}

/// A JSON pointer as a message shows it: the empty one is the top of the document.
pub fn shown(pointer: &str) -> &str {
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

/// Parses a document of at most so many bytes.
pub fn document_within(bytes: &[u8], limit: usize) -> Result<Value, ReadError> {
    document_as(bytes, limit, PhantomData::<Value>)
}

/// Parses what a caller asks for, of at most so many bytes, into what the seed makes of it, which may borrow
/// from it. A whole number that would be rounded is refused, because the caller would not notice it.
pub fn request_as<'a, S: DeserializeSeed<'a>>(
    bytes: &'a [u8],
    limit: usize,
    seed: S,
) -> Result<S::Value, ReadError> {
    let made = document_as(bytes, limit, seed)?;
    match wide_numbers(bytes).next() {
        Some(offset) => Err(wide_number_at(bytes, offset)),
        None => Ok(made),
    }
}

/// The error for a whole number that begins there and would be rounded.
pub fn wide_number_at(bytes: &[u8], offset: usize) -> ReadError {
    let (line, column) = position(bytes, offset);
    ReadError::WideNumber { line, column }
}

/// Where the whole numbers of a JSON text begin that do not fit into 64 bits.
pub fn wide_numbers(text: &[u8]) -> impl Iterator<Item = usize> {
    // A number that is too wide covers one of these places with all its digits, and few texts have such a run.
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
    let may_hold = (SHORTEST - 1..text.len()).step_by(SHORTEST).any(is_run);
    let mut from = if may_hold { 0 } else { text.len() };
    std::iter::from_fn(move || {
        let (found, behind) = next_wide_number(text, from)?;
        from = behind;
        Some(found)
    })
}

/// Where the next of them begins and ends, from a place outside of every string.
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

/// Whether a number is whole and becomes another one when it is read.
fn is_rounded(number: &str) -> bool {
    let is_whole = !number.contains(['.', 'e', 'E']);
    let fits = || number.parse::<u64>().is_ok() || number.parse::<i64>().is_ok();
    let as_float = || number.parse::<f64>().map(|it| format!("{it:.0}"));
    is_whole && !fits() && as_float().is_ok_and(|it| it != number)
}

/// Parses a document of at most so many bytes into what the seed makes of it, which may borrow from it.
pub fn document_as<'a, S: DeserializeSeed<'a>>(
    bytes: &'a [u8],
    limit: usize,
    seed: S,
) -> Result<S::Value, ReadError> {
    if bytes.len() > limit {
        let bytes = bytes.len();
        return Err(ReadError::TooLarge { bytes, limit });
    }
    // Checked once for the whole text, which is quicker than string by string.
    let text = std::str::from_utf8(bytes).map_err(|error| not_utf8(bytes, error.valid_up_to()))?;
    let mut reader = serde_json::Deserializer::from_str(text);
    let made = seed.deserialize(&mut reader);
    made.and_then(|made| reader.end().map(|()| made))
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

/// The line and the column of a byte, counted from 1.
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

/// An object being taken apart, knowing where in the document it stands.
#[derive(Debug)]
pub(crate) struct Members {
    map: Map<String, Value>,
    path: String,
}

impl Members {
    /// The object at a place, or an error that names the place.
    pub(crate) fn of(value: Value, path: impl Into<String>) -> Result<Self, ReadError> {
        let path = path.into();
        match value {
            Value::Object(map) => Ok(Self { map, path }),
            other => Err(unexpected(path, "an object", &other)),
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
    pub(crate) fn take_even_null(&mut self, name: &str) -> Option<Value> {
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

    /// Takes a member if it can be read so; a foreign member of another type stays where it is.
    pub(crate) fn told<T>(
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

    pub(crate) fn told_text(&mut self, name: &str) -> Option<String> {
        if !self.map.get(name).is_some_and(Value::is_string) {
            return None;
        }
        match self.map.remove(name) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn told_flag(&mut self, name: &str) -> Option<bool> {
        self.told(name, Value::as_bool)
    }

    pub(crate) fn told_unsigned<T: TryFrom<u64>>(&mut self, name: &str) -> Option<T> {
        self.told(name, |value| T::try_from(value.as_u64()?).ok())
    }

    pub(crate) fn told_map(&mut self, name: &str) -> Option<Map<String, Value>> {
        if !self.map.get(name).is_some_and(Value::is_object) {
            return None;
        }
        match self.map.remove(name) {
            Some(Value::Object(map)) => Some(map),
            _ => None,
        }
    }

    pub(crate) fn told_members(&mut self, name: &str) -> Option<Members> {
        let map = self.told_map(name)?;
        Some(Members {
            map,
            path: self.at(name),
        })
    }

    /// Takes a list if every item of it can be read.
    pub(crate) fn told_list<T>(
        &mut self,
        name: &str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Option<Vec<T>> {
        self.told(name, |value| value.as_array()?.iter().map(read).collect())
    }

    /// Takes all members at once, each with its place; null counts as absent.
    pub(crate) fn each(
        self,
        mut read: impl FnMut(Member<'_>) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        let Self { map, path } = self;
        let mut present = map.into_iter().filter(|(_, value)| !value.is_null());
        present.try_for_each(|(name, value)| {
            read(Member {
                value,
                parent: &path,
                name: &name,
            })
        })
    }

    /// What nobody took.
    pub(crate) fn rest(self) -> Map<String, Value> {
        self.map
    }

    /// The place of a member.
    pub(crate) fn at(&self, name: &str) -> String {
        joined(&self.path, name)
    }

    /// The error for a member that has to be there.
    pub(crate) fn missing(&self, name: &str, expected: &str) -> ReadError {
        ReadError::Shape {
            pointer: self.at(name),
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
            parent: &self.path,
            name,
        })
        .map(Some)
    }
}

/// One member of an object, with its place. The place is only spelt out when it is needed.
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

    /// A number of things that were there: never 0.
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
        let path = self.place();
        Ok(Members {
            map: self.map()?,
            path,
        })
    }

    pub(crate) fn list<T>(
        self,
        read: impl Fn(Value, String) -> Result<T, ReadError>,
    ) -> Result<Vec<T>, ReadError> {
        let path = self.place();
        let items = self.typed("a list", |value| match value {
            Value::Array(items) => Ok(items),
            other => Err(other),
        })?;
        let read_at = |(index, item): (usize, Value)| read(item, joined(&path, &index.to_string()));
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

    /// A word of a vocabulary; `None` for one that a later version may have added.
    pub(crate) fn known_word<T>(
        self,
        from_word: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, ReadError> {
        self.text().map(|word| from_word(&word))
    }

    fn place(&self) -> String {
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

/// The name of a JSON type, for messages. Values are not shown: they may be secret.
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
    fn depth_is_limited_and_both_sides_of_the_limit_are_known() {
        let nested = |depth: usize| [vec![b'['; depth], vec![b']'; depth]].concat();
        assert!(document(&nested(DOCUMENT_DEPTH_LIMIT)).is_ok());
        let error = document(&nested(DOCUMENT_DEPTH_LIMIT + 1)).unwrap_err();
        assert!(
            matches!(error, ReadError::TooDeep { line: 1, .. }),
            "{error}"
        );
    }

    #[test]
    fn size_is_limited_and_both_sides_of_the_limit_are_known() {
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
    fn syntax_errors_say_where() {
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
    fn a_wrong_type_is_named_with_its_pointer_and_without_its_value() {
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
