//! A store with faults that can be switched on and off.

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

use crate::handed_on::handed_on;

use crate::shared::Store;

/// What is wrong with a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing can be claimed, extended, completed or flushed.
    Away(StoreError),
    /// Completions are written, and the word that they are is lost.
    Unconfirmed,
    /// Completions never return.
    Stuck,
    /// Claims are granted, but whoever asked hears of it only when the fault is over.
    SlowClaims,
}

/// A store with faults.
#[derive(Debug)]
pub(crate) struct Faulty {
    inner: Arc<dyn Store>,
    fault: Mutex<Option<Fault>>,
    claims: AtomicUsize,
    completions: AtomicUsize,
}

impl Faulty {
    pub(super) fn around(inner: Arc<dyn Store>) -> Self {
        Self {
            inner,
            fault: Mutex::default(),
            claims: AtomicUsize::new(0),
            completions: AtomicUsize::new(0),
        }
    }

    pub(crate) fn breaks(&self, fault: Fault) {
        *self.fault.lock().unwrap() = Some(fault);
    }

    pub(crate) fn recovers(&self) {
        *self.fault.lock().unwrap() = None;
    }

    /// Waits until so many claims have reached the store.
    pub(crate) async fn claimed(&self, times: usize) {
        reach(&self.claims, times).await;
    }

    /// Waits until so many completions were asked for.
    pub(crate) async fn completed(&self, times: usize) {
        reach(&self.completions, times).await;
    }

    fn fault(&self) -> Option<Fault> {
        self.fault.lock().unwrap().clone()
    }

    fn reached(&self) -> Result<(), StoreError> {
        match self.fault() {
            Some(Fault::Away(error)) => Err(error),
            _ => Ok(()),
        }
    }

    async fn while_is(&self, fault: Fault) {
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

impl Outcomes for Faulty {
    fn claim(&self, claim: Claim) -> BoxFuture<'_, Result<Claimed, StoreError>> {
        Box::pin(async move {
            self.reached()?;
            let claimed = self.inner.claim(claim).await?;
            self.claims.fetch_add(1, Ordering::SeqCst);
            self.while_is(Fault::SlowClaims).await;
            Ok(claimed)
        })
    }

    fn extend(&self, lease: Lease, lease_ms: u64) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(async move {
            self.reached()?;
            self.inner.extend(lease, lease_ms).await
        })
    }

    fn complete(&self, completion: Completion) -> BoxFuture<'_, Result<Completed, StoreError>> {
        Box::pin(async move {
            self.completions.fetch_add(1, Ordering::SeqCst);
            self.while_is(Fault::Stuck).await;
            self.reached()?;
            let completed = self.inner.complete(completion).await?;
            match self.fault() {
                Some(Fault::Unconfirmed) => Err(StoreError::Unreachable),
                _ => Ok(completed),
            }
        })
    }

    fn note(&self, recording: Recording) {
        self.inner.note(recording);
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            self.reached()?;
            self.inner.flush().await
        })
    }

    handed_on! {
        inner:
        reopen(reopening: Reopening) -> Reopened;
    }
}
