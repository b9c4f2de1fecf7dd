//! A request that rmcp serves: its progress, its input requests and its cancellation.
//!
//! A cancellation notification stops the work, with or without a key. In the stateless version a
//! closed response is the cancellation. A client that only disconnects stops calls without a key; a
//! call with a key runs on until its outcome is recorded.

use std::pin::pin;
use std::sync::Arc;

use panpan_failure::Failure;
use panpan_mcp::STATELESS;
use panpan_mcp::input::{UsableCapabilities, supported_kinds};
use panpan_runtime::{AskClient, CallRequest, ReportProgress};
use rmcp::model::{CallToolResponse, ServerResult};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};

use super::call::{CancelTokens, DecodedCall, NamedBy, RequestScope};
use super::features;
use super::input_requests::InputQueue;
use super::interactive::{
    self, ClientChannel, InteractiveRequest, RequestIdentity, ServerResponse,
};
use super::parked::Resumed;
use super::progress::{self, NotificationSender};
use super::resume::{NotResumed, ResumeInput};
use super::rpc_error::cancelled;
use super::server::Server;
use super::tool_index::Entry;
use super::tool_result::WireVersion;
use crate::caller::Caller;

/// A request that rmcp serves.
#[derive(Debug)]
pub(super) struct ActiveRequest<'a> {
    pub(super) scope: RequestScope<'a>,
    pub(super) server: &'a Server,
    pub(super) context: &'a RequestContext<RoleServer>,
    /// The `requestState` and `inputResponses` of the request.
    pub(super) resume: Option<ResumeInput>,
}

impl<'a> ActiveRequest<'a> {
    pub(super) fn new(
        server: &'a Server,
        context: &'a RequestContext<RoleServer>,
        resume: Option<ResumeInput>,
    ) -> Self {
        Self {
            scope: RequestScope {
                gateway: server.gateway(),
                caller: server.caller(context),
                meta: &context.meta,
                cancel: CancelTokens::new(),
            },
            server,
            context,
            resume,
        }
    }

    pub(super) fn caller(&self) -> &'a Caller {
        self.scope.caller
    }

    /// Calls the operation of a tool.
    pub(super) async fn tool(
        &self,
        entry: &Entry,
        input: Value,
    ) -> Result<CallToolResponse, ErrorData> {
        let call = self.scope.decode(entry, input);
        self.call(Some(entry), call).await
    }

    /// Makes one call; `entry` describes the operation, if it exists.
    pub(super) async fn call(
        &self,
        entry: Option<&Entry>,
        decoded: DecodedCall,
    ) -> Result<CallToolResponse, ErrorData> {
        if let Some(input) = self.resume.as_ref().filter(|it| it.resumes_call()) {
            let identity = RequestIdentity::of(self.caller(), &decoded);
            let resumed = Box::pin(self.resume_parked(&identity, input)).await;
            let response = resumed.map_err(|refused| {
                let call = CallRequest::from_wire(decoded.operation, decoded.input);
                // An operation that no longer exists may have existed when the call began.
                let changes = entry.is_none_or(|entry| entry.changes);
                self.resume_error(call, refused.failure(changes))
            })?;
            return interactive::tool(response?);
        }
        let client = self.context.client_capabilities();
        if let Some(client) = client.as_ref().and_then(UsableCapabilities::of) {
            let response = Box::pin(self.interactive(decoded, client)).await?;
            return interactive::tool(response);
        }
        let sender = progress::requested(self.server, self.context);
        let reporter = sender
            .as_ref()
            .map(|it| it.reporter() as Arc<dyn ReportProgress>);
        let work = self.scope.perform(entry, decoded, reporter, None);
        let finished = self.run_work(sender, work).await?;
        let index = self.server.tool_index();
        let result = finished.into_result(entry, &index, wire_version(self.context))?;
        Ok(result.into())
    }

    /// Makes a call whose client can be asked for input.
    async fn interactive(
        &self,
        decoded: DecodedCall,
        client: UsableCapabilities,
    ) -> ServerResponse {
        let sender = progress::requested(self.server, self.context);
        let input = self.input_queue(client).map_err(|refused| {
            let call = CallRequest::from_wire(decoded.operation.clone(), decoded.input.clone());
            self.resume_error(call, refused.failure(false))
        })?;
        let request = InteractiveRequest::new(
            &self.server.shared,
            self.caller(),
            self.context.meta.0.0.clone(),
            decoded,
            self.scope.cancel.clone(),
            ClientChannel {
                input,
                reporter: sender.as_ref().map(NotificationSender::reporter),
                version: wire_version(self.context),
            },
        );
        self.run(sender, request).await
    }

    /// The input requests of a new call, with the responses that its request already carries.
    fn input_queue(&self, client: UsableCapabilities) -> Result<InputQueue, NotResumed> {
        if !is_stateless(self.context) {
            return Ok(InputQueue::new(client));
        }
        let input = self.resume.as_ref();
        let responses = input.map(ResumeInput::for_new_call).transpose()?;
        Ok(InputQueue::stateless(client, responses.unwrap_or_default()))
    }

    async fn run(
        &self,
        sender: Option<NotificationSender>,
        request: InteractiveRequest,
    ) -> ServerResponse {
        if is_stateless(self.context) {
            let work = request.run_until_input(&self.server.shared.parked);
            self.run_work(sender, work).await?
        } else {
            let work = request.run_in_session(&self.context.peer, &self.server.shared.stopping);
            self.run_work(sender, work).await?
        }
    }

    /// Serves `prompts/get` or `resources/read`; the upstream server may request input first.
    pub(super) async fn feature<F>(
        &self,
        identity: RequestIdentity,
        fetch: impl FnOnce(Option<Arc<dyn AskClient>>) -> F,
    ) -> ServerResponse
    where
        F: Future<Output = ServerResponse> + Send + 'static,
    {
        let refused = |refused: NotResumed| features::failure_error(refused.failure(false));
        if let Some(input) = self.resume.as_ref().filter(|it| it.resumes_call()) {
            return self
                .resume_parked(&identity, input)
                .await
                .map_err(refused)?;
        }
        let client = self.context.client_capabilities();
        let Some(client) = client.as_ref().and_then(UsableCapabilities::of) else {
            return self.until_cancelled(Box::pin(fetch(None))).await?;
        };
        let input = Arc::new(self.input_queue(client).map_err(refused)?);
        let work = Box::pin(fetch(Some(input.clone())));
        let request =
            InteractiveRequest::from_work(work, input, identity, self.scope.cancel.clone());
        self.run(None, request).await
    }

    /// Refuses a `requestState` for a tool whose calls are never parked.
    pub(super) fn refuse_resume_of(&self, tool: &str, changes: bool) -> Result<(), ErrorData> {
        let input = self.resume.as_ref().filter(|it| it.resumes_call());
        input.map_or(Ok(()), |input| {
            let call = CallRequest::from_wire(tool, json!({}));
            Err(self.resume_error(call, input.never_parked().failure(changes)))
        })
    }

    /// Resumes a parked call.
    async fn resume_parked(
        &self,
        identity: &RequestIdentity,
        input: &ResumeInput,
    ) -> Result<ServerResponse, NotResumed> {
        let parked = &self.server.shared.parked;
        let resumed = match is_stateless(self.context) {
            true => parked.resume(identity, input),
            false => Err(input.never_parked()),
        };
        let request = match resumed? {
            Resumed::Running(request) => request,
            Resumed::StillParked(required) => {
                return Ok(Ok(ServerResult::InputRequiredResult(*required)));
            }
        };
        let reporter = request.reporter.clone();
        let sender = reporter.map(|it| NotificationSender::new(it, self.context));
        let resuming = ActiveRequest {
            scope: RequestScope {
                cancel: request.cancel.clone(),
                ..self.scope
            },
            resume: None,
            ..*self
        };
        let work = request.run_until_input(parked);
        let response = resuming.run_work(sender, work).await;
        Ok(response.and_then(|response| response))
    }

    /// An unknown `requestState` is a JSON-RPC error, as the specification requires: nothing was
    /// called.
    pub(super) fn resume_error(&self, call: CallRequest, failure: Failure) -> ErrorData {
        let refused = self
            .scope
            .refused(call, failure, NamedBy::Operation)
            .answer
            .outcome
            .err();
        refused
            .as_ref()
            .map_or_else(cancelled, features::error_response)
    }

    async fn run_work<T>(
        &self,
        sender: Option<NotificationSender>,
        work: impl Future<Output = T>,
    ) -> Result<T, ErrorData> {
        let work = Box::pin(work);
        match sender {
            None => self.until_cancelled(work).await,
            Some(sender) => {
                let work = Box::pin(sender.run_sending(work, self.context));
                self.until_cancelled(work).await
            }
        }
    }

    /// Runs the work of the request until it ends, the client cancels it or disconnects.
    pub(super) async fn until_cancelled<T>(
        &self,
        work: impl Future<Output = T>,
    ) -> Result<T, ErrorData> {
        let (server, ended) = (self.server, &self.context.ct);
        let id = || self.context.id.clone();
        let in_flight = server
            .is_persistent()
            .then(|| server.in_flight.insert(id(), self.scope.cancel.all.clone()));
        // Cancelled before anything started.
        if ended.is_cancelled() {
            return Err(cancelled());
        }
        let mut work = pin!(work);
        tokio::select! {
            biased;
            done = &mut work => return Ok(done),
            () = ended.cancelled() => {}
        }
        // With notifications, the cancellation has arrived already or is about to.
        if server.is_persistent() || server.shared.shutdown.is_cancelled() {
            self.scope.cancel.without_key.cancel();
        } else {
            self.scope.cancel.all.cancel();
        }
        work.await;
        drop(in_flight);
        Err(cancelled())
    }
}

pub(super) fn wire_version(context: &RequestContext<RoleServer>) -> WireVersion {
    match is_stateless(context) {
        true => WireVersion::Stateless,
        false => {
            let client = context.client_capabilities();
            WireVersion::WithSessions {
                url_elicitation: client.is_some_and(|it| supported_kinds(&it).url),
            }
        }
    }
}

/// Whether a request uses the stateless version of the protocol.
pub(super) fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    version.is_some_and(|it| it.as_str() >= STATELESS.as_str())
}
