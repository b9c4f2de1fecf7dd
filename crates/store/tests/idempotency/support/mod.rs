//! A dispatcher over a store with a manual clock, and helpers for calls.

pub(crate) mod failures;
mod faults;
mod handler;
mod operations;

use std::sync::Arc;
use std::time::Duration;

use panpan_failure::Redacted;
use panpan_runtime::ports::{Claim, Claimed, Clock as _, Fingerprint, Lease, Outcomes as _, Scope};
use panpan_runtime::testing::{CountedIds, Notes, TestPorts};
use panpan_runtime::{
    Answer, CallRequest, Dispatcher, IdempotencyKey, Identity, Registration, Registry, Settings,
};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use uuid::Uuid;

use crate::shared::{Folder, ManualClock, Open, Store};

pub(crate) use faults::{Fault, FaultyStore};
pub(crate) use handler::{ScriptedHandler, Step};
pub(crate) use operations::{
    OTHER, PLACE, idempotent, kinds, mutation, query, reconciled, retried, with_circuit,
};

/// The lease of keys in these tests.
pub(crate) const LEASE_MS: u64 = 3000;
/// How long outcomes are kept in these tests: one day, the default.
pub(crate) const KEEP_MS: u64 = 24 * 60 * 60 * 1000;

/// A newly opened store and its clock.
#[derive(Debug)]
pub(crate) struct Storage {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<ManualClock>,
    /// Shared by all fixtures, so that call ids are unique.
    ids: Arc<CountedIds>,
    _folder: Folder,
}

/// A dispatcher over a [`Storage`], which several fixtures can share.
#[derive(Clone, Debug)]
pub(crate) struct Fixture {
    pub(crate) dispatcher: Dispatcher,
    pub(crate) store: Arc<FaultyStore>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) notes: Arc<Notes>,
}

impl Storage {
    pub(crate) fn new(open: Open) -> Self {
        let (clock, folder) = (ManualClock::new(), Folder::new());
        let store = open(&folder.path("store.db"), clock.clone());
        Self {
            store,
            clock,
            ids: Arc::default(),
            _folder: folder,
        }
    }

    /// A fixture with one operation and the usual settings.
    pub(crate) fn fixture(&self, operation: Registration) -> Fixture {
        self.fixture_with([operation], settings())
    }

    pub(crate) fn fixture_with(
        &self,
        operations: impl IntoIterator<Item = Registration>,
        settings: Settings,
    ) -> Fixture {
        let builder = operations.into_iter();
        let builder = builder.fold(Registry::builder(), |builder, it| builder.add(it));
        let store = Arc::new(FaultyStore::around(self.store.clone()));
        let clock = self.clock.clone();
        let TestPorts { mut ports, notes } = TestPorts::around(store.clone(), clock.clone());
        ports.ids = self.ids.clone();
        let registry = builder.build().unwrap();
        Fixture {
            dispatcher: Dispatcher::with_settings(registry, ports, settings),
            store,
            clock,
            notes,
        }
    }
}

impl Fixture {
    pub(crate) async fn send(&self, request: CallRequest) -> Answer {
        self.dispatcher.dispatch(request).await
    }

    /// Places the usual order with this key.
    pub(crate) async fn call(&self, key: &str) -> Answer {
        self.send(order(key)).await
    }

    /// Places the usual order, and repeats it while another call is in flight.
    pub(crate) async fn call_until_done(&self, key: &str) -> Answer {
        loop {
            let answer = self.call(key).await;
            if result_of(&answer) != "ERR_IDEMPOTENCY_IN_FLIGHT" {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Starts a call in its own task.
    pub(crate) fn start(&self, request: CallRequest) -> JoinHandle<Answer> {
        let dispatcher = self.dispatcher.clone();
        tokio::spawn(async move { dispatcher.dispatch(request).await })
    }

    /// Claims the key of the usual order and never completes it.
    pub(crate) async fn hold(&self, key: &str) -> Lease {
        let claim = Claim {
            scope: scope(key),
            fingerprint: Fingerprint::of(&PLACE.parse().unwrap(), &order(key).input),
            call: Uuid::from_u128(0xdead),
            lease_ms: LEASE_MS,
        };
        match self.store.claim(claim).await.unwrap() {
            Claimed::Held { lease, .. } => lease,
            other => panic!("{key} is not held but {other:?}"),
        }
    }

    /// Leaves the state of a crash between effect and record.
    pub(crate) async fn crash(&self, key: &str) {
        self.hold(key).await;
        self.clock.advance(LEASE_MS);
    }

    /// The stored outcome of the usual order, as text.
    pub(crate) async fn kept(&self, key: &str) -> Option<String> {
        use panpan_runtime::ports::KeptOutcome::{Failure, LargeOutput, Output};
        let kept = self.store.kept(scope(key)).await.unwrap()?;
        Some(match kept.outcome {
            Output(text) | Failure(text) => text.to_string(),
            LargeOutput { bytes, .. } => format!("{bytes} bytes"),
        })
    }

    /// Waits until the usual order has a stored outcome.
    pub(crate) async fn wait_for_outcome(&self, key: &str) -> String {
        loop {
            if let Some(text) = self.kept(key).await {
                return text;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.clock.now().as_millisecond()
    }
}

pub(crate) fn settings() -> Settings {
    Settings {
        lease_ms: LEASE_MS,
        keep_ms: KEEP_MS,
        ..Settings::default()
    }
}

pub(crate) fn key(text: &str) -> IdempotencyKey {
    IdempotencyKey::new(text).unwrap()
}

/// The usual order of the usual caller, with this key.
pub(crate) fn order(text: &str) -> CallRequest {
    request(PLACE, json!({"item": "tea", "pieces": 2})).keyed(key(text))
}

/// A call by the usual caller, without a key.
pub(crate) fn request(operation: &str, input: Value) -> CallRequest {
    CallRequest {
        caller: Some(Arc::new(Identity::new("ann"))),
        ..CallRequest::from_wire(operation, input)
    }
}

/// The scope of the usual order with this key.
pub(crate) fn scope(text: &str) -> Scope {
    Scope::of(Some("ann"), &PLACE.parse().unwrap(), &key(text))
}

pub(crate) fn failure(answer: Answer) -> Redacted {
    answer.outcome.unwrap_err()
}

/// The output, or the code of the failure.
pub(crate) fn result_of(answer: &Answer) -> String {
    match &answer.outcome {
        Ok(output) => output.text().to_string(),
        Err(failure) => failure.code().to_string(),
    }
}

/// The complete outcome as JSON text.
pub(crate) fn outcome_json(answer: &Answer) -> String {
    match &answer.outcome {
        Ok(output) => output.text().to_string(),
        Err(failure) => serde_json::to_string(failure).unwrap(),
    }
}

/// A member of the details of a failure.
pub(crate) fn detail<'a>(failure: &'a Redacted, name: &str) -> Option<&'a Value> {
    failure.details()?.get(name)
}
