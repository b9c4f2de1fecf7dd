//! A store wrapper that reports takeovers, and that can acknowledge outcomes too early.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use panpan_contract::recording::Recording;
use panpan_runtime::BoxFuture;
use panpan_runtime::ports::{
    Before, Claim, Claimed, Completed, Completion, Count, Earlier, End, Kept, Lease, Outcomes,
    Reopened, Reopening, Scope, StoreError, Swept,
};
use uuid::Uuid;

use crate::delegate::delegate;
use crate::message::Message;

/// The delay between acknowledging and writing, with the defect.
const WRITE_DELAY: Duration = Duration::from_millis(15);

/// An observed store.
#[derive(Debug)]
pub(crate) struct ObservedStore {
    pub(crate) inner: Arc<dyn Outcomes>,
    /// The defect: outcomes are acknowledged before they are written.
    pub(crate) acknowledges_early: bool,
}

impl Outcomes for ObservedStore {
    fn claim(&self, claim: Claim) -> BoxFuture<'_, Result<Claimed, StoreError>> {
        Box::pin(async move {
            let claimed = self.inner.claim(claim).await;
            if let Ok(Claimed::Held {
                before: Before::Abandoned { .. },
                ..
            }) = claimed
            {
                Message::TakenOver.send();
            }
            claimed
        })
    }

    fn complete(&self, completion: Completion) -> BoxFuture<'_, Result<Completed, StoreError>> {
        if !self.acknowledges_early {
            return self.inner.complete(completion);
        }
        let expires_at = expiry(&completion.end);
        let inner = Arc::clone(&self.inner);
        tokio::spawn(async move {
            tokio::time::sleep(WRITE_DELAY).await;
            inner.complete(completion).await
        });
        Box::pin(ready(Ok(Completed::Recorded { expires_at })))
    }

    fn note(&self, recording: Recording) {
        self.inner.note(recording);
    }

    delegate! {
        inner:
        extend(lease: Lease, lease_ms: u64) -> bool;
        reopen(reopening: Reopening) -> Reopened;
        flush() -> ();
    }
}

fn expiry(end: &End) -> Option<Timestamp> {
    match end {
        End::Keep { keep_ms, .. } => {
            let kept = SignedDuration::from_millis(i64::try_from(*keep_ms).unwrap_or(i64::MAX));
            Some(
                Timestamp::now()
                    .saturating_add(kept)
                    .unwrap_or(Timestamp::MAX),
            )
        }
        End::Release | End::Abandon => None,
    }
}
