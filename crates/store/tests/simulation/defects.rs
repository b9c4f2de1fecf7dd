//! Mistakes a store could make, planted to show that the checks find them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use panpan_contract::recording::Recording;
use panpan_runtime::BoxFuture;
use panpan_runtime::ports::{
    Before, Claim, Claimed, Clock as _, Completed, Completion, Count, Earlier, End, Kept, Lease,
    Outcomes, Reopened, Reopening, Scope, Spawn as _, StoreError, Swept,
};
use panpan_runtime::testing::TestClock;
use uuid::Uuid;

use crate::delegate::delegate;
use crate::process::Process;

/// How long the mistakes take.
const MEANWHILE_MS: u64 = 20;

/// A mistake a store could make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Defect {
    /// Whoever ends a key ends it, its newest holder or not.
    NoEpochCheck,
    /// Looks whether a key is free, and takes it a little later.
    ReadThenWrite,
    /// Says that an outcome is written, and writes it a little later.
    ReplyBeforeRecord,
    /// Takes every outcome for one that had no effect, so that other input gets the key.
    DeniesEffects,
}

/// The store with the mistakes that are made where it lies.
pub(crate) fn planted(
    store: Arc<dyn Outcomes>,
    defect: Option<Defect>,
    clock: TestClock,
) -> Arc<dyn Outcomes> {
    match defect {
        Some(Defect::NoEpochCheck) => Arc::new(Trusting(store, Newest::default())),
        Some(Defect::ReadThenWrite) => Arc::new(Careless(store, Newest::default(), clock)),
        Some(Defect::DeniesEffects) => Arc::new(Denying(store)),
        Some(Defect::ReplyBeforeRecord) | None => store,
    }
}

/// The newest lease of every key.
#[derive(Debug, Default)]
struct Newest(Mutex<BTreeMap<Scope, Lease>>);

impl Newest {
    fn leases(&self) -> MutexGuard<'_, BTreeMap<Scope, Lease>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of(&self, scope: Scope) -> Option<Lease> {
        self.leases().get(&scope).copied()
    }

    fn remember(&self, claimed: &Claimed) {
        if let Claimed::Held { lease, .. } = claimed {
            self.leases().insert(lease.scope, *lease);
        }
    }
}

/// Does not look at epochs.
#[derive(Debug)]
struct Trusting(Arc<dyn Outcomes>, Newest);

impl Outcomes for Trusting {
    fn claim(&self, claim: Claim) -> BoxFuture<'_, Result<Claimed, StoreError>> {
        Box::pin(async move {
            let claimed = self.0.claim(claim).await?;
            self.1.remember(&claimed);
            Ok(claimed)
        })
    }

    fn complete(&self, completion: Completion) -> BoxFuture<'_, Result<Completed, StoreError>> {
        let newest = self.1.of(completion.lease.scope);
        self.0.complete(Completion {
            lease: newest.unwrap_or(completion.lease),
            ..completion
        })
    }

    fn note(&self, recording: Recording) {
        self.0.note(recording);
    }

    delegate! {
        0:
        flush() -> ();
        extend(lease: Lease, lease_ms: u64) -> bool;
        reopen(reopening: Reopening) -> Reopened;
    }
}

/// Takes every outcome for one without an effect.
#[derive(Debug)]
struct Denying(Arc<dyn Outcomes>);

impl Outcomes for Denying {
    fn complete(&self, completion: Completion) -> BoxFuture<'_, Result<Completed, StoreError>> {
        self.0.complete(Completion {
            without_effect: true,
            ..completion
        })
    }

    fn note(&self, recording: Recording) {
        self.0.note(recording);
    }

    delegate! {
        0:
        flush() -> ();
        claim(claim: Claim) -> Claimed;
        extend(lease: Lease, lease_ms: u64) -> bool;
        reopen(reopening: Reopening) -> Reopened;
    }
}

/// Trusts what it saw a moment ago.
#[derive(Debug)]
struct Careless(Arc<dyn Outcomes>, Newest, TestClock);

impl Outcomes for Careless {
    fn claim(&self, claim: Claim) -> BoxFuture<'_, Result<Claimed, StoreError>> {
        Box::pin(async move {
            let Self(store, newest, clock) = self;
            let looked_free = newest.of(claim.scope).is_none();
            clock.sleep(MEANWHILE_MS).await;
            let claimed = store.claim(claim).await?;
            newest.remember(&claimed);
            match (claimed, newest.of(claim.scope)) {
                (Claimed::InFlight { .. }, Some(lease)) if looked_free => Ok(Claimed::Held {
                    lease,
                    before: Before::Nothing,
                    generation: 1,
                }),
                (claimed, _) => Ok(claimed),
            }
        })
    }

    fn note(&self, recording: Recording) {
        self.0.note(recording);
    }

    delegate! {
        0:
        flush() -> ();
        extend(lease: Lease, lease_ms: u64) -> bool;
        complete(completion: Completion) -> Completed;
        reopen(reopening: Reopening) -> Reopened;
    }
}

/// Answers first. What it has not written is lost with the process.
#[derive(Debug)]
pub(crate) struct Hasty(pub(crate) Arc<dyn Outcomes>, pub(crate) Arc<Process>);

impl Outcomes for Hasty {
    fn complete(&self, completion: Completion) -> BoxFuture<'_, Result<Completed, StoreError>> {
        let Self(store, process) = self;
        let now = process.environment.clock.now();
        let expires_at = match completion.end {
            End::Keep { keep_ms, .. } => {
                let keep = SignedDuration::from_millis(keep_ms.cast_signed());
                Some(now.saturating_add(keep).unwrap())
            }
            End::Release | End::Abandon => None,
        };
        let (store, clock) = (store.clone(), process.environment.clock);
        process.spawn(Box::pin(async move {
            clock.sleep(MEANWHILE_MS).await;
            let _ = store.complete(completion).await;
        }));
        Box::pin(std::future::ready(Ok(Completed::Recorded { expires_at })))
    }

    fn note(&self, recording: Recording) {
        self.0.note(recording);
    }

    delegate! {
        0:
        flush() -> ();
        claim(claim: Claim) -> Claimed;
        extend(lease: Lease, lease_ms: u64) -> bool;
        reopen(reopening: Reopening) -> Reopened;
    }
}
