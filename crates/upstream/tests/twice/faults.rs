//! Every fault of a service, seen through two panpans.

use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use panpan_contract::operation::OperationSpec;
use panpan_contract::retry::{RetryPolicy, RetrySettings};
use panpan_failure::Failure;
use panpan_faulty::{CREDENTIAL, Place, Row, faults};
use panpan_openapi::{ImportOptions, import};
use panpan_redact::Secret;
use panpan_runtime::{Credentials, Registration};
use panpan_surfaces::limits::Limits;
use panpan_upstream::{ClientSettings, Url};
use serde_json::{Value, json};

use crate::differences;
use crate::front::judged;
use crate::panpan::{ATTEMPT_MS, By, Pace, Panpan, Saw, service};

/// How many rows are met at a time.
const AT_A_TIME: usize = 24;
/// Where the time of an attempt counts, waits between attempts take their time too.
const SLOW: Pace = Pace { times: 1 };
const QUICK: Pace = Pace { times: 20 };
/// The timeout of an attempt where the service does not answer. A busy machine answers everything else earlier.
const SILENCE_MS: u64 = 5_000;
/// The timeout of a connection: shorter, so that one that cannot be made is known as that.
const CONNECT: Duration = Duration::from_secs(3);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn by_call() {
    check(By::Call).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn by_mcp() {
    check(By::Mcp).await;
}

async fn check(by: By) {
    let (slow, quick): (Vec<_>, Vec<_>) = faults().iter().partition(|row| row.takes_patience());
    let slow = met(by, Fixtures::start(SLOW, SILENCE_MS).await, slow);
    let quick = met(by, Fixtures::start(QUICK, ATTEMPT_MS).await, quick);
    let (slow, quick) = tokio::join!(slow, quick);
    let differences = [slow, quick].concat();
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
}

async fn met(by: By, fixtures: Fixtures, rows: Vec<&'static Row>) -> Vec<String> {
    let met = rows.iter().map(|row| fixtures.meet(by, row));
    let met: Vec<_> = stream::iter(met).buffered(AT_A_TIME).collect().await;
    let asked: u64 = met.iter().map(|it| it.calls).sum();
    assert!(asked > rows.len() as u64, "nothing was tried again at all");
    let inside = fixtures.inner.failures().await;
    let compared = rows.iter().zip(met);
    let found = compared.flat_map(|(row, met)| {
        let found = met.differences(row, &inside);
        found.into_iter().map(|it| format!("{}: {it}", row.name))
    });
    found.collect()
}

/// One panpan alone, and one in front of another, all before the same service.
struct Fixtures {
    service: panpan_faulty::Service,
    alone: Panpan,
    inner: Panpan,
    outer: Panpan,
}

/// What became of a fault.
struct Met {
    calls_alone: u64,
    calls: u64,
    saw: Saw,
}

impl Fixtures {
    async fn start(pace: Pace, attempt_ms: u64) -> Self {
        let service = panpan_faulty::Service::start().await.unwrap();
        let limits = Limits::default();
        let alone = Panpan::start(before(&service, attempt_ms), limits.clone(), pace).await;
        let inner = Panpan::start(before(&service, attempt_ms), limits, pace).await;
        let outer = inner.behind(pace).await;
        Self {
            service,
            alone,
            inner,
            outer,
        }
    }

    async fn meet(&self, by: By, row: &Row) -> Met {
        let (operation, input) = (format!("faulty/{}", row.slug()), input(row));
        let key = row.keyed.then(|| format!("key-{}", row.slug()));
        let before = self.service.calls(row);
        let _ = self.alone.ask(by, &operation, &input, key.as_deref()).await;
        let calls_alone = self.service.calls(row) - before;
        let operation = format!("inner/{operation}");
        let saw = self.outer.ask(by, &operation, &input, key.as_deref());
        let saw = saw.await;
        Met {
            calls_alone,
            calls: self.service.calls(row) - before - calls_alone,
            saw,
        }
    }
}

impl Met {
    fn differences(&self, row: &Row, inside: &[Failure]) -> Vec<String> {
        let mut found = judged(row, &self.saw);
        if self.calls != self.calls_alone {
            let (calls, alone) = (self.calls, self.calls_alone);
            found.push(format!(
                "asked {calls} times, and {alone} times by one alone"
            ));
        }
        let Err(failure) = &self.saw else {
            return found;
        };
        match inside.iter().find(|it| it.id() == failure.id()) {
            Some(inside) => found.extend(differences(inside, failure)),
            None => found.push(format!("the inner one never answered {failure:?}")),
        }
        let operation = format!("inner/faulty/{}", row.slug());
        if failure.operation() != Some(&operation) {
            found.push(format!("is told of {:?}", failure.operation()));
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

/// Every row as an operation, each with a host of its own: those that cannot be connected to would open
/// the circuit of the others.
fn before(faulty: &panpan_faulty::Service, attempt_ms: u64) -> Vec<Registration> {
    let mut operations = Vec::new();
    for place in Place::ALL {
        let url = Url::parse(&faulty.url(*place)).unwrap();
        let settings = ClientSettings {
            connect_timeout: CONNECT,
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
                    retry: Some(retried_once()),
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

/// The same number of retries for every code: a busy machine may turn one attempt into a timeout, and what is
/// compared is how often the service is called.
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
