//! A gateway in front of the faulty service, and a client of it.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use jiff::Timestamp;
use panpan_contract::operation::OperationSpec;
use panpan_contract::retry::{RetryPolicy, RetrySettings};
use panpan_faulty::{CREDENTIAL, Place, Row};
use panpan_openapi::{ImportOptions, import};
use panpan_redact::Secret;
use panpan_runtime::ports::Outcomes;
use panpan_runtime::system::SystemClock;
use panpan_runtime::{Credentials, Dispatcher, Ports, Registry};
use panpan_store::MemoryStore;
use panpan_surfaces::limits::Limits;
use panpan_upstream::{ClientSettings, Service, Url};
use serde_json::{Value, json};

use crate::documented::{Answered, Documented};
use crate::front::{self, Front};

/// How long a service is waited for that says nothing.
const PATIENCE_MS: u64 = 3_000;
/// How long all others are waited for: longer than a busy machine needs.
const AMPLE_MS: u64 = 20_000;
/// The codes of a service that does not answer in time.
const SILENT: [&str; 3] = ["ERR_TIMEOUT", "TIMEOUT", "ERR_OUTCOME_UNKNOWN"];
/// More than there are rows.
const KEPT: usize = 10_000;
/// How long a connection may take: less, so that one that never comes about is known as that.
const CONNECT: Duration = Duration::from_millis(2_500);

pub(crate) struct Gateway {
    front: Front,
    /// The operation of each row.
    operations: BTreeMap<String, String>,
    store: Arc<MemoryStore>,
    dispatcher: Dispatcher,
    log: Log,
    documented: Documented,
    _service: panpan_faulty::Service,
}

/// What was logged.
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
        let written = log.clone();
        tracing_subscriber::fmt()
            .with_max_level(tracing::Level::TRACE)
            .with_writer(move || written.clone())
            .init();
        let service = panpan_faulty::Service::start().await.unwrap();
        let mut builder = Registry::builder();
        let mut operations = BTreeMap::new();
        for place in Place::ALL {
            let url = Url::parse(&service.url(*place)).unwrap();
            for spec in imported(&service.document(*place)) {
                let Some(row) = row_of(&spec) else { continue };
                operations.insert(row.slug(), spec.name.as_str().to_owned());
                // A circuit of its own for each, or the first few would open that of the others.
                let behind = behind(&service, &url).operations([spec]).unwrap();
                builder = behind
                    .into_iter()
                    .fold(builder, panpan_runtime::Builder::add);
            }
        }
        let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
        let outcomes: Arc<dyn Outcomes> = store.clone();
        let dispatcher = Dispatcher::new(builder.build().unwrap(), Ports::system(outcomes));
        let front = Front::of(&dispatcher, &store, Limits::default()).await;
        Self {
            documented: Documented::read(&front.get("/openapi.json").await),
            front,
            operations,
            store,
            dispatcher,
            log,
            _service: service,
        }
    }

    /// Meets a fault by `/call`; gives the answer as it came.
    pub(crate) async fn call(&self, row: &Row) -> String {
        let key = row.keyed.then(|| format!("call-{}", row.slug()));
        let operation = self.operation(row);
        self.front
            .call(operation, &input(row), key.as_deref())
            .await
    }

    /// In what the answers to a fault contradict what the gateway says of itself, by `/call` and by the
    /// path of the operation, in both shapes a failure has there.
    pub(crate) async fn contradictions(&self, row: &Row) -> Vec<String> {
        let (operation, input) = (self.operation(row), input(row));
        let call = json!({"operation": operation, "input": input});
        let named = format!("/operations/{operation}");
        let asked = [("/call", &call), (&named, &input)];
        let accepted = ["application/json", "application/problem+json"];
        let each = asked
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
        let answer = self.front.answer(path, &headers, body).await;
        let answered = Answered {
            method: "POST",
            path,
            status: answer.status,
            media_type: answer.media_type.as_deref(),
            body: answer.body.as_bytes(),
        };
        assert!(self.documented.knows(&answered), "{path}");
        self.documented.contradiction(&answered)
    }

    /// The same as a tool.
    pub(crate) async fn call_tool(&self, row: &Row) -> String {
        let key = row.keyed.then(|| format!("tool-{}", row.slug()));
        let (operation, input) = (self.operation(row), input(row));
        self.front
            .call_tool(operation, &input, key.as_deref())
            .await
    }

    fn operation(&self, row: &Row) -> &str {
        &self.operations[&row.slug()]
    }

    /// How many calls ended with a code.
    pub(crate) async fn count_of(&self, code: &str) -> usize {
        let metrics = self.front.get("/metrics").await;
        let label = format!("code=\"{code}\"");
        metrics.lines().filter(|line| line.contains(&label)).count()
    }

    /// Everything that is told or kept besides answers.
    pub(crate) async fn told(&self) -> Vec<(&'static str, String)> {
        self.dispatcher.drain().await;
        self.dispatcher.tend().await.unwrap();
        self.store.flush().await.unwrap();
        let recordings = self.store.recent(KEPT, false).await.unwrap();
        assert!(!recordings.is_empty());
        let counts = self.store.counts(Timestamp::UNIX_EPOCH).await.unwrap();
        let log = self.log.0.lock().unwrap().clone();
        vec![
            ("the log", String::from_utf8_lossy(&log).into_owned()),
            ("/metrics", self.front.get("/metrics").await),
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
        .map(hurried)
        .collect()
}

/// Tried once, with little patience where no answer is expected; elsewhere a busy machine has time to give it.
fn hurried(mut spec: OperationSpec) -> OperationSpec {
    let once = RetrySettings {
        max_retries: 0,
        ..RetryPolicy::DEFAULT.into()
    };
    spec.retry = Some(RetryPolicy::try_from(once).unwrap());
    let failure = row_of(&spec).and_then(Row::failure);
    let is_silent = failure.is_none_or(|it| SILENT.contains(&it.code.as_str()));
    spec.timeout_ms = Some(if is_silent { PATIENCE_MS } else { AMPLE_MS });
    spec
}

fn row_of(spec: &OperationSpec) -> Option<&'static Row> {
    Row::of_slug(spec.name.as_str().strip_prefix("faulty/")?)
}

fn behind(service: &panpan_faulty::Service, url: &Url) -> Service {
    let settings = ClientSettings {
        connect_timeout: CONNECT,
        ca: Some(service.authority_pem().as_bytes().to_vec()),
        ..ClientSettings::default()
    };
    let token = Secret::new(CREDENTIAL.to_owned());
    let credentials = Credentials::from_iter([("token", token)]);
    front::service("faulty", url, settings, credentials)
}
