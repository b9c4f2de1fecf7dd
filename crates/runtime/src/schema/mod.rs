//! A JSON Schema compiled once, and what a value does wrong about it.
//!
//! References are resolved only inside the schema: the validator is built without network or files. How
//! much work a schema can make is in `shape`, where a value breaks it in `search`, and how a violation is
//! told in `words`.

#[cfg(test)]
mod hostile;
mod misplaced;
mod search;
mod shape;
#[cfg(test)]
mod tests;
mod words;

use std::fmt;
use std::sync::Mutex;

use jsonschema::{PatternOptions, ValidationError, ValidationOptions, Validator};
use panpan_failure::Violation;
use serde_json::Value;

pub(crate) use misplaced::INSIDE;
pub use search::SEARCH_STEPS_LIMIT;
use search::{Parts, search};
use shape::Shape;
pub use shape::{IN_A_ROW_LIMIT, WAYS_LIMIT};
pub(crate) use words::NO_SUCH_MEMBER;
use words::violations_of;
pub use words::{SHOWN_CHARACTERS_LIMIT, shown};

/// The most violations that are listed for one value.
pub const VIOLATIONS_LIMIT: usize = 100;

/// Up to how many values the library lists everything that does not fit: it gathers all places before it
/// gives the first. Beyond that it is searched for.
pub const LISTED_VALUES_LIMIT: usize = 10_000;

/// How many steps it may take to tell whether a value fits: its values, each in as many ways as the schema
/// is held against one.
pub const CHECK_STEPS_LIMIT: usize = 200_000_000;

/// Up to how many ways a value of any size is checked without counting what is in it.
const UNCOUNTED_WAYS: usize = 64;

/// How often matching one text may go back. Most patterns never do, and are matched in linear time; those
/// that look around or refer back to what they matched may otherwise go back without end.
pub const BACKTRACKS_LIMIT: usize = 10_000;

/// The largest compiled pattern of a schema that came with a call, in bytes.
pub const PATTERN_BYTES_LIMIT: usize = 256 * 1024;

/// A compiled schema.
pub(crate) struct Schema {
    validator: Validator,
    shape: Shape,
    /// What was compiled to search for what is wrong.
    parts: Mutex<Parts>,
}

/// What is wrong with a value.
#[derive(Debug, Default)]
pub struct Checked {
    /// The first [`VIOLATIONS_LIMIT`] of them.
    pub violations: Vec<Violation>,
    /// Whether there are more, or may be: what was not looked at is not told.
    pub more: bool,
}

/// Holds a value against a schema that came with a call, or says why that is no schema.
///
/// Patterns are matched in linear time, unlike those of a contract: whoever wrote them is not trusted.
pub fn check_once(schema: &Value, value: &Value) -> Result<Checked, String> {
    let shape = Shape::of(schema)?;
    let patterns = PatternOptions::regex().size_limit(PATTERN_BYTES_LIMIT);
    let validator = jsonschema::options()
        .should_validate_formats(true)
        .with_pattern_options(patterns)
        .build(schema)
        .map_err(|error| format!("{} at {}", error, shown_pointer(&error)))?;
    let parts = Mutex::default();
    let compiled = Schema {
        validator,
        shape,
        parts,
    };
    Ok(compiled.check(schema, value))
}

fn options<'r>() -> ValidationOptions<'r> {
    let patterns = PatternOptions::fancy_regex().backtrack_limit(BACKTRACKS_LIMIT);
    jsonschema::options()
        .should_validate_formats(true)
        .with_pattern_options(patterns)
}

impl Schema {
    /// Compiles a schema, or says what is wrong with it.
    pub(crate) fn compile(schema: &Value) -> Result<Self, String> {
        // Before the library looks at it: what is too much for a value is too much to compile.
        let shape = Shape::of(schema)?;
        let validator = options()
            .build(schema)
            .map_err(|error| format!("{} at {}", error, shown_pointer(&error)))?;
        Ok(Self {
            validator,
            shape,
            parts: Mutex::default(),
        })
    }

    /// Whether a value fits. One that is too large to tell does not.
    pub(crate) fn accepts(&self, value: &Value) -> bool {
        self.can_tell(value) && self.validator.is_valid(value)
    }

    /// What the value does wrong about the schema this was compiled from.
    pub(crate) fn check(&self, source: &Value, value: &Value) -> Checked {
        if !self.can_tell(value) {
            return too_large();
        }
        if self.validator.is_valid(value) {
            return Checked::default();
        }
        match self.shape.is_plain && is_within(value, LISTED_VALUES_LIMIT) {
            true => self.listed(value),
            false => self.searched(source, value),
        }
    }

    /// The same for the input of a caller, who is also told where misplaced members belong.
    pub(crate) fn check_input(&self, source: &Value, input: &Value) -> Checked {
        let mut checked = self.check(source, input);
        misplaced::say_where(source, &mut checked.violations);
        checked
    }

    fn can_tell(&self, value: &Value) -> bool {
        let ways = self.shape.ways;
        ways <= UNCOUNTED_WAYS || is_within(value, CHECK_STEPS_LIMIT / ways)
    }

    fn searched(&self, source: &Value, value: &Value) -> Checked {
        match self.parts.try_lock() {
            Ok(mut parts) => search(source, value, &mut parts),
            // Another call is searching; compiling the parts again is no slower than waiting for it.
            Err(_) => search(source, value, &mut Parts::default()),
        }
    }

    fn listed(&self, value: &Value) -> Checked {
        let errors = self.validator.iter_errors(value);
        let violations = errors.flat_map(|error| violations_of(&error));
        let mut violations: Vec<Violation> = violations.take(VIOLATIONS_LIMIT + 1).collect();
        let more = violations.len() > VIOLATIONS_LIMIT;
        violations.truncate(VIOLATIONS_LIMIT);
        Checked { violations, more }
    }
}

fn too_large() -> Checked {
    let reason = "there is too much of it to be held against a schema with so many alternatives";
    let violation = Violation::value("", reason).expected("less at once");
    Checked {
        violations: vec![violation],
        more: true,
    }
}

/// Whether a value holds at most so many values. No more are looked at.
fn is_within(value: &Value, limit: usize) -> bool {
    let (mut open, mut seen) = (vec![value], 1);
    while let Some(next) = open.pop() {
        let before = open.len();
        let room = limit + 1 - seen;
        match next {
            Value::Array(items) => open.extend(items.iter().take(room)),
            Value::Object(members) => open.extend(members.values().take(room)),
            _ => {}
        }
        seen += open.len() - before;
        if seen > limit {
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
