//! One call of an operation: its key, its trace, its progress, and what stops it.
//!
//! A notice that the request is cancelled stops the work, keyed or not; so does a closed response in the
//! version of the protocol without sessions, where that is the notice. A client that merely leaves stops
//! what holds no key; what holds one goes on to its record.

use std::pin::pin;
use std::sync::Arc;

use panpan_contract::Failure;
use panpan_runtime::{Answer, CallRequest, CancellationToken, IdempotencyKey, ReportProgress};
use rmcp::model::CallToolResult;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value};

use super::server::Server;
use super::tools::Entry;
use super::{answer, key, progress};
use crate::caller::Caller;
use crate::desk::{Desk, Surface};
use crate::meta::IN_META;

/// A call as a tool asks for it.
#[derive(Debug)]
pub(super) struct Asked {
    /// The name of the operation, which need not exist.
    pub(super) operation: String,
    pub(super) input: Value,
    /// The idempotency key, or what is wrong with it.
    pub(super) key: Result<Option<IdempotencyKey>, Failure>,
    pub(super) timeout_ms: Option<u64>,
}

/// How a call ended, and the key it had.
#[derive(Debug)]
pub(super) struct Performed {
    pub(super) answer: Answer,
    pub(super) key: Option<IdempotencyKey>,
}

/// Who asks, what they said beside, and what stops their calls.
#[derive(Debug)]
pub(super) struct Errand<'a> {
    desk: &'a Desk,
    caller: &'a Caller,
    meta: &'a Map<String, Value>,
    all: CancellationToken,
    without_key: CancellationToken,
}

impl<'a> Errand<'a> {
    pub(super) fn new(desk: &'a Desk, caller: &'a Caller, meta: &'a Map<String, Value>) -> Self {
        let all = CancellationToken::new();
        Self {
            desk,
            caller,
            meta,
            without_key: all.child_token(),
            all,
        }
    }

    /// What stops all of its calls, keyed or not.
    pub(super) fn stop(&self) -> &CancellationToken {
        &self.all
    }

    /// The call a tool stands for.
    pub(super) fn of_tool(&self, entry: &Entry, mut input: Value) -> Asked {
        let argument = entry.takes_key.then(|| key::taken_from(&mut input));
        Asked {
            operation: entry.operation.clone(),
            key: key::stated(self.meta, argument.flatten().as_ref()),
            input,
            timeout_ms: None,
        }
    }

    /// Makes one call; `entry` says more about the operation, if it exists.
    pub(super) async fn perform(
        &self,
        entry: Option<&Entry>,
        asked: Asked,
        progress: Option<Arc<dyn ReportProgress>>,
    ) -> Performed {
        let mut call = CallRequest {
            progress,
            ..CallRequest::from_wire(asked.operation, asked.input)
        };
        let told = IN_META.apply(self.meta, &mut call);
        call.timeout_ms = asked.timeout_ms.or(call.timeout_ms);
        let stated = match asked.key.and_then(|stated| told.map(|()| stated)) {
            Ok(stated) => stated,
            Err(failure) => {
                call.caller.clone_from(&self.caller.identity);
                let answer = self.desk.refuse(Surface::Mcp, call, failure);
                return Performed { answer, key: None };
            }
        };
        let changes = entry.is_some_and(|entry| entry.changes);
        let made = || changes.then(|| self.desk.dispatcher().new_key());
        let key = stated.or_else(made);
        let stop = match key {
            Some(_) => &self.all,
            None => &self.without_key,
        };
        call.abort = Some(stop.clone());
        call.key.clone_from(&key);
        let answer = self.desk.call(Surface::Mcp, self.caller, call).await;
        Performed { answer, key }
    }
}

impl Performed {
    /// The result of the tool that was called.
    pub(super) fn into_result(self, entry: Option<&Entry>) -> CallToolResult {
        answer::of(self.answer, self.key.as_ref(), entry)
    }
}

/// An errand in a request the library serves.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    pub(super) errand: Errand<'a>,
    pub(super) server: &'a Server,
    pub(super) context: &'a RequestContext<RoleServer>,
}

impl<'a> Turn<'a> {
    pub(super) fn new(server: &'a Server, context: &'a RequestContext<RoleServer>) -> Self {
        Self {
            errand: Errand::new(server.desk(), server.caller(context), &context.meta),
            server,
            context,
        }
    }

    pub(super) fn caller(&self) -> &'a Caller {
        self.errand.caller
    }

    /// Calls the operation of a tool.
    pub(super) async fn tool(
        &self,
        entry: &Entry,
        input: Value,
    ) -> Result<CallToolResult, ErrorData> {
        let asked = self.errand.of_tool(entry, input);
        self.one(Some(entry), asked).await
    }

    /// Makes one call; `entry` says more about the operation, if it exists.
    pub(super) async fn one(
        &self,
        entry: Option<&Entry>,
        asked: Asked,
    ) -> Result<CallToolResult, ErrorData> {
        let performed = match progress::asked_for(self.context) {
            None => {
                let work = pin!(self.errand.perform(entry, asked, None));
                self.until_stopped(work).await?
            }
            Some((teller, words)) => {
                let work = Box::pin(self.errand.perform(entry, asked, Some(teller)));
                let work = Box::pin(words.sent_during(work, self.context));
                self.until_stopped(work).await?
            }
        };
        Ok(performed.into_result(entry))
    }

    /// Does the work of the request, unless the client cancels it or leaves.
    pub(super) async fn until_stopped<T>(
        &self,
        work: impl Future<Output = T>,
    ) -> Result<T, ErrorData> {
        let (server, ended) = (self.server, &self.context.ct);
        let id = || self.context.id.clone();
        let entered = server
            .lasts()
            .then(|| server.running.enter(id(), self.errand.all.clone()));
        // Cancelled before there was anything to stop.
        if ended.is_cancelled() {
            return Err(cancelled());
        }
        let mut work = pin!(work);
        tokio::select! {
            biased;
            done = &mut work => return Ok(done),
            () = ended.cancelled() => {}
        }
        // Where notices come as messages, they have stopped everything already, or are about to.
        if server.lasts() || server.shared.shutdown.is_cancelled() {
            self.errand.without_key.cancel();
        } else {
            self.errand.all.cancel();
        }
        work.await;
        drop(entered);
        Err(cancelled())
    }
}

/// It is not sent.
fn cancelled() -> ErrorData {
    ErrorData::internal_error("the call was cancelled", None)
}
