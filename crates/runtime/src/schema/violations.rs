//! Turns errors of the schema library into violations.

use std::fmt::{self, Write as _};

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use panpan_failure::pointer::joined;
use panpan_failure::read::type_name;
use panpan_failure::{Violation, ViolationKind};
use panpan_redact::Redactor;
use serde_json::Value;

use super::VIOLATIONS_LIMIT;

/// The longest expected or actual text that is shown, in characters.
pub const SHOWN_CHARACTERS_LIMIT: usize = 200;

/// The expected value in the violation for an unknown member.
pub(crate) const NO_SUCH_MEMBER: &str = "no such member";

/// The reason for a value where the schema allows none.
pub(super) const NOTHING_ALLOWED: &str = "no value is allowed here";

/// The violations of an error.
pub(super) fn violations_of(error: &ValidationError<'_>) -> Vec<Violation> {
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
            .take(VIOLATIONS_LIMIT + 1)
            .map(|name| {
                Violation::value(joined(pointer, name), "unknown member").expected(NO_SUCH_MEMBER)
            })
            .collect(),
        // For an object without allowed members, the library does not name the unknown one.
        ValidationErrorKind::FalseSchema if is_of_members(error) => {
            let reason = "no members are allowed here";
            vec![Violation::value(pointer, reason).expected("an object without members")]
        }
        ValidationErrorKind::FalseSchema => {
            vec![Violation::value(pointer, NOTHING_ALLOWED)]
        }
        ValidationErrorKind::BacktrackLimitExceeded { .. } => {
            let reason = "matching the schema's pattern takes too many steps";
            vec![Violation::value(pointer, reason)]
        }
        kind => {
            let violation = Violation::value(pointer, reason(kind)).expected(cut(&expected(kind)));
            vec![Violation {
                actual: shown(error.instance()),
                ..violation
            }]
        }
    }
}

fn is_of_members(error: &ValidationError<'_>) -> bool {
    let schema_path = error.schema_path().as_str();
    schema_path.ends_with("/additionalProperties")
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
    format!("violates the schema's {}", kind.keyword())
}

fn expected(kind: &ValidationErrorKind) -> String {
    use ValidationErrorKind as Kind;
    match kind {
        Kind::Enum { options } => format!("one of {}", beginning(options)),
        Kind::Constant { expected_value } => beginning(expected_value),
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
        other => format!("a value that matches the schema's {}", other.keyword()),
    }
}

/// The actual value as a violation shows it: scalars only.
///
/// Texts are redacted before they are truncated, since a truncated secret would no longer be recognised.
pub fn shown(value: &Value) -> Option<Value> {
    match value {
        Value::String(text) => Some(cut(&Redactor::new().text(text)).into()),
        Value::Array(_) | Value::Object(_) => None,
        scalar => Some(scalar.clone()),
    }
}

/// The beginning of a value as text: a list of options can be long.
fn beginning(value: &Value) -> String {
    let mut beginning = Beginning(String::new());
    // Ends with an error if the value is truncated.
    let _ = write!(beginning, "{value}");
    beginning.0
}

/// Accepts text up to the limit.
struct Beginning(String);

impl fmt::Write for Beginning {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.push_str(&cut(text));
        let is_enough = self.0.len() > SHOWN_CHARACTERS_LIMIT * char::MAX.len_utf8();
        if is_enough { Err(fmt::Error) } else { Ok(()) }
    }
}

pub(super) fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARACTERS_LIMIT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
