//! Planted defects of a store, to prove that the checks find them.

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

/// How long the defects delay a step.
const DEFECT_DELAY_MS: u64 = 20;

/// A defect of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Defect {
    /// Completes a key for any holder, not only for the newest.
    NoEpochCheck,
    /// Checks whether a key is free, and claims it a little later.
    ReadThenWrite,
    /// Confirms an outcome before it is written.
    ReplyBeforeRecord,
    /// Marks every outcome as without effect, so that different input can claim the key.
    DeniesEffects,
}

/// Wraps the store with a defect that is located in the store itself.
pub(crate) fn with_defect(
    store: Arc<dyn Outcomes>,
    defect: Option<Defect>,
    clock: TestClock,
) -> Arc<dyn Outcomes> {
    match defect {
        Some(Defect::NoEpochCheck) => Arc::new(IgnoresEpochs(store, NewestLeases::default())),
        Some(Defect::ReadThenWrite) => {
            Arc::new(ReadsThenWrites(store, NewestLeases::default(), clock))
        }
        Some(Defect::DeniesEffects) => Arc::new(DeniesEffects(store)),
        Some(Defect::ReplyBeforeRecord) | None => store,
    }
}

/// The newest lease of every key.
#[derive(Debug, Default)]
struct NewestLeases(Mutex<BTreeMap<Scope, Lease>>);

impl NewestLeases {
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

/// Ignores epochs.
#[derive(Debug)]
struct IgnoresEpochs(Arc<dyn Outcomes>, NewestLeases);

impl Outcomes for IgnoresEpochs {
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

/// Marks every outcome as without effect.
#[derive(Debug)]
struct DeniesEffects(Arc<dyn Outcomes>);

impl Outcomes for DeniesEffects {
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

/// Relies on an earlier read.
#[derive(Debug)]
struct ReadsThenWrites(Arc<dyn Outcomes>, NewestLeases, TestClock);

impl Outcomes for ReadsThenWrites {
    fn claim(&self, claim: Claim) -> BoxFuture<'_, Result<Claimed, StoreError>> {
        Box::pin(async move {
            let Self(store, newest, clock) = self;
            let looked_free = newest.of(claim.scope).is_none();
            clock.sleep(DEFECT_DELAY_MS).await;
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

/// Replies before it writes. A crash loses the unwritten outcome.
#[derive(Debug)]
pub(crate) struct RepliesEarly(pub(crate) Arc<dyn Outcomes>, pub(crate) Arc<Process>);

impl Outcomes for RepliesEarly {
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
            clock.sleep(DEFECT_DELAY_MS).await;
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
