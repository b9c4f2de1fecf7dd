//! A call in a request the library serves: its progress, its questions, and how it is stopped.
//!
//! A notice that the request is cancelled stops the work, keyed or not; so does a closed response in the
//! version of the protocol without sessions, where that is the notice. A client that merely leaves stops
//! what holds no key; what holds one goes on to its record.

use std::pin::pin;
use std::sync::Arc;

use panpan_failure::Failure;
use panpan_runtime::{AskPerson, CallRequest};
use rmcp::model::{CallToolResponse, ProtocolVersion, ServerResult};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};

use super::answer::Wire;
use super::back::{Refused, Return};
use super::call::{Asked, Errand, Names};
use super::library;
use super::parked::Resumed;
use super::progress::{self, Words};
use super::questions::{Abilities, Questions, answerable};
use super::refusal::cancelled;
use super::served::{self, Answered, Client, Made, Served};
use super::server::Server;
use super::tools::Entry;
use crate::caller::Caller;

/// An errand in a request the library serves.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    pub(super) errand: Errand<'a>,
    pub(super) server: &'a Server,
    pub(super) context: &'a RequestContext<RoleServer>,
    /// Replies that came with it, and the call they belong to.
    back: Option<Return>,
}

impl<'a> Turn<'a> {
    pub(super) fn new(
        server: &'a Server,
        context: &'a RequestContext<RoleServer>,
        back: Option<Return>,
    ) -> Self {
        Self {
            errand: Errand::new(server.gateway(), server.caller(context), &context.meta),
            server,
            context,
            back,
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
    ) -> Result<CallToolResponse, ErrorData> {
        let asked = self.errand.of_tool(entry, input);
        self.one(Some(entry), asked).await
    }

    /// Makes one call; `entry` says more about the operation, if it exists.
    pub(super) async fn one(
        &self,
        entry: Option<&Entry>,
        asked: Asked,
    ) -> Result<CallToolResponse, ErrorData> {
        if let Some(back) = self.back.as_ref().filter(|it| it.names_call()) {
            let made = Made::of(self.caller(), &asked);
            let resumed = Box::pin(self.resumed(&made, back)).await;
            let reached = resumed.map_err(|refused| {
                let call = CallRequest::from_wire(asked.operation, asked.input);
                // What is no longer there may have been there when it was called.
                let changes = entry.is_none_or(|entry| entry.changes);
                self.not_resumed(call, refused.failure(changes))
            })?;
            return served::tool(reached?);
        }
        let client = self.context.client_capabilities();
        if let Some(client) = client.as_ref().and_then(Abilities::of) {
            let answered = Box::pin(self.served(asked, client)).await?;
            return served::tool(answered);
        }
        let performed = match progress::asked_for(self.server, self.context) {
            None => {
                let work = pin!(self.errand.perform(entry, asked, None, None));
                self.until_stopped(work).await?
            }
            Some(words) => {
                let teller = words.teller();
                let work = Box::pin(self.errand.perform(entry, asked, Some(teller), None));
                let work = Box::pin(words.sent_during(work, self.context));
                self.until_stopped(work).await?
            }
        };
        let catalogue = self.server.catalogue();
        let result = performed.into_result(entry, &catalogue, wire(self.context))?;
        Ok(result.into())
    }

    /// Makes a call whose caller can be asked.
    async fn served(&self, asked: Asked, client: Abilities) -> Answered {
        let words = progress::asked_for(self.server, self.context);
        let questions = self.questions(client).map_err(|refused| {
            let call = CallRequest::from_wire(asked.operation.clone(), asked.input.clone());
            self.not_resumed(call, refused.failure(false))
        })?;
        let served = Served::new(
            &self.server.shared,
            self.caller(),
            self.context.meta.0.0.clone(),
            asked,
            self.errand.stops.clone(),
            Client {
                questions,
                teller: words.as_ref().map(Words::teller),
                wire: wire(self.context),
            },
        );
        self.asking(words, served).await
    }

    /// The questions of a call that begins, with the replies that came with its request.
    fn questions(&self, client: Abilities) -> Result<Questions, Refused> {
        if !is_stateless(self.context) {
            return Ok(Questions::new(client));
        }
        let given = self.back.as_ref().map(Return::in_advance).transpose()?;
        Ok(Questions::by_answer(client, given.unwrap_or_default()))
    }

    async fn asking(&self, words: Option<Words>, served: Served) -> Answered {
        if is_stateless(self.context) {
            let work = served.until_asked(&self.server.shared.parked);
            self.telling(words, work).await?
        } else {
            let work = served.asking_through(&self.context.peer, &self.server.shared.stopping);
            self.telling(words, work).await?
        }
    }

    /// Gives a prompt or a resource, whose server may ask something before.
    pub(super) async fn given<F>(
        &self,
        made: Made,
        give: impl FnOnce(Option<Arc<dyn AskPerson>>) -> F,
    ) -> Answered
    where
        F: Future<Output = Answered> + Send + 'static,
    {
        let refused = |refused: Refused| library::refused(refused.failure(false));
        if let Some(back) = self.back.as_ref().filter(|it| it.names_call()) {
            return self.resumed(&made, back).await.map_err(refused)?;
        }
        let client = self.context.client_capabilities();
        let Some(client) = client.as_ref().and_then(Abilities::of) else {
            return self.until_stopped(Box::pin(give(None))).await?;
        };
        let questions = Arc::new(self.questions(client).map_err(refused)?);
        let work = Box::pin(give(Some(questions.clone())));
        let served = Served::over(work, questions, made, self.errand.stops.clone());
        self.asking(None, served).await
    }

    /// Refuses to come back to a tool whose calls never wait for replies.
    pub(super) fn refuse_return_to(&self, tool: &str, changes: bool) -> Result<(), ErrorData> {
        let back = self.back.as_ref().filter(|back| back.names_call());
        back.map_or(Ok(()), |back| {
            let call = CallRequest::from_wire(tool, json!({}));
            Err(self.not_resumed(call, back.in_vain().failure(changes)))
        })
    }

    /// Goes on with what waited for replies.
    async fn resumed(&self, made: &Made, back: &Return) -> Result<Answered, Refused> {
        let parked = &self.server.shared.parked;
        let resumed = match is_stateless(self.context) {
            true => parked.resume(made, back),
            false => Err(back.in_vain()),
        };
        let served = match resumed? {
            Resumed::On(served) => served,
            Resumed::Asked(asked) => return Ok(Ok(ServerResult::InputRequiredResult(*asked))),
        };
        let teller = served.teller.clone();
        let words = teller.map(|teller| Words::of(teller, self.context));
        let Errand {
            gateway,
            caller,
            meta,
            ..
        } = self.errand;
        let turn = Turn {
            errand: Errand::with(gateway, caller, meta, served.stops.clone()),
            back: None,
            ..*self
        };
        let reached = turn.telling(words, served.until_asked(parked)).await;
        Ok(reached.and_then(|reached| reached))
    }

    /// That there is no call to go on with is an error of the protocol, as the specification wants it:
    /// nothing was called.
    fn not_resumed(&self, call: CallRequest, failure: Failure) -> ErrorData {
        let refused = self
            .errand
            .refused(call, failure, Names::Operations)
            .answer
            .outcome
            .err();
        refused.as_ref().map_or_else(cancelled, library::error)
    }

    async fn telling<T>(
        &self,
        words: Option<Words>,
        work: impl Future<Output = T>,
    ) -> Result<T, ErrorData> {
        let work = Box::pin(work);
        match words {
            None => self.until_stopped(work).await,
            Some(words) => {
                let work = Box::pin(words.sent_during(work, self.context));
                self.until_stopped(work).await
            }
        }
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
            .then(|| server.running.enter(id(), self.errand.stops.all.clone()));
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
            self.errand.stops.without_key.cancel();
        } else {
            self.errand.stops.all.cancel();
        }
        work.await;
        drop(entered);
        Err(cancelled())
    }
}

fn wire(context: &RequestContext<RoleServer>) -> Wire {
    match is_stateless(context) {
        true => Wire::Stateless,
        false => {
            let client = context.client_capabilities();
            let kinds = client.as_ref().and_then(answerable);
            Wire::Sessions {
                visits: kinds.is_some_and(|kinds| kinds.visit),
            }
        }
    }
}

/// Whether a request belongs to no session.
pub(super) fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    version.is_some_and(|it| it.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}
