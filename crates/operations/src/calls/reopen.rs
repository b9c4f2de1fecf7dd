//! `calls/reopen`: releases a finished key, so that the next call with it runs again. The old outcome stays
//! readable, with who reopened it and why.

use std::sync::Arc;

use panpan_contract::operation::{OperationName, OperationSpec, OperationType};
use panpan_failure::{Failure, Violation, codes};
use panpan_runtime::ports::{Outcomes, Reopened, Reopening, Scope};
use panpan_runtime::{Context, IdempotencyKey, KEY_LENGTH_LIMIT, untyped};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{OPERATE_SCOPE, operation};

#[derive(Deserialize)]
struct Input {
    operation: String,
    idempotency_key: String,
    caller: Option<String>,
    reason: String,
}

pub(super) fn spec() -> OperationSpec {
    let mut spec = operation(
        "calls/reopen",
        OperationType::Mutation,
        OPERATE_SCOPE,
        "Releases the idempotency key of a finished call, so that the next call with it runs again. Do this \
         only if you know that running it again does no harm.",
    );
    spec.input_schema = json!({
        "type": "object",
        "required": ["operation", "idempotency_key", "reason"],
        "additionalProperties": false,
        "properties": {
            "operation": {"type": "string"},
            "idempotency_key": {"type": "string", "minLength": 1, "maxLength": KEY_LENGTH_LIMIT + 2},
            "caller": {"type": "string", "description": "The caller that used the key; omit it for calls without an identity."},
            "reason": {"type": "string", "minLength": 1, "maxLength": 1000},
        },
    });
    spec
}

pub(super) async fn run(
    context: Context,
    store: Arc<dyn Outcomes>,
    input: Arc<Value>,
) -> Result<Value, Failure> {
    let input = Input::deserialize(&*input).map_err(|error| untyped(&error))?;
    let name = OperationName::new(&input.operation)
        .map_err(|error| invalid("/operation", &error.to_string()))?;
    let key = IdempotencyKey::new(&input.idempotency_key)
        .map_err(|error| invalid("/idempotency_key", &error.to_string()))?;
    let reopening = Reopening {
        scope: Scope::of(input.caller.as_deref(), &name, &key),
        by: context
            .caller()
            .map_or_else(String::new, |it| it.id.clone()),
        reason: input.reason,
    };
    let reopened = store.reopen(reopening).await;
    match reopened.map_err(|error| error.failure())? {
        Reopened::Free { generation } => Ok(json!({"generation": generation})),
        Reopened::NothingKept => Err(invalid(
            "/idempotency_key",
            "there is no finished call of this operation and caller with this key",
        )),
        Reopened::InFlight { remaining_ms } => Err(Failure::new(codes::ERR_IDEMPOTENCY_IN_FLIGHT)
            .with_message(format!(
                "the call with idempotency key {key} is still running"
            ))
            .with_retry_after_ms(remaining_ms)),
    }
}

fn invalid(pointer: &str, reason: &str) -> Failure {
    Failure::new(codes::INVALID_INPUT_ERROR)
        .with_message(reason)
        .with_violation(Violation::value(pointer, reason))
}
