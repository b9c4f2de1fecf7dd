//! The members of a task object, and where a task is in a request.

use panpan_failure::pointer::joined;
use panpan_failure::read::type_name;
use panpan_failure::{Violation, ViolationKind};
use panpan_runtime::shown;
use serde_json::Value;

/// The deepest nesting of a member's value. Stores read definitions back with a parser that allows 128.
pub const NESTING_LIMIT: usize = 100;

/// The webhook of a flow, beside its tasks.
pub(super) const WEBHOOK: &str = "webhook_config";

/// The members that a client may set.
const SET_BY_CLIENT: [&str; 13] = [
    "id",
    "parent_id",
    "user_id",
    "name",
    "priority",
    "inputs",
    "schemas",
    "params",
    "dependencies",
    "origin_type",
    "original_task_id",
    "retry",
    WEBHOOK,
];

/// A member that only the server sets.
pub(super) struct ServerSet {
    pub(super) name: &'static str,
    /// What a client may write nevertheless: the value that a new task has.
    pub(super) initial: Initial,
}

/// The value of a server-set member in a new task.
#[derive(Clone, Copy)]
pub(super) enum Initial {
    Null,
    Pending,
    False,
    Zero,
    EmptyList,
}

impl Initial {
    /// Whether a value says the same.
    pub(super) fn allows(self, value: &Value) -> bool {
        value.is_null()
            || match self {
                Initial::Null => false,
                Initial::Pending => value == "pending",
                Initial::False => *value == Value::Bool(false),
                Initial::Zero => value.as_f64() == Some(0.0),
                Initial::EmptyList => value.as_array().is_some_and(Vec::is_empty),
            }
    }

    /// The value in words.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Initial::Null => "no value",
            Initial::Pending => "pending, or no value",
            Initial::False => "false, or no value",
            Initial::Zero => "0, or no value",
            Initial::EmptyList => "an empty list, or no value",
        }
    }
}

const fn server_set(name: &'static str, initial: Initial) -> ServerSet {
    ServerSet { name, initial }
}

pub(super) const SET_BY_SERVER: [ServerSet; 15] = [
    server_set("status", Initial::Pending),
    server_set("result", Initial::Null),
    server_set("error", Initial::Null),
    server_set("progress", Initial::Zero),
    server_set("created_at", Initial::Null),
    server_set("updated_at", Initial::Null),
    server_set("started_at", Initial::Null),
    server_set("completed_at", Initial::Null),
    server_set("has_references", Initial::False),
    server_set("root_task_id", Initial::Null),
    server_set("generation", Initial::Zero),
    server_set("attempts", Initial::Zero),
    server_set("failure", Initial::Null),
    server_set("blocked_by", Initial::EmptyList),
    server_set("retry_at", Initial::Null),
];

/// Whether the task object has a member of this name; all others are preserved as they are.
pub(super) fn is_known(name: &str) -> bool {
    SET_BY_CLIENT.contains(&name) || SET_BY_SERVER.iter().any(|it| it.name == name)
}

/// Whether a client sets this member of a single task, and not of a whole flow.
pub(super) fn is_of_one_task(name: &str) -> bool {
    SET_BY_CLIENT.contains(&name) && name != WEBHOOK
}

/// Where a task is in the parameters of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequestPlace {
    /// The parameters are the task.
    #[default]
    Only,
    /// The task is an item of the list `tasks`.
    Item(usize),
    /// The changed members of the task are in `updates`.
    Updates,
}

impl RequestPlace {
    /// The pointer to the task.
    pub fn pointer(self) -> String {
        match self {
            RequestPlace::Only => String::new(),
            RequestPlace::Item(position) => format!("/tasks/{position}"),
            RequestPlace::Updates => "/updates".to_owned(),
        }
    }

    /// The pointer to a member of the task.
    pub fn member(self, name: &str) -> String {
        joined(&self.pointer(), name)
    }
}

/// Whether a value is nested deeper than a number of levels. A text or number has none.
pub(super) fn is_deeper_than(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(|it| is_deeper_than(it, levels - 1)),
        Value::Object(members) => {
            levels == 0 || members.values().any(|it| is_deeper_than(it, levels - 1))
        }
        _ => false,
    }
}

/// A whole number, perhaps written with a decimal point, that every JSON parser reads exactly.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a whole number from 0 to 2^53"
)]
pub(crate) fn whole_number(value: &Value) -> Option<u64> {
    const EXACT: std::ops::RangeInclusive<f64> = 0.0..=9_007_199_254_740_991.0;
    let written = || {
        value
            .as_f64()
            .filter(|it| it.fract() == 0.0 && EXACT.contains(it))
    };
    value.as_u64().or_else(|| Some(written()? as u64))
}

/// The violation for a value of the wrong type.
pub(super) fn wrong_type(pointer: String, expected: &str, actual: &Value) -> Violation {
    let reason = format!("wrong type: found {}", type_name(actual));
    Violation {
        kind: ViolationKind::Type,
        actual: shown(actual),
        ..Violation::value(pointer, reason).expected(expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nesting_is_counted_in_levels() {
        for (value, levels) in [
            (json!(1), 0),
            (json!([]), 1),
            (json!({"a": [1]}), 2),
            (json!([[], {"a": {}}]), 3),
        ] {
            assert!(!is_deeper_than(&value, levels), "{value}");
            assert!(levels == 0 || is_deeper_than(&value, levels - 1), "{value}");
        }
    }

    #[test]
    fn a_whole_number_may_have_a_decimal_point() {
        for (value, number) in [
            (json!(2), Some(2)),
            (json!(2.0), Some(2)),
            (json!(2.5), None),
            (json!(-2.0), None),
            (json!(1e300), None),
            (json!("2"), None),
        ] {
            assert_eq!(whole_number(&value), number, "{value}");
        }
    }

    #[test]
    fn no_member_is_set_by_both_sides() {
        for name in SET_BY_CLIENT {
            assert!(SET_BY_SERVER.iter().all(|it| it.name != name), "{name}");
        }
        assert!(is_known("retry") && is_known("retry_at") && !is_known("schedule_type"));
    }
}
