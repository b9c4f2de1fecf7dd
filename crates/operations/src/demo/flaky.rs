//! `demo/flaky`: fails a number of times, then succeeds, for trying out retries.
//!
//! It uses the number of the attempt and keeps no state: with an idempotency key the number continues from
//! call to call.

use std::sync::Arc;

use panpan_contract::operation::OperationSpec;
use panpan_failure::{Failure, codes};
use panpan_runtime::{Context, untyped};
use serde::Deserialize;
use serde_json::{Value, json};

/// The maximum number of failures.
const FAILURES_LIMIT: u32 = 20;

#[derive(Deserialize)]
struct Input {
    failures: u32,
}

pub(super) fn spec() -> OperationSpec {
    let mut spec = super::query(
        "demo/flaky",
        "Fails the given number of times with a transient failure, then succeeds. Up to three failures are \
         retried before you see one.",
    );
    spec.title = Some("Fail for a while".to_owned());
    spec.input_schema = json!({
        "type": "object",
        "required": ["failures"],
        "additionalProperties": false,
        "properties": {"failures": {
            "type": "integer",
            "minimum": 0,
            "maximum": FAILURES_LIMIT,
            "description": "How many attempts fail before one succeeds.",
        }},
    });
    spec.output_schema = json!({
        "type": "object",
        "required": ["attempts"],
        "properties": {"attempts": {"type": "integer", "minimum": 1}},
    });
    spec
}

pub(super) async fn run(context: Context, input: Arc<Value>) -> Result<Value, Failure> {
    let Input { failures } = Input::deserialize(&*input).map_err(|error| untyped(&error))?;
    let attempt = context.attempt();
    if attempt <= failures {
        return Err(Failure::new(codes::ERR_HTTP_503_UNAVAILABLE)
            .with_message(format!("attempt {attempt} fails as requested"))
            .with_detail("attempt", attempt));
    }
    Ok(json!({"attempts": attempt}))
}
