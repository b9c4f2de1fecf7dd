//! `calls/circuits`: the circuits that are open or half open.

use std::sync::Arc;

use panpan_contract::operation::{OperationSpec, OperationType};
use panpan_failure::Failure;
use panpan_runtime::Context;
use panpan_runtime::retry::{CircuitState, LastFailure, OpenCircuit};
use serde_json::{Map, Value, json};

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
    let open = context.open_circuits();
    let circuits: Vec<Value> = open.iter().map(shown).collect();
    Ok(json!({"circuits": circuits}))
}

fn shown(open: &OpenCircuit) -> Value {
    let mut members = Map::new();
    let mut put = |name: &str, value: Value| members.insert(name.to_owned(), value);
    put("circuit", open.level.word().into());
    put("upstream", open.upstream.as_str().into());
    if let Some(operation) = &open.operation {
        put("operation", operation.as_str().into());
    }
    put("state", open.state.word().into());
    if let CircuitState::Open { retry_after_ms } = open.state {
        put("retry_after_ms", retry_after_ms.into());
    }
    put("failed_calls", open.failed_calls.into());
    if let Some(LastFailure {
        code, message, at, ..
    }) = &open.last_failure
    {
        let failure = json!({"code": code.as_str(), "message": message, "at": at.to_string()});
        put("last_failure", failure);
    }
    Value::Object(members)
}
