//! The failures for JSON that is refused, and a fast scan for duplicate members.

use panpan_failure::read::ReadError;
use panpan_failure::{Failure, Redacted, Violation, codes};

/// The failure for a value with a duplicate member.
pub(crate) fn duplicate_member(pointer: &str) -> Failure {
    let reason = format!("duplicate member at {pointer}");
    Failure::new(codes::INVALID_INPUT)
        .with_message(reason.as_str())
        .with_violation(Violation::value(pointer, reason).expected("each member once"))
}

/// The failure for text that is not JSON, or has numbers that cannot be represented exactly.
pub(crate) fn unreadable(error: &ReadError) -> Failure {
    let code = match error {
        ReadError::WideNumber { .. } => codes::INVALID_INPUT,
        _ => codes::PARSE_ERROR,
    };
    Failure::new(code).with_message(error.to_string())
}

/// The failure in place of a recorded output that is damaged in the store.
pub(crate) fn unwritable(error: &serde_json::Error) -> Redacted {
    let failure = Failure::new(codes::INTERNAL).caused_by(error);
    failure
        .with_message("the recorded output cannot be read")
        .redacted()
}

/// Whether JSON text certainly has no duplicate members.
///
/// A fast scan of the member names that builds no values. It may return false for text without duplicates:
/// if a name contains an escape, an object has many members, or the text is not JSON.
pub(crate) fn has_no_duplicate_members(text: &[u8]) -> bool {
    let mut names = Names::new();
    let mut rest = text;
    while let [byte, behind @ ..] = rest {
        rest = behind;
        match byte {
            b'"' => {
                let Some((string, behind)) = string(behind) else {
                    return false;
                };
                let is_name = behind.trim_ascii_start().first() == Some(&b':');
                if is_name && !names.is_new(string) {
                    return false;
                }
                rest = behind;
            }
            b'{' => names.open(),
            b'}' => names.close(),
            _ => {}
        }
    }
    true
}

/// Splits a text at its first closing quote: the string before it, and the rest.
fn string(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut is_escaped = false;
    let end = text.iter().position(|&byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    })?;
    Some((&text[..end], &text[end + 1..]))
}

/// The member names of the enclosing objects, innermost last.
struct Names<'a> {
    names: Vec<&'a [u8]>,
    /// The number of names before each enclosing object.
    starts: Vec<usize>,
}

/// Objects with more names are left to the full parser, since the scan compares each name with all others.
const NAMES_LIMIT: usize = 64;

impl<'a> Names<'a> {
    fn new() -> Self {
        Self {
            names: Vec::with_capacity(32),
            starts: Vec::with_capacity(8),
        }
    }

    fn open(&mut self) {
        self.starts.push(self.names.len());
    }

    fn close(&mut self) {
        let start = self.starts.pop().unwrap_or_default();
        self.names.truncate(start);
    }

    fn is_new(&mut self, name: &'a [u8]) -> bool {
        let siblings = &self.names[self.starts.last().copied().unwrap_or_default()..];
        let is_new =
            siblings.len() < NAMES_LIMIT && !name.contains(&b'\\') && !siblings.contains(&name);
        self.names.push(name);
        is_new
    }
}

#[cfg(test)]
mod tests {
    use panpan_failure::read;
    use serde_json::{Value, json};

    use super::*;

    fn read(text: &str) -> (Value, Option<String>) {
        read::request(text.as_bytes(), text.len()).unwrap()
    }

    #[test]
    fn values_equal_those_of_serde_json() {
        let text = r#"[null, true, -1, 18446744073709551615, 1.5, "a\n", {"b": {"c": []}}]"#;
        let (value, duplicate) = read(text);
        assert_eq!(value, serde_json::from_str::<Value>(text).unwrap());
        assert_eq!(duplicate, None);
    }

    #[test]
    fn the_first_duplicate_member_is_located() {
        for (text, pointer) in [
            (r#"{"a": 1, "a": 1}"#, Some("/a")),
            (r#"{"a": 1, "\u0061": 2}"#, Some("/a")),
            (r#"{"a": {"b": 1}, "b": 2}"#, None),
            (r#"[{"a": 1}, {"a": 2}]"#, None),
            (
                r#"[0, {"x/y": [1, {"b": 1, "c": 2, "b": 3}], "d": 1, "d": 1}]"#,
                Some("/1/x~1y/1/b"),
            ),
            (
                r#"{"a": {"b": 1, "b": 1}, "c": [{"d": 1, "d": 1}]}"#,
                Some("/a/b"),
            ),
            (r#"{"a": 1, "a": {"b": 1, "b": 2}}"#, Some("/a/b")),
        ] {
            assert_eq!(read(text).1.as_deref(), pointer, "{text}");
            let passes_scan = has_no_duplicate_members(text.as_bytes());
            assert_eq!(passes_scan, pointer.is_none(), "{text}");
        }
        assert_eq!(read(r#"{"a": 1, "a": 2}"#).0, json!({"a": 1}));
    }

    #[test]
    fn the_scan_finds_every_duplicate_member() {
        for count in [1, 2, NAMES_LIMIT - 1, NAMES_LIMIT] {
            let names: Vec<String> = (0..count).map(|it| format!("\"n{it}\": [{it}]")).collect();
            let text = |names: &[String]| format!("{{{}}}", names.join(","));
            assert!(has_no_duplicate_members(text(&names).as_bytes()));
            for index in [0, count / 2, count - 1] {
                let duplicated = [&names[..], &names[index..=index]].concat();
                assert!(
                    !has_no_duplicate_members(text(&duplicated).as_bytes()),
                    "{count} {index}"
                );
            }
        }
        for (text, passes_scan) in [
            (r#"{"a": "a\"a", "b": "{\"a\": 1}"}"#, true),
            (r#"{"a" : "x", "b"	: ":"}"#, true),
            (r#"{"a\u0062": 1}"#, false),
            (r#"{"a"#, false),
        ] {
            assert_eq!(
                has_no_duplicate_members(text.as_bytes()),
                passes_scan,
                "{text}"
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn the_scan_passes_no_text_in_which_the_parser_finds_a_duplicate(text in r#"[{}\[\]:,"ab\\ u0061]{0,40}"#) {
            let read = read::request(text.as_bytes(), text.len());
            if read.is_ok_and(|(_, duplicate)| duplicate.is_some()) {
                proptest::prop_assert!(!has_no_duplicate_members(text.as_bytes()));
            }
        }
    }
}
