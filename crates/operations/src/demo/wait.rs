//! `demo/wait`: takes the requested time and reports progress, for trying out timeouts.

use std::sync::Arc;

use panpan_contract::operation::OperationSpec;
use panpan_failure::Failure;
use panpan_runtime::{Context, Progress, untyped};
use serde::Deserialize;
use serde_json::{Value, json};

/// The longest wait, in milliseconds.
const WAIT_LIMIT_MS: u64 = 600_000;
/// How many times it reports progress.
const STEPS: u64 = 10;

#[derive(Deserialize)]
struct Input {
    ms: u64,
}

pub(super) fn spec() -> OperationSpec {
    let mut spec = super::query(
        "demo/wait",
        "Takes the given time and reports progress ten times.",
    );
    spec.title = Some("Take time".to_owned());
    spec.timeout_ms = Some(WAIT_LIMIT_MS + 1000);
    spec.input_schema = json!({
        "type": "object",
        "required": ["ms"],
        "additionalProperties": false,
        "properties": {"ms": {
            "type": "integer", "minimum": 0, "maximum": WAIT_LIMIT_MS,
            "description": "How long to take, in milliseconds.",
        }},
    });
    spec.output_schema = json!({
        "type": "object",
        "required": ["waited_ms"],
        "properties": {"waited_ms": {"type": "integer"}},
    });
    spec
}

pub(super) async fn run(context: Context, input: Arc<Value>) -> Result<Value, Failure> {
    let Input { ms } = Input::deserialize(&*input).map_err(|error| untyped(&error))?;
    for step in 1..=STEPS {
        context
            .sleep(ms * step / STEPS - ms * (step - 1) / STEPS)
            .await;
        context.report(Progress {
            done: step as f64,
            total: Some(STEPS as f64),
            message: Some(format!("waited {} of {ms} ms", ms * step / STEPS)),
        });
    }
    Ok(json!({"waited_ms": ms}))
}
