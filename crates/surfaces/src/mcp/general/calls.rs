//! `call` and `batch`: calls by the names of operations.

use futures_util::stream::{StreamExt, iter};
use panpan_failure::dialect::agent_value;
use rmcp::ErrorData;
use rmcp::model::CallToolResult;
use serde_json::{Map, Value, json};

use crate::mcp::arguments::Arguments;
use crate::mcp::call::{Asked, INPUT_ARGUMENT, Names, Performed};
use crate::mcp::tools::Catalogue;
use crate::mcp::turn::Turn;
use crate::mcp::{KEY_ARGUMENT, answer, key};

/// How many calls of a batch run side by side.
const BATCH_AT_ONCE: usize = 8;

/// A call as `call` and `batch` describe one.
pub(super) fn asked(mut arguments: Arguments<'_>, meta: &Map<String, Value>) -> Asked {
    let operation = arguments.required_text("operation");
    let input = arguments.take(INPUT_ARGUMENT).unwrap_or_else(|| json!({}));
    let timeout_ms = arguments.count("timeout_ms");
    let argument = arguments.take(KEY_ARGUMENT);
    arguments.finish();
    Asked {
        operation,
        input: input.into(),
        key: key::stated(meta, argument.as_ref()),
        key_is_made: false,
        timeout_ms,
        names: Names::Operations,
    }
}

/// The calls of a batch.
pub(super) fn calls(turn: &Turn<'_>, mut arguments: Arguments<'_>) -> Vec<Asked> {
    let limit = turn.server.gateway().limits().batch;
    let calls = match arguments.take("calls") {
        Some(Value::Array(calls)) if (1..=limit).contains(&calls.len()) => calls,
        Some(Value::Array(calls)) => {
            let reason = format!("{} calls in one batch", calls.len());
            let expected = format!("1 to {limit} calls");
            arguments.problem("calls", &reason, &expected, &json!(calls.len()));
            Vec::new()
        }
        other => {
            let actual = other.unwrap_or_default();
            arguments.problem("calls", "no list of calls", "array", &actual);
            Vec::new()
        }
    };
    let problems = arguments.finish();
    let each = calls.into_iter().enumerate();
    each.map(|(at, call)| {
        let call = Arguments::of(call, &format!("/calls/{at}"), problems);
        // A key in `_meta` is that of one piece of work.
        asked(call, &Map::new())
    })
    .collect()
}

/// Makes the calls of a batch, and gives their results in order.
pub(super) async fn batch(
    turn: &Turn<'_>,
    catalogue: &Catalogue,
    calls: Vec<Asked>,
) -> Result<CallToolResult, ErrorData> {
    let each: Vec<_> = calls
        .into_iter()
        .map(|asked| {
            let entry = catalogue.by_operation(&asked.operation);
            turn.errand.perform(entry, asked, None, None)
        })
        .collect();
    let work = iter(each).buffered(BATCH_AT_ONCE).map(result).collect();
    let results: Vec<Value> = turn.until_stopped(work).await?;
    Ok(answer::success(json!({"results": results})))
}

/// One of many results: what a single call would have been told.
fn result(performed: Performed) -> Value {
    let Performed { answer, key, .. } = performed;
    let idempotency = key.map(|key| answer::idempotency(&answer, &key));
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
