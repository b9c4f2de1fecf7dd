//! Claims a key in the store, and waits for a key in flight if the caller wants that.
//!
//! A claim that the store grants after the caller stopped waiting is released: the caller was already told
//! that the call was not started.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use futures_util::future::{Either, select};

use super::answer::Reply;
use super::request::InFlight;
use super::validate::Validated;
use super::{Dispatcher, STORE_PATIENCE_MS};
use crate::handler::BoxFuture;
use crate::ports::Ports;
use crate::ports::{Before, Claim, Claimed, Completion, End, StoreError};
use crate::time::milliseconds_between;

/// How often a key in flight is claimed again, and how often releasing a late claim is retried.
const POLL_MS: u64 = 50;

/// Claims a key; while it is in flight, claims it again for as long as the caller wants to wait.
pub(super) async fn claim_in_store(
    dispatcher: &Dispatcher,
    validated: &Validated,
    claim: Claim,
    reply: &Reply,
) -> Result<Claimed, StoreError> {
    let clock = &dispatcher.ports().clock;
    let call = &validated.call;
    loop {
        let claimed = claim_once(dispatcher, validated, claim).await?;
        let left_ms = milliseconds_between(clock.now(), validated.deadline);
        let in_time = left_ms > 0 && !call.is_aborted() && reply.is_awaited();
        let waits = call.in_flight == InFlight::Wait && in_time;
        if !waits || !matches!(claimed, Claimed::InFlight { .. }) {
            return Ok(claimed);
        }
        let pause = clock.sleep(POLL_MS.min(left_ms));
        match &call.abort {
            Some(abort) => {
                let _ = abort.run_until_cancelled(pause).await;
            }
            None => pause.await,
        }
    }
}

/// Claims once, until the caller stops waiting. A claim granted later is released.
async fn claim_once(
    dispatcher: &Dispatcher,
    validated: &Validated,
    claim: Claim,
) -> Result<Claimed, StoreError> {
    let ports = dispatcher.ports();
    if let Some(unwritten) = dispatcher.unwritten_claim(&claim) {
        // The store may have written the outcome although its confirmation was lost.
        let kept = ports.outcomes.kept(claim.scope).await.ok().flatten();
        return Ok(match (unwritten, kept) {
            (Claimed::InFlight { .. }, Some(kept)) => Claimed::Replay(kept),
            (unwritten, _) => unwritten,
        });
    }
    let outcomes = ports.outcomes.clone();
    let mut claiming: BoxFuture<'static, _> = Box::pin(async move { outcomes.claim(claim).await });
    // Most stores answer at once, without a timer.
    if let Poll::Ready(claimed) = poll_fn(|task| Poll::Ready(claiming.as_mut().poll(task))).await {
        return claimed;
    }
    match select(claiming, pin!(caller_stops_waiting(dispatcher, validated))).await {
        Either::Left((claimed, _)) => claimed,
        Either::Right(((), claiming)) => {
            let ports = ports.clone();
            let release = async move {
                if let Some(unused) = claiming.await.ok().as_ref().and_then(undo_claim) {
                    release_late(&ports, unused, claim.lease_ms).await;
                }
            };
            dispatcher.ports().spawn.spawn(Box::pin(release));
            Err(StoreError::Slow)
        }
    }
}

/// Ready at the deadline or when the caller aborts. A call that was aborted before may still replay an
/// outcome; it does not run.
async fn caller_stops_waiting(dispatcher: &Dispatcher, validated: &Validated) {
    let clock = &dispatcher.ports().clock;
    // A call past its deadline may still replay an outcome.
    let left_ms = match milliseconds_between(clock.now(), validated.deadline) {
        0 => STORE_PATIENCE_MS,
        left_ms => left_ms,
    };
    let deadline = clock.sleep(left_ms);
    match &validated.call.abort {
        Some(abort) if !abort.is_cancelled() => {
            let _ = abort.run_until_cancelled(deadline).await;
        }
        _ => deadline.await,
    }
}

/// Releases a claim that was granted too late. Retries for one lease; after that the key can be taken over.
async fn release_late(ports: &Ports, unused: Completion, lease_ms: u64) {
    for _ in 0..lease_ms.div_ceil(POLL_MS) {
        if ports.outcomes.complete(unused.clone()).await.is_ok() {
            return;
        }
        ports.clock.sleep(POLL_MS).await;
    }
}

/// The completion that puts a key back into the state before the claim. An abandoned key stays abandoned.
fn undo_claim(claimed: &Claimed) -> Option<Completion> {
    let Claimed::Held { lease, before, .. } = claimed else {
        return None;
    };
    let (attempts, end) = match before {
        Before::Nothing => (0, End::Release),
        Before::Released { attempts, .. } => (*attempts, End::Release),
        Before::Abandoned { attempts, .. } => (*attempts, End::Abandon),
    };
    Some(Completion {
        lease: *lease,
        attempts,
        end,
        without_effect: !before.may_have_happened(),
        recording: None,
    })
}
