//! Calls that wait for a reply, in the version of the protocol without sessions: their requests were answered
//! with the question, and whoever repeats one with the reply gets on.
//!
//! A call waits for its own caller only, with the same arguments, once and not forever. One that nobody comes
//! back to is stopped, key or not.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use panpan_runtime::{CancellationToken, Unasked};
use rmcp::model::{InputRequests, InputRequiredResult};
use tokio::task::AbortHandle;

use super::answer;
use super::back::{Refused, Return};
use super::questions::Open;
use super::served::{Made, Served};
use crate::limits::{ConcurrencyLimit, Permit};

/// How many calls wait for a reply at a time. Each of them takes up the place of a running call.
pub const PARKED_LIMIT: usize = 256;

/// How many calls of one caller wait for a reply at a time.
pub const PARKED_PER_CALLER_LIMIT: usize = 32;

/// How long a call waits for a reply.
pub const PARKED_FOR: Duration = Duration::from_secs(5 * 60);

/// How many random bytes name a parked call.
const STATE_BYTES: usize = 32;

/// All calls that wait for a reply.
#[derive(Debug)]
pub(super) struct ParkedCalls {
    room: ConcurrencyLimit,
    calls: Mutex<HashMap<String, Parked>>,
    stopping: CancellationToken,
}

#[derive(Debug)]
struct Parked {
    served: Served,
    /// Its questions, by the names they were given.
    open: BTreeMap<String, Open>,
    end: AbortHandle,
    _permit: Permit,
}

/// What becomes of a call that a client came back to.
#[derive(Debug)]
pub(super) enum Resumed {
    /// It goes on: all its questions are answered.
    On(Box<Served>),
    /// It goes on waiting: these questions have no reply yet.
    Asked(Box<InputRequiredResult>),
}

/// A call there is no room for.
#[derive(Debug)]
pub(super) struct Unparked {
    served: Served,
    open: Vec<Open>,
}

impl Parked {
    /// What its request is answered with: the questions that have no reply yet.
    fn asked(&self, state: &str) -> InputRequiredResult {
        let open = self.open.iter();
        let asked: InputRequests = open
            .map(|(name, open)| (name.clone(), open.asked.clone()))
            .collect();
        let mut asked = InputRequiredResult::new(Some(asked), Some(state.to_owned()));
        asked.meta = self.served.key.as_ref().map(answer::not_ended);
        asked
    }
}

impl Unparked {
    /// The call, to go on without replies.
    pub(super) fn refused(self) -> Served {
        for open in self.open {
            open.end(Err(Unasked::Full));
        }
        self.served
    }
}

impl ParkedCalls {
    pub(super) fn new(stopping: CancellationToken) -> Arc<Self> {
        Arc::new(Self {
            room: ConcurrencyLimit::new("open questions", PARKED_LIMIT, PARKED_PER_CALLER_LIMIT),
            calls: Mutex::default(),
            stopping,
        })
    }

    /// Lets a call wait; what it asks is what its request is answered with.
    pub(super) fn park(
        self: &Arc<Self>,
        mut served: Served,
        open: Vec<Open>,
    ) -> Result<InputRequiredResult, Box<Unparked>> {
        let permit = self.room.acquire(&served.made.principal);
        let (Ok(permit), Some(state)) = (permit, new_state()) else {
            return Err(Box::new(Unparked { served, open }));
        };
        let open = named(open);
        served.stops_when_dropped = true;
        // Held while the end is arranged, so that it cannot come first.
        let mut calls = self.calls();
        let parked = Parked {
            end: tokio::spawn(self.clone().end(state.clone())).abort_handle(),
            served,
            open,
            _permit: permit,
        };
        let asked = parked.asked(&state);
        calls.insert(state, parked);
        Ok(asked)
    }

    /// The call that a client comes back to. It goes on once all its questions are answered; until then, and
    /// whatever is wrong with the replies, it goes on waiting.
    pub(super) fn resume(&self, made: &Made, back: &Return) -> Result<Resumed, Refused> {
        let state = back.state()?;
        let mut calls = self.calls();
        let parked = calls.get_mut(state);
        let parked = parked.filter(|parked| parked.served.made == *made);
        let parked = parked.ok_or(Refused::Unknown)?;
        for (name, reply) in back.replies(&parked.open)? {
            if let Some(open) = parked.open.remove(&name) {
                open.end(Ok(reply));
            }
        }
        if !parked.open.is_empty() {
            return Ok(Resumed::Asked(Box::new(parked.asked(state))));
        }
        let parked = calls.remove(state).ok_or(Refused::Unknown)?;
        drop(calls);
        parked.end.abort();
        let mut served = parked.served;
        served.stops_when_dropped = false;
        Ok(Resumed::On(Box::new(served)))
    }

    /// Ends a call nobody came back to.
    async fn end(self: Arc<Self>, state: String) {
        let waited = tokio::time::sleep(PARKED_FOR);
        self.stopping.run_until_cancelled(waited).await;
        let ended = self.calls().remove(&state);
        drop(ended);
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<String, Parked>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Questions by the names that the server gave them, or by numbers.
fn named(open: Vec<Open>) -> BTreeMap<String, Open> {
    let mut named = BTreeMap::new();
    for (mut open, number) in open.into_iter().zip(1..) {
        let own = open.name.take().filter(|it| !named.contains_key(it));
        named.insert(own.unwrap_or_else(|| format!("question_{number}")), open);
    }
    named
}

/// A name nobody can guess.
fn new_state() -> Option<String> {
    let mut random = [0; STATE_BYTES];
    getrandom::fill(&mut random).ok()?;
    Some(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests;
