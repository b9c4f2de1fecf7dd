//! A gateway in front of the faulty service, and a client for it.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use jiff::Timestamp;
use panpan_contract::operation::OperationSpec;
use panpan_contract::retry::{RetryPolicy, RetrySettings};
use panpan_faulty::{CREDENTIAL, Endpoint, Row};
use panpan_openapi::{ImportOptions, import};
use panpan_redact::Secret;
use panpan_runtime::ports::Outcomes;
use panpan_runtime::system::SystemClock;
use panpan_runtime::{Credentials, Dispatcher, Ports, Registry};
use panpan_store::MemoryStore;
use panpan_surfaces::limits::Limits;
use panpan_testkit::{Answered, Documented};
use panpan_upstream::{ClientSettings, Service, Url};
use serde_json::{Value, json};

use crate::panpan_server::{self, PanpanServer};

/// The timeout for rows whose service does not answer.
const SILENT_TIMEOUT_MS: u64 = 3_000;
/// The timeout for all other rows: longer than a busy machine needs.
const TIMEOUT_MS: u64 = 20_000;
/// The codes of rows whose service does not answer in time.
const SILENT: [&str; 3] = ["ERR_TIMEOUT", "TIMEOUT", "ERR_OUTCOME_UNKNOWN"];
/// More recordings than there are rows.
const RECORDINGS: usize = 10_000;
/// The connect timeout: shorter, so that it expires before the timeout of the attempt.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(2_500);

pub(crate) struct Gateway {
    server: PanpanServer,
    /// Operations by the slug of their row.
    operations: BTreeMap<String, String>,
    store: Arc<MemoryStore>,
    dispatcher: Dispatcher,
    log: Log,
    documented: Documented,
    _service: panpan_faulty::Service,
}

/// The collected log.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Gateway {
    pub(crate) async fn start() -> Self {
        let log = Log::default();
        let writer = log.clone();
        tracing_subscriber::fmt()
            .with_max_level(tracing::Level::TRACE)
            .with_writer(move || writer.clone())
            .init();
        let service = panpan_faulty::Service::start().await.unwrap();
        let mut builder = Registry::builder();
        let mut operations = BTreeMap::new();
        for place in Endpoint::ALL {
            let url = Url::parse(&service.url(*place)).unwrap();
            for spec in imported(&service.document(*place)) {
                let Some(row) = row_of(&spec) else { continue };
                operations.insert(row.slug(), spec.name.as_str().to_owned());
                // Each row has a circuit of its own, or the first few would open it for the others.
                let operations = upstream(&service, &url).operations([spec]).unwrap();
                builder = operations
                    .into_iter()
                    .fold(builder, panpan_runtime::Builder::add);
            }
        }
        let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
        let outcomes: Arc<dyn Outcomes> = store.clone();
        let dispatcher = Dispatcher::new(builder.build().unwrap(), Ports::system(outcomes));
        let server = PanpanServer::start(&dispatcher, &store, Limits::default()).await;
        Self {
            documented: Documented::read(&server.get("/openapi.json").await),
            server,
            operations,
            store,
            dispatcher,
            log,
            _service: service,
        }
    }

    /// Calls the operation of a row by `/call`; returns the response body.
    pub(crate) async fn call(&self, row: &Row) -> String {
        let key = row.keyed.then(|| format!("call-{}", row.slug()));
        let operation = self.operation(row);
        self.server
            .call(operation, &input(row), key.as_deref())
            .await
    }

    /// How the responses to a row contradict the OpenAPI document of the gateway, by `/call` and by the path of the
    /// operation, in both shapes that a failure has there.
    pub(crate) async fn contradictions(&self, row: &Row) -> Vec<String> {
        let (operation, input) = (self.operation(row), input(row));
        let call = json!({"operation": operation, "input": input});
        let named = format!("/operations/{operation}");
        let requests = [("/call", &call), (&named, &input)];
        let accepted = ["application/json", "application/problem+json"];
        let each = requests
            .iter()
            .flat_map(|it| accepted.map(|accept| (*it, accept)));
        let each = each.map(|((path, body), accept)| self.contradiction(row, path, body, accept));
        let found = join_all(each).await;
        found.into_iter().flatten().collect()
    }

    async fn contradiction(
        &self,
        row: &Row,
        path: &str,
        body: &Value,
        accept: &str,
    ) -> Option<String> {
        let key = format!("{path}-{accept}-{}", row.slug());
        let key = row.keyed.then_some(("idempotency-key", key.as_str()));
        let headers: Vec<_> = [("accept", accept)].into_iter().chain(key).collect();
        let response = self.server.post_raw(path, &headers, body).await;
        let answered = Answered {
            method: "POST",
            path,
            status: response.status,
            media_type: response.header("content-type"),
            body: &response.body,
        };
        assert!(self.documented.knows(&answered), "{path}");
        self.documented.contradiction(&answered)
    }

    /// Calls the operation of a row as an MCP tool; returns the response body.
    pub(crate) async fn call_tool(&self, row: &Row) -> String {
        let key = row.keyed.then(|| format!("tool-{}", row.slug()));
        let (operation, input) = (self.operation(row), input(row));
        self.server
            .call_tool(operation, &input, key.as_deref())
            .await
    }

    fn operation(&self, row: &Row) -> &str {
        &self.operations[&row.slug()]
    }

    /// How many metrics have a code.
    pub(crate) async fn count_of(&self, code: &str) -> usize {
        let metrics = self.server.get("/metrics").await;
        let label = format!("code=\"{code}\"");
        metrics.lines().filter(|line| line.contains(&label)).count()
    }

    /// Every output of the gateway except responses.
    pub(crate) async fn other_outputs(&self) -> Vec<(&'static str, String)> {
        self.dispatcher.drain().await;
        self.dispatcher.maintain().await.unwrap();
        self.store.flush().await.unwrap();
        let recordings = self.store.recent(RECORDINGS, false).await.unwrap();
        assert!(!recordings.is_empty());
        let counts = self.store.counts(Timestamp::UNIX_EPOCH).await.unwrap();
        let log = self.log.0.lock().unwrap().clone();
        vec![
            ("the log", String::from_utf8_lossy(&log).into_owned()),
            ("/metrics", self.server.get("/metrics").await),
            ("the store", serde_json::to_string(&recordings).unwrap()),
            ("the statistics", format!("{counts:?}")),
        ]
    }
}

fn input(row: &Row) -> Value {
    match row.method() {
        "POST" => json!({"body": {"item": "widget"}}),
        _ => json!({}),
    }
}

fn imported(document: &Value) -> Vec<OperationSpec> {
    let imported = import(document, &ImportOptions::new("faulty")).unwrap();
    let contract = imported.into_contract();
    let operations = contract.operations.iter();
    operations
        .map(|spec| contract.self_contained_operation(spec))
        .map(with_short_timeout)
        .collect()
}

/// Without retries, and with a short timeout if no response is expected.
fn with_short_timeout(mut spec: OperationSpec) -> OperationSpec {
    let once = RetrySettings {
        max_retries: 0,
        ..RetryPolicy::DEFAULT.into()
    };
    spec.retry = Some(RetryPolicy::try_from(once).unwrap().into());
    let failure = row_of(&spec).and_then(Row::failure);
    let is_silent = failure.is_none_or(|it| SILENT.contains(&it.code.as_str()));
    spec.timeout_ms = Some(if is_silent {
        SILENT_TIMEOUT_MS
    } else {
        TIMEOUT_MS
    });
    spec
}

fn row_of(spec: &OperationSpec) -> Option<&'static Row> {
    Row::of_slug(spec.name.as_str().strip_prefix("faulty/")?)
}

fn upstream(service: &panpan_faulty::Service, url: &Url) -> Service {
    let settings = ClientSettings {
        connect_timeout: CONNECT_TIMEOUT,
        ca: Some(service.authority_pem().as_bytes().to_vec()),
        ..ClientSettings::default()
    };
    let token = Secret::new(CREDENTIAL.to_owned());
    let credentials = Credentials::from_iter([("token", token)]);
    panpan_server::service("faulty", url, settings, credentials)
}
