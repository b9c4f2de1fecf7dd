//! A debug form that shows only the size of a value.

use std::fmt;

use serde_json::Value;

/// Shows the length of the JSON of a value and none of its content.
#[derive(Clone, Copy)]
pub struct Opaque<'a>(pub &'a Value);

impl fmt::Debug for Opaque<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut length = Length(0);
        serde_json::to_writer(&mut length, self.0).map_err(|_| fmt::Error)?;
        write!(formatter, "{} bytes", length.0)
    }
}

/// Counts the bytes that are written to it.
struct Length(usize);

impl std::io::Write for Length {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_length_is_shown() {
        for (value, expected) in [
            (json!(null), "4 bytes"),
            (json!({"a": "é"}), "10 bytes"),
            (json!("hunter2"), "9 bytes"),
        ] {
            assert_eq!(format!("{:?}", Opaque(&value)), expected);
        }
    }
}
