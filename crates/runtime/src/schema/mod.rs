//! A JSON Schema compiled once, and what a value does wrong about it.
//!
//! References are resolved only inside the schema: the validator is built without network or files. How
//! a violation is told is in `words`.

#[cfg(test)]
mod tests;
mod words;

use std::fmt;

use jsonschema::{PatternOptions, ValidationError, Validator};
use panpan_contract::failure::Violation;
use serde_json::Value;

pub(crate) use words::NO_SUCH_MEMBER;
use words::violations_of;
pub use words::{SHOWN_CHARACTERS_LIMIT, shown};

/// The most violations that are listed for one value.
pub const VIOLATIONS_LIMIT: usize = 100;

/// Up to how many values everything that does not fit is listed: each place takes memory, and the library
/// gathers all places before it gives the first.
pub const LISTED_VALUES_LIMIT: usize = 10_000;

/// How often matching one text may go back. Most patterns never do, and are matched in linear time; those
/// that look around or refer back to what they matched may otherwise go back without end.
pub const BACKTRACKS_LIMIT: usize = 10_000;

/// The largest compiled pattern of a schema that came with a call, in bytes.
pub const PATTERN_BYTES_LIMIT: usize = 256 * 1024;

/// A compiled schema.
pub(crate) struct Schema {
    validator: Validator,
    /// Whether it has alternatives: what is wrong about each is gathered even for the first place.
    has_alternatives: bool,
}

/// What is wrong with a value.
#[derive(Debug, Default)]
pub struct Checked {
    /// The first [`VIOLATIONS_LIMIT`] of them.
    pub violations: Vec<Violation>,
    /// Whether there are more.
    pub more: bool,
}

/// How much is told of a value that does not fit. The library gathers all there is before it gives the
/// first, and for alternatives what is wrong about each, so that a large value can take a lot of memory.
/// Where not everything is told there may be more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    /// Everything, up to [`VIOLATIONS_LIMIT`].
    All,
    /// The first place.
    First,
    /// Only that it does not fit.
    Whole,
}

/// Holds a value against a schema that came with a call, or says why that is no schema.
///
/// Patterns are matched in linear time, unlike those of a contract: whoever wrote them is not trusted.
/// How much work the rest of the schema makes has to be bounded by whoever asks.
pub fn check_once(schema: &Value, value: &Value, listing: Listing) -> Result<Checked, String> {
    let patterns = PatternOptions::regex().size_limit(PATTERN_BYTES_LIMIT);
    let validator = jsonschema::options()
        .should_validate_formats(true)
        .with_pattern_options(patterns)
        .build(schema)
        .map_err(|error| format!("{} at {}", error, shown_pointer(&error)))?;
    Ok(match validator.is_valid(value) {
        true => Checked::default(),
        false => listed(&validator, value, listing),
    })
}

impl Schema {
    /// Compiles a schema, or says what is wrong with it.
    pub(crate) fn compile(schema: &Value) -> Result<Self, String> {
        let patterns = PatternOptions::fancy_regex().backtrack_limit(BACKTRACKS_LIMIT);
        let validator = jsonschema::options()
            .should_validate_formats(true)
            .with_pattern_options(patterns)
            .build(schema)
            .map_err(|error| format!("{} at {}", error, shown_pointer(&error)))?;
        Ok(Self {
            validator,
            has_alternatives: has_alternatives(schema),
        })
    }

    pub(crate) fn accepts(&self, value: &Value) -> bool {
        self.validator.is_valid(value)
    }

    /// What the value does wrong: everything, if it is not too large for that.
    pub(crate) fn check(&self, value: &Value) -> Checked {
        if self.accepts(value) {
            return Checked::default();
        }
        let listing = match (is_small(value), self.has_alternatives) {
            (true, _) => Listing::All,
            (false, false) => Listing::First,
            (false, true) => Listing::Whole,
        };
        listed(&self.validator, value, listing)
    }
}

/// What is wrong with a value that does not fit.
fn listed(validator: &Validator, value: &Value, listing: Listing) -> Checked {
    let mut violations: Vec<Violation> = match listing {
        Listing::All => {
            let errors = validator.iter_errors(value);
            let violations = errors.flat_map(|error| violations_of(&error));
            violations.take(VIOLATIONS_LIMIT + 1).collect()
        }
        Listing::First => {
            let first = validator.validate(value).err();
            first.iter().flat_map(violations_of).collect()
        }
        Listing::Whole => {
            let reason = "does not fit, and there is too much of it to say where";
            vec![Violation::value("", reason)]
        }
    };
    let more = listing != Listing::All || violations.len() > VIOLATIONS_LIMIT;
    violations.truncate(VIOLATIONS_LIMIT);
    Checked { violations, more }
}

/// Whether a schema lists alternatives anywhere.
fn has_alternatives(schema: &Value) -> bool {
    let mut open = vec![schema];
    while let Some(next) = open.pop() {
        match next {
            Value::Object(members) => {
                if members.contains_key("anyOf") || members.contains_key("oneOf") {
                    return true;
                }
                open.extend(members.values());
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    false
}

/// Whether a value holds at most [`LISTED_VALUES_LIMIT`] values. No more are looked at.
fn is_small(value: &Value) -> bool {
    let (mut open, mut seen) = (vec![value], 1);
    while let Some(next) = open.pop() {
        let before = open.len();
        let room = LISTED_VALUES_LIMIT + 1 - seen;
        match next {
            Value::Array(items) => open.extend(items.iter().take(room)),
            Value::Object(members) => open.extend(members.values().take(room)),
            _ => {}
        }
        seen += open.len() - before;
        if seen > LISTED_VALUES_LIMIT {
            return false;
        }
    }
    true
}

impl fmt::Debug for Schema {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Schema")
    }
}

fn shown_pointer(error: &ValidationError<'_>) -> String {
    match error.instance_path().as_str() {
        "" => "the top of the schema".to_owned(),
        pointer => pointer.to_owned(),
    }
}
