//! A call whose caller can be asked while it runs: through the session its request belongs to, or, where there
//! are no sessions, by an answer that says what is asked.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, join_all, select};
use panpan_runtime::{
    Answerable, BoxFuture, CancellationToken, IdempotencyKey, ReportProgress, Unasked,
};
use rmcp::RoleServer;
use rmcp::model::{CallToolResponse, CallToolResult, CancelledNotificationParam};
use rmcp::service::{Peer, PeerRequestOptions, ServiceError};
use serde_json::{Map, Value};

use super::call::{Asked, Errand, Stops, made_key};
use super::parked::ParkedCalls;
use super::progress::Teller;
use super::questions::{First, Open, Questions, answered, request};
use super::server::Shared;
use crate::caller::{Caller, Principal};

/// A call that is running, with everything it needs.
pub(super) struct Served {
    work: BoxFuture<'static, CallToolResult>,
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

/// What a call is: whoever comes back to it has to say the same.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Made {
    pub(super) principal: Principal,
    pub(super) operation: String,
    pub(super) input: Arc<Value>,
}

impl Made {
    pub(super) fn of(caller: &Caller, asked: &Asked) -> Self {
        Self {
            principal: caller.principal.clone(),
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
        kinds: Answerable,
        teller: Option<Arc<Teller>>,
    ) -> Self {
        let catalogue = shared.catalogue();
        let in_headers = caller.terms.as_ref().and_then(|terms| terms.key.clone());
        if let Ok(key @ None) = &mut asked.key {
            key.clone_from(&in_headers);
        }
        if let Ok(key @ None) = &mut asked.key {
            *key = made_key(&shared.desk, catalogue.by_operation(&asked.operation));
            asked.key_is_made = key.is_some();
        }
        let key = asked.key.as_ref().ok().cloned().flatten();
        let made = Made::of(caller, &asked);
        let questions = Arc::new(Questions::new(kinds));
        let progress = teller.clone().map(|it| it as Arc<dyn ReportProgress>);
        let (shared, caller) = (shared.clone(), caller.clone());
        let (with, person) = (stops.clone(), questions.clone());
        let work = async move {
            let entry = catalogue.by_operation(&asked.operation);
            let errand = Errand::with(&shared.desk, &caller, &meta, with);
            let performed = errand.perform(entry, asked, progress, Some(person));
            performed.await.into_result(entry, &catalogue)
        };
        let mut served = Self::over(Box::pin(work), questions, made, stops);
        served.key = key;
        served.teller = teller;
        served
    }

    pub(super) fn over(
        work: BoxFuture<'static, CallToolResult>,
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

    /// Runs to its end, or until it asks something; it then waits among the parked for whoever comes back
    /// with the reply.
    pub(super) async fn until_asked(mut self, parked: &Arc<ParkedCalls>) -> CallToolResponse {
        loop {
            match self.questions.during(&mut self.work).await {
                First::Done(result) => return self.ended(result),
                First::Asked(open) => match parked.park(self, open) {
                    Ok(asked) => return asked.into(),
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
    ) -> CallToolResponse {
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

    fn ended(&mut self, result: CallToolResult) -> CallToolResponse {
        self.stops_when_dropped = false;
        result.into()
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
