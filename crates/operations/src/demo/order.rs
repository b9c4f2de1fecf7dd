//! `demo/order`: pretends to place an order, for trying out idempotency keys.

use std::sync::Arc;

use panpan_contract::operation::{OperationSpec, OperationType};
use panpan_failure::Failure;
use panpan_runtime::Context;
use serde_json::{Value, json};

pub(super) fn spec() -> OperationSpec {
    let mut spec = super::operation(
        "demo/order",
        OperationType::Mutation,
        "Pretends to place an order and returns its number. A repeated call with the same idempotency key \
         returns the same order instead of placing another.",
    );
    spec.title = Some("Place an order".to_owned());
    spec.input_schema = json!({
        "type": "object",
        "required": ["item"],
        "additionalProperties": false,
        "properties": {"item": {"type": "string", "minLength": 1, "maxLength": 200}},
    });
    spec.argument_order = vec!["item".to_owned()];
    spec.output_schema = json!({
        "type": "object",
        "required": ["order", "item"],
        "properties": {"order": {"type": "string"}, "item": {"type": "string"}},
    });
    spec
}

pub(super) async fn run(context: Context, input: Arc<Value>) -> Result<Value, Failure> {
    Ok(json!({"order": context.call_id(), "item": input["item"]}))
}
