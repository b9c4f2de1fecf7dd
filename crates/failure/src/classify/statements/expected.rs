//! What a member of an input has to be, and whether a value is that.

use std::fmt;

use serde_json::Value;

use crate::failure::ViolationKind;

/// What a text says a value has to be.
#[derive(Clone, Debug, PartialEq)]
pub enum Expectation {
    /// There at all.
    Present,
    /// Not there: the service does not know such a member.
    Absent,
    /// Not empty.
    NotEmpty,
    /// Within bounds; of a text or a list, its length where the bound counts something.
    Within {
        /// The lower bound.
        least: Option<Bound>,
        /// The upper bound.
        most: Option<Bound>,
        /// What is counted, such as `characters`; nothing where the value itself is meant.
        counted: Option<String>,
    },
    /// One of these.
    OneOf(Vec<String>),
    /// Of a JSON type.
    Type(JsonType),
    /// In a named form, such as `UUID`.
    Form(String),
}

/// A bound, and whether the bound itself is allowed.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// As it was written, without separators of thousands.
    pub number: String,
    /// Whether the bound itself is allowed.
    pub is_allowed: bool,
}

/// A type of JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonType {
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// A text.
    String,
    /// True or false.
    Boolean,
    /// A list.
    Array,
    /// An object.
    Object,
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

    /// The type a word of prose names.
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
        // What the forms take for a number parses; no number bounds nothing.
        self.number.parse().unwrap_or(f64::NAN)
    }
}

impl Expectation {
    /// In which way a value that breaks it does not fit.
    pub fn kind(&self) -> ViolationKind {
        match self {
            Expectation::Present => ViolationKind::Missing,
            Expectation::Type(_) => ViolationKind::Type,
            _ => ViolationKind::Value,
        }
    }

    /// Whether a value is as expected. One that is not there breaks only the demand to be there, and one
    /// whose form cannot be checked breaks nothing.
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

/// How many characters, entries or members a value has.
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
            Expectation::Type(kind) => formatter.write_str(match kind {
                JsonType::Integer => "integer",
                JsonType::Number => "number",
                JsonType::String => "string",
                JsonType::Boolean => "boolean",
                JsonType::Array => "array",
                JsonType::Object => "object",
            }),
            Expectation::Form(name) => formatter.write_str(name),
        }
    }
}
