//! Removes members about retries and effects from details that a service sent.
//!
//! They were read when the failure was made. The failure states once whether this call may be repeated; a copy in
//! the details could contradict it and mislead a reader.

use panpan_failure::Failure;
use serde_json::{Map, Value};

/// Removes the members about retries and effects from the details of a failure.
pub(crate) fn without_retry_members(failure: Failure) -> Failure {
    match failure
        .details()
        .filter(|it| has_retry_members(it))
        .cloned()
    {
        Some(details) => failure.with_details(strip(details)),
        None => failure,
    }
}

/// Removes members about retries and effects at any depth, and objects that had no other members.
pub(crate) fn strip(members: Map<String, Value>) -> Map<String, Value> {
    let kept = members
        .into_iter()
        .filter(|(name, _)| !is_retry_member(name));
    let kept = kept.filter_map(|(name, value)| {
        let was_empty = is_empty(&value);
        let value = strip_value(value);
        (was_empty || !is_empty(&value)).then_some((name, value))
    });
    kept.collect()
}

fn strip_value(value: Value) -> Value {
    match value {
        Value::Object(members) => strip(members).into(),
        Value::Array(items) => items.into_iter().map(strip_value).collect(),
        other => other,
    }
}

fn has_retry_members(members: &Map<String, Value>) -> bool {
    let mut members = members.iter();
    members.any(|(name, value)| is_retry_member(name) || contains_retry_members(value))
}

fn contains_retry_members(value: &Value) -> bool {
    match value {
        Value::Object(members) => has_retry_members(members),
        Value::Array(items) => items.iter().any(contains_retry_members),
        _ => false,
    }
}

/// Whether a member is about retries or effects, such as `retryable`, `should_retry` or `retryAfter`, but not
/// `retrieved_at`.
fn is_retry_member(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_retry = name.contains("retr") && !name.contains("retriev");
    is_retry || name == "effect"
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty)
}

#[cfg(test)]
mod tests {
    use panpan_failure::codes;
    use serde_json::json;

    use super::*;

    #[test]
    fn only_members_about_retries_and_effects_are_removed() {
        for (before, after) in [
            (
                json!({"code": "E-1", "retryable": true, "retriable": true, "is_retryable": true}),
                json!({"code": "E-1"}),
            ),
            (
                json!({"should_retry": true, "retryAfter": 3, "retry_after_ms": 9, "Retry-After": 1, "a": 1}),
                json!({"a": 1}),
            ),
            (
                json!({"effect": "none", "effective_at": "today", "retrieved_at": "today"}),
                json!({"effective_at": "today", "retrieved_at": "today"}),
            ),
            (
                json!({"error": {"retryable": true, "sku": 7}, "items": [{"retry": 1, "id": 2}]}),
                json!({"error": {"sku": 7}, "items": [{"id": 2}]}),
            ),
            (
                json!({"recovery": {"is_retryable": true}, "context": {}}),
                json!({"context": {}}),
            ),
            (json!({"retryable": true}), json!({})),
        ] {
            let details = before.as_object().cloned().unwrap();
            assert_eq!(Value::Object(strip(details.clone())), after, "{before}");
            let failure = Failure::new(codes::TOOL_FAILED).with_details(details);
            let failure = without_retry_members(failure);
            assert_eq!(failure.details(), after.as_object(), "{before}");
        }
        assert_eq!(
            without_retry_members(Failure::new(codes::TOOL_FAILED)).details(),
            None
        );
    }
}
