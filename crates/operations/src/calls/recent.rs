//! `calls/recent`: the newest recordings.

use std::sync::Arc;

use panpan_contract::operation::{OperationSpec, OperationType};
use panpan_failure::Failure;
use panpan_runtime::ports::Outcomes;
use panpan_runtime::{Context, untyped};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{WATCH_SCOPE, operation};

/// The maximum number of recordings in one response.
const RECENT_LIMIT: usize = 100;

#[derive(Deserialize)]
struct Input {
    #[serde(default = "default_limit")]
    limit: usize,
    #[serde(default)]
    failed_only: bool,
}

fn default_limit() -> usize {
    20
}

pub(super) fn spec() -> OperationSpec {
    let mut spec = operation(
        "calls/recent",
        OperationType::Query,
        WATCH_SCOPE,
        "Returns the newest recordings of calls. Secrets are redacted.",
    );
    spec.input_schema = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "limit": {"type": "integer", "minimum": 1, "maximum": RECENT_LIMIT},
            "failed_only": {"type": "boolean"},
        },
    });
    spec
}

pub(super) async fn run(
    _: Context,
    store: Arc<dyn Outcomes>,
    input: Arc<Value>,
) -> Result<Value, Failure> {
    let Input { limit, failed_only } =
        Input::deserialize(&*input).map_err(|error| untyped(&error))?;
    let calls = store.recent(limit, failed_only).await;
    let calls = calls.map_err(|error| error.failure())?;
    Ok(json!({"calls": calls}))
}
