//! Handles what a server sends on one connection: notifications, progress and input requests.
//!
//! Progress is observed where messages are read, in order: rmcp would deliver it concurrently with
//! the response that follows it. How input requests reach a client is in `input_requests`.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use panpan_mcp::input::{client_capabilities, to_question, to_result};
use panpan_mcp::library::Changes;
use panpan_mcp::notifications::to_service;
use panpan_runtime::{
    AskError, Context, Progress, QuestionKind, QuestionKinds, ServiceNotification,
};
use rmcp::model::{
    ClientConfig, CreateMessageRequest, CreateMessageRequestParams, CreateMessageResult,
    ElicitRequest, ElicitRequestParams, ElicitResult, Implementation, InputRequest,
    ListRootsRequest, ListRootsResult, ProgressNotificationParam, ProgressToken, RequestId,
    ServerJsonRpcMessage, ServerNotification,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, ErrorData, RoleClient};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::in_flight::{InFlight, Unrouted};
use super::input_requests::InteractiveRequest;
use super::listeners::ConnectionListeners;

/// The handler of one connection.
#[derive(Clone, Debug)]
pub(super) struct ConnectionHandler {
    /// Changes of the lists that the clients of the connection see.
    pub(super) changes: watch::Sender<Changes>,
    /// Changes of the tools, which are the same on all connections to the server.
    pub(super) tools: watch::Sender<Changes>,
    calls: Arc<Mutex<Calls>>,
    /// Cancelled when the connection is closed.
    pub(super) closed: CancellationToken,
    /// Whether the server gave the connection a session.
    in_session: Arc<AtomicBool>,
    pub(super) in_flight: InFlight,
    /// The clients that receive notifications outside of calls.
    pub(super) listeners: ConnectionListeners,
}

/// The number of progress notifications that are kept for calls that have not registered yet. A
/// server may report before the call registers its token.
const EARLY_PROGRESS_LIMIT: usize = 32;

#[derive(Debug, Default)]
struct Calls {
    by_token: HashMap<ProgressToken, Context>,
    early: VecDeque<ProgressNotificationParam>,
}

/// Delivers progress to a call until this is dropped.
#[derive(Debug)]
pub(super) struct ProgressGuard<'a> {
    handler: &'a ConnectionHandler,
    token: ProgressToken,
}

impl ConnectionHandler {
    pub(super) fn new(changes: watch::Sender<Changes>, listeners: ConnectionListeners) -> Self {
        Self {
            tools: changes.clone(),
            changes,
            listeners,
            calls: Arc::default(),
            closed: CancellationToken::new(),
            in_session: Arc::default(),
            in_flight: InFlight::default(),
        }
    }

    /// The handler of another connection, with its own requests.
    pub(super) fn for_new_connection(&self) -> Self {
        Self {
            tools: self.tools.clone(),
            ..Self::new(self.changes.clone(), self.listeners.clone())
        }
    }

    /// Notes that the server gave the connection a session.
    pub(super) fn mark_session(&self) {
        self.in_session.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_in_session(&self) -> bool {
        self.in_session.load(Ordering::Relaxed)
    }

    pub(super) fn track_progress(
        &self,
        token: ProgressToken,
        context: Context,
    ) -> ProgressGuard<'_> {
        let mut calls = self.calls();
        let early = std::mem::take(&mut calls.early);
        let (ours, others) = early.into_iter().partition(|it| it.progress_token == token);
        calls.early = others;
        calls.by_token.insert(token.clone(), context.clone());
        drop(calls);
        let ours: VecDeque<_> = ours;
        for progress in ours.into_iter().rev() {
            report(&context, progress);
        }
        ProgressGuard {
            handler: self,
            token,
        }
    }

    /// Passes a notification on to its call or to the connected clients. `origin` is the request in
    /// whose stream it came.
    pub(super) fn observe(&self, message: &ServerJsonRpcMessage, origin: Option<&RequestId>) {
        let ServerJsonRpcMessage::Notification(notification) = message else {
            return;
        };
        let notification = &notification.notification;
        if let ServerNotification::ProgressNotification(it) = notification {
            self.record_progress(it.params.clone());
        }
        match to_service(notification) {
            Some(ServiceNotification::Log(message)) => {
                let request = self.in_flight.request_of_log(origin);
                match request.as_ref().and_then(InteractiveRequest::context) {
                    Some(context) => {
                        context.reset_timeout();
                        context.log(message);
                    }
                    None => self.listeners.notify(ServiceNotification::Log(message)),
                }
            }
            Some(other) => self.listeners.notify(other),
            None => {}
        }
    }

    fn record_progress(&self, progress: ProgressNotificationParam) {
        let mut calls = self.calls();
        let context = calls.by_token.get(&progress.progress_token).cloned();
        match context {
            Some(context) => {
                drop(calls);
                report(&context, progress);
            }
            None => {
                calls.early.truncate(EARLY_PROGRESS_LIMIT - 1);
                calls.early.push_front(progress);
            }
        }
    }

    /// Runs work until the connection is closed. rmcp would wait seconds for replies to the input
    /// requests of a server that is gone, and block everything else that waits for it.
    async fn until_closed<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            done = work => Some(done),
            () = self.closed.cancelled() => None,
        }
    }

    /// Routes an input request to the call that it belongs to, and returns the reply.
    async fn forward<T: DeserializeOwned>(
        &self,
        request: InputRequest,
        context: RequestContext<RoleClient>,
    ) -> Result<T, ErrorData> {
        let result = async {
            match self.in_flight.route(&context.extensions) {
                Ok(interactive) => Ok(interactive.request_input(None, request).await),
                // A server may ask its client before any call.
                Err(Unrouted::NoCall) => Ok(self.ask_client(request).await),
                Err(reason) => Err(no_reply(&reason.to_string())),
            }
        };
        let result = context.ct.run_until_cancelled(result);
        let result = self.until_closed(result).await.flatten().transpose()?;
        let result = result.unwrap_or(Err(AskError::CallerLeft));
        let result = result.map_err(|reason| no_reply(&reason.to_string()))?;
        serde_json::from_value(result)
            .map_err(|_| no_reply("the client returned an unexpected result"))
    }

    async fn ask_client(&self, request: InputRequest) -> Result<Value, AskError> {
        let question = to_question(None, request).ok_or(AskError::UnsupportedKind)?;
        let client = self.listeners.newest().ok_or(AskError::Unsupported)?;
        if !client.question_kinds().includes(&question.kind) {
            return Err(AskError::Unsupported);
        }
        let is_form = matches!(question.kind, QuestionKind::Form { .. });
        let reply = client.ask(question).await?;
        Ok(to_result(reply, is_form))
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn report(call: &Context, progress: ProgressNotificationParam) {
    call.reset_timeout();
    call.report(Progress {
        done: progress.progress,
        total: progress.total,
        message: progress.message,
    });
}

/// The error response to an input request that got no reply.
fn no_reply(reason: &str) -> ErrorData {
    ErrorData::invalid_request(reason.to_owned(), None)
}

impl Drop for ProgressGuard<'_> {
    fn drop(&mut self) {
        self.handler.calls().by_token.remove(&self.token);
    }
}

impl ClientHandler for ConnectionHandler {
    fn get_info(&self) -> ClientConfig {
        let panpan = Implementation::new("panpan", env!("CARGO_PKG_VERSION"));
        // On a shared connection, whether a client can be asked is known only when there is an
        // input request.
        let client = self.listeners.capabilities();
        let kinds = client.as_ref().map_or(QuestionKinds::ALL, |it| it.kinds);
        let declared = client.as_ref().map(|it| &it.declared);
        let mut capabilities = client_capabilities(kinds, declared);
        if let Some(roots) = &mut capabilities.roots {
            roots.list_changed = Some(true);
        }
        ClientConfig::new(capabilities, panpan)
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let request = InputRequest::Elicitation(ElicitRequest::new(params));
        self.forward(request, context).await
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let request = InputRequest::CreateMessage(CreateMessageRequest::new(params));
        self.forward(request, context).await
    }

    async fn list_roots(
        &self,
        context: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        let request = InputRequest::ListRoots(ListRootsRequest::default());
        self.forward(request, context).await
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.tools.send_modify(|it| it.tools += 1);
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changes.send_modify(|it| it.prompts += 1);
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changes.send_modify(|it| it.resources += 1);
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use futures_util::FutureExt as _;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_number_of_early_progress_notifications_is_limited() {
        let handler =
            ConnectionHandler::new(watch::Sender::default(), ConnectionListeners::default());
        for sent in 1..=EARLY_PROGRESS_LIMIT + 1 {
            let notification = json!({
                "jsonrpc": "2.0", "method": "notifications/progress",
                "params": {"progressToken": sent, "progress": 1},
            });
            handler.observe(&serde_json::from_value(notification).unwrap(), None);
            assert_eq!(handler.calls().early.len(), sent.min(EARLY_PROGRESS_LIMIT));
        }
        assert_eq!(handler.for_new_connection().calls().early.len(), 0);
    }

    #[test]
    fn work_ends_when_the_connection_is_closed() {
        let handler =
            ConnectionHandler::new(watch::Sender::default(), ConnectionListeners::default());
        assert!(
            handler
                .until_closed(pending::<()>())
                .now_or_never()
                .is_none()
        );
        let another = handler.for_new_connection();
        handler.closed.cancel();
        assert_eq!(
            handler.until_closed(pending::<()>()).now_or_never(),
            Some(None)
        );
        assert_eq!(handler.until_closed(ready(7)).now_or_never(), Some(Some(7)));
        assert!(
            another
                .until_closed(pending::<()>())
                .now_or_never()
                .is_none()
        );
    }
}
