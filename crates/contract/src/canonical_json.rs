//! The canonical text of a JSON value (RFC 8785) and its SHA-256 fingerprint.
//!
//! The caller decides which members are part of a fingerprint.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};
use sha2::{Digest, Sha256};

/// The first integer whose successor a double cannot represent.
const EXACT_LIMIT: f64 = 9_007_199_254_740_992.0;
/// The first integer that does not fit into 64 bits.
const INTEGER_LIMIT: f64 = 18_446_744_073_709_551_616.0;

/// Enough for most texts, so that they are not reallocated.
const TEXT_BYTES: usize = 512;

/// Writes a value as in RFC 8785: names sorted by UTF-16, numbers as in ECMAScript, no white space.
///
/// There is one deviation. RFC 8785 rounds integers between 2^53 and 2^64 to doubles; here they are
/// written exactly, because two different order numbers must never share a fingerprint.
pub fn canonical_json(value: &Value) -> Vec<u8> {
    let mut text = Vec::with_capacity(TEXT_BYTES);
    let mut open = Vec::new();
    let mut next = Some(value);
    while let Some(value) = next {
        match value {
            Value::Array(items) => open.push(Open::list(items, &mut text)),
            Value::Object(members) => open.push(Open::object(members, &mut text)),
            scalar => write_scalar(scalar, &mut text),
        }
        next = advance(&mut open, &mut text);
    }
    text
}

/// The SHA-256 of the canonical form.
pub fn digest(value: &Value) -> [u8; 32] {
    Sha256::digest(canonical_json(value)).into()
}

/// Bytes as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
    let digits = bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]);
    digits.collect()
}

/// Compares two names by UTF-16, which for ASCII is the order of the bytes.
fn compare_utf16(one: &str, other: &str) -> Ordering {
    if one.is_ascii() && other.is_ascii() {
        return one.cmp(other);
    }
    one.encode_utf16().cmp(other.encode_utf16())
}

/// A list or object that is open. The explicit stack is needed because a value can be nested deeper
/// than the stack of the thread.
enum Open<'a> {
    List(std::slice::Iter<'a, Value>, Position),
    Object(std::vec::IntoIter<(&'a String, &'a Value)>, Position),
}

#[derive(Clone, Copy, PartialEq)]
enum Position {
    First,
    Later,
}

impl<'a> Open<'a> {
    fn list(items: &'a [Value], text: &mut Vec<u8>) -> Self {
        text.push(b'[');
        Open::List(items.iter(), Position::First)
    }

    fn object(members: &'a Map<String, Value>, text: &mut Vec<u8>) -> Self {
        text.push(b'{');
        let mut members: Vec<_> = members.iter().collect();
        members.sort_by(|(one, _), (other, _)| compare_utf16(one, other));
        Open::Object(members.into_iter(), Position::First)
    }

    /// The next value inside, after its separator and name are written.
    fn next(&mut self, text: &mut Vec<u8>) -> Option<&'a Value> {
        match self {
            Open::List(items, position) => {
                let item = items.next()?;
                separate(position, text);
                Some(item)
            }
            Open::Object(members, position) => {
                let (name, value) = members.next()?;
                separate(position, text);
                write_string(name, text);
                text.push(b':');
                Some(value)
            }
        }
    }

    fn close(&self) -> u8 {
        match self {
            Open::List(..) => b']',
            Open::Object(..) => b'}',
        }
    }
}

fn separate(position: &mut Position, text: &mut Vec<u8>) {
    if *position == Position::Later {
        text.push(b',');
    }
    *position = Position::Later;
}

/// The next value, after all finished containers are closed.
fn advance<'a>(open: &mut Vec<Open<'a>>, text: &mut Vec<u8>) -> Option<&'a Value> {
    while let Some(innermost) = open.last_mut() {
        if let Some(value) = innermost.next(text) {
            return Some(value);
        }
        text.push(innermost.close());
        open.pop();
    }
    None
}

fn write_scalar(scalar: &Value, text: &mut Vec<u8>) {
    match scalar {
        Value::Bool(true) => text.extend_from_slice(b"true"),
        Value::Bool(false) => text.extend_from_slice(b"false"),
        Value::Number(number) => write_number(number, text),
        Value::String(string) => write_string(string, text),
        _ => text.extend_from_slice(b"null"),
    }
}

fn write_number(number: &Number, text: &mut Vec<u8>) {
    let float = match number.as_f64() {
        Some(float) if number.is_f64() => float,
        _ => return text.extend_from_slice(number.to_string().as_bytes()),
    };
    let between = EXACT_LIMIT..INTEGER_LIMIT;
    if between.contains(&float.abs()) {
        // Every double of this size is an integer and fits into 65 bits.
        text.extend_from_slice((float as i128).to_string().as_bytes());
    } else {
        text.extend_from_slice(ryu_js::Buffer::new().format_finite(float).as_bytes());
    }
}

/// `serde_json` writes the escapes of RFC 8785 3.2.2.2: the five short ones, the quote, the
/// backslash, and `\u00xx` for other control characters.
fn write_string(string: &str, text: &mut Vec<u8>) {
    serde_json::to_writer(text, string).expect("a string is written to memory");
}

#[cfg(test)]
mod tests;
