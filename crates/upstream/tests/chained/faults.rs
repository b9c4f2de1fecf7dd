//! Every row of the fault table through two panpans.

use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use panpan_contract::operation::OperationSpec;
use panpan_contract::retry::{RetryPolicy, RetrySettings};
use panpan_failure::Failure;
use panpan_faulty::{CREDENTIAL, Endpoint, Row, faults};
use panpan_openapi::{ImportOptions, import};
use panpan_redact::Secret;
use panpan_runtime::{Credentials, Registration};
use panpan_surfaces::limits::Limits;
use panpan_upstream::{ClientSettings, Url};
use serde_json::{Value, json};

use crate::differences;
use crate::panpan::{ATTEMPT_MS, FastClock, Outcome, Panpan, Protocol, service};
use crate::panpan_server::differences_from_row;

/// How many rows run concurrently.
const CONCURRENT_ROWS: usize = 24;
/// For rows that depend on the duration of an attempt, retry delays keep their length too.
const REAL_TIME: FastClock = FastClock { speed: 1 };
const FAST: FastClock = FastClock { speed: 20 };
/// The timeout of an attempt if the service does not answer. Even a busy machine answers everything else earlier.
const SILENT_ATTEMPT_MS: u64 = 5_000;
/// The connect timeout: shorter, so that it expires before the timeout of the attempt.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_fault_matches_the_table_by_call() {
    check(Protocol::Call).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_fault_matches_the_table_by_mcp() {
    check(Protocol::Mcp).await;
}

async fn check(protocol: Protocol) {
    let (slow, quick): (Vec<_>, Vec<_>) = faults().iter().partition(|row| row.takes_patience());
    let slow = differences_of(
        protocol,
        Fixtures::start(REAL_TIME, SILENT_ATTEMPT_MS).await,
        slow,
    );
    let quick = differences_of(protocol, Fixtures::start(FAST, ATTEMPT_MS).await, quick);
    let (slow, quick) = tokio::join!(slow, quick);
    let differences = [slow, quick].concat();
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
}

async fn differences_of(
    protocol: Protocol,
    fixtures: Fixtures,
    rows: Vec<&'static Row>,
) -> Vec<String> {
    let calls = rows.iter().map(|row| fixtures.call(protocol, row));
    let results: Vec<_> = stream::iter(calls)
        .buffered(CONCURRENT_ROWS)
        .collect()
        .await;
    let requests: u64 = results.iter().map(|it| it.requests).sum();
    assert!(requests > rows.len() as u64, "no call was retried");
    let inner_failures = fixtures.inner.failures().await;
    let compared = rows.iter().zip(results);
    let found = compared.flat_map(|(row, result)| {
        let found = result.differences(row, &inner_failures);
        found.into_iter().map(|it| format!("{}: {it}", row.name))
    });
    found.collect()
}

/// A single panpan and an outer panpan in front of an inner one, all in front of the same service.
struct Fixtures {
    service: panpan_faulty::Service,
    single: Panpan,
    inner: Panpan,
    outer: Panpan,
}

/// The calls for one row.
struct CallResult {
    /// The requests that the service got from the single panpan.
    requests_of_single: u64,
    /// The requests that the service got through the outer panpan.
    requests: u64,
    outcome: Outcome,
}

impl Fixtures {
    async fn start(clock: FastClock, attempt_ms: u64) -> Self {
        let service = panpan_faulty::Service::start().await.unwrap();
        let limits = Limits::default();
        let operations = || forwarded_to_service(&service, attempt_ms);
        let single = Panpan::start(operations(), limits.clone(), clock).await;
        let inner = Panpan::start(operations(), limits, clock).await;
        let outer = inner.start_outer(clock).await;
        Self {
            service,
            single,
            inner,
            outer,
        }
    }

    async fn call(&self, protocol: Protocol, row: &Row) -> CallResult {
        let (operation, input) = (format!("faulty/{}", row.slug()), input(row));
        let key = row.keyed.then(|| format!("key-{}", row.slug()));
        let before = self.service.calls(row);
        let single = self
            .single
            .call(protocol, &operation, &input, key.as_deref());
        let _ = single.await;
        let requests_of_single = self.service.calls(row) - before;
        let operation = format!("inner/{operation}");
        let outer = self
            .outer
            .call(protocol, &operation, &input, key.as_deref());
        let outcome = outer.await;
        CallResult {
            requests_of_single,
            requests: self.service.calls(row) - before - requests_of_single,
            outcome,
        }
    }
}

impl CallResult {
    fn differences(&self, row: &Row, inner_failures: &[Failure]) -> Vec<String> {
        let mut found = differences_from_row(row, &self.outcome);
        let (requests, of_single) = (self.requests, self.requests_of_single);
        if requests != of_single {
            found.push(format!(
                "{requests} requests, but {of_single} from a single panpan"
            ));
        }
        let Err(failure) = &self.outcome else {
            return found;
        };
        match inner_failures.iter().find(|it| it.id() == failure.id()) {
            Some(inner) => found.extend(differences(inner, failure)),
            None => found.push(format!("the inner panpan never answered {failure:?}")),
        }
        let operation = format!("inner/faulty/{}", row.slug());
        if failure.operation() != Some(&operation) {
            found.push(format!("its operation is {:?}", failure.operation()));
        }
        found
    }
}

fn input(row: &Row) -> Value {
    match row.method() {
        "POST" => json!({"body": {"item": "widget"}}),
        _ => json!({}),
    }
}

/// Every row as an operation, each with a circuit of its own: unreachable hosts would open it for the others.
fn forwarded_to_service(faulty: &panpan_faulty::Service, attempt_ms: u64) -> Vec<Registration> {
    let mut operations = Vec::new();
    for place in Endpoint::ALL {
        let url = Url::parse(&faulty.url(*place)).unwrap();
        let settings = ClientSettings {
            connect_timeout: CONNECT_TIMEOUT,
            ca: Some(faulty.authority_pem().as_bytes().to_vec()),
            ..ClientSettings::default()
        };
        let credentials = [("token", Secret::new(CREDENTIAL.to_owned()))];
        let service = service(
            "faulty",
            &url,
            settings,
            Credentials::from_iter(credentials),
        );
        for spec in imported(&faulty.document(*place)) {
            let slug = spec.name.as_str().strip_prefix("faulty/").unwrap();
            if Row::of_slug(slug).is_some() {
                let spec = OperationSpec {
                    retry: Some(retried_once().into()),
                    timeout_ms: Some(attempt_ms),
                    patience_ms: Some(ATTEMPT_MS),
                    ..spec
                };
                operations.extend(service.operations([spec]).unwrap());
            }
        }
    }
    operations
}

/// The same number of retries for every code: on a busy machine an attempt may time out, and the test compares how
/// often the service is called.
fn retried_once() -> RetryPolicy {
    let once = RetrySettings {
        max_retries: 1,
        ..RetryPolicy::DEFAULT.into()
    };
    RetryPolicy::try_from(once).unwrap()
}

fn imported(document: &Value) -> Vec<OperationSpec> {
    let imported = import(document, &ImportOptions::new("faulty")).unwrap();
    let contract = imported.into_contract();
    let operations = contract.operations.iter();
    operations
        .map(|spec| contract.self_contained_operation(spec))
        .collect()
}
