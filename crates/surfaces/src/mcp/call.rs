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
use serde_json::Value;

use super::server::Server;
use super::tools::Entry;
use super::{answer, key, progress};
use crate::caller::Caller;
use crate::desk::Surface;
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

/// A request of a client and what stops its calls.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    pub(super) server: &'a Server,
    pub(super) context: &'a RequestContext<RoleServer>,
    all: CancellationToken,
    without_key: CancellationToken,
}

impl<'a> Turn<'a> {
    pub(super) fn new(server: &'a Server, context: &'a RequestContext<RoleServer>) -> Self {
        let all = CancellationToken::new();
        Self {
            server,
            context,
            without_key: all.child_token(),
            all,
        }
    }

    pub(super) fn caller(&self) -> &'a Caller {
        self.server.caller(self.context)
    }

    /// Calls the operation of a tool.
    pub(super) async fn tool(
        &self,
        entry: &Entry,
        mut input: Value,
    ) -> Result<CallToolResult, ErrorData> {
        let argument = entry.takes_key.then(|| key::taken_from(&mut input));
        let key = key::stated(&self.context.meta, argument.flatten().as_ref());
        let asked = Asked {
            operation: entry.operation.clone(),
            input,
            key,
            timeout_ms: None,
        };
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
                let work = pin!(self.perform(entry, asked, None));
                self.until_stopped(work).await?
            }
            Some((teller, words)) => {
                let work = Box::pin(self.perform(entry, asked, Some(teller)));
                let work = Box::pin(words.sent_during(work, self.context));
                self.until_stopped(work).await?
            }
        };
        let gives_blocks = entry.is_some_and(|entry| entry.gives_blocks);
        let Performed { answer, key } = performed;
        Ok(answer::of(answer, key.as_ref(), gives_blocks))
    }

    pub(super) async fn perform(
        &self,
        entry: Option<&Entry>,
        asked: Asked,
        progress: Option<Arc<dyn ReportProgress>>,
    ) -> Performed {
        let desk = self.server.desk();
        let mut call = CallRequest {
            progress,
            ..CallRequest::from_wire(asked.operation, asked.input)
        };
        let told = IN_META.apply(&self.context.meta, &mut call);
        call.timeout_ms = asked.timeout_ms.or(call.timeout_ms);
        let stated = match asked.key.and_then(|stated| told.map(|()| stated)) {
            Ok(stated) => stated,
            Err(failure) => {
                call.caller.clone_from(&self.caller().identity);
                let answer = desk.refuse(Surface::Mcp, call, failure);
                return Performed { answer, key: None };
            }
        };
        let changes = entry.is_some_and(|entry| entry.changes);
        let made = || changes.then(|| desk.dispatcher().new_key());
        let key = stated.or_else(made);
        let stop = match key {
            Some(_) => &self.all,
            None => &self.without_key,
        };
        call.abort = Some(stop.clone());
        call.key.clone_from(&key);
        let answer = desk.call(Surface::Mcp, self.caller(), call).await;
        Performed { answer, key }
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
            .then(|| server.running.enter(id(), self.all.clone()));
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
            self.without_key.cancel();
        } else {
            self.all.cancel();
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
