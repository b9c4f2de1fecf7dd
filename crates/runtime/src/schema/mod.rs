//! Compiled JSON Schemas, and the violations of a value.
//!
//! References are resolved only inside the schema, without network or files. `cost` bounds the work of a
//! schema, `search` finds violations with bounded work, and `violations` writes them.

mod cost;
mod misplaced;
mod parts;
mod places;
#[cfg(test)]
mod property_tests;
mod search;
#[cfg(test)]
mod tests;
mod violations;

use std::fmt;
use std::sync::Mutex;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, ReferencingError, ValidationError, ValidationOptions, Validator};
use panpan_contract::schema::is_within;
use panpan_failure::Violation;
use serde_json::Value;

pub use cost::{APPLIED_SUBSCHEMAS_LIMIT, NESTED_SUBSCHEMAS_LIMIT};
use cost::{Cost, is_checked_within, pointers_bytes};
pub(crate) use misplaced::{INSIDE, NAMED};
use parts::Parts;
pub use search::SEARCH_STEPS_LIMIT;
use search::search;
pub(crate) use violations::NO_SUCH_MEMBER;
use violations::violations_of;
pub use violations::{SHOWN_CHARACTERS_LIMIT, shown};

/// The maximum number of violations that are listed for one value.
pub const VIOLATIONS_LIMIT: usize = 100;

/// The largest value for which the library lists the violations: it collects all of them before it returns the
/// first. Larger values are searched.
pub const LISTED_VALUES_LIMIT: usize = 10_000;

/// The largest memory that errors of the library may take while they are listed, estimated in bytes: for every value its
/// pointer, once for each byte of the assertions about it. Other values are searched.
const LISTED_BYTES_LIMIT: usize = 64 * 1024 * 1024;

/// What an error takes besides the pointer, in bytes.
const ERROR_BYTES: usize = 64;

/// How many bytes the pointers of the listed violations of a value take, before the last.
const POINTERS_BYTES_LIMIT: usize = 256 * 1024;

/// The maximum number of steps of a check: the number of nested values, with more for long texts, times the cost of the
/// schema.
pub const CHECK_STEPS_LIMIT: usize = 200_000_000;

/// Up to this cost, a value of any size is checked without counting its nested values.
const UNCOUNTED_COST: usize = 64;

/// The backtracking limit for matching one text. Most patterns match in linear time; those with lookaround or
/// backreferences can take exponential time.
pub const BACKTRACKS_LIMIT: usize = 10_000;

/// The largest compiled pattern of a schema that a caller sent, in bytes.
pub const PATTERN_BYTES_LIMIT: usize = 256 * 1024;

/// How many bytes all compiled patterns of such a schema take together, and again while they are matched.
const PATTERNS_BYTES_LIMIT: usize = 64 * 1024 * 1024;

/// A compiled schema.
pub(crate) struct Schema {
    validator: Validator,
    cost: Cost,
    /// Compiled parts of the schema, for the search.
    parts: Mutex<Parts>,
}

/// The violations of a value.
#[derive(Debug, Default)]
pub struct Checked {
    /// The first [`VIOLATIONS_LIMIT`] of them.
    pub violations: Vec<Violation>,
    /// Whether there are or may be more.
    pub more: bool,
}

/// Checks a value against a schema that a caller sent, or returns why the schema is invalid.
///
/// Patterns are matched in linear time, unlike those of a contract, because callers are not trusted.
pub fn check_once(schema: &Value, value: &Value) -> Result<Checked, String> {
    Ok(SentSchema::compile(schema.clone())?.check(value))
}

/// A schema that a caller sent, compiled to check several values as [`check_once`] does.
#[derive(Debug)]
pub struct SentSchema {
    source: Value,
    schema: Schema,
}

impl SentSchema {
    /// Compiles a schema, or returns why it is invalid.
    pub fn compile(source: Value) -> Result<Self, String> {
        let cost = Cost::of(&source)?;
        let bytes = PATTERNS_BYTES_LIMIT / cost.patterns.max(1);
        let bytes = bytes.min(PATTERN_BYTES_LIMIT);
        let patterns = PatternOptions::regex()
            .size_limit(bytes)
            .dfa_size_limit(bytes);
        let options = with_formats().with_pattern_options(patterns);
        let schema = Schema::compile_with(&source, cost, options)?;
        Ok(Self { source, schema })
    }

    /// Checks a value.
    pub fn check(&self, value: &Value) -> Checked {
        self.schema.check(&self.source, value)
    }
}

/// The options for schemas of a contract.
fn options<'r>() -> ValidationOptions<'r> {
    let patterns = PatternOptions::fancy_regex().backtrack_limit(BACKTRACKS_LIMIT);
    with_formats().with_pattern_options(patterns)
}

fn with_formats<'r>() -> ValidationOptions<'r> {
    jsonschema::options().should_validate_formats(true)
}

/// Why a schema is invalid. What the library says about a reference that leads out of the schema is about its own features.
fn invalid(error: &ValidationError<'_>) -> String {
    match error.kind() {
        ValidationErrorKind::Referencing(ReferencingError::Unretrievable { uri, .. }) => format!(
            "it refers to {uri}, and nothing outside the schema is read: copy that definition into $defs and refer to it there"
        ),
        _ => format!("{} at {}", error, shown_pointer(error)),
    }
}

impl Schema {
    /// Compiles a schema, or returns why it is invalid.
    pub(crate) fn compile(schema: &Value) -> Result<Self, String> {
        // Before compiling: a schema that is too expensive to check is too expensive to compile.
        Self::compile_with(schema, Cost::of(schema)?, options())
    }

    /// The same for the schema of another program, where `format` describes values and refuses
    /// none: JSON Schema leaves that to each program, and that program accepts them.
    pub(crate) fn compile_without_formats(schema: &Value) -> Result<Self, String> {
        let options = options().should_validate_formats(false);
        Self::compile_with(schema, Cost::of(schema)?, options)
    }

    fn compile_with(
        schema: &Value,
        cost: Cost,
        options: ValidationOptions<'_>,
    ) -> Result<Self, String> {
        let validator = options.build(schema).map_err(|error| invalid(&error))?;
        Ok(Self {
            validator,
            cost,
            parts: Mutex::default(),
        })
    }

    /// Whether a value is valid. A value that is too large to check is not.
    pub(crate) fn accepts(&self, value: &Value) -> bool {
        self.can_check(value) && self.validator.is_valid(value)
    }

    /// The violations of a value; `source` is the schema that was compiled.
    pub(crate) fn check(&self, source: &Value, value: &Value) -> Checked {
        if !self.can_check(value) {
            return too_large();
        }
        if self.validator.is_valid(value) {
            return Checked::default();
        }
        match self.can_list(value) {
            true => self.listed(value),
            false => self.searched(source, value),
        }
    }

    /// The violations of an input, which also name where misplaced members belong.
    pub(crate) fn check_input(&self, source: &Value, input: &Value) -> Checked {
        let mut checked = self.check(source, input);
        misplaced::name_parents(source, input, &mut checked.violations);
        checked
    }

    fn can_check(&self, value: &Value) -> bool {
        let steps = self.cost.steps;
        steps <= UNCOUNTED_COST || is_checked_within(value, CHECK_STEPS_LIMIT / steps)
    }

    /// Whether the library may list the violations: it collects all of them, each with a pointer and what it repeats.
    fn can_list(&self, value: &Value) -> bool {
        let limit = LISTED_BYTES_LIMIT / self.cost.assertions_bytes.max(1);
        self.cost.is_plain
            && is_within(value, LISTED_VALUES_LIMIT)
            && pointers_bytes(value, ERROR_BYTES, limit) <= limit
    }

    fn searched(&self, source: &Value, value: &Value) -> Checked {
        match self.parts.try_lock() {
            Ok(mut parts) => search(source, value, &mut parts),
            // Another call is searching; compiling the parts again is not slower than waiting.
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
    let reason =
        "too large to check against a schema with this many alternatives, patterns or options";
    let violation = Violation::value("", reason).expected("a smaller value");
    Checked {
        violations: vec![violation],
        more: true,
    }
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
