//! Sizes of JSON values in bytes, computed without writing them.

use serde_json::{Map, Number, Value};

/// Whether a value takes at most `limit` bytes.
pub fn fits(value: &Value, limit: usize) -> bool {
    Count::UpperBound.value(value, limit) <= limit || of(value, limit) <= limit
}

/// Bytes that remain after a value; `None` if the value takes more.
pub fn remaining_bytes(value: &Value, bytes: usize) -> Option<usize> {
    bytes.checked_sub(of(value, bytes))
}

/// Whether an object takes at most `limit` bytes.
pub fn object_fits(members: &Map<String, Value>, limit: usize) -> bool {
    Count::UpperBound.object(members, limit) <= limit || of_object(members, limit) <= limit
}

/// The size of a value; counting stops beyond the limit, at some number above it.
pub(crate) fn of(value: &Value, limit: usize) -> usize {
    Count::Exact.value(value, limit)
}

/// The size of an object; counting stops beyond the limit.
pub(crate) fn of_object(members: &Map<String, Value>, limit: usize) -> usize {
    Count::Exact.object(members, limit)
}

#[derive(Clone, Copy)]
enum Count {
    Exact,
    /// Reads no text and writes no number, so it is fast; most values fit by far.
    UpperBound,
}

impl Count {
    fn value(self, value: &Value, limit: usize) -> usize {
        match value {
            Value::Null | Value::Bool(true) => 4,
            Value::Bool(false) => 5,
            Value::Number(number) => self.number(number),
            Value::String(text) => self.text(text, limit),
            Value::Array(items) => {
                // The brackets, and a comma between two items.
                let mut size = 2 + items.len().saturating_sub(1);
                for item in items {
                    if size > limit {
                        break;
                    }
                    size += self.value(item, limit - size);
                }
                size
            }
            Value::Object(members) => self.object(members, limit),
        }
    }

    fn object(self, members: &Map<String, Value>, limit: usize) -> usize {
        // The braces, a comma between two members, and a colon in each.
        let mut size = 2 + members.len().saturating_sub(1) + members.len();
        for (name, value) in members {
            if size > limit {
                break;
            }
            size += self.text(name, limit);
            if size <= limit {
                size += self.value(value, limit - size);
            }
        }
        size
    }

    fn number(self, number: &Number) -> usize {
        match (self, number.as_u64()) {
            (Self::UpperBound, _) => LONGEST_NUMBER,
            (Self::Exact, Some(whole)) => whole.checked_ilog10().unwrap_or(0) as usize + 1,
            (Self::Exact, None) => number.to_string().len(),
        }
    }

    fn text(self, text: &str, limit: usize) -> usize {
        match self {
            Self::UpperBound => 2 + text.len() * LONGEST_ESCAPE,
            // Escaping never makes a text shorter.
            Self::Exact if text.len() > limit => text.len(),
            Self::Exact => 2 + of_text(text),
        }
    }
}

/// The longest number that JSON writes for an `f64`, an `i64` or a `u64`, in bytes.
const LONGEST_NUMBER: usize = 24;

/// The longest escape of one byte: `\u001f`.
const LONGEST_ESCAPE: usize = 6;

/// The size of a text, without its quotes.
pub(crate) fn of_text(text: &str) -> usize {
    // Bytes that escaping adds to each byte.
    const LONGER: [u8; 256] = {
        let mut longer = [0; 256];
        let mut byte = 0;
        while byte < 0x20 {
            longer[byte] = match byte as u8 {
                b'\n' | b'\r' | b'\t' | 8 | 12 => 1,
                _ => 5,
            };
            byte += 1;
        }
        longer[b'"' as usize] = 1;
        longer[b'\\' as usize] = 1;
        longer
    };
    let longer = text
        .bytes()
        .map(|byte| usize::from(LONGER[usize::from(byte)]));
    text.len() + longer.sum::<usize>()
}

/// The size of a character in a text.
pub(crate) fn of_character(character: char) -> usize {
    of_text(character.encode_utf8(&mut [0; 4]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_computed_size_is_the_written_size() {
        for value in [
            json!(null),
            json!("a\"\\\n\u{1}é\u{7f}"),
            json!({"a": ["b", {"c\t": false}], "": []}),
            json!({}),
            json!({"a": -1.5e-7, "b": u64::MAX}),
            json!(-1.797_693_134_862_315_7e308),
            json!(-2.225_073_858_507_201_4e-308),
            json!("\u{1}".repeat(9)),
            json!([[], [[], true], 0, 9, 10, -10]),
        ] {
            let written = value.to_string().len();
            assert_eq!(of(&value, usize::MAX), written, "{value}");
            assert!(fits(&value, written), "{value}");
            assert!(!fits(&value, written - 1), "{value}");
            assert!(
                Count::UpperBound.value(&value, usize::MAX) >= written,
                "{value}"
            );
        }
        assert!(!fits(&json!(["abc", "def"]), 10));
        assert!(!fits(&json!({"abc": "def"}), 10));
    }
}
