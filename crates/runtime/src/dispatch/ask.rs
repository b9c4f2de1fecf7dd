//! How the store is asked for a key: as often as the caller waits, and so that no key stays with a
//! caller who is gone.

use std::future::poll_fn;
use std::task::Poll;

use futures_util::future::{Either, select};
use tokio::sync::oneshot;

use super::request::InFlight;
use super::validate::Validated;
use super::{Dispatcher, STORE_PATIENCE_MS, milliseconds_between};
use crate::handler::BoxFuture;
use crate::ports::{Before, Claim, Claimed, Completion, End, StoreError};

/// How long a caller that waits for another's outcome waits before it looks again.
const LOOK_AGAIN_MS: u64 = 50;

/// Asks the store, and asks again as long as the caller would rather wait than be told to.
pub(super) async fn ask(
    dispatcher: &Dispatcher,
    validated: &Validated,
    claim: Claim,
) -> Result<Claimed, StoreError> {
    let clock = &dispatcher.world().clock;
    let call = &validated.call;
    loop {
        let claimed = ask_once(dispatcher, validated, claim).await?;
        let left_ms = milliseconds_between(clock.now(), validated.deadline);
        let waits = call.in_flight == InFlight::Wait && left_ms > 0 && !call.is_aborted();
        if !waits || !matches!(claimed, Claimed::InFlight { .. }) {
            return Ok(claimed);
        }
        let pause = clock.sleep(LOOK_AGAIN_MS.min(left_ms));
        match &call.abort {
            Some(abort) => {
                let _ = abort.run_until_cancelled(pause).await;
            }
            None => pause.await,
        }
    }
}

/// Asks once. A store that does not answer at once is asked in a task of its own: it may grant the key
/// after the caller has left, or has stopped waiting for it.
async fn ask_once(
    dispatcher: &Dispatcher,
    validated: &Validated,
    claim: Claim,
) -> Result<Claimed, StoreError> {
    if let Some(claimed) = dispatcher.held_back(&claim) {
        return Ok(claimed);
    }
    let outcomes = dispatcher.world().outcomes.clone();
    let mut asking: BoxFuture<'static, _> = Box::pin(async move { outcomes.claim(claim).await });
    if let Poll::Ready(claimed) = poll_fn(|task| Poll::Ready(asking.as_mut().poll(task))).await {
        return claimed;
    }
    let (answers, answer) = oneshot::channel();
    let (takes, taken) = oneshot::channel();
    let outcomes = dispatcher.world().outcomes.clone();
    dispatcher.world().spawn.spawn(Box::pin(async move {
        let claimed = asking.await;
        let unused = claimed.as_ref().ok().and_then(set_free);
        // A caller that is gone takes nothing.
        let _ = answers.send(claimed);
        if let (Err(_), Some(unused)) = (taken.await, unused) {
            // If that fails too, the lease runs out.
            let _ = outcomes.complete(unused).await;
        }
    }));
    let clock = &dispatcher.world().clock;
    let left_ms = milliseconds_between(clock.now(), validated.deadline);
    match select(answer, clock.sleep(left_ms.max(STORE_PATIENCE_MS))).await {
        Either::Left((claimed, _)) => {
            let _: Result<(), ()> = takes.send(());
            claimed.unwrap_or(Err(StoreError::Closed))
        }
        Either::Right(_) => Err(StoreError::Slow),
    }
}

/// Sets a key free that was granted to nobody. After a crash it is left as it is: free is what cannot
/// have left an effect.
fn set_free(claimed: &Claimed) -> Option<Completion> {
    let Claimed::Held { lease, before } = claimed else {
        return None;
    };
    let attempts = match before {
        Before::Nothing => 0,
        Before::Released { attempts } => *attempts,
        Before::Abandoned { .. } => return None,
    };
    Some(Completion {
        lease: *lease,
        attempts,
        end: End::Release,
        recording: None,
    })
}
