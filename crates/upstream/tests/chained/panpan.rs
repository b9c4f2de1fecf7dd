//! A panpan that can be put in front of another, and a client for it.

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

use crate::panpan_server::PanpanServer;
pub(crate) use crate::panpan_server::service;

/// More recordings than there are rows.
const RECORDINGS: usize = 10_000;

/// The protocol of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Protocol {
    Call,
    Mcp,
}

/// What a caller gets: an output or a failure.
pub(crate) type Outcome = Result<Value, Failure>;

/// The longest delay between two attempts, jitter included.
const RETRY_DELAY_MS_MAX: u64 = 33_000;
/// The timeout of an attempt: longer than any retry delay, so that the clock can tell them apart.
pub(crate) const ATTEMPT_MS: u64 = 60_000;

/// A clock that shortens the delays between attempts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FastClock {
    pub(crate) speed: u64,
}

impl Clock for FastClock {
    fn now(&self) -> Timestamp {
        SystemClock.now()
    }

    fn sleep(&self, duration_ms: u64) -> BoxFuture<'static, ()> {
        let is_attempt = duration_ms > RETRY_DELAY_MS_MAX;
        let speed = if is_attempt { 1 } else { self.speed };
        SystemClock.sleep(duration_ms / speed)
    }
}

pub(crate) struct Panpan {
    server: PanpanServer,
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
            server: PanpanServer::start(&dispatcher, &store, limits).await,
            store,
        }
    }

    pub(crate) fn url(&self) -> Url {
        self.server.url()
    }

    /// Its operations, imported from its OpenAPI document.
    pub(crate) async fn imported(&self) -> Vec<OperationSpec> {
        let document = self.server.get("/openapi.json").await;
        let document: Value = serde_json::from_str(&document).unwrap();
        let import = import(&document, &ImportOptions::new("inner")).unwrap();
        assert_eq!(import.warnings, []);
        let contract = import.into_contract();
        let operations = contract.operations.iter();
        let operations = operations.map(|spec| OperationSpec {
            timeout_ms: Some(ATTEMPT_MS),
            // Retries must not depend on the load of the machine.
            patience_ms: Some(ATTEMPT_MS),
            ..contract.self_contained_operation(spec)
        });
        operations.collect()
    }

    /// Starts another panpan in front of this one.
    pub(crate) async fn start_outer(&self, clock: impl Clock + 'static) -> Self {
        let operations = forwarded_to(&self.url(), self.imported().await);
        Self::start(operations, Limits::default(), clock).await
    }

    pub(crate) async fn call(
        &self,
        protocol: Protocol,
        operation: &str,
        input: &Value,
        key: Option<&str>,
    ) -> Outcome {
        match protocol {
            Protocol::Call => self.call_http(operation, input, key).await,
            Protocol::Mcp => self.call_tool(operation, input, key).await,
        }
    }

    async fn call_http(&self, operation: &str, input: &Value, key: Option<&str>) -> Outcome {
        let response = self.server.call(operation, input, key).await;
        let parsed = Dialect::Call.parse(response.as_bytes());
        let parsed = parsed.unwrap_or_else(|error| panic!("{error}: {response}"));
        parsed.outcome
    }

    async fn call_tool(&self, operation: &str, input: &Value, key: Option<&str>) -> Outcome {
        let response = self.server.call_tool(operation, input, key).await;
        let response: Value = serde_json::from_str(&response).unwrap();
        let result = &response["result"];
        assert!(result.is_object(), "{response}");
        match result["isError"] == json!(true) {
            true => Err(Failure::from_canonical(result["_meta"][MCP_META_KEY].clone()).unwrap()),
            false => Ok(result["content"].clone()),
        }
    }

    /// The response body of a subscription.
    pub(crate) async fn subscribe(&self, operation: &str) -> String {
        let body = json!({"operation": operation, "input": {}});
        self.server.post("/subscribe", &[], &body).await
    }

    /// Every failure that it answered.
    pub(crate) async fn failures(&self) -> Vec<Failure> {
        self.store.flush().await.unwrap();
        let recordings = self.store.recent(RECORDINGS, true).await.unwrap();
        let failed = recordings.into_iter().map(|it| match it.outcome {
            RecordedOutcome::Failed(failure) => failure,
            RecordedOutcome::Succeeded { .. } => unreachable!("only failures were selected"),
        });
        failed.map(|it| (*it).clone()).collect()
    }
}

/// Operations that are forwarded to a panpan.
pub(crate) fn forwarded_to(url: &Url, specs: Vec<OperationSpec>) -> Vec<Registration> {
    let service = service(
        "inner",
        url,
        ClientSettings::default(),
        Credentials::default(),
    );
    service.operations(specs).unwrap()
}
