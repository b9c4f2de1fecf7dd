//! Details without what a service says in them about repeating the call and its effect.
//!
//! That was read when the failure was made, and the failure says it once, for this call; a service that
//! says otherwise in its details would be believed by whoever reads those.

use panpan_failure::Failure;
use serde_json::{Map, Value};

/// The failure with details that leave repeating to it.
pub(crate) fn unrepeated(failure: Failure) -> Failure {
    match failure.details().filter(|it| speak_of_it(it)).cloned() {
        Some(details) => failure.with_details(silent(details)),
        None => failure,
    }
}

/// Members of a body without those that speak of repeating, at any depth; an object they were all of goes
/// with them.
pub(crate) fn silent(members: Map<String, Value>) -> Map<String, Value> {
    let kept = members.into_iter().filter(|(name, _)| !is_of_it(name));
    let kept = kept.filter_map(|(name, value)| {
        let had_any = !is_empty(&value);
        let value = silenced(value);
        (!had_any || !is_empty(&value)).then_some((name, value))
    });
    kept.collect()
}

fn silenced(value: Value) -> Value {
    match value {
        Value::Object(members) => silent(members).into(),
        Value::Array(items) => items.into_iter().map(silenced).collect(),
        other => other,
    }
}

fn speak_of_it(members: &Map<String, Value>) -> bool {
    let mut members = members.iter();
    members.any(|(name, value)| is_of_it(name) || speaks_of_it(value))
}

fn speaks_of_it(value: &Value) -> bool {
    match value {
        Value::Object(members) => speak_of_it(members),
        Value::Array(items) => items.iter().any(speaks_of_it),
        _ => false,
    }
}

/// Whether a name is that of a statement about repeating or effects, such as `retryable`, `should_retry`
/// or `retryAfter`; what was retrieved is something else.
fn is_of_it(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_repeating = name.contains("retr") && !name.contains("retriev");
    is_repeating || name == "effect"
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
    fn only_what_speaks_of_repeating_is_left_out() {
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
            assert_eq!(Value::Object(silent(details.clone())), after, "{before}");
            let failure = Failure::new(codes::TOOL_FAILED).with_details(details);
            let failure = unrepeated(failure);
            assert_eq!(failure.details(), after.as_object(), "{before}");
        }
        assert_eq!(unrepeated(Failure::new(codes::TOOL_FAILED)).details(), None);
    }
}
