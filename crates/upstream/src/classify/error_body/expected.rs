//! The expected value that an entry of an error list states.

use panpan_failure::Violation;
use panpan_failure::classify::expectation;
use serde_json::Value;

use super::ERRORS_LIMIT;
use super::texts::text;

/// Members for bounds, and the words that describe them.
const BOUNDS: [(&str, &str); 12] = [
    ("maximum", "at most"),
    ("max", "at most"),
    ("le", "at most"),
    ("lt", "less than"),
    ("exclusive_maximum", "less than"),
    ("max_length", "at most {} characters"),
    ("minimum", "at least"),
    ("min", "at least"),
    ("ge", "at least"),
    ("gt", "greater than"),
    ("exclusive_minimum", "greater than"),
    ("min_length", "at least {} characters"),
];
/// Members for lists of allowed values.
const CHOICES: &str = "\
    allowed allowed_values allowedValues choices enum options permitted valid_values";

/// The expected value by an entry of an error list, or by its context object.
pub(super) fn expected(entry: &Value) -> Option<String> {
    let inner = ["ctx", "context", "params"].map(|name| entry.get(name));
    let mut locations = [Some(entry)].into_iter().chain(inner).flatten();
    locations.find_map(expected_at)
}

fn expected_at(location: &Value) -> Option<String> {
    if let Some(expected) = location.get("expected").and_then(text) {
        return Some(expected);
    }
    let mut choices = CHOICES
        .split(' ')
        .filter_map(|name| location.get(name)?.as_array());
    if let Some(choices) = choices.find(|it| !it.is_empty() && it.len() <= ERRORS_LIMIT) {
        let choices = choices.iter().map(|it| match it {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        return Some(format!("one of {}", choices.collect::<Vec<_>>().join(", ")));
    }
    let bounds = BOUNDS.iter().filter_map(|(name, words)| {
        let number = location.get(*name).filter(|it| it.is_number())?;
        Some(match words.contains("{}") {
            true => words.replace("{}", &number.to_string()),
            false => format!("{words} {number}"),
        })
    });
    let bounds: Vec<String> = bounds.take(2).collect();
    (!bounds.is_empty()).then(|| bounds.join(", "))
}

/// Adds the expected value if the reason states it with certainty.
pub(super) fn with_expectation(mut violation: Violation) -> Violation {
    let stated = match violation.expected {
        None => expectation(&violation.reason),
        Some(_) => None,
    };
    if let Some(stated) = stated {
        violation.kind = stated.kind();
        violation.expected = Some(stated.to_string());
    }
    violation
}
