//! The first difference between two runs of a call, for programs and as a message.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;
use serde_json::Value;

/// How many characters of a value a message shows.
const SHOWN_CHARACTERS_LIMIT: usize = 200;
const PRESENT: &str = "present";
const ABSENT: &str = "absent";

/// The first difference between a run and its recording.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Divergence {
    /// The path from the top of the recording: `steps[1].failed.code`.
    pub place: String,
    /// The recorded value; the word `absent` if there was none.
    pub recorded: Value,
    /// The value now; the word `absent` if there is none.
    pub found: Value,
}

impl Divergence {
    /// The divergence at a path, if the values differ; `None` means absent.
    pub fn between<T: PartialEq + Into<Value>>(
        place: impl Into<String>,
        recorded: Option<T>,
        found: Option<T>,
    ) -> Option<Self> {
        let or_absent = |value: Option<T>| value.map_or_else(|| ABSENT.into(), Into::into);
        (recorded != found).then(|| Self {
            place: place.into(),
            recorded: or_absent(recorded),
            found: or_absent(found),
        })
    }

    /// A name that only one of the two has.
    pub(super) fn of_presence(place: String, recorded: bool) -> Self {
        let (recorded, found) = if recorded {
            (PRESENT, ABSENT)
        } else {
            (ABSENT, PRESENT)
        };
        Self {
            place,
            recorded: recorded.into(),
            found: found.into(),
        }
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} was {} when recorded and is {} now",
            self.place,
            shown(&self.recorded),
            shown(&self.found)
        )
    }
}

impl std::error::Error for Divergence {}

/// A plain word unquoted, anything else as JSON, truncated if it is long.
fn shown(value: &Value) -> Cow<'_, str> {
    let text = match value {
        Value::String(text) if !text.is_empty() && !text.contains(char::is_control) => text.into(),
        other => Cow::Owned(other.to_string()),
    };
    match text.char_indices().nth(SHOWN_CHARACTERS_LIMIT) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text,
    }
}

/// The path of a member: `input.city`, or `input["a.b"]` for a name with other characters.
pub(super) fn inside(place: &str, name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if !name.is_empty() && name.bytes().all(is_plain) {
        format!("{place}.{name}")
    } else {
        format!("{place}[{}]", Value::from(name))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_message_shows_both_values() {
        for (recorded, found, sentence) in [
            (
                json!("ERR_TIMEOUT"),
                json!("ERR_DNS_FAILURE"),
                "x was ERR_TIMEOUT when recorded and is ERR_DNS_FAILURE now",
            ),
            (
                json!(965),
                json!(true),
                "x was 965 when recorded and is true now",
            ),
            (
                json!(""),
                json!("a\nb"),
                r#"x was "" when recorded and is "a\nb" now"#,
            ),
            (
                json!(null),
                json!([1]),
                "x was null when recorded and is [1] now",
            ),
        ] {
            let place = "x".to_owned();
            let divergence = Divergence {
                place,
                recorded,
                found,
            };
            assert_eq!(divergence.to_string(), sentence);
        }
    }

    #[test]
    fn a_long_value_is_truncated() {
        let text = |count| Value::from("ü".repeat(count));
        let whole = text(SHOWN_CHARACTERS_LIMIT);
        assert_eq!(shown(&whole), whole.as_str().unwrap());
        let cut = format!("{}…", whole.as_str().unwrap());
        assert_eq!(shown(&text(SHOWN_CHARACTERS_LIMIT + 1)), cut);
    }

    #[test]
    fn unusual_names_are_quoted_in_a_path() {
        for (name, place) in [
            ("city", "input.city"),
            ("a-b_1", "input.a-b_1"),
            ("a.b", r#"input["a.b"]"#),
            ("", r#"input[""]"#),
            ("\"", r#"input["\""]"#),
        ] {
            assert_eq!(inside("input", name), place);
        }
    }
}
