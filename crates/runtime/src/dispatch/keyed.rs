//! Calls with a key, from the claim to the record, in a task that ends even when nobody waits.

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
use super::claim::{Admission, Claimed, HeldKey, Keyed, claim};
use super::perform::{Performed, perform};
use super::raised::Raised;
use super::recover::{Recovered, recover};
use crate::handler::BoxFuture;
use crate::ports::{Completion, End};

impl Dispatcher {
    /// Serves a call that has a key.
    ///
    /// A caller that leaves drops its end of a channel and nothing else: what was let through runs to
    /// its record.
    pub(super) async fn dispatch_keyed(&self, keyed: Keyed) -> Answer {
        let call = keyed.validated.call.clone();
        let operation = keyed.validated.operation.clone();
        let (sender, receiver) = oneshot::channel();
        let begun = self.running().begin();
        let work = self.clone().serve_keyed(keyed, Reply::to(sender), begun);
        let mut work: BoxFuture<'static, ()> = Box::pin(work);
        // What is answered at once, as most replays are, needs no task.
        let first = poll_fn(|task| Poll::Ready(work.as_mut().poll(task))).await;
        if first.is_pending() {
            self.ports().spawn.spawn(work);
        }
        match receiver.await {
            Ok(answer) => answer,
            // The task is gone: whatever runs tasks is shutting down.
            Err(_) => {
                let failure = Failure::new(codes::ERR_OUTCOME_UNKNOWN)
                    .with_message("the gateway stopped before the outcome was known")
                    .with_effect(Effect::Unknown);
                self.refuse(Raised::by_gateway(failure, Some(operation)), &call)
            }
        }
    }

    /// Waits until every call with a key that has begun is on record, or given up.
    ///
    /// For a process that ends: calls that hold a key go on when their callers have left.
    pub async fn drain(&self) {
        self.running().none().await;
    }

    async fn serve_keyed(self, keyed: Keyed, reply: Reply, _begun: Begun) {
        let call = keyed.validated.call.clone();
        let operation = keyed.validated.operation.clone();
        match claim(&self, keyed, &reply).await {
            Err(raised) => reply.send(self.refuse(raised, &call)),
            Ok(Admission::Replay(kept)) => reply.send(self.replay(kept, &operation, &call)),
            Ok(Admission::Run(claimed)) => match claimed.held {
                // On the heap, so that a replay does not carry the room a run takes.
                Some(held) => Box::pin(self.perform_keyed(held, claimed, reply)).await,
                None => reply.send(self.record(perform(&self, claimed).await)),
            },
        }
    }

    async fn perform_keyed(&self, held: HeldKey, claimed: Claimed, reply: Reply) {
        let call = claimed.call.clone();
        let operation = claimed.operation.clone();
        let work = async {
            match recover(self, claimed).await {
                Recovered::Run(claimed) => Ok(perform(self, claimed).await),
                Recovered::Known(performed) => Ok(performed),
                Recovered::Unclear(performed) => Err(performed),
            }
        };
        match self.while_held(held, work).await {
            Some(Ok(performed)) => self.record_keyed(held, performed, reply).await,
            Some(Err(unclear)) => self.leave_unclear(held, unclear, reply).await,
            None => reply.send(self.lost(held, &operation, &call).await),
        }
    }

    /// Nobody could be asked what became of the call: the next one with the key asks again.
    async fn leave_unclear(&self, held: HeldKey, unclear: Performed, reply: Reply) {
        let abandoned = Completion {
            lease: held.lease,
            attempts: unclear.attempts(),
            end: End::Abandon,
            without_effect: false,
            recording: None,
        };
        // Should the store not take it, the lease runs out.
        let _ = self.ports().outcomes.complete(abandoned).await;
        reply.send(self.record(unclear));
    }

    /// Works as long as the key is held, and shows signs of life; `None` when the key was lost.
    async fn while_held<T>(&self, held: HeldKey, work: impl Future<Output = T>) -> Option<T> {
        let lease_ms = self.settings().lease_ms;
        let signs_of_life = async {
            loop {
                self.ports().clock.sleep((lease_ms / 3).max(1)).await;
                // A store that does not answer may answer the next time.
                if let Ok(false) = self.ports().outcomes.extend(held.lease, lease_ms).await {
                    return;
                }
            }
        };
        match select(pin!(work), pin!(signs_of_life)).await {
            Either::Left((done, _)) => Some(done),
            Either::Right(((), _)) => None,
        }
    }
}

/// How many calls with a key are under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Running(Arc<Underway>);

#[derive(Debug, Default)]
struct Underway {
    calls: AtomicUsize,
    none: Notify,
}

/// One of them.
struct Begun(Running);

impl Running {
    fn begin(&self) -> Begun {
        self.0.calls.fetch_add(1, Ordering::AcqRel);
        Begun(self.clone())
    }

    async fn none(&self) {
        loop {
            // Asked to be told before looking: what ends in between is not missed.
            let none = self.0.none.notified();
            if self.0.calls.load(Ordering::Acquire) == 0 {
                return;
            }
            none.await;
        }
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        let Running(underway) = &self.0;
        if underway.calls.fetch_sub(1, Ordering::AcqRel) == 1 {
            underway.none.notify_waiters();
        }
    }
}
