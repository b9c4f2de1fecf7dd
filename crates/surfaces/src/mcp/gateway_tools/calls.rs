//! `call` and `batch`: calls by the names of operations.

use futures_util::StreamExt as _;
use panpan_failure::dialect::agent_value;
use panpan_mcp::names::KEY_ARGUMENT;
use panpan_mcp::output;
use rmcp::ErrorData;
use rmcp::model::CallToolResult;
use serde_json::{Map, Value, json};

use crate::batch;
use crate::mcp::arguments::Arguments;
use crate::mcp::call::{DecodedCall, FinishedCall, INPUT_ARGUMENT, NamedBy};
use crate::mcp::request::ActiveRequest;
use crate::mcp::tool_index::ToolIndex;
use crate::mcp::{key, tool_result};

/// Decodes a call from the arguments of `call` or from an item of `batch`.
pub(super) fn decode(mut arguments: Arguments<'_>, meta: &Map<String, Value>) -> DecodedCall {
    let operation = arguments.required_text("operation");
    let input = arguments.take(INPUT_ARGUMENT).unwrap_or_else(|| json!({}));
    let timeout_ms = arguments.count("timeout_ms");
    let argument = arguments.take(KEY_ARGUMENT);
    arguments.finish();
    DecodedCall {
        operation,
        input: input.into(),
        key: key::stated(meta, argument.as_ref()),
        key_is_generated: false,
        timeout_ms,
        named_by: NamedBy::Operation,
    }
}

/// Decodes the calls of a batch.
pub(super) fn decode_batch(
    request: &ActiveRequest<'_>,
    mut arguments: Arguments<'_>,
) -> Vec<DecodedCall> {
    let limit = request.server.gateway().limits().batch;
    let calls = match arguments.take("calls") {
        Some(Value::Array(calls)) if (1..=limit).contains(&calls.len()) => calls,
        Some(Value::Array(calls)) => {
            let reason = format!("{} calls in one batch", calls.len());
            let expected = format!("1 to {limit} calls");
            arguments.violation("calls", &reason, &expected, &json!(calls.len()));
            Vec::new()
        }
        other => {
            let actual = other.unwrap_or_default();
            arguments.violation("calls", "not a list of calls", "array", &actual);
            Vec::new()
        }
    };
    let violations = arguments.finish();
    let each = calls.into_iter().enumerate();
    each.map(|(at, call)| {
        let call = Arguments::new(call, &format!("/calls/{at}"), violations);
        // The options in `_meta` apply to one call, and a batch with them was refused.
        decode(call, &Map::new())
    })
    .collect()
}

/// Makes the calls of a batch and returns their results in order.
pub(super) async fn call_batch(
    request: &ActiveRequest<'_>,
    index: &ToolIndex,
    calls: Vec<DecodedCall>,
) -> Result<CallToolResult, ErrorData> {
    let each: Vec<_> = calls
        .into_iter()
        .map(|call| {
            let entry = index.by_operation(&call.operation);
            request.scope.perform(entry, call, None, None)
        })
        .collect();
    let run = batch::run(request.server.gateway(), each);
    let results: Vec<Value> = request.until_cancelled(run.map(result).collect()).await?;
    Ok(output::to_result(json!({"results": results})))
}

/// One result of a batch: the same facts as in the response to a single call.
fn result(finished: FinishedCall) -> Value {
    let FinishedCall { answer, key, .. } = finished;
    let idempotency = key.map(|key| tool_result::idempotency(&answer, &key));
    let mut result = match answer.into_value() {
        Ok(output) => json!({"result": "ok", "output": output}),
        Err(failure) => {
            let mut error = agent_value(&failure, &|_| None);
            json!({"result": "error", "error": error["error"].take()})
        }
    };
    if let Some(idempotency) = idempotency {
        result["idempotency"] = idempotency;
    }
    result
}
