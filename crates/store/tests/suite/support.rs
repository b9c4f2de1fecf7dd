//! A store with a manual clock, and helpers for common steps.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use panpan_contract::recording::{RecordedOutcome, Recording};
use panpan_contract::retry::Terms;
use panpan_failure::catalogue::Entry;
use panpan_failure::{Code, Failure};
use panpan_runtime::ports::{
    Before, Claim, Claimed, Clock, Completed, Completion, Count, End, Fingerprint, Kept,
    KeptOutcome, Lease, Reopened, Reopening, Scope, Swept,
};
use uuid::Uuid;

pub(crate) use crate::shared::clock::START_MS;
pub(crate) use crate::shared::{Folder, ManualClock, Open, Store, sqlite};

/// The lease of keys in these tests.
pub(crate) const LEASE_MS: u64 = 1000;
/// How long outcomes are kept in these tests.
pub(crate) const KEEP_MS: u64 = 60_000;
/// How long a released key is remembered.
pub(crate) const DAY_MS: u64 = 24 * 60 * 60 * 1000;
/// A newly opened store and its clock. The store is dropped before its folder.
#[derive(Clone, Debug)]
pub(crate) struct Fixture {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) folder: Arc<Folder>,
}

impl Fixture {
    pub(crate) fn new(open: Open) -> Self {
        let (clock, folder) = (ManualClock::new(), Arc::new(Folder::new()));
        let store = open(&folder.path("store.db"), clock.clone());
        Self {
            store,
            clock,
            folder,
        }
    }

    /// Opens another store on the same file and clock.
    pub(crate) fn another(&self, open: Open) -> Self {
        let store = open(&self.file(), self.clock.clone());
        Self {
            store,
            ..self.clone()
        }
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path("store.db")
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) async fn claim(&self, key: u8, input: u8) -> Claimed {
        self.store.claim(claim_request(key, input)).await.unwrap()
    }

    /// Claims a key with input 1; the claim must succeed.
    pub(crate) async fn hold(&self, key: u8) -> (Lease, Before) {
        match self.claim(key, 1).await {
            Claimed::Held { lease, before, .. } => (lease, before),
            other => panic!("key {key} is not held but {other:?}"),
        }
    }

    pub(crate) async fn before(&self, key: u8) -> Before {
        self.hold(key).await.1
    }

    pub(crate) async fn end(&self, lease: Lease, attempts: u32, end: End) -> Completed {
        let completion = Completion {
            lease,
            attempts,
            end,
            without_effect: false,
            recording: None,
        };
        self.store.complete(completion).await.unwrap()
    }

    /// Completes a key whose call had no effect.
    pub(crate) async fn end_without_effect(&self, lease: Lease, end: End) {
        let completion = Completion {
            lease,
            attempts: 1,
            end,
            without_effect: true,
            recording: None,
        };
        self.store.complete(completion).await.unwrap();
    }

    /// Claims a key and completes it with this output.
    pub(crate) async fn finish(&self, key: u8, output: &str) {
        let (lease, _) = self.hold(key).await;
        let completed = self.end(lease, 1, keep(output)).await;
        assert!(matches!(completed, Completed::Recorded { .. }));
    }

    /// Claims a key and releases it after this many attempts.
    pub(crate) async fn release(&self, key: u8, attempts: u32) {
        let (lease, _) = self.hold(key).await;
        let expected = Completed::Recorded { expires_at: None };
        assert_eq!(self.end(lease, attempts, End::Release).await, expected);
    }

    /// Claims a key and lets its lease expire.
    pub(crate) async fn abandon(&self, key: u8) {
        self.hold(key).await;
        self.clock.advance(LEASE_MS);
    }

    pub(crate) async fn reopen(&self, key: u8) -> Reopened {
        let reopening = Reopening {
            scope: scope(key),
            by: "ada".to_owned(),
            reason: "paid twice".to_owned(),
        };
        self.store.reopen(reopening).await.unwrap()
    }

    pub(crate) async fn kept(&self, key: u8) -> Option<Kept> {
        self.store.kept(scope(key)).await.unwrap()
    }

    /// The stored output of a key.
    pub(crate) async fn output(&self, key: u8) -> Option<String> {
        self.kept(key).await.map(|kept| text(&kept))
    }

    /// The outputs that a key had before it was reopened.
    pub(crate) async fn earlier(&self, key: u8) -> Vec<String> {
        let earlier = self.store.earlier(scope(key)).await.unwrap();
        earlier.iter().map(|earlier| text(&earlier.kept)).collect()
    }

    pub(crate) async fn note(&self, recordings: impl IntoIterator<Item = Recording>) {
        for recording in recordings {
            self.store.note(recording);
        }
        self.store.flush().await.unwrap();
    }

    /// The call ids of the newest recordings.
    pub(crate) async fn recent(&self, limit: usize, failed_only: bool) -> Vec<u128> {
        let recent = self.store.recent(limit, failed_only).await.unwrap();
        recent.iter().map(|found| found.id.as_u128()).collect()
    }

    pub(crate) async fn sweep(&self) -> Swept {
        self.store.sweep(self.now()).await.unwrap()
    }

    pub(crate) async fn count(&self, counts: Vec<Count>) {
        self.store.count(counts);
        self.store.flush().await.unwrap();
    }
}

pub(crate) fn scope(key: u8) -> Scope {
    Scope([key; 32])
}

/// A request to claim a key with this input.
pub(crate) fn claim_request(key: u8, input: u8) -> Claim {
    Claim {
        scope: scope(key),
        fingerprint: Fingerprint([input; 32]),
        call: Uuid::from_u128(u128::from(key)),
        lease_ms: LEASE_MS,
    }
}

pub(crate) fn keep(output: &str) -> End {
    End::Keep {
        outcome: KeptOutcome::Output(output.into()),
        keep_ms: KEEP_MS,
    }
}

pub(crate) fn text(kept: &Kept) -> String {
    match &kept.outcome {
        KeptOutcome::Output(text) => text.to_string(),
        other => panic!("not an output: {other:?}"),
    }
}

pub(crate) fn at(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap()
}

/// The history of a released key; with attempts, it may have had an effect.
pub(crate) fn released(attempts: u32) -> Before {
    Before::Released {
        attempts,
        may_have_happened: attempts > 0,
    }
}

/// The recording of a call that arrived at this time, and failed with this code if there is one.
pub(crate) fn recording(call: u128, at_ms: i64, code: Option<&'static Entry>) -> Recording {
    let outcome = match code {
        Some(code) => RecordedOutcome::Failed(Failure::new(code).redacted()),
        None => RecordedOutcome::Succeeded {
            output_digest: "00".repeat(32),
        },
    };
    Recording {
        id: Uuid::from_u128(call),
        at: at(at_ms),
        operation: "orders/place".to_owned(),
        caller: Some("ada".to_owned()),
        input: Some(serde_json::json!({"items": [1, 2.5, "three"]})),
        retry_seed: 42,
        terms: Terms::NONE,
        earlier: Vec::new(),
        steps: Vec::new(),
        items: None,
        repeats: 0,
        outcome,
    }
}

/// A count of calls of an operation in the hour that starts at this time.
pub(crate) fn count(operation: &str, code: Option<&'static Entry>, hour: i64, calls: u64) -> Count {
    Count {
        operation: operation.to_owned(),
        code: code.map(Code::from),
        hour: at(hour),
        calls,
        retried: calls / 2,
        replayed: calls / 3,
    }
}
