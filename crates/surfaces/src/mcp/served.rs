//! A request whose client can be asked while it is served: through the session it belongs to, or, where there are
//! no sessions, by an answer that says what is asked. Tools are called so, prompts and resources are given so.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, join_all, select};
use panpan_runtime::{BoxFuture, CancellationToken, IdempotencyKey, ReportProgress, Unasked};
use rmcp::model::{
    CallToolResponse, CancelledNotificationParam, GetPromptResponse, ReadResourceResponse,
    ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, ServiceError};
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value};

use super::answer::Wire;
use super::call::{Asked, Errand, Stops, made_key};
use super::parked::ParkedCalls;
use super::progress::Teller;
use super::questions::{First, Open, Questions, answered, request};
use super::refusal;
use super::server::Shared;
use crate::caller::{Caller, Principal};

/// What a request is answered with, a result or questions, or the error of the protocol that it is refused with.
pub(super) type Answered = Result<ServerResult, ErrorData>;

const ANOTHER_METHOD: &str = "this is the answer to another method";

/// As the answer to `tools/call`.
pub(super) fn tool(answered: ServerResult) -> Result<CallToolResponse, ErrorData> {
    match answered {
        ServerResult::CallToolResult(result) => Ok(result.into()),
        ServerResult::InputRequiredResult(asked) => Ok(asked.into()),
        _ => Err(refusal::internal(ANOTHER_METHOD)),
    }
}

/// As the answer to `prompts/get`.
pub(super) fn prompt(answered: ServerResult) -> Result<GetPromptResponse, ErrorData> {
    match answered {
        ServerResult::GetPromptResult(result) => Ok(result.into()),
        ServerResult::InputRequiredResult(asked) => Ok(asked.into()),
        _ => Err(refusal::internal(ANOTHER_METHOD)),
    }
}

/// As the answer to `resources/read`.
pub(super) fn resource(answered: ServerResult) -> Result<ReadResourceResponse, ErrorData> {
    match answered {
        ServerResult::ReadResourceResult(result) => Ok(result.into()),
        ServerResult::InputRequiredResult(asked) => Ok(asked.into()),
        _ => Err(refusal::internal(ANOTHER_METHOD)),
    }
}

/// How the client of a request is reached while it is served.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) questions: Questions,
    /// Where the work says how far it is and what it logs, if the client wants to know.
    pub(super) teller: Option<Arc<Teller>>,
    pub(super) wire: Wire,
}

/// A request that is being served, with everything it needs.
pub(super) struct Served {
    work: BoxFuture<'static, Answered>,
    questions: Arc<Questions>,
    pub(super) stops: Stops,
    /// Whether it is stopped, key or not, when nobody waits for it.
    pub(super) stops_when_dropped: bool,
    pub(super) made: Made,
    /// What its outcome is kept under, so that it can be asked for whatever becomes of the replies.
    pub(super) key: Option<IdempotencyKey>,
    /// Where it says how far it is and what it logs, if its first request wanted to know.
    pub(super) teller: Option<Arc<Teller>>,
}

/// What was asked for: a client that comes back has to ask for the same.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Made {
    pub(super) principal: Principal,
    /// The method, where it is not `tools/call`.
    pub(super) method: Option<&'static str>,
    /// The name of the operation or prompt, or the URI of the resource.
    pub(super) operation: String,
    pub(super) input: Arc<Value>,
}

impl Made {
    pub(super) fn of(caller: &Caller, asked: &Asked) -> Self {
        Self {
            principal: caller.principal.clone(),
            method: None,
            operation: asked.operation.clone(),
            input: asked.input.clone(),
        }
    }
}

impl Served {
    pub(super) fn new(
        shared: &Arc<Shared>,
        caller: &Caller,
        meta: Map<String, Value>,
        mut asked: Asked,
        stops: Stops,
        client: Client,
    ) -> Self {
        let Client {
            questions,
            teller,
            wire,
        } = client;
        let catalogue = shared.catalogue();
        let options = caller.header_options.as_ref();
        let in_headers = options.and_then(|options| options.key.clone());
        if let Ok(key @ None) = &mut asked.key {
            key.clone_from(&in_headers);
        }
        if let Ok(key @ None) = &mut asked.key {
            *key = made_key(&shared.gateway, catalogue.by_operation(&asked.operation));
            asked.key_is_made = key.is_some();
        }
        let key = asked.key.as_ref().ok().cloned().flatten();
        let made = Made::of(caller, &asked);
        let questions = Arc::new(questions);
        let progress = teller.clone().map(|it| it as Arc<dyn ReportProgress>);
        let (shared, caller) = (shared.clone(), caller.clone());
        let (with, person) = (stops.clone(), questions.clone());
        let work = async move {
            let entry = catalogue.by_operation(&asked.operation);
            let errand = Errand::with(&shared.gateway, &caller, &meta, with);
            let performed = errand.perform(entry, asked, progress, Some(person));
            let result = performed.await.into_result(entry, &catalogue, wire)?;
            Ok(ServerResult::CallToolResult(result))
        };
        let mut served = Self::over(Box::pin(work), questions, made, stops);
        served.key = key;
        served.teller = teller;
        served
    }

    pub(super) fn over(
        work: BoxFuture<'static, Answered>,
        questions: Arc<Questions>,
        made: Made,
        stops: Stops,
    ) -> Self {
        Self {
            work,
            questions,
            stops,
            stops_when_dropped: false,
            made,
            key: None,
            teller: None,
        }
    }

    /// Runs to its end, or until it asks something; it then waits among the parked for the client to come back
    /// with the reply.
    pub(super) async fn until_asked(mut self, parked: &Arc<ParkedCalls>) -> Answered {
        loop {
            match self.questions.during(&mut self.work).await {
                First::Done(result) => return self.ended(result),
                First::Asked(open) => match parked.park(self, open) {
                    Ok(asked) => return Ok(ServerResult::InputRequiredResult(asked)),
                    Err(unparked) => self = unparked.refused(),
                },
            }
        }
    }

    /// Runs to its end, and asks through the session meanwhile, but nobody any more at `stopping`.
    pub(super) async fn asking_through(
        mut self,
        peer: &Peer<RoleServer>,
        stopping: &CancellationToken,
    ) -> Answered {
        loop {
            let first = self.questions.during(&mut self.work);
            let open = match stopping.run_until_cancelled(first).await {
                Some(First::Done(result)) => return self.ended(result),
                Some(First::Asked(open)) => open,
                None => break,
            };
            let ended = CancellationToken::new();
            let put = |open| put(open, peer, stopping, &ended);
            let asking = pin!(join_all(open.into_iter().map(put)));
            if let Either::Left((result, asking)) = select(&mut self.work, asking).await {
                // What is still shown is taken back before the answer, behind which nobody may listen.
                ended.cancel();
                asking.await;
                return self.ended(result);
            }
        }
        self.questions.close(Unasked::Stopping);
        let result = (&mut self.work).await;
        self.ended(result)
    }

    fn ended(&mut self, result: Answered) -> Answered {
        self.stops_when_dropped = false;
        result
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.questions.close(Unasked::Gone);
        if self.stops_when_dropped {
            self.stops.all.cancel();
        }
    }
}

impl fmt::Debug for Served {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Served");
        shown.field("operation", &self.made.operation);
        shown.finish_non_exhaustive()
    }
}

/// Puts a question to a client, in the stream of the request that is being served. Called in the task of
/// that request, by which the library knows the stream.
async fn put(
    mut open: Open,
    peer: &Peer<RoleServer>,
    stopping: &CancellationToken,
    ended: &CancellationToken,
) {
    let Some(request) = request(open.asked.clone()) else {
        return open.end(Err(Unasked::Kind));
    };
    let options = PeerRequestOptions::no_options();
    let Ok(handle) = peer.send_request_with_option(request, options).await else {
        return open.end(Err(Unasked::Gone));
    };
    let id = handle.id.clone();
    let why = tokio::select! {
        response = handle.await_response() => return open.end(match response {
            Ok(result) => answered(result),
            Err(ServiceError::McpError(_)) => Err(Unasked::Nobody),
            Err(_) => Err(Unasked::Gone),
        }),
        () = open.given_up() => Unasked::Gone,
        () = ended.cancelled() => Unasked::Gone,
        () = stopping.cancelled() => Unasked::Stopping,
    };
    open.end(Err(why));
    let reason = Some("nobody waits for the reply any more".to_owned());
    let notice = CancelledNotificationParam::new(Some(id), reason);
    // A client that has left shows nothing any more.
    let _ = peer.notify_cancelled(notice).await;
}
