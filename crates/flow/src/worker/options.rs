//! The options of a task for its call: the member `call` of its `params`.

use std::num::NonZeroU64;

use panpan_failure::{Failure, Violation, codes};
use panpan_runtime::IdempotencyKey;
use serde::Deserialize;
use serde_json::{Map, Value};

const CALL: &str = "call";

/// How a task makes its call.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct TaskCallOptions {
    /// The key that the task shares with direct calls of its caller.
    pub(super) key: Option<IdempotencyKey>,
    /// How long each attempt may take.
    pub(super) timeout_ms: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    idempotency_key: Option<String>,
    timeout_ms: Option<NonZeroU64>,
}

impl TaskCallOptions {
    /// The options in the `params` of a task.
    pub(super) fn of(params: Option<&Map<String, Value>>) -> Result<Self, Failure> {
        let Some(stated) = params.and_then(|it| it.get(CALL)) else {
            return Ok(Self::default());
        };
        let stored =
            Stored::deserialize(stated).map_err(|error| invalid("", &error.to_string()))?;
        let key = stored.idempotency_key.map(|it| IdempotencyKey::new(&it));
        let key = key
            .transpose()
            .map_err(|error| invalid("/idempotency_key", &error.to_string()))?;
        Ok(Self {
            key,
            timeout_ms: stored.timeout_ms.map(NonZeroU64::get),
        })
    }
}

fn invalid(member: &str, reason: &str) -> Failure {
    let violation = Violation::value(format!("/params/{CALL}{member}"), reason)
        .expected("idempotency_key, a text, and timeout_ms, a number from 1");
    Failure::new(codes::INVALID_INPUT_ERROR)
        .with_message(format!("the options of the call are not valid: {reason}"))
        .with_violation(violation)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn options_are_read_from_params_and_unknown_ones_are_refused() {
        let of = |params: Value| TaskCallOptions::of(params.as_object());
        for params in [
            json!(null),
            json!({}),
            json!({"other": 1}),
            json!({"call": {}}),
        ] {
            assert_eq!(of(params).unwrap(), TaskCallOptions::default());
        }
        let both = of(json!({"call": {"idempotency_key": "k", "timeout_ms": 5}})).unwrap();
        assert_eq!(both.key, IdempotencyKey::new("k").ok());
        assert_eq!(both.timeout_ms, Some(5));
        for (call, pointer) in [
            (json!({"timeout_ms": 0}), "/params/call"),
            (json!({"patience": 1}), "/params/call"),
            (
                json!({"idempotency_key": ""}),
                "/params/call/idempotency_key",
            ),
        ] {
            let refused = of(json!({"call": call})).unwrap_err();
            assert_eq!(refused.violations()[0].pointer, pointer);
        }
    }
}
