//! A request during which the client can be asked for input (elicitation, sampling, roots): through
//! its session or, in the stateless version, by an `InputRequiredResult`.
//!
//! Used for `tools/call`, `prompts/get` and `resources/read`.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, join_all, select};
use panpan_mcp::input::in_session;
use panpan_runtime::{AskError, BoxFuture, CancellationToken, IdempotencyKey, ReportProgress};
use rmcp::model::{
    CallToolResponse, CancelledNotificationParam, GetPromptResponse, ReadResourceResponse,
    ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions};
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value};

use super::call::{CancelTokens, DecodedCall, RequestScope, generated_key};
use super::input_requests::{Event, InputQueue, OpenInput, reply_in};
use super::parked::ParkedCalls;
use super::progress::Reporter;
use super::rpc_error;
use super::server::Shared;
use super::tool_result::WireVersion;
use crate::caller::{Caller, Principal};

/// The response to a request: a result, an `InputRequiredResult` or a JSON-RPC error.
pub(super) type ServerResponse = Result<ServerResult, ErrorData>;

const OTHER_METHOD: &str = "the response does not belong to this method";

/// The response as one to `tools/call`.
pub(super) fn tool(response: ServerResult) -> Result<CallToolResponse, ErrorData> {
    match response {
        ServerResult::CallToolResult(result) => Ok(result.into()),
        ServerResult::InputRequiredResult(required) => Ok(required.into()),
        _ => Err(rpc_error::internal(OTHER_METHOD)),
    }
}

/// The response as one to `prompts/get`.
pub(super) fn prompt(response: ServerResult) -> Result<GetPromptResponse, ErrorData> {
    match response {
        ServerResult::GetPromptResult(result) => Ok(result.into()),
        ServerResult::InputRequiredResult(required) => Ok(required.into()),
        _ => Err(rpc_error::internal(OTHER_METHOD)),
    }
}

/// The response as one to `resources/read`.
pub(super) fn resource(response: ServerResult) -> Result<ReadResourceResponse, ErrorData> {
    match response {
        ServerResult::ReadResourceResult(result) => Ok(result.into()),
        ServerResult::InputRequiredResult(required) => Ok(required.into()),
        _ => Err(rpc_error::internal(OTHER_METHOD)),
    }
}

/// How the client of a request is reached while the request runs.
#[derive(Debug)]
pub(super) struct ClientChannel {
    pub(super) input: InputQueue,
    /// Takes progress and log messages, if the client asked for them.
    pub(super) reporter: Option<Arc<Reporter>>,
    pub(super) version: WireVersion,
}

/// A running request whose client can be asked for input.
pub(super) struct InteractiveRequest {
    work: BoxFuture<'static, ServerResponse>,
    input: Arc<InputQueue>,
    pub(super) cancel: CancelTokens,
    /// Whether dropping the request cancels its work, also that of a call with a key.
    pub(super) cancels_on_drop: bool,
    pub(super) identity: RequestIdentity,
    /// The idempotency key of the call; with it the client can fetch the outcome if it loses the
    /// response.
    pub(super) key: Option<IdempotencyKey>,
    /// Takes progress and log messages, if the first request asked for them.
    pub(super) reporter: Option<Arc<Reporter>>,
}

/// What was requested. A request that resumes a parked call has to match it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RequestIdentity {
    pub(super) principal: Principal,
    /// The method, unless it is `tools/call`.
    pub(super) method: Option<&'static str>,
    /// The name of the operation or prompt, or the URI of the resource.
    pub(super) target: String,
    pub(super) input: Arc<Value>,
}

impl RequestIdentity {
    pub(super) fn of(caller: &Caller, call: &DecodedCall) -> Self {
        Self {
            principal: caller.principal.clone(),
            method: None,
            target: call.operation.clone(),
            input: call.input.clone(),
        }
    }
}

impl InteractiveRequest {
    pub(super) fn new(
        shared: &Arc<Shared>,
        caller: &Caller,
        meta: Map<String, Value>,
        mut call: DecodedCall,
        cancel: CancelTokens,
        client: ClientChannel,
    ) -> Self {
        let ClientChannel {
            input,
            reporter,
            version,
        } = client;
        let index = shared.tool_index();
        let key_in_headers = caller
            .header_options
            .as_ref()
            .and_then(|terms| terms.key.clone());
        if let Ok(key @ None) = &mut call.key {
            key.clone_from(&key_in_headers);
        }
        if let Ok(key @ None) = &mut call.key {
            *key = generated_key(&shared.gateway, index.by_operation(&call.operation));
            call.key_is_generated = key.is_some();
        }
        let key = call.key.as_ref().ok().cloned().flatten();
        let identity = RequestIdentity::of(caller, &call);
        let input = Arc::new(input);
        let progress = reporter.clone().map(|it| it as Arc<dyn ReportProgress>);
        let (shared, caller) = (shared.clone(), caller.clone());
        let (tokens, asks) = (cancel.clone(), input.clone());
        let work = async move {
            let entry = index.by_operation(&call.operation);
            let scope = RequestScope {
                gateway: &shared.gateway,
                caller: &caller,
                meta: &meta,
                cancel: tokens,
            };
            let finished = scope.perform(entry, call, progress, Some(asks));
            let result = finished.await.into_result(entry, &index, version)?;
            Ok(ServerResult::CallToolResult(result))
        };
        let mut request = Self::from_work(Box::pin(work), input, identity, cancel);
        request.key = key;
        request.reporter = reporter;
        request
    }

    pub(super) fn from_work(
        work: BoxFuture<'static, ServerResponse>,
        input: Arc<InputQueue>,
        identity: RequestIdentity,
        cancel: CancelTokens,
    ) -> Self {
        Self {
            work,
            input,
            cancel,
            cancels_on_drop: false,
            identity,
            key: None,
            reporter: None,
        }
    }

    /// Runs to the end, or until it needs input: then it is parked until the client sends the
    /// responses.
    pub(super) async fn run_until_input(mut self, parked: &Arc<ParkedCalls>) -> ServerResponse {
        loop {
            match self.input.during(&mut self.work).await {
                Event::Finished(response) => return self.finished(response),
                Event::InputRequired(open) => match parked.park(self, open) {
                    Ok(required) => return Ok(ServerResult::InputRequiredResult(required)),
                    Err(refused) => self = refused.without_input(),
                },
            }
        }
    }

    /// Runs to the end and sends input requests through the session meanwhile, but none after
    /// `stopping`.
    pub(super) async fn run_in_session(
        mut self,
        peer: &Peer<RoleServer>,
        stopping: &CancellationToken,
    ) -> ServerResponse {
        loop {
            let event = self.input.during(&mut self.work);
            let open = match stopping.run_until_cancelled(event).await {
                Some(Event::Finished(response)) => return self.finished(response),
                Some(Event::InputRequired(open)) => open,
                None => break,
            };
            let ended = CancellationToken::new();
            let send = |open| send_input_request(open, peer, stopping, &ended);
            let requests = pin!(join_all(open.into_iter().map(send)));
            if let Either::Left((response, requests)) = select(&mut self.work, requests).await {
                // Cancelled before the response is sent: the client may stop listening after that.
                ended.cancel();
                requests.await;
                return self.finished(response);
            }
        }
        self.input.close(AskError::Stopping);
        let response = (&mut self.work).await;
        self.finished(response)
    }

    fn finished(&mut self, response: ServerResponse) -> ServerResponse {
        self.cancels_on_drop = false;
        response
    }
}

impl Drop for InteractiveRequest {
    fn drop(&mut self) {
        self.input.close(AskError::CallerLeft);
        if self.cancels_on_drop {
            self.cancel.all.cancel();
        }
    }
}

impl fmt::Debug for InteractiveRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("InteractiveRequest");
        shown.field("target", &self.identity.target);
        shown.finish_non_exhaustive()
    }
}

/// Sends an input request to the client, in the stream of the request that is being served. Must
/// run in the task of that request, which is how rmcp finds the stream.
async fn send_input_request(
    mut open: OpenInput,
    peer: &Peer<RoleServer>,
    stopping: &CancellationToken,
    ended: &CancellationToken,
) {
    let Some(request) = in_session(open.request.clone()) else {
        return open.end(Err(AskError::UnsupportedKind));
    };
    let options = PeerRequestOptions::no_options();
    let Ok(handle) = peer.send_request_with_option(request, options).await else {
        return open.end(Err(AskError::CallerLeft));
    };
    let id = handle.id.clone();
    let reason = tokio::select! {
        response = handle.await_response() => return open.end(reply_in(response)),
        () = open.abandoned() => AskError::CallerLeft,
        () = ended.cancelled() => AskError::CallerLeft,
        () = stopping.cancelled() => AskError::Stopping,
    };
    open.end(Err(reason));
    let reason = Some("the reply is no longer needed".to_owned());
    let notification = CancelledNotificationParam::new(Some(id), reason);
    // A client that has disconnected needs no cancellation.
    let _ = peer.notify_cancelled(notification).await;
}
