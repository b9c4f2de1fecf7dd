//! Calls that wait for input, in the stateless version of the protocol: their request was answered
//! with an `InputRequiredResult`, and a repeated request with the responses resumes them.
//!
//! A call can be resumed once, by its own caller with the same arguments, within a time limit. A
//! call that is not resumed is cancelled, with or without a key.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use panpan_runtime::{AskError, CancellationToken};
use rmcp::model::{InputRequests, InputRequiredResult};
use tokio::task::AbortHandle;

use super::input_requests::OpenInput;
use super::interactive::{InteractiveRequest, RequestIdentity};
use super::resume::{NotResumed, ResumeInput};
use super::tool_result;
use crate::limits::{ConcurrencyLimit, Permit};

/// The limit of parked calls. Each of them counts as a call in flight.
pub const PARKED_LIMIT: usize = 256;

/// The limit of parked calls per caller.
pub const PARKED_PER_CALLER_LIMIT: usize = 32;

/// How long a call stays parked.
pub const PARKED_FOR: Duration = Duration::from_secs(5 * 60);

/// The number of random bytes in a `requestState`.
const STATE_BYTES: usize = 32;

/// All parked calls.
#[derive(Debug)]
pub(super) struct ParkedCalls {
    room: ConcurrencyLimit,
    calls: Mutex<HashMap<String, Parked>>,
    stopping: CancellationToken,
}

#[derive(Debug)]
struct Parked {
    request: InteractiveRequest,
    /// Its open input requests, by name.
    open: BTreeMap<String, OpenInput>,
    expiry: AbortHandle,
    _permit: Permit,
}

/// The result of resuming a call.
#[derive(Debug)]
pub(super) enum Resumed {
    /// All input requests have a response: the call continues.
    Running(Box<InteractiveRequest>),
    /// Some input requests still have no response: the call stays parked.
    StillParked(Box<InputRequiredResult>),
}

/// A call that cannot be parked because the limit has been reached.
#[derive(Debug)]
pub(super) struct ParkRefused {
    request: InteractiveRequest,
    open: Vec<OpenInput>,
}

impl Parked {
    /// The response to its request: the input requests that have no response yet.
    fn input_required(&self, state: &str) -> InputRequiredResult {
        let open = self.open.iter();
        let requests: InputRequests = open
            .map(|(name, open)| (name.clone(), open.request.clone()))
            .collect();
        let mut required = InputRequiredResult::new(Some(requests), Some(state.to_owned()));
        required.meta = self.request.key.as_ref().map(tool_result::pending_key);
        required
    }
}

impl ParkRefused {
    /// The call, which continues without input.
    pub(super) fn without_input(self) -> InteractiveRequest {
        for open in self.open {
            open.end(Err(AskError::TooManyOpen));
        }
        self.request
    }
}

impl ParkedCalls {
    pub(super) fn new(stopping: CancellationToken) -> Arc<Self> {
        Arc::new(Self {
            room: ConcurrencyLimit::new("parked calls", PARKED_LIMIT, PARKED_PER_CALLER_LIMIT),
            calls: Mutex::default(),
            stopping,
        })
    }

    /// Parks a call; the result is the response to its request.
    pub(super) fn park(
        self: &Arc<Self>,
        mut request: InteractiveRequest,
        open: Vec<OpenInput>,
    ) -> Result<InputRequiredResult, Box<ParkRefused>> {
        let permit = self.room.acquire(&request.identity.principal);
        let (Ok(permit), Some(state)) = (permit, new_state()) else {
            return Err(Box::new(ParkRefused { request, open }));
        };
        let open = named(open);
        request.cancels_on_drop = true;
        // Locked until the call is stored, so that its expiry cannot come first.
        let mut calls = self.calls();
        let parked = Parked {
            expiry: tokio::spawn(self.clone().expire(state.clone())).abort_handle(),
            request,
            open,
            _permit: permit,
        };
        let required = parked.input_required(&state);
        calls.insert(state, parked);
        Ok(required)
    }

    /// The call that a request resumes. It continues once all input requests have a response; until
    /// then, and after an invalid response, it stays parked.
    pub(super) fn resume(
        &self,
        identity: &RequestIdentity,
        input: &ResumeInput,
    ) -> Result<Resumed, NotResumed> {
        let state = input.state()?;
        let mut calls = self.calls();
        let parked = calls.get_mut(state);
        let parked = parked.filter(|parked| parked.request.identity == *identity);
        let parked = parked.ok_or(NotResumed::UnknownState)?;
        for (name, reply) in input.replies(&parked.open)? {
            if let Some(open) = parked.open.remove(&name) {
                open.end(Ok(reply));
            }
        }
        if !parked.open.is_empty() {
            return Ok(Resumed::StillParked(Box::new(parked.input_required(state))));
        }
        let parked = calls.remove(state).ok_or(NotResumed::UnknownState)?;
        drop(calls);
        parked.expiry.abort();
        let mut request = parked.request;
        request.cancels_on_drop = false;
        Ok(Resumed::Running(Box::new(request)))
    }

    /// Cancels a call that was not resumed in time.
    async fn expire(self: Arc<Self>, state: String) {
        let waited = tokio::time::sleep(PARKED_FOR);
        self.stopping.run_until_cancelled(waited).await;
        let expired = self.calls().remove(&state);
        drop(expired);
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<String, Parked>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The input requests under the names that the upstream server gave them, or numbered.
fn named(open: Vec<OpenInput>) -> BTreeMap<String, OpenInput> {
    let mut named = BTreeMap::new();
    for (mut open, number) in open.into_iter().zip(1..) {
        let own = open.name.take().filter(|it| !named.contains_key(it));
        named.insert(own.unwrap_or_else(|| format!("question_{number}")), open);
    }
    named
}

/// An unguessable name.
fn new_state() -> Option<String> {
    let mut random = [0; STATE_BYTES];
    getrandom::fill(&mut random).ok()?;
    Some(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests;
