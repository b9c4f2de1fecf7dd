//! Reading JSON into a value while noticing a name that stands twice in one object.
//!
//! Two readers may understand such an object differently, one by the first and one by the last. It is
//! noticed while the value is built, so nothing is read a second time.

use std::fmt;

use panpan_failure::pointer::joined;
use panpan_failure::read::ReadError;
use panpan_failure::{Failure, Violation, codes};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Value};

/// Where a name first stood twice.
#[derive(Debug, Default)]
pub(crate) struct Twice {
    /// The steps to it, the innermost first.
    steps: Vec<String>,
}

impl Twice {
    /// The pointer to it from where reading began; `None` if every name stood once.
    pub(crate) fn pointer(&self) -> Option<String> {
        let further = |pointer: String, step: &String| joined(&pointer, step);
        (!self.steps.is_empty()).then(|| self.steps.iter().rev().fold(String::new(), further))
    }

    fn is_known(&self) -> bool {
        !self.steps.is_empty()
    }

    fn found(&mut self, name: &str) {
        if !self.is_known() {
            self.steps.push(name.to_owned());
        }
    }

    /// Adds a step outwards, if what was just read is where the first of them stood.
    fn below(&mut self, was_known: bool, step: impl FnOnce() -> String) {
        if self.is_known() && !was_known {
            self.steps.push(step());
        }
    }
}

/// The failure of a value in which a name stands twice.
pub(crate) fn ambiguous(pointer: &str) -> Failure {
    let reason = format!("the name at {pointer} stands twice, and nobody can tell which is meant");
    Failure::new(codes::INVALID_INPUT)
        .with_message(reason.as_str())
        .with_violation(Violation::value(pointer, reason).expected("each name once"))
}

/// The failure of a text that is not JSON, or that would not be passed on as it is.
pub(crate) fn unreadable(error: &ReadError) -> Failure {
    let code = match error {
        ReadError::WideNumber { .. } => codes::INVALID_INPUT,
        _ => codes::PARSE_ERROR,
    };
    Failure::new(code).with_message(error.to_string())
}

/// Reads any value, noting where a name stands twice.
#[derive(Debug)]
pub(crate) struct AnyValue<'t>(pub(crate) &'t mut Twice);

impl<'de> DeserializeSeed<'de> for AnyValue<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for AnyValue<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        loop {
            let was_known = self.0.is_known();
            let Some(item) = items.next_element_seed(AnyValue(self.0))? else {
                break;
            };
            self.0.below(was_known, || list.len().to_string());
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let was_known = self.0.is_known();
            let value = members.next_value_seed(AnyValue(self.0))?;
            self.0.below(was_known, || name.clone());
            match map.entry(name) {
                Entry::Vacant(place) => drop(place.insert(value)),
                Entry::Occupied(place) => self.0.found(place.key()),
            }
        }
        Ok(map.into())
    }
}

/// Whether no name can stand twice in an object of a text that is JSON, as far as a quick look tells.
///
/// Nothing is built and nothing is checked but names: where one is written with an escape, or the text
/// is no JSON at all, the answer may be no.
pub(crate) fn is_plainly_unambiguous(text: &[u8]) -> bool {
    let mut names = Names::with_usual_room();
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

/// The names of the objects that are open, the innermost last.
struct Names<'a> {
    names: Vec<&'a [u8]>,
    /// How many names stood before each object that is open.
    before: Vec<usize>,
}

/// More names than this in one object are left to a slower look, which does not compare each with each.
const NAMES_LIMIT: usize = 64;

impl<'a> Names<'a> {
    /// With room for the names of a usual request.
    fn with_usual_room() -> Self {
        Self {
            names: Vec::with_capacity(32),
            before: Vec::with_capacity(8),
        }
    }

    fn open(&mut self) {
        self.before.push(self.names.len());
    }

    fn close(&mut self) {
        let before = self.before.pop().unwrap_or_default();
        self.names.truncate(before);
    }

    fn is_new(&mut self, name: &'a [u8]) -> bool {
        let siblings = &self.names[self.before.last().copied().unwrap_or_default()..];
        let is_new =
            siblings.len() < NAMES_LIMIT && !name.contains(&b'\\') && !siblings.contains(&name);
        self.names.push(name);
        is_new
    }
}

#[cfg(test)]
mod tests {
    use panpan_failure::read::request_as;
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> (Value, Option<String>) {
        let mut twice = Twice::default();
        let value = request_as(text.as_bytes(), text.len(), AnyValue(&mut twice));
        (value.unwrap(), twice.pointer())
    }

    #[test]
    fn values_are_what_any_reader_makes_of_them() {
        let text = r#"[null, true, -1, 18446744073709551615, 1.5, "a\n", {"b": {"c": []}}]"#;
        let (value, twice) = read(text);
        assert_eq!(value, serde_json::from_str::<Value>(text).unwrap());
        assert_eq!(twice, None);
    }

    #[test]
    fn the_first_name_that_stands_twice_is_pointed_to() {
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
            let plain = is_plainly_unambiguous(text.as_bytes());
            assert_eq!(plain, pointer.is_none(), "{text}");
        }
        assert_eq!(read(r#"{"a": 1, "a": 2}"#).0, json!({"a": 1}));
    }

    #[test]
    fn a_quick_look_never_overlooks_a_name_that_stands_twice() {
        for count in [1, 2, NAMES_LIMIT - 1, NAMES_LIMIT] {
            let names: Vec<String> = (0..count).map(|it| format!("\"n{it}\": [{it}]")).collect();
            let text = |names: &[String]| format!("{{{}}}", names.join(","));
            assert!(is_plainly_unambiguous(text(&names).as_bytes()));
            for again in [0, count / 2, count - 1] {
                let twice = [&names[..], &names[again..=again]].concat();
                assert!(
                    !is_plainly_unambiguous(text(&twice).as_bytes()),
                    "{count} {again}"
                );
            }
        }
        for (text, plain) in [
            (r#"{"a": "a\"a", "b": "{\"a\": 1}"}"#, true),
            (r#"{"a" : "x", "b"	: ":"}"#, true),
            (r#"{"a\u0062": 1}"#, false),
            (r#"{"a"#, false),
        ] {
            assert_eq!(is_plainly_unambiguous(text.as_bytes()), plain, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn a_quick_look_agrees_with_a_slow_one_or_says_no(text in r#"[{}\[\]:,"ab\\ u0061]{0,40}"#) {
            let mut twice = Twice::default();
            let read = request_as(text.as_bytes(), text.len(), AnyValue(&mut twice));
            if read.is_ok() && twice.pointer().is_some() {
                proptest::prop_assert!(!is_plainly_unambiguous(text.as_bytes()));
            }
        }
    }
}
