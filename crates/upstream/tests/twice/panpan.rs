//! A panpan that can stand in front of another, and what its callers see.

use std::sync::Arc;

use jiff::Timestamp;
use panpan_contract::operation::OperationSpec;
use panpan_contract::recording::RecordedOutcome;
use panpan_failure::Failure;
use panpan_failure::dialect::{Dialect, MCP_META_KEY};
use panpan_openapi::{ImportOptions, import};
use panpan_runtime::ports::{Clock, Outcomes};
use panpan_runtime::system::SystemClock;
use panpan_runtime::{BoxFuture, Builder, Credentials, Dispatcher, Ports, Registration, Registry};
use panpan_store::MemoryStore;
use panpan_surfaces::limits::Limits;
use panpan_upstream::{ClientSettings, Url};
use serde_json::{Value, json};

use crate::front::Front;
pub(crate) use crate::front::service;

/// More than there are rows.
const KEPT: usize = 10_000;

/// How a call is made.
#[derive(Clone, Copy, Debug)]
pub(crate) enum By {
    Call,
    Mcp,
}

/// What a caller saw: a failure, or an output.
pub(crate) type Saw = Result<Value, Failure>;

/// No wait between two attempts is longer, jitter included.
const LONGEST_WAIT_MS: u64 = 33_000;
/// How long one attempt may take, so that it is never taken for such a wait.
pub(crate) const ATTEMPT_MS: u64 = 60_000;

/// How fast the waits between attempts pass.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    pub(crate) times: u64,
}

impl Clock for Pace {
    fn now(&self) -> Timestamp {
        SystemClock.now()
    }

    fn sleep(&self, duration_ms: u64) -> BoxFuture<'static, ()> {
        let is_attempt = duration_ms > LONGEST_WAIT_MS;
        let times = if is_attempt { 1 } else { self.times };
        SystemClock.sleep(duration_ms / times)
    }
}

pub(crate) struct Panpan {
    front: Front,
    store: Arc<MemoryStore>,
}

impl Panpan {
    pub(crate) async fn start(
        operations: Vec<Registration>,
        limits: Limits,
        clock: impl Clock + 'static,
    ) -> Self {
        let builder = operations
            .into_iter()
            .fold(Registry::builder(), Builder::add);
        let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
        let outcomes: Arc<dyn Outcomes> = store.clone();
        let ports = Ports {
            clock: Arc::new(clock),
            ..Ports::system(outcomes)
        };
        let dispatcher = Dispatcher::new(builder.build().unwrap(), ports);
        Self {
            front: Front::of(&dispatcher, &store, limits).await,
            store,
        }
    }

    pub(crate) fn url(&self) -> Url {
        self.front.url()
    }

    /// The operations it offers, as its own description has them.
    pub(crate) async fn described(&self) -> Vec<OperationSpec> {
        let document = self.front.get("/openapi.json").await;
        let document: Value = serde_json::from_str(&document).unwrap();
        let import = import(&document, &ImportOptions::new("inner")).unwrap();
        assert_eq!(import.warnings, []);
        let contract = import.into_contract();
        let operations = contract.operations.iter();
        let operations = operations.map(|spec| OperationSpec {
            timeout_ms: Some(ATTEMPT_MS),
            // What is tried again must not depend on how busy this machine is.
            patience_ms: Some(ATTEMPT_MS),
            ..contract.self_contained_operation(spec)
        });
        operations.collect()
    }

    /// Another in front of this one.
    pub(crate) async fn behind(&self, clock: impl Clock + 'static) -> Self {
        let operations = in_front_of(&self.url(), self.described().await);
        Self::start(operations, Limits::default(), clock).await
    }

    pub(crate) async fn ask(
        &self,
        by: By,
        operation: &str,
        input: &Value,
        key: Option<&str>,
    ) -> Saw {
        match by {
            By::Call => self.call(operation, input, key).await,
            By::Mcp => self.call_tool(operation, input, key).await,
        }
    }

    async fn call(&self, operation: &str, input: &Value, key: Option<&str>) -> Saw {
        let answer = self.front.call(operation, input, key).await;
        let read = Dialect::Call.parse(answer.as_bytes());
        let read = read.unwrap_or_else(|error| panic!("{error}: {answer}"));
        read.outcome
    }

    async fn call_tool(&self, operation: &str, input: &Value, key: Option<&str>) -> Saw {
        let answer = self.front.call_tool(operation, input, key).await;
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let result = &answer["result"];
        assert!(result.is_object(), "{answer}");
        match result["isError"] == json!(true) {
            true => Err(Failure::from_canonical(result["_meta"][MCP_META_KEY].clone()).unwrap()),
            false => Ok(result["content"].clone()),
        }
    }

    /// What a subscription gives, as it is sent.
    pub(crate) async fn subscribe(&self, operation: &str) -> String {
        let body = json!({"operation": operation, "input": {}});
        self.front.post("/subscribe", &[], &body).await
    }

    /// Every failure it answered.
    pub(crate) async fn failures(&self) -> Vec<Failure> {
        self.store.flush().await.unwrap();
        let recordings = self.store.recent(KEPT, true).await.unwrap();
        let failed = recordings.into_iter().map(|it| match it.outcome {
            RecordedOutcome::Failed(failure) => failure,
            RecordedOutcome::Succeeded { .. } => unreachable!("only failures were asked for"),
        });
        failed.map(|it| (*it).clone()).collect()
    }
}

/// The operations of a panpan, carried out by it.
pub(crate) fn in_front_of(url: &Url, specs: Vec<OperationSpec>) -> Vec<Registration> {
    let service = service(
        "inner",
        url,
        ClientSettings::default(),
        Credentials::default(),
    );
    service.operations(specs).unwrap()
}
