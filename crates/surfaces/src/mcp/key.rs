//! The idempotency key of a tool call.
//!
//! Programs send it in `_meta`. A model can only fill in arguments, so tools that change something
//! also accept the key as an argument.

use panpan_contract::operation::{KEY_ARGUMENT_EXTENSION, OperationSpec, OperationType};
use panpan_failure::{Failure, Violation, codes};
use panpan_mcp::names::{IDEMPOTENCY_META_KEY, KEY_ARGUMENT};
use panpan_runtime::{IdempotencyKey, KEY_LENGTH_LIMIT, shown};
use serde_json::{Map, Value, json};

/// The description of the argument, read by models.
const ARGUMENT_DESCRIPTION: &str = "A unique name for this piece of work. A repeated call with the \
same name is not executed again: it returns the first outcome.";

/// Adds the argument to a tool's schema, unless the operation has its own argument of that name.
pub(super) fn describe(spec: &OperationSpec, schema: &mut Map<String, Value>) {
    if !takes_argument(spec) {
        return;
    }
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    if let Value::Object(properties) = properties {
        properties.insert(KEY_ARGUMENT.to_owned(), schema_of_argument());
    }
}

/// The schema of the argument.
pub(super) fn schema_of_argument() -> Value {
    json!({
        "type": "string",
        "minLength": 1,
        "maxLength": KEY_LENGTH_LIMIT,
        "description": ARGUMENT_DESCRIPTION,
    })
}

/// Removes the key from the arguments. Models fill unused arguments with null.
pub(super) fn take_from(input: &mut Value) -> Option<Value> {
    let argument = input.as_object_mut()?.remove(KEY_ARGUMENT);
    argument.filter(|argument| !argument.is_null())
}

/// The key from `_meta` or from the arguments.
pub(super) fn stated(
    meta: &Map<String, Value>,
    argument: Option<&Value>,
) -> Result<Option<IdempotencyKey>, Failure> {
    let in_meta = meta.get(IDEMPOTENCY_META_KEY);
    let stated = match (in_meta, argument) {
        (Some(meta), Some(argument)) if meta != argument => {
            let reason = "the idempotency key differs from the one in _meta";
            return Err(invalid(
                reason,
                "the key in _meta, or no argument",
                argument,
            ));
        }
        (Some(key), _) | (None, Some(key)) => key,
        (None, None) => return Ok(None),
    };
    let Value::String(text) = stated else {
        return Err(invalid(
            "the idempotency key is not a string",
            &IdempotencyKey::form(),
            stated,
        ));
    };
    match IdempotencyKey::new(text) {
        Ok(key) => Ok(Some(key)),
        Err(error) => Err(invalid(&error.to_string(), &IdempotencyKey::form(), stated)),
    }
}

/// Whether the tool of an operation accepts the key as an argument. The operator can switch that
/// off; programs can still send the key in `_meta`.
pub(super) fn takes_argument(spec: &OperationSpec) -> bool {
    spec.op_type == OperationType::Mutation
        && spec.extensions.get(KEY_ARGUMENT_EXTENSION) != Some(&Value::Bool(false))
        && spec
            .input_schema
            .pointer("/properties/idempotency_key")
            .is_none()
}

fn invalid(reason: &str, expected: &str, actual: &Value) -> Failure {
    let violation = Violation::value(format!("/{KEY_ARGUMENT}"), reason).expected(expected);
    Failure::new(codes::INVALID_INPUT)
        .with_message(reason)
        .with_violation(Violation {
            actual: shown(actual),
            ..violation
        })
}

#[cfg(test)]
mod tests {
    use panpan_runtime::SHOWN_CHARACTERS_LIMIT;

    use super::*;

    #[test]
    fn a_null_argument_is_not_a_key() {
        for (argument, key) in [(json!(null), None), (json!("k"), Some(json!("k")))] {
            let mut input = json!({"a": 1, "idempotency_key": argument});
            assert_eq!(take_from(&mut input), key);
            assert_eq!(input, json!({"a": 1}));
        }
    }

    #[test]
    fn an_invalid_key_is_shown_within_the_limit_for_values() {
        let blank = |length: usize| " ".repeat(length);
        let cut = format!("{}…", blank(SHOWN_CHARACTERS_LIMIT));
        for (key, expected) in [
            (
                json!(blank(SHOWN_CHARACTERS_LIMIT)),
                Some(json!(blank(SHOWN_CHARACTERS_LIMIT))),
            ),
            (json!(blank(SHOWN_CHARACTERS_LIMIT + 1)), Some(json!(cut))),
            (json!(7), Some(json!(7))),
            (json!([blank(1)]), None),
        ] {
            let failure = stated(&Map::new(), Some(&key)).unwrap_err();
            assert_eq!(failure.violations()[0].actual, expected, "{key}");
        }
    }
}
