//! What a member of an input has to be, and whether a value meets it.

use std::fmt;

use serde_json::Value;

use crate::failure::ViolationKind;

/// The expected value of a member.
#[derive(Clone, Debug, PartialEq)]
pub enum Expectation {
    /// Any value.
    Present,
    /// No value: the service does not know the member.
    Absent,
    /// A value that is not empty.
    NotEmpty,
    /// Within bounds, or for a text or a list with a length within bounds.
    Within {
        /// The lower bound.
        least: Option<Bound>,
        /// The upper bound.
        most: Option<Bound>,
        /// The unit of a length, such as `characters`; `None` if the bounds apply to the value itself.
        counted: Option<String>,
    },
    /// One of these values.
    OneOf(Vec<String>),
    /// A value of a JSON type.
    Type(JsonType),
    /// A value in a named format, such as `UUID`.
    Form(String),
}

/// A bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// The number as written, without thousands separators.
    pub number: String,
    /// Whether the bound itself is allowed.
    pub is_allowed: bool,
}

panpan_catalogue::words! {
    /// A JSON type.
    JsonType {
        /// An integer.
        Integer = "integer",
        /// A number.
        Number = "number",
        /// A text.
        String = "string",
        /// True or false.
        Boolean = "boolean",
        /// A list.
        Array = "array",
        /// An object.
        Object = "object",
    }
}

impl JsonType {
    const NAMES: [(&str, JsonType); 14] = [
        ("integer", JsonType::Integer),
        ("int", JsonType::Integer),
        ("whole number", JsonType::Integer),
        ("number", JsonType::Number),
        ("float", JsonType::Number),
        ("decimal", JsonType::Number),
        ("numeric", JsonType::Number),
        ("string", JsonType::String),
        ("text", JsonType::String),
        ("boolean", JsonType::Boolean),
        ("bool", JsonType::Boolean),
        ("array", JsonType::Array),
        ("list", JsonType::Array),
        ("object", JsonType::Object),
    ];

    /// The type of a word in prose.
    pub(super) fn of_word(word: &str) -> Option<Self> {
        let mut names = Self::NAMES.iter();
        names
            .find(|(name, _)| name.eq_ignore_ascii_case(word))
            .map(|(_, it)| *it)
    }

    /// All words, longest first.
    pub(super) fn pattern() -> String {
        let mut names = Self::NAMES.map(|(name, _)| name);
        names.sort_by_key(|name| std::cmp::Reverse(name.len()));
        names.join("|")
    }

    fn is_of(self, value: &Value) -> bool {
        match self {
            JsonType::Integer => value.as_f64().is_some_and(|it| it.fract() == 0.0),
            JsonType::Number => value.is_number(),
            JsonType::String => value.is_string(),
            JsonType::Boolean => value.is_boolean(),
            JsonType::Array => value.is_array(),
            JsonType::Object => value.is_object(),
        }
    }
}

impl Bound {
    fn value(&self) -> f64 {
        // The patterns only match numbers that parse; NaN would bound nothing.
        self.number.parse().unwrap_or(f64::NAN)
    }
}

impl Expectation {
    /// The kind of violation of a value that does not meet it.
    pub fn kind(&self) -> ViolationKind {
        match self {
            Expectation::Present => ViolationKind::Missing,
            Expectation::Type(_) => ViolationKind::Type,
            _ => ViolationKind::Value,
        }
    }

    /// Whether a value meets the expectation. A missing value only breaks `Present`; a named format is not
    /// checked.
    pub(super) fn is_met_by(&self, value: Option<&Value>) -> bool {
        let Some(value) = value else {
            return *self != Expectation::Present;
        };
        match self {
            Expectation::Present => !value.is_null(),
            Expectation::Absent => false,
            Expectation::NotEmpty => size(value).is_none_or(|it| it > 0.0),
            Expectation::Within {
                least,
                most,
                counted,
            } => {
                let number = match counted {
                    Some(_) => size(value),
                    None => value.as_f64(),
                };
                let is_above = |it: &Bound, number: f64| match it.is_allowed {
                    true => number >= it.value(),
                    false => number > it.value(),
                };
                let is_below = |it: &Bound, number: f64| match it.is_allowed {
                    true => number <= it.value(),
                    false => number < it.value(),
                };
                number.is_none_or(|number| {
                    least.as_ref().is_none_or(|it| is_above(it, number))
                        && most.as_ref().is_none_or(|it| is_below(it, number))
                })
            }
            Expectation::OneOf(values) => match value {
                Value::String(text) => values.contains(text),
                Value::Number(number) => values.contains(&number.to_string()),
                Value::Bool(flag) => values.contains(&flag.to_string()),
                _ => true,
            },
            Expectation::Type(kind) => kind.is_of(value),
            Expectation::Form(_) => true,
        }
    }
}

/// The number of characters, items or members of a value.
#[expect(
    clippy::cast_precision_loss,
    reason = "inputs are far shorter than 2^53"
)]
fn size(value: &Value) -> Option<f64> {
    let size = match value {
        Value::String(text) => text.chars().count(),
        Value::Array(items) => items.len(),
        Value::Object(members) => members.len(),
        _ => return None,
    };
    Some(size as f64)
}

impl fmt::Display for Expectation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expectation::Present => formatter.write_str("a value"),
            Expectation::Absent => formatter.write_str("no such member"),
            Expectation::NotEmpty => formatter.write_str("a value that is not empty"),
            Expectation::Within {
                least,
                most,
                counted,
            } => {
                match (least, most) {
                    (Some(least), Some(most)) if least == most => {
                        formatter.write_str(&least.number)?;
                    }
                    (Some(least), Some(most)) => {
                        write!(formatter, "{} to {}", least.number, most.number)?;
                    }
                    (Some(least), None) => {
                        let word = if least.is_allowed {
                            "at least"
                        } else {
                            "greater than"
                        };
                        write!(formatter, "{word} {}", least.number)?;
                    }
                    (None, Some(most)) => {
                        let word = if most.is_allowed {
                            "at most"
                        } else {
                            "less than"
                        };
                        write!(formatter, "{word} {}", most.number)?;
                    }
                    (None, None) => formatter.write_str("a number")?,
                }
                match counted {
                    Some(counted) => write!(formatter, " {counted}"),
                    None => Ok(()),
                }
            }
            Expectation::OneOf(values) => write!(formatter, "one of {}", values.join(", ")),
            Expectation::Type(kind) => formatter.write_str(kind.word()),
            Expectation::Form(name) => formatter.write_str(name),
        }
    }
}
