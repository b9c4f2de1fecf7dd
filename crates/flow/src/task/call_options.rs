//! The options of a task for its call: the member `call` of its `params`.

use std::num::NonZeroU64;

use panpan_failure::Violation;
use panpan_failure::pointer::joined;
use panpan_runtime::{IdempotencyKey, shown};
use serde_json::{Map, Value};

use super::members::{whole_number, wrong_type};

const CALL: &str = "call";
const KEY: &str = "idempotency_key";
const TIMEOUT: &str = "timeout_ms";

/// How a task makes its call.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TaskCallOptions {
    /// The key that the task shares with direct calls of its caller.
    pub(crate) key: Option<IdempotencyKey>,
    /// How long each attempt may take.
    pub(crate) timeout_ms: Option<NonZeroU64>,
}

impl TaskCallOptions {
    /// The options in the `params` of a task. The pointers of violations start at `params`.
    pub(crate) fn of(params: Option<&Map<String, Value>>) -> Result<Self, Vec<Violation>> {
        let at = joined("", CALL);
        let members = match params.and_then(|it| it.get(CALL)) {
            None | Some(Value::Null) => return Ok(Self::default()),
            Some(Value::Object(members)) => members,
            Some(other) => return Err(vec![wrong_type(at, "an object with options", other)]),
        };
        let mut options = Self::default();
        let mut violations = Vec::new();
        for (name, value) in members {
            let pointer = joined(&at, name);
            let read = match name.as_str() {
                _ if value.is_null() => Ok(()),
                KEY => key(value, pointer).map(|it| options.key = Some(it)),
                TIMEOUT => timeout(value, pointer).map(|it| options.timeout_ms = Some(it)),
                _ => Err(Violation::value(pointer, "unknown option")
                    .expected("idempotency_key and timeout_ms")),
            };
            violations.extend(read.err());
        }
        match violations.is_empty() {
            true => Ok(options),
            false => Err(violations),
        }
    }
}

fn key(value: &Value, pointer: String) -> Result<IdempotencyKey, Violation> {
    let Some(text) = value.as_str() else {
        return Err(wrong_type(pointer, "a text", value));
    };
    IdempotencyKey::new(text).map_err(|error| Violation {
        actual: shown(value),
        ..Violation::value(pointer, error.to_string()).expected(IdempotencyKey::form())
    })
}

fn timeout(value: &Value, pointer: String) -> Result<NonZeroU64, Violation> {
    const EXPECTED: &str = "a whole number from 1";
    let number = whole_number(value).and_then(NonZeroU64::new);
    number.ok_or_else(|| match value.is_number() {
        true => Violation::value(pointer, "Value out of range")
            .expected(EXPECTED)
            .actual(value.clone()),
        false => wrong_type(pointer, EXPECTED, value),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(params: Value) -> Result<TaskCallOptions, Vec<Violation>> {
        TaskCallOptions::of(params.as_object())
    }

    #[test]
    fn options_are_read_from_params() {
        for params in [
            json!(null),
            json!({}),
            json!({"other": 1}),
            json!({"call": {}}),
            json!({"call": null}),
            json!({"call": {"idempotency_key": null, "timeout_ms": null}}),
        ] {
            assert_eq!(of(params).unwrap(), TaskCallOptions::default());
        }
        let both = of(json!({"call": {"idempotency_key": "k", "timeout_ms": 5}})).unwrap();
        assert_eq!(both.key, IdempotencyKey::new("k").ok());
        assert_eq!(both.timeout_ms, NonZeroU64::new(5));
    }

    #[test]
    fn every_invalid_option_is_named() {
        for (call, expected) in [
            (json!(7), &["/call"][..]),
            (json!({"timeout_ms": 0}), &["/call/timeout_ms"]),
            (json!({"timeout_ms": "x"}), &["/call/timeout_ms"]),
            (
                json!({"idempotency_key": "", "patience": 1, "timeout_ms": -1}),
                &[
                    "/call/idempotency_key",
                    "/call/patience",
                    "/call/timeout_ms",
                ],
            ),
            (json!({"idempotency_key": 7}), &["/call/idempotency_key"]),
        ] {
            let refused = of(json!({"call": call})).unwrap_err();
            let pointers: Vec<&str> = refused.iter().map(|it| it.pointer.as_str()).collect();
            assert_eq!(pointers, expected);
        }
    }
}
