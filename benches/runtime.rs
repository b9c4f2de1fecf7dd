//! The speed goals of the runtime that need no disk, each as a ratio to a baseline measured in the same
//! run. `goal.rs` does the measuring; the goals of the stores are in `store.rs`.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod goal;

use std::collections::HashMap;
use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;

use goal::{BATCH, Cost, Goal, Watch};
use panpan_contract::operation::{OperationSpec, OperationType};
use panpan_failure::dialect::{Dialect, Envelope};
use panpan_failure::{Failure, codes};
use panpan_runtime::{BoxFuture, CallRequest, Context, Dispatcher, Registry};
use panpan_store::memory_ports;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

const BODY: &[u8] = br#"{"owner":"octo-org","repository":"hello-world","page":3,"per_page":100,"state":"open","labels":["bug","help wanted"],"sort":"updated"}"#;

fn main() -> ExitCode {
    goal::run(|| vec![dispatching(), ten_among_many(), among_many(), failing()])
}

/// A call through the dispatcher, against hand-written parsing, lookup, validation and handler.
fn dispatching() -> Goal {
    let (runtime, dispatcher) = (runtime(), dispatcher(10));
    let (other, by_hand) = (self::runtime(), ByHand::new(10));
    Goal::Ratio {
        name: "dispatch, against hand-written code".to_owned(),
        limit: 2.0,
        work: Box::new(move || {
            per_call(&runtime, async || {
                black_box(call(&dispatcher, "bench/noop_7").await).expect("it succeeds");
            })
        }),
        baseline: Box::new(move || {
            per_call(&other, async || {
                black_box(by_hand.call("bench/noop_7").await).expect("it succeeds");
            })
        }),
    }
}

/// Calls of ten operations among ten thousand, against the same ten alone: the number of operations must not
/// matter.
fn ten_among_many() -> Goal {
    let (runtime, many) = (runtime(), dispatcher(10_000));
    let (other, few) = (self::runtime(), dispatcher(10));
    let names: Vec<String> = (0..BATCH)
        .map(|index| format!("bench/noop_{}", index % 10))
        .collect();
    let same = names.clone();
    Goal::Ratio {
        name: "dispatch of 10 among 10,000, against 10".to_owned(),
        limit: 1.25,
        work: Box::new(move || {
            let mut names = names.iter();
            per_call(&runtime, async || {
                let name = names.next().map_or("", String::as_str);
                black_box(call(&many, name).await).expect("it succeeds");
            })
        }),
        baseline: Box::new(move || {
            let mut names = same.iter();
            per_call(&other, async || {
                let name = names.next().map_or("", String::as_str);
                black_box(call(&few, name).await).expect("it succeeds");
            })
        }),
    }
}

/// Calls of all ten thousand operations. Both sides read the same amount of uncached memory.
fn among_many() -> Goal {
    let (runtime, dispatcher) = (runtime(), dispatcher(10_000));
    let (other, by_hand) = (self::runtime(), ByHand::new(10_000));
    let names: Vec<String> = (0..BATCH)
        .map(|index| format!("bench/noop_{}", index * 39))
        .collect();
    let same = names.clone();
    Goal::Ratio {
        name: "dispatch among 10,000, against hand-written".to_owned(),
        limit: 2.0,
        work: Box::new(move || {
            let mut names = names.iter();
            per_call(&runtime, async || {
                let name = names.next().map_or("", String::as_str);
                black_box(call(&dispatcher, name).await).expect("it succeeds");
            })
        }),
        baseline: Box::new(move || {
            let mut names = same.iter();
            per_call(&other, async || {
                let name = names.next().map_or("", String::as_str);
                black_box(by_hand.call(name).await).expect("it succeeds");
            })
        }),
    }
}

/// A failing call, against a successful call plus one redaction and rendering of the same failure. Neither
/// call is encoded.
fn failing() -> Goal {
    let (runtime, dispatcher) = (runtime(), dispatcher(10));
    let (other, same) = (self::runtime(), self::dispatcher(10));
    // The failure as the caller sees it, with parameters, id and time.
    let failure = other
        .block_on(call(&same, "bench/fail"))
        .expect_err("it fails");
    let failure = failure.into_failure();
    Goal::Ratio {
        name: "a failing call, against success and render".to_owned(),
        limit: 1.0,
        work: Box::new(move || {
            per_call(&runtime, async || {
                black_box(call(&dispatcher, "bench/fail").await).expect_err("it fails");
            })
        }),
        baseline: Box::new(move || {
            per_call(&other, async || {
                let output = call(&same, "bench/noop_7").await;
                let failure = failure.clone().redacted();
                black_box(Dialect::Call.write_failure(&failure, Envelope::default()));
                black_box(output).expect("it succeeds");
            })
        }),
    }
}

async fn call(dispatcher: &Dispatcher, name: &str) -> Result<Value, panpan_failure::Redacted> {
    let input: Value = serde_json::from_slice(black_box(BODY)).expect("the body is JSON");
    let answer = dispatcher
        .dispatch(CallRequest::from_wire(name, input))
        .await;
    answer.into_value()
}

/// The minimum that any server does for a call.
struct ByHand(HashMap<String, (jsonschema::Validator, Box<dyn Handle>)>);

trait Handle {
    fn call(&self, input: Arc<Value>) -> BoxFuture<'_, Result<Value, Failure>>;
}

impl<F: Fn(Arc<Value>) -> BoxFuture<'static, Result<Value, Failure>>> Handle for F {
    fn call(&self, input: Arc<Value>) -> BoxFuture<'_, Result<Value, Failure>> {
        self(input)
    }
}

impl ByHand {
    fn new(operations: usize) -> Self {
        let operation = |index| {
            let validator = jsonschema::validator_for(&schema()).expect("the schema is one");
            let handler: Box<dyn Handle> = Box::new(
                |input: Arc<Value>| -> BoxFuture<'static, Result<Value, Failure>> {
                    Box::pin(async move { Ok(input["page"].clone()) })
                },
            );
            (format!("bench/noop_{index}"), (validator, handler))
        };
        Self((0..operations).map(operation).collect())
    }

    async fn call(&self, name: &str) -> Result<Value, Failure> {
        let input: Value = serde_json::from_slice(black_box(BODY)).expect("the body is JSON");
        let Some((validator, handler)) = self.0.get(name) else {
            return Err(Failure::new(codes::NOT_FOUND));
        };
        if !validator.is_valid(&input) {
            return Err(Failure::new(codes::INVALID_INPUT));
        }
        handler.call(Arc::new(input)).await
    }
}

fn dispatcher(operations: usize) -> Dispatcher {
    let builder = (0..operations).fold(Registry::builder(), |builder, index| {
        builder.register(spec(&format!("bench/noop_{index}")), noop)
    });
    let fail = |_: Context, _: Arc<Value>| async { Err::<Value, _>(typical()) };
    let registry = builder.register(spec("bench/fail"), fail).build();
    Dispatcher::new(registry.expect("the operations agree"), memory_ports())
}

async fn noop(_: Context, input: Arc<Value>) -> Result<Value, Failure> {
    Ok(input["page"].clone())
}

fn spec(name: &str) -> OperationSpec {
    let name = name.parse().expect("the name is one");
    let mut spec = OperationSpec::new(name, OperationType::Query);
    spec.input_schema = schema();
    spec
}

fn schema() -> Value {
    json!({
        "type": "object",
        "required": ["owner", "repository"],
        "properties": {
            "owner": {"type": "string"},
            "repository": {"type": "string"},
            "page": {"type": "integer", "minimum": 1},
            "per_page": {"type": "integer", "minimum": 1, "maximum": 100},
            "state": {"enum": ["open", "closed", "all"]},
            "labels": {"type": "array", "items": {"type": "string"}},
            "sort": {"type": "string"},
        },
    })
}

fn typical() -> Failure {
    Failure::new(codes::ERR_HTTP_404_NOT_FOUND)
        .with_message("there is no repository octo-org/hello-world")
        .with_detail("owner", "octo-org")
        .with_detail("repository", "hello-world")
}

fn runtime() -> Runtime {
    let builder = &mut tokio::runtime::Builder::new_current_thread();
    builder
        .enable_all()
        .build()
        .expect("a runtime can be built")
}

/// The cost of one call in a batch.
fn per_call(runtime: &Runtime, mut call: impl AsyncFnMut()) -> Cost {
    let watch = Watch::start();
    runtime.block_on(async {
        for _ in 0..BATCH {
            call().await;
        }
    });
    watch.stop(BATCH)
}
