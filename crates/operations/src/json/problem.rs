//! The problems of a transformation, and their failures.
//!
//! Every problem has a code, a location in the input, and an action or an alternative.

use panpan_failure::classify::JsonFailure;
use panpan_failure::pointer::joined;
use panpan_failure::read::ReadError;
use panpan_failure::{Alternative, Failure, Kind, Violation, ViolationKind};
use panpan_runtime::{Checked, shown};
use serde_json::{Value, json};

use super::document::{BYTES_LIMIT, DEPTH_LIMIT, ITEMS_LIMIT};

/// Why a transformation failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Problem {
    #[error("cannot read the text in {parameter}: {error}")]
    Unreadable {
        parameter: &'static str,
        error: ReadError,
    },
    #[error("{parameter} is larger than {BYTES_LIMIT} bytes as JSON")]
    TooLarge { parameter: &'static str },
    #[error("the result would be larger than {BYTES_LIMIT} bytes as JSON")]
    ResultTooLarge,
    #[error("the result would be a list of {items} items; the limit is {ITEMS_LIMIT}")]
    ResultTooLong { items: usize },
    #[error("{pointer} is a list of {items} items; the limit is {ITEMS_LIMIT}")]
    LongList { pointer: String, items: usize },
    #[error("{pointer} is nested more than {DEPTH_LIMIT} levels deep")]
    TooDeep { pointer: String },
    #[error("{operation} needs a path")]
    PathMissing { operation: &'static str },
    #[error("{} is not a valid path: {problem}", dotted(pointer))]
    Path {
        pointer: &'static str,
        path: String,
        /// In characters from the start, if known.
        position: Option<usize>,
        problem: String,
    },
    #[error(
        "{} can select more than one value, but {operation} compares one value per item",
        dotted(pointer)
    )]
    PathNotSingular {
        pointer: &'static str,
        operation: &'static str,
        path: String,
    },
    #[error("{operation} needs {parameter}")]
    Missing {
        operation: &'static str,
        parameter: &'static str,
        example: Value,
    },
    #[error("{operation} needs {expected} at {pointer}, but found {found}")]
    WrongType {
        operation: &'static str,
        pointer: String,
        expected: &'static str,
        found: &'static str,
    },
    #[error("the data has no value at {path}; {there} is {what}")]
    NotFound {
        path: String,
        /// The longest prefix of the path that selects a value.
        there: String,
        what: String,
    },
    #[error("{operation} cannot compare {left} at {pointer} with {right}")]
    Incomparable {
        operation: &'static str,
        pointer: String,
        left: &'static str,
        right: &'static str,
    },
    #[error(
        "{} needs up to {steps} steps on this data; the limit is {limit}",
        dotted(pointer)
    )]
    TooMuchWork {
        pointer: &'static str,
        steps: u64,
        limit: u64,
    },
    #[error("schema is not a valid JSON Schema: {problem}")]
    Schema { problem: String },
    #[error("{}", mismatch(.0))]
    Mismatch(Checked),
}

impl Problem {
    /// Its code.
    pub(super) fn kind(&self) -> JsonFailure {
        match self {
            Problem::Unreadable { error, .. } => JsonFailure::from(error),
            Problem::TooLarge { .. }
            | Problem::ResultTooLarge
            | Problem::ResultTooLong { .. }
            | Problem::LongList { .. } => JsonFailure::SizeExceeded,
            Problem::TooDeep { .. } => JsonFailure::DepthExceeded,
            Problem::PathMissing { .. }
            | Problem::Path { .. }
            | Problem::PathNotSingular { .. } => JsonFailure::PathInvalid,
            Problem::Mismatch(_) => JsonFailure::SchemaMismatch,
            Problem::Missing { .. }
            | Problem::WrongType { .. }
            | Problem::NotFound { .. }
            | Problem::Incomparable { .. }
            | Problem::TooMuchWork { .. }
            | Problem::Schema { .. } => JsonFailure::TransformFailed,
        }
    }

    fn violations(&self) -> Vec<Violation> {
        let reason = self.to_string();
        let at = |pointer: &str| vec![Violation::value(pointer, reason.as_str())];
        match self {
            Problem::Unreadable { parameter, .. } => at(&joined("", parameter)),
            Problem::TooLarge { parameter } => vec![
                Violation::value(joined("", parameter), reason.as_str())
                    .expected(format!("at most {BYTES_LIMIT} bytes")),
            ],
            Problem::ResultTooLarge | Problem::ResultTooLong { .. } => Vec::new(),
            Problem::LongList { pointer, .. } => vec![
                Violation::value(pointer.as_str(), reason.as_str())
                    .expected(format!("at most {ITEMS_LIMIT} items")),
            ],
            Problem::TooDeep { pointer } => vec![
                Violation::value(pointer.as_str(), reason.as_str())
                    .expected(format!("at most {DEPTH_LIMIT} levels")),
            ],
            Problem::PathMissing { .. } => vec![Violation::missing("/path")],
            Problem::Path { pointer, path, .. }
            | Problem::PathNotSingular { pointer, path, .. } => vec![Violation {
                actual: shown(&Value::from(path.as_str())),
                ..Violation::value(*pointer, reason.as_str())
            }],
            Problem::Missing { parameter, .. } => {
                vec![Violation::missing(joined("", parameter))]
            }
            Problem::WrongType {
                pointer, expected, ..
            } => vec![Violation {
                kind: ViolationKind::Type,
                ..Violation::value(pointer.as_str(), reason.as_str()).expected(*expected)
            }],
            Problem::NotFound { .. } => at("/path"),
            Problem::Incomparable { pointer, right, .. } => vec![Violation {
                kind: ViolationKind::Type,
                ..Violation::value(pointer.as_str(), reason.as_str()).expected(*right)
            }],
            Problem::TooMuchWork { pointer, .. } => at(pointer),
            Problem::Schema { .. } => at("/schema"),
            Problem::Mismatch(checked) => checked.violations.clone(),
        }
    }

    /// The action, if it is more specific than that of the code.
    fn action(&self) -> Option<&'static str> {
        match self {
            Problem::NotFound { .. } => Some("Use a path that exists in the data"),
            Problem::Missing { .. } => Some("Add the missing parameter"),
            Problem::TooMuchWork { .. } => Some("Send less data, or use a simpler path or schema"),
            Problem::Schema { .. } => Some("Correct the schema"),
            Problem::PathNotSingular { .. } => {
                Some("Write a path of names and indexes only, such as $.name or $.list[0]")
            }
            _ => None,
        }
    }

    /// Alternatives for the caller.
    fn alternatives(&self) -> Vec<Alternative> {
        let one = |description: &str, example: Value| {
            vec![Alternative {
                description: description.to_owned(),
                example: Some(example.to_string()),
            }]
        };
        match self {
            Problem::PathMissing { operation } => one(
                "add a path",
                json!({"operation": operation, "path": "$.items[0].name"}),
            ),
            Problem::Missing {
                operation,
                parameter,
                example,
            } => one(
                &format!("add {parameter}"),
                json!({"operation": operation, *parameter: example}),
            ),
            Problem::NotFound { there, .. } => one(
                "look at the data",
                json!({"operation": "extract", "path": there}),
            ),
            Problem::ResultTooLarge | Problem::ResultTooLong { .. } => one(
                "select less: name the needed members instead of everything below",
                json!({"operation": "extract", "path": "$.items[0:100].name"}),
            ),
            Problem::TooMuchWork { .. } => vec![Alternative::from(
                "extract the relevant part first, then transform that",
            )],
            Problem::Mismatch(Checked { more: true, .. }) => vec![Alternative::from(
                "extract a part of the data and validate that, to see more violations",
            )],
            Problem::Incomparable { .. } => vec![Alternative::from(
                "filter out the items of the other type first, or compare another field",
            )],
            _ => Vec::new(),
        }
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        let kind = Kind::from(problem.kind());
        let mut failure = Failure::new(kind)
            .with_message(problem.to_string())
            .with_violations(problem.violations())
            .with_actions(problem.action());
        let alternatives = problem.alternatives();
        if !alternatives.is_empty() {
            failure = failure.with_alternatives(alternatives);
        }
        match problem {
            Problem::Unreadable {
                error: ReadError::Syntax { line, column, .. } | ReadError::TooDeep { line, column },
                ..
            } => failure
                .with_detail("line", line)
                .with_detail("column", column),
            Problem::Path {
                position: Some(position),
                ..
            } => failure.with_detail("position", position),
            Problem::TooMuchWork { steps, limit, .. } => failure
                .with_detail("steps", steps)
                .with_detail("limit", limit),
            Problem::NotFound { path, there, .. } => failure
                .with_detail("path", path)
                .with_detail("found_up_to", there),
            Problem::Mismatch(Checked {
                more: true,
                violations,
            }) => failure.with_detail("violations_limit", violations.len()),
            _ => failure,
        }
    }
}

/// A parameter in dotted form: `/condition/field` is `condition.field`.
fn dotted(pointer: &str) -> String {
    pointer.trim_start_matches('/').replace('/', ".")
}

fn mismatch(checked: &Checked) -> String {
    let pointers: Vec<&str> = checked
        .violations
        .iter()
        .map(|violation| violation.pointer.as_str())
        .collect();
    let more = if checked.more { " and more" } else { "" };
    format!(
        "the data does not match the schema at {}{more}",
        pointers.join(", ")
    )
}
