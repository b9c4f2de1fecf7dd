//! `calls/circuits`: the circuits that are open or half open.

use std::sync::Arc;

use panpan_contract::operation::{OperationSpec, OperationType};
use panpan_failure::Failure;
use panpan_runtime::Context;
use serde_json::{Value, json};

use super::{WATCH_SCOPE, operation};

pub(super) fn spec() -> OperationSpec {
    let mut spec = operation(
        "calls/circuits",
        OperationType::Query,
        WATCH_SCOPE,
        "Lists the circuits that are open or half open: the service or operation, the time until the next \
         trial, and the last failure. An empty list means that no call is refused.",
    );
    spec.input_schema = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {},
    });
    spec.output_schema = json!({
        "type": "object",
        "required": ["circuits"],
        "properties": {"circuits": {"type": "array", "items": circuit_schema()}},
    });
    spec
}

fn circuit_schema() -> Value {
    json!({
        "type": "object",
        "required": ["circuit", "upstream", "state", "failed_calls"],
        "properties": {
            "circuit": {"enum": ["host", "operation"]},
            "upstream": {"type": "string"},
            "operation": {"type": "string"},
            "state": {"enum": ["open", "half_open"]},
            "retry_after_ms": {"type": "integer", "minimum": 0},
            "failed_calls": {"type": "integer", "minimum": 0},
            "last_failure": {
                "type": "object",
                "required": ["code", "message", "at"],
                "properties": {
                    "code": {"type": "string"},
                    "message": {"type": "string"},
                    "at": {"type": "string", "format": "date-time"},
                },
            },
        },
    })
}

pub(super) async fn run(context: Context, _: Arc<Value>) -> Result<Value, Failure> {
    Ok(json!({"circuits": context.open_circuits()}))
}
