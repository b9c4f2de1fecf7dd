//! Writing JSON from a value and reading it back.
//!
//! A value that was taken in may be nested deeper than readers of JSON go by default; it has to come
//! back all the same. A text somebody else wrote must still not exhaust the stack.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;

/// How deep values may be nested.
pub const DEPTH_LIMIT: usize = 1000;

/// What most texts need at most: one that grows is moved each time.
const TEXT_BYTES: usize = 1024;

/// A value as text.
pub(crate) fn text(value: &Value) -> Arc<str> {
    let mut text = Vec::with_capacity(TEXT_BYTES);
    serde_json::to_writer(&mut text, value)
        .expect("names are strings, and writing to memory does not fail");
    let text = String::from_utf8(text);
    text.expect("JSON is written in UTF-8").into()
}

/// Reads what was written.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    // Most texts are flat, and counting their brackets would be reading them twice.
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

/// At least how deep the values of a text are nested; brackets in strings do not count.
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
    fn what_follows_a_value_is_not_overlooked() {
        for depth in [1, 500] {
            assert!(read::<Value>(&format!("{} 1", nested(depth))).is_err());
        }
    }

    #[test]
    fn brackets_in_strings_are_not_depth() {
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
