//! A JSON Schema compiled once, and what a value does wrong about it, in the words of a contract.
//!
//! References are resolved only inside the schema: the validator is built without network or files.

use std::fmt;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{PatternOptions, ValidationError, Validator};
use panpan_contract::failure::{Violation, ViolationKind};
use panpan_contract::pointer::joined;
use panpan_contract::read::type_name;
use panpan_contract::redact::Redactor;
use serde_json::Value;

/// The most violations that are listed for one value.
pub const VIOLATIONS_LIMIT: usize = 100;
/// The longest text shown as expected or found, in characters.
pub const SHOWN_CHARACTERS_LIMIT: usize = 200;

/// The largest compiled pattern of a schema that came with a call, in bytes.
pub const PATTERN_BYTES_LIMIT: usize = 256 * 1024;

/// A compiled schema.
pub(crate) struct Schema(Validator);

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
    let fits = validator.is_valid(value);
    let violations = match listing {
        _ if fits => Vec::new(),
        Listing::All => return Ok(Schema(validator).check(value)),
        Listing::First => {
            let first = validator.validate(value).err();
            first.iter().flat_map(violations_of).collect()
        }
        Listing::Whole => {
            let reason = "does not fit, and there is too much of it to say where";
            vec![Violation::value("", reason)]
        }
    };
    Ok(Checked {
        more: !fits,
        violations,
    })
}

impl Schema {
    /// Compiles a schema, or says what is wrong with it.
    pub(crate) fn compile(schema: &Value) -> Result<Self, String> {
        jsonschema::options()
            .should_validate_formats(true)
            .build(schema)
            .map(Self)
            .map_err(|error| format!("{} at {}", error, shown_pointer(&error)))
    }

    pub(crate) fn accepts(&self, value: &Value) -> bool {
        self.0.is_valid(value)
    }

    /// Everything the value does wrong.
    pub(crate) fn check(&self, value: &Value) -> Checked {
        if self.0.is_valid(value) {
            return Checked::default();
        }
        let mut violations: Vec<Violation> = self
            .0
            .iter_errors(value)
            .flat_map(|error| violations_of(&error))
            .take(VIOLATIONS_LIMIT + 1)
            .collect();
        let more = violations.len() > VIOLATIONS_LIMIT;
        violations.truncate(VIOLATIONS_LIMIT);
        Checked { violations, more }
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

fn violations_of(error: &ValidationError<'_>) -> Vec<Violation> {
    let pointer = error.instance_path().as_str();
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            vec![Violation::missing(joined(pointer, name))]
        }
        ValidationErrorKind::Type { kind } => {
            let reason = format!("wrong type: found {}", type_name(error.instance()));
            vec![Violation {
                kind: ViolationKind::Type,
                expected: Some(types(kind)),
                actual: shown(error.instance()),
                ..Violation::value(pointer, reason)
            }]
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => unexpected
            .iter()
            .map(|name| {
                Violation::value(joined(pointer, name), "no member of this name is known")
                    .expected("no such member")
            })
            .collect(),
        kind => {
            let violation = Violation::value(pointer, reason(kind)).expected(cut(&expected(kind)));
            vec![Violation {
                actual: shown(error.instance()),
                ..violation
            }]
        }
    }
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => one.to_string(),
        TypeKind::Multiple(several) => {
            let names: Vec<String> = several.iter().map(|name| name.to_string()).collect();
            names.join(" or ")
        }
    }
}

fn reason(kind: &ValidationErrorKind) -> String {
    format!("breaks the schema's {}", kind.keyword())
}

fn expected(kind: &ValidationErrorKind) -> String {
    use ValidationErrorKind as Kind;
    match kind {
        Kind::Enum { options } => format!("one of {options}"),
        Kind::Constant { expected_value } => expected_value.to_string(),
        Kind::Minimum { limit } => format!("at least {limit}"),
        Kind::Maximum { limit } => format!("at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("more than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("less than {limit}"),
        Kind::MultipleOf { multiple_of } => format!("a multiple of {multiple_of}"),
        Kind::MinLength { limit } => format!("at least {limit} characters"),
        Kind::MaxLength { limit } => format!("at most {limit} characters"),
        Kind::MinItems { limit } => format!("at least {limit} items"),
        Kind::MaxItems { limit } => format!("at most {limit} items"),
        Kind::AdditionalItems { limit } => format!("at most {limit} items"),
        Kind::MinProperties { limit } => format!("at least {limit} members"),
        Kind::MaxProperties { limit } => format!("at most {limit} members"),
        Kind::Pattern { pattern } => format!("text that matches {pattern}"),
        Kind::Format { format } => format!("text in the format {format}"),
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            format!("one of the {} forms the schema lists", context.len())
        }
        Kind::OneOfMultipleValid { .. } => "exactly one of the forms the schema lists".to_owned(),
        Kind::UniqueItems => "items that all differ".to_owned(),
        other => format!("what the schema's {} asks for", other.keyword()),
    }
}

/// What a violation shows of the value it found.
///
/// Scalars as they are, without secrets and then cut, since half a key is no longer recognised as
/// one. What has members may be large and is not shown.
pub fn shown(value: &Value) -> Option<Value> {
    match value {
        Value::String(text) => Some(cut(&Redactor::new().text(text)).into()),
        Value::Array(_) | Value::Object(_) => None,
        scalar => Some(scalar.clone()),
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARACTERS_LIMIT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_violation_is_found_with_pointer_expected_and_actual() {
        let schema = json!({
            "type": "object",
            "required": ["a/b", "priority"],
            "additionalProperties": false,
            "properties": {
                "a/b": {},
                "priority": {"type": "integer", "minimum": 0, "maximum": 3},
                "name": {"type": ["string", "null"]},
                "colour": {"enum": ["red", "green"]},
            },
        });
        let value = json!({"priority": 5, "name": [1], "colour": "blue", "extra": 1});
        let mut found: Vec<_> = Schema::compile(&schema)
            .unwrap()
            .check(&value)
            .violations
            .into_iter()
            .map(|it| (it.pointer, it.kind.word(), it.expected, it.actual))
            .collect();
        found.sort_by(|left, right| left.0.cmp(&right.0));
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            found,
            [
                ("/a~1b".to_owned(), "missing", None, None),
                (
                    "/colour".to_owned(),
                    "value",
                    text(r#"one of ["red","green"]"#),
                    Some(json!("blue"))
                ),
                ("/extra".to_owned(), "value", text("no such member"), None),
                ("/name".to_owned(), "type", text("null or string"), None),
                (
                    "/priority".to_owned(),
                    "value",
                    text("at most 3"),
                    Some(json!(5))
                ),
            ]
        );
    }

    #[test]
    fn the_list_of_violations_ends_at_its_limit() {
        let schema = Schema::compile(&json!({"items": {"type": "string"}})).unwrap();
        let numbers = |count: usize| Value::from_iter(0..count);
        let at = schema.check(&numbers(VIOLATIONS_LIMIT));
        assert_eq!((at.violations.len(), at.more), (VIOLATIONS_LIMIT, false));
        let beyond = schema.check(&numbers(VIOLATIONS_LIMIT + 1));
        assert_eq!(
            (beyond.violations.len(), beyond.more),
            (VIOLATIONS_LIMIT, true)
        );
    }

    #[test]
    fn a_schema_that_came_with_a_call_is_checked_with_linear_patterns_only() {
        for (pattern, usable) in [
            ("^(a+)+$", true),
            ("(a)\\1", false),
            ("(?=a)", false),
            ("a{1000}", true),
            ("(a{1000}){1000}", false),
        ] {
            let built = check_once(&json!({"pattern": pattern}), &json!(""), Listing::All);
            assert_eq!(built.is_ok(), usable, "{pattern}");
        }
        for schema in [json!({"type": 3}), json!({"$ref": "file:///etc/passwd"})] {
            assert!(check_once(&schema, &json!(""), Listing::All).is_err());
        }
    }

    #[test]
    fn of_a_large_value_less_is_told() {
        let schema = json!({"items": {"type": "string"}});
        for (value, listing, pointers, more) in [
            (json!([1, "", 2]), Listing::All, &["/0", "/2"][..], false),
            (json!([1, "", 2]), Listing::First, &["/0"], true),
            (json!([1, "", 2]), Listing::Whole, &[""], true),
            (json!([""]), Listing::All, &[], false),
            (json!([""]), Listing::First, &[], false),
            (json!([""]), Listing::Whole, &[], false),
        ] {
            let checked = check_once(&schema, &value, listing).unwrap();
            let found: Vec<_> = checked.violations.iter().map(|it| &*it.pointer).collect();
            assert_eq!(
                (found, checked.more),
                (pointers.to_vec(), more),
                "{listing:?}"
            );
        }
    }

    #[test]
    fn long_text_is_cut_and_an_outside_reference_is_refused() {
        let exact = "é".repeat(SHOWN_CHARACTERS_LIMIT);
        assert_eq!(cut(&exact), exact);
        assert_eq!(cut(&format!("{exact}é")), format!("{exact}…"));
        assert!(Schema::compile(&json!({"$ref": "http://169.254.169.254/x.json"})).is_err());
    }
}
