//! Runs calls with a key from claim to record, in a task that completes even if the caller leaves.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use futures_util::future::{Either, select};
use panpan_failure::{Effect, Failure, codes};
use tokio::sync::{Notify, oneshot};

use super::Dispatcher;
use super::answer::{Answer, Reply};
use super::attempt_loop::{self, Finished};
use super::claim::{Claimed, Grant, HeldKey, Keyed, claim};
use super::raised::Raised;
use super::recover::{Recovered, recover};
use crate::handler::BoxFuture;
use crate::ports::{Completion, End};

impl Dispatcher {
    /// Runs a call that has a key.
    ///
    /// A caller that leaves only drops its end of a channel: a call that holds its key runs until its outcome
    /// is recorded.
    pub(super) async fn dispatch_keyed(&self, keyed: Keyed) -> Answer {
        let call = keyed.validated.call.clone();
        let operation = keyed.validated.operation.clone();
        let (sender, receiver) = oneshot::channel();
        let running = self.0.running.begin();
        let work = self
            .clone()
            .claim_and_run(keyed, Reply::to(sender), running);
        let mut work: BoxFuture<'static, ()> = Box::pin(work);
        // Most replays are ready at once and need no task.
        let first = poll_fn(|task| Poll::Ready(work.as_mut().poll(task))).await;
        if first.is_pending() {
            self.ports().spawn.spawn(work);
        }
        match receiver.await {
            Ok(answer) => answer,
            // The task was dropped because the async runtime is shutting down.
            Err(_) => {
                let failure = Failure::new(codes::ERR_OUTCOME_UNKNOWN)
                    .with_message("the gateway stopped before the outcome was known")
                    .with_effect(Effect::Unknown);
                self.refuse(Raised::by_gateway(failure, &operation), &call)
            }
        }
    }

    /// Waits until every running call with a key has ended.
    ///
    /// Call it before the process exits: calls that hold a key continue after their callers have left.
    pub async fn drain(&self) {
        self.0.running.idle().await;
    }

    async fn claim_and_run(self, keyed: Keyed, reply: Reply, _running: RunningCall) {
        let call = keyed.validated.call.clone();
        let operation = keyed.validated.operation.clone();
        match claim(&self, keyed, &reply).await {
            Err(raised) => reply.send(self.refuse(raised, &call)),
            Ok(Grant::Replay(kept)) => reply.send(self.replay(kept, &operation, &call)),
            // On the heap, so that a replay does not allocate the future of a run.
            Ok(Grant::Run(held, claimed)) => {
                Box::pin(self.run_keyed(held, claimed, reply)).await;
            }
        }
    }

    async fn run_keyed(&self, held: HeldKey, claimed: Claimed, reply: Reply) {
        let call = claimed.call.clone();
        let operation = claimed.operation.clone();
        let work = async {
            match recover(self, claimed).await {
                Recovered::Run(claimed) => Ok(attempt_loop::run(self, claimed).await),
                Recovered::Known(finished) => Ok(finished),
                Recovered::Unclear(finished) => Err(finished),
            }
        };
        match self.while_lease_held(held, work).await {
            Some(Ok(finished)) => self.record_keyed(held, finished, reply).await,
            Some(Err(unclear)) => self.abandon(held, unclear, reply).await,
            None => reply.send(self.lost(held, &operation, &call).await),
        }
    }

    /// Leaves the key abandoned because reconciliation failed; the next call with the key reconciles again.
    pub(super) async fn abandon(&self, held: HeldKey, unclear: Finished, reply: Reply) {
        let abandoned = Completion {
            lease: held.lease,
            attempts: unclear.attempts(),
            end: End::Abandon,
            without_effect: false,
            recording: None,
        };
        // If the store fails, the lease expires.
        let _ = self.ports().outcomes.complete(abandoned).await;
        reply.send(self.record(unclear));
    }

    /// Does the work while renewing the lease; `None` when the lease was lost.
    pub(super) async fn while_lease_held<T>(
        &self,
        held: HeldKey,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let lease_ms = self.0.settings.lease_ms;
        let renewal = async {
            loop {
                self.ports().clock.sleep((lease_ms / 3).max(1)).await;
                // A store that failed may answer the next time.
                if let Ok(false) = self.ports().outcomes.extend(held.lease, lease_ms).await {
                    return;
                }
            }
        };
        match select(pin!(work), pin!(renewal)).await {
            Either::Left((done, _)) => Some(done),
            Either::Right(((), _)) => None,
        }
    }
}

/// Counts the running calls with a key.
#[derive(Clone, Debug, Default)]
pub(super) struct RunningCalls(Arc<RunningCount>);

#[derive(Debug, Default)]
struct RunningCount {
    calls: AtomicUsize,
    idle: Notify,
}

/// A running call; dropping it ends the count.
struct RunningCall(RunningCalls);

impl RunningCalls {
    fn begin(&self) -> RunningCall {
        self.0.calls.fetch_add(1, Ordering::AcqRel);
        RunningCall(self.clone())
    }

    async fn idle(&self) {
        loop {
            // Registered before the check, so that a call that ends in between is not missed.
            let idle = self.0.idle.notified();
            if self.0.calls.load(Ordering::Acquire) == 0 {
                return;
            }
            idle.await;
        }
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        let RunningCalls(count) = &self.0;
        if count.calls.fetch_sub(1, Ordering::AcqRel) == 1 {
            count.idle.notify_waiters();
        }
    }
}
