//! `calls/statistics`: successes and failures of each operation, by code.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use panpan_contract::operation::{OperationSpec, OperationType};
use panpan_failure::Failure;
use panpan_runtime::ports::{Count, Outcomes};
use panpan_runtime::{Context, untyped};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{WATCH_SCOPE, operation};

#[derive(Deserialize)]
struct Input {
    #[serde(default = "default_hours")]
    hours: i64,
    operation: Option<String>,
}

fn default_hours() -> i64 {
    24
}

/// The statistics of one operation.
#[derive(Default, Serialize)]
struct Statistics {
    calls: u64,
    succeeded: u64,
    failed: u64,
    replayed: u64,
    /// Calls that took more than one attempt, and how many of them succeeded in the end.
    retried: u64,
    retried_with_success: u64,
    codes: BTreeMap<String, u64>,
}

pub(super) fn spec() -> OperationSpec {
    let mut spec = operation(
        "calls/statistics",
        OperationType::Query,
        WATCH_SCOPE,
        "Counts calls by operation and outcome over the last hours: successes, failures by code, \
         retries and replays.",
    );
    spec.input_schema = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "hours": {"type": "integer", "minimum": 1, "maximum": 24 * 366},
            "operation": {"type": "string"},
        },
    });
    spec
}

pub(super) async fn run(
    context: Context,
    store: Arc<dyn Outcomes>,
    input: Arc<Value>,
) -> Result<Value, Failure> {
    let Input { hours, operation } =
        Input::deserialize(&*input).map_err(|error| untyped(&error))?;
    let since = context
        .now()
        .saturating_sub(SignedDuration::from_hours(hours));
    let counts = store.counts(since.unwrap_or(Timestamp::MIN)).await;
    let counts = counts.map_err(|error| error.failure())?;
    let selected = counts.into_iter().filter(|count| {
        operation
            .as_ref()
            .is_none_or(|name| *name == count.operation)
    });
    let dropped = store.dropped();
    Ok(json!({"operations": added_up(selected), "recordings_dropped": dropped}))
}

fn added_up(counts: impl Iterator<Item = Count>) -> BTreeMap<String, Statistics> {
    let mut operations = BTreeMap::<String, Statistics>::new();
    for count in counts {
        let sum = operations.entry(count.operation).or_default();
        sum.calls += count.calls;
        sum.replayed += count.replayed;
        sum.retried += count.retried;
        match count.code {
            None => {
                sum.succeeded += count.calls;
                sum.retried_with_success += count.retried;
            }
            Some(code) => {
                sum.failed += count.calls;
                *sum.codes.entry(code.to_string()).or_default() += count.calls;
            }
        }
    }
    operations
}
