//! A fixture around a store: one dispatcher, the operations of an order desk, and short words for calls.

pub(crate) mod failures;
mod faults;
mod operations;
mod work;

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

use crate::shared::{Folder, HandClock, Open, Store};

pub(crate) use faults::{Fault, Faulty};
pub(crate) use operations::{
    OTHER, PLACE, harmful, harmless, kinds, opening_after, query, reconciled, retried,
};
pub(crate) use work::{Act, Work};

/// How long keys are held in these tests.
pub(crate) const LEASE_MS: u64 = 3000;
/// How long outcomes are kept in these tests: a day, as the setting is by default.
pub(crate) const KEEP_MS: u64 = 24 * 60 * 60 * 1000;

/// A store that was just opened, and its clock.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<HandClock>,
    /// Of all fixtures: no two of them give a call the same id.
    ids: Arc<CountedIds>,
    _folder: Folder,
}

/// A dispatcher over the store of a bench, which is the same for all fixtures of the bench.
#[derive(Clone, Debug)]
pub(crate) struct Fixture {
    pub(crate) dispatcher: Dispatcher,
    pub(crate) store: Arc<Faulty>,
    pub(crate) clock: Arc<HandClock>,
    pub(crate) notes: Arc<Notes>,
}

impl Bench {
    pub(crate) fn new(open: Open) -> Self {
        let (clock, folder) = (HandClock::new(), Folder::new());
        let store = open(&folder.file("store.db"), clock.clone());
        Self {
            store,
            clock,
            ids: Arc::default(),
            _folder: folder,
        }
    }

    /// A fixture that serves one operation in the usual ways.
    pub(crate) fn fixture(&self, operation: Registration) -> Fixture {
        self.house_with([operation], settings())
    }

    pub(crate) fn house_with(
        &self,
        operations: impl IntoIterator<Item = Registration>,
        settings: Settings,
    ) -> Fixture {
        let builder = operations.into_iter();
        let builder = builder.fold(Registry::builder(), |builder, it| builder.add(it));
        let store = Arc::new(Faulty::around(self.store.clone()));
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
    pub(crate) async fn ask(&self, request: CallRequest) -> Answer {
        self.dispatcher.dispatch(request).await
    }

    /// Places the usual order under a key.
    pub(crate) async fn call(&self, key: &str) -> Answer {
        self.ask(order(key)).await
    }

    /// Places the usual order once nobody else is at work on it.
    pub(crate) async fn call_at_last(&self, key: &str) -> Answer {
        loop {
            let answer = self.call(key).await;
            if told(&answer) != "ERR_IDEMPOTENCY_IN_FLIGHT" {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Begins a call that nobody waits for yet.
    pub(crate) fn begin(&self, request: CallRequest) -> JoinHandle<Answer> {
        let dispatcher = self.dispatcher.clone();
        tokio::spawn(async move { dispatcher.dispatch(request).await })
    }

    /// Holds the key of the usual order as somebody who never says another word.
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

    /// What a crash between effect and record leaves behind.
    pub(crate) async fn crash(&self, key: &str) {
        self.hold(key).await;
        self.clock.pass(LEASE_MS);
    }

    /// The kept outcome of the usual order, as text.
    pub(crate) async fn kept(&self, key: &str) -> Option<String> {
        use panpan_runtime::ports::KeptOutcome::{Failure, LargeOutput, Output};
        let kept = self.store.kept(scope(key)).await.unwrap()?;
        Some(match kept.outcome {
            Output(text) | Failure(text) => text.to_string(),
            LargeOutput { bytes, .. } => format!("{bytes} bytes"),
        })
    }

    /// Waits until the usual order has a kept outcome.
    pub(crate) async fn recorded(&self, key: &str) -> String {
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

/// The usual order of the usual caller, under a key.
pub(crate) fn order(text: &str) -> CallRequest {
    asked(PLACE, json!({"item": "tea", "pieces": 2})).keyed(key(text))
}

/// A call by the usual caller, without a key.
pub(crate) fn asked(operation: &str, input: Value) -> CallRequest {
    CallRequest {
        caller: Some(Arc::new(Identity::new("ann"))),
        ..CallRequest::from_wire(operation, input)
    }
}

/// Where the usual order is kept.
pub(crate) fn scope(text: &str) -> Scope {
    Scope::of(Some("ann"), &PLACE.parse().unwrap(), &key(text))
}

pub(crate) fn failure(answer: Answer) -> Redacted {
    answer.outcome.unwrap_err()
}

/// The output, or the code of the failure.
pub(crate) fn told(answer: &Answer) -> String {
    match &answer.outcome {
        Ok(output) => output.text().to_string(),
        Err(failure) => failure.code().to_string(),
    }
}

/// The outcome in full, as its bytes.
pub(crate) fn text(answer: &Answer) -> String {
    match &answer.outcome {
        Ok(output) => output.text().to_string(),
        Err(failure) => serde_json::to_string(failure).unwrap(),
    }
}

/// A member of a failure's details.
pub(crate) fn detail<'a>(failure: &'a Redacted, name: &str) -> Option<&'a Value> {
    failure.details()?.get(name)
}
