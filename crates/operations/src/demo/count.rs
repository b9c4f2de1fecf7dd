//! `demo/count`: streams numbers, for trying out subscriptions.

use std::sync::Arc;

use futures_util::stream::{self, BoxStream, StreamExt as _};
use panpan_contract::operation::{OperationSpec, OperationType};
use panpan_failure::{Failure, codes};
use panpan_runtime::{Context, untyped};
use serde::Deserialize;
use serde_json::{Value, json};

/// The longest pause between two items, in milliseconds.
const PAUSE_LIMIT_MS: u64 = 10_000;

#[derive(Clone, Copy, Deserialize)]
struct Input {
    to: u64,
    #[serde(default)]
    every_ms: u64,
    fail_after: Option<u64>,
}

pub(super) fn spec() -> OperationSpec {
    let mut spec = super::operation(
        "demo/count",
        OperationType::Subscription,
        "Counts from 1, one item per number; fails on the way if requested.",
    );
    spec.title = Some("Count".to_owned());
    spec.input_schema = json!({
        "type": "object",
        "required": ["to"],
        "additionalProperties": false,
        "properties": {
            "to": {"type": "integer", "minimum": 0, "description": "The last number."},
            "every_ms": {
                "type": "integer", "minimum": 0, "maximum": PAUSE_LIMIT_MS,
                "description": "The pause before each item, in milliseconds.",
            },
            "fail_after": {
                "type": "integer", "minimum": 0,
                "description": "Fail after this many items.",
            },
        },
    });
    spec.output_schema = json!({
        "type": "object",
        "required": ["count"],
        "properties": {"count": {"type": "integer", "minimum": 1}},
    });
    spec
}

pub(super) fn open(
    context: Context,
    input: Arc<Value>,
) -> BoxStream<'static, Result<Value, Failure>> {
    match Input::deserialize(&*input) {
        Ok(input) => counted(context, input).boxed(),
        Err(error) => stream::iter([Err(untyped(&error))]).boxed(),
    }
}

fn counted(
    context: Context,
    input: Input,
) -> impl futures_util::Stream<Item = Result<Value, Failure>> {
    stream::unfold(1, move |count| {
        let context = context.clone();
        async move {
            let fails = input.fail_after.is_some_and(|after| count > after);
            if count > input.to.saturating_add(u64::from(fails)) {
                return None;
            }
            if input.every_ms > 0 {
                context.sleep(input.every_ms).await;
            }
            let last = input.to.saturating_add(2);
            match fails {
                true => Some((Err(failed(count - 1)), last)),
                false => Some((Ok(json!({"count": count})), count + 1)),
            }
        }
    })
}

fn failed(after: u64) -> Failure {
    Failure::new(codes::ERR_HTTP_503_UNAVAILABLE)
        .with_message(format!("the count fails after {after} items as requested"))
        .with_detail("items", after)
}
