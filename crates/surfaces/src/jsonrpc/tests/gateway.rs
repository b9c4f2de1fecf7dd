//! A gateway with test operations.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use panpan_contract::operation::{OperationSpec, OperationType, Visibility};
use panpan_failure::{Failure, codes};
use panpan_runtime::{Builder, Context, Registry};
use serde_json::{Value, json};
use tokio::sync::Barrier;

use super::super::{Parsed, serve};
use crate::caller::Caller;
use crate::gateway::Gateway;
use crate::limits::Limits;
use crate::options::CallOptions;
use crate::testing;

/// A gateway and the number of calls of `test/note`.
pub(super) struct TestGateway {
    pub(super) gateway: Gateway,
    pub(super) notes: Arc<AtomicUsize>,
}

pub(super) fn gateway() -> TestGateway {
    gateway_within(Limits::default())
}

pub(super) fn gateway_within(limits: Limits) -> TestGateway {
    let notes = Arc::new(AtomicUsize::new(0));
    let (gateway, _) = testing::gateway(operations(notes.clone()), limits);
    TestGateway { gateway, notes }
}

impl TestGateway {
    pub(super) async fn answer(&self, body: &[u8]) -> Option<Vec<u8>> {
        serve(
            &self.gateway,
            &Ok(Caller::anonymous(None)),
            &CallOptions::default(),
            Parsed::new(body, self.gateway.limits()),
        )
        .await
    }

    pub(super) async fn text(&self, body: &str) -> Option<String> {
        let answer = self.answer(body.as_bytes()).await;
        answer.map(|bytes| String::from_utf8(bytes).unwrap())
    }

    pub(super) async fn json(&self, body: &str) -> Option<Value> {
        let answer = self.text(body).await?;
        Some(serde_json::from_str(&answer).unwrap())
    }

    /// The response to a request for this method.
    pub(super) async fn call(&self, method: &str, params: Value) -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.json(&body.to_string()).await.unwrap()
    }

    pub(super) fn noted(&self) -> usize {
        self.notes.load(Ordering::SeqCst)
    }
}

fn spec(name: &str, op_type: OperationType) -> OperationSpec {
    OperationSpec::new(name.parse().unwrap(), op_type)
}

async fn echo(_: Context, input: Arc<Value>) -> Result<Value, Failure> {
    Ok(Value::clone(&input))
}

async fn subtract(_: Context, input: Arc<Value>) -> Result<Value, Failure> {
    let number = |name: &str| input[name].as_i64().unwrap_or_default();
    Ok(json!(number("minuend") - number("subtrahend")))
}

fn operations(notes: Arc<AtomicUsize>) -> Builder {
    let mut math = spec("math/subtract", OperationType::Query);
    let number = json!({"type": "number"});
    math.input_schema = json!({
        "type": "object",
        "properties": {"minuend": number, "subtrahend": number},
        "required": ["minuend", "subtrahend"],
    });
    math.argument_order = ["minuend", "subtrahend"].map(str::to_owned).to_vec();
    let mut hidden = spec("test/hidden", OperationType::Query);
    hidden.visibility = Visibility::Internal;
    let mut limited = spec("test/limited", OperationType::Query);
    limited.access_control.required_scopes = vec!["deep".to_owned()];
    let note = move |_: Context, _: Arc<Value>| {
        notes.fetch_add(1, Ordering::SeqCst);
        std::future::ready(Ok::<_, Failure>(json!("noted")))
    };
    let report = |context: Context, input: Arc<Value>| {
        let trace = context.trace().map(|trace| trace.to_string());
        let report = json!({"call": context.call_id(), "input": *input, "trace": trace});
        std::future::ready(Ok::<_, Failure>(report))
    };
    let barrier = Arc::new(Barrier::new(2));
    let meet = move |_: Context, input: Arc<Value>| {
        let barrier = barrier.clone();
        async move {
            barrier.wait().await;
            Ok::<_, Failure>(Value::clone(&input))
        }
    };
    let broken = |_: Context, _: Arc<Value>| {
        std::future::ready(Err::<Value, _>(Failure::new(codes::INTERNAL)))
    };
    Registry::builder()
        .register(math, subtract)
        .register(spec("test/echo", OperationType::Query), echo)
        .register(spec("test/dotted.name", OperationType::Query), echo)
        .register(spec("test/a/b", OperationType::Query), echo)
        .register(spec("test/note", OperationType::Mutation), note)
        .register(spec("test/report", OperationType::Mutation), report)
        .register(spec("test/meet", OperationType::Query), meet)
        .register(spec("test/broken", OperationType::Query), broken)
        .register(hidden, echo)
        .register(limited, echo)
}
