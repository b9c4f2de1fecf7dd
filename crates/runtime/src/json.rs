//! Writes JSON values and reads them back.
//!
//! An accepted value may be nested deeper than the default limit of the JSON reader, and has to be readable
//! again. Text from outside must not exhaust the stack.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;

/// The maximum depth of nested values.
pub const DEPTH_LIMIT: usize = 1000;

/// The initial capacity, enough for most values.
const TEXT_BYTES: usize = 1024;

/// Writes a value.
pub(crate) fn text(value: &Value) -> Arc<str> {
    let mut text = Vec::with_capacity(TEXT_BYTES);
    serde_json::to_writer(&mut text, value)
        .expect("names are strings, and writing to memory does not fail");
    let text = String::from_utf8(text);
    text.expect("JSON is written in UTF-8").into()
}

/// Reads a value up to the depth limit.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    // Most values are flat; measuring their depth would read them twice.
    serde_json::from_str(text).or_else(|error| {
        if depth(text) > DEPTH_LIMIT {
            return Err(error);
        }
        let mut reader = serde_json::Deserializer::from_str(text);
        reader.disable_recursion_limit();
        let value = T::deserialize(&mut reader)?;
        reader.end()?;
        Ok(value)
    })
}

/// The nesting depth of a JSON text, without brackets in strings.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn nested(depth: usize) -> String {
        format!("{}{}", "[".repeat(depth), "]".repeat(depth))
    }

    #[test]
    fn values_are_read_up_to_the_depth_limit() {
        for (depth, readable) in [
            (1, true),
            (DEPTH_LIMIT, true),
            (DEPTH_LIMIT + 1, false),
            (1_000_000, false),
        ] {
            assert_eq!(read::<Value>(&nested(depth)).is_ok(), readable, "{depth}");
        }
    }

    #[test]
    fn text_after_a_value_is_an_error() {
        for depth in [1, 500] {
            assert!(read::<Value>(&format!("{} 1", nested(depth))).is_err());
        }
    }

    #[test]
    fn brackets_in_strings_do_not_count_as_depth() {
        for (text, expected) in [
            (r#""[[[""#, 0),
            (r#"{"a": "\"[[", "b": [1]}"#, 2),
            (r#"["\\", [], {}]"#, 2),
            ("]]][", 1),
        ] {
            assert_eq!(depth(text), expected, "{text}");
        }
    }
}
