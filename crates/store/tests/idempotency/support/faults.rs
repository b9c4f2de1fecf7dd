//! A store wrapper with faults that can be turned on and off.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use panpan_contract::recording::Recording;
use panpan_runtime::BoxFuture;
use panpan_runtime::ports::{
    Claim, Claimed, Completed, Completion, Count, Earlier, Kept, Lease, Outcomes, Reopened,
    Reopening, Scope, StoreError, Swept,
};
use uuid::Uuid;

use crate::delegate::delegate;

use crate::shared::Store;

/// A fault of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Claiming, extending, completing and flushing fail.
    Unavailable(StoreError),
    /// Completions are written, but their confirmation is lost.
    Unconfirmed,
    /// Completions never return.
    Stuck,
    /// Claims are granted, but return only when the fault is cleared.
    SlowClaims,
}

/// A store with an optional fault.
#[derive(Debug)]
pub(crate) struct FaultyStore {
    inner: Arc<dyn Store>,
    fault: Mutex<Option<Fault>>,
    claims: AtomicUsize,
    completions: AtomicUsize,
}

impl FaultyStore {
    pub(super) fn around(inner: Arc<dyn Store>) -> Self {
        Self {
            inner,
            fault: Mutex::default(),
            claims: AtomicUsize::new(0),
            completions: AtomicUsize::new(0),
        }
    }

    pub(crate) fn inject(&self, fault: Fault) {
        *self.fault.lock().unwrap() = Some(fault);
    }

    pub(crate) fn clear_fault(&self) {
        *self.fault.lock().unwrap() = None;
    }

    /// Waits until this many claims were granted.
    pub(crate) async fn wait_for_claims(&self, times: usize) {
        reach(&self.claims, times).await;
    }

    /// Waits until this many completions were requested.
    pub(crate) async fn wait_for_completions(&self, times: usize) {
        reach(&self.completions, times).await;
    }

    fn fault(&self) -> Option<Fault> {
        self.fault.lock().unwrap().clone()
    }

    fn check_available(&self) -> Result<(), StoreError> {
        match self.fault() {
            Some(Fault::Unavailable(error)) => Err(error),
            _ => Ok(()),
        }
    }

    async fn wait_while(&self, fault: Fault) {
        while self.fault() == Some(fault.clone()) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

async fn reach(counter: &AtomicUsize, times: usize) {
    while counter.load(Ordering::SeqCst) < times {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

impl Outcomes for FaultyStore {
    fn claim(&self, claim: Claim) -> BoxFuture<'_, Result<Claimed, StoreError>> {
        Box::pin(async move {
            self.check_available()?;
            let wait_for_claims = self.inner.claim(claim).await?;
            self.claims.fetch_add(1, Ordering::SeqCst);
            self.wait_while(Fault::SlowClaims).await;
            Ok(wait_for_claims)
        })
    }

    fn extend(&self, lease: Lease, lease_ms: u64) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(async move {
            self.check_available()?;
            self.inner.extend(lease, lease_ms).await
        })
    }

    fn complete(&self, completion: Completion) -> BoxFuture<'_, Result<Completed, StoreError>> {
        Box::pin(async move {
            self.completions.fetch_add(1, Ordering::SeqCst);
            self.wait_while(Fault::Stuck).await;
            self.check_available()?;
            let wait_for_completions = self.inner.complete(completion).await?;
            match self.fault() {
                Some(Fault::Unconfirmed) => Err(StoreError::Unreachable),
                _ => Ok(wait_for_completions),
            }
        })
    }

    fn note(&self, recording: Recording) {
        self.inner.note(recording);
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            self.check_available()?;
            self.inner.flush().await
        })
    }

    delegate! {
        inner:
        reopen(reopening: Reopening) -> Reopened;
    }
}
