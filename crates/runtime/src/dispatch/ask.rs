//! How the store is asked for a key: as often as the caller waits, and so that no key stays with a call
//! that was told that it was not started.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use futures_util::future::{Either, select};

use super::answer::Reply;
use super::request::InFlight;
use super::validate::Validated;
use super::{Dispatcher, STORE_PATIENCE_MS, milliseconds_between};
use crate::handler::BoxFuture;
use crate::ports::Ports;
use crate::ports::{Before, Claim, Claimed, Completion, End, StoreError};

/// How long a caller that waits for another's outcome waits before it looks again.
const LOOK_AGAIN_MS: u64 = 50;

/// Asks the store, and asks again as long as the caller would rather wait than be told to.
pub(super) async fn ask(
    dispatcher: &Dispatcher,
    validated: &Validated,
    claim: Claim,
    reply: &Reply,
) -> Result<Claimed, StoreError> {
    let clock = &dispatcher.ports().clock;
    let call = &validated.call;
    loop {
        let claimed = ask_once(dispatcher, validated, claim).await?;
        let left_ms = milliseconds_between(clock.now(), validated.deadline);
        let in_time = left_ms > 0 && !call.is_aborted() && reply.is_awaited();
        let waits = call.in_flight == InFlight::Wait && in_time;
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

/// Asks once, for as long as the caller waits. What the store grants afterwards is given back.
async fn ask_once(
    dispatcher: &Dispatcher,
    validated: &Validated,
    claim: Claim,
) -> Result<Claimed, StoreError> {
    let ports = dispatcher.ports();
    if let Some(held_back) = dispatcher.held_back(&claim) {
        // It may have been written after all, and only the word of it was lost.
        let kept = ports.outcomes.kept(claim.scope).await.ok().flatten();
        return Ok(match (held_back, kept) {
            (Claimed::InFlight { .. }, Some(kept)) => Claimed::Replay(kept),
            (held_back, _) => held_back,
        });
    }
    let outcomes = ports.outcomes.clone();
    let mut asking: BoxFuture<'static, _> = Box::pin(async move { outcomes.claim(claim).await });
    // Most stores answer a repeat at once, and need no timer.
    if let Poll::Ready(claimed) = poll_fn(|task| Poll::Ready(asking.as_mut().poll(task))).await {
        return claimed;
    }
    match select(asking, pin!(stops_waiting(dispatcher, validated))).await {
        Either::Left((claimed, _)) => claimed,
        Either::Right(((), asking)) => {
            let ports = ports.clone();
            let given_back = async move {
                if let Some(unused) = asking.await.ok().as_ref().and_then(as_it_was) {
                    give_back(&ports, unused, claim.lease_ms).await;
                }
            };
            dispatcher.ports().spawn.spawn(Box::pin(given_back));
            Err(StoreError::Slow)
        }
    }
}

/// When the caller's time is over, or it aborts. One that had aborted before may ask for an outcome there
/// is; it will not be let run.
async fn stops_waiting(dispatcher: &Dispatcher, validated: &Validated) {
    let clock = &dispatcher.ports().clock;
    // A call whose time is over may still have an outcome to replay.
    let left_ms = match milliseconds_between(clock.now(), validated.deadline) {
        0 => STORE_PATIENCE_MS,
        left_ms => left_ms,
    };
    let time_is_over = clock.sleep(left_ms);
    match &validated.call.abort {
        Some(abort) if !abort.is_cancelled() => {
            let _ = abort.run_until_cancelled(time_is_over).await;
        }
        _ => time_is_over.await,
    }
}

/// Gives a key back for as long as nobody else can have taken it.
async fn give_back(ports: &Ports, unused: Completion, lease_ms: u64) {
    for _ in 0..lease_ms.div_ceil(LOOK_AGAIN_MS) {
        if ports.outcomes.complete(unused.clone()).await.is_ok() {
            return;
        }
        ports.clock.sleep(LOOK_AGAIN_MS).await;
    }
}

/// Leaves a key that was granted to nobody as it was found. That its holder stopped without a word has
/// to stay known.
fn as_it_was(claimed: &Claimed) -> Option<Completion> {
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
