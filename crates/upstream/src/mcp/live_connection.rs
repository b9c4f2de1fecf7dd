//! One connection to a server, from its handshake to its end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use panpan_mcp::STATELESS;
use panpan_mcp::input::client_capabilities;
use panpan_mcp::notifications::to_service;
use panpan_runtime::Context;
use rmcp::model::{
    ClientRequest, GetExtensions, RequestMetaObject, ServerNotification, ServerPeerInfo,
    ServerResult, SubscriptionFilter,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt, Peer, PeerRequestOptions,
    RunningService, ServiceError,
};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig, StreamableHttpError,
};
use rmcp::transport::{DynamicTransportError, Transport};
use rmcp::{RoleClient, transport};
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::cancel_on_drop::CancelOnDrop;
use super::child::{Child, ChildPipes, EXIT_POLL, SHUTDOWN_WAIT};
use super::client_handler::ConnectionHandler;
use super::error::{FailedRequest, McpError};
use super::http::{HttpClient, RESPONSE_BYTES_LIMIT};
use super::in_flight::may_require_input;
use super::incoming;
use super::input_requests::InteractiveRequest;
use super::late_answers::{AcceptedLate, WithoutLateAnswers};
use super::stdio::{EndReason, StdioTransport};

/// The limit of concurrent requests on one connection.
const CONCURRENT_REQUESTS_LIMIT: usize = 1_024;

/// Minimum lifetime before a connection counts as stable.
const STABLE_AFTER: Duration = Duration::from_secs(10);

/// A connection after its handshake.
#[derive(Debug)]
pub(super) struct LiveConnection {
    service: RunningService<RoleClient, ConnectionHandler>,
    end: EndReason,
    /// Whether any request after the handshake was answered.
    has_answered: AtomicBool,
    since: Instant,
    /// Expires when its child process has been dropped.
    child: Weak<()>,
    is_stdio: bool,
}

impl LiveConnection {
    /// Starts a process and performs the handshake.
    ///
    /// Some servers exit on an unknown method; they are started again with the older handshake.
    /// One that starts slowly may have got both handshakes.
    pub(super) async fn over_stdio(
        start: impl Fn() -> Result<(Child, ChildPipes), McpError>,
        handler: ConnectionHandler,
        sessions: bool,
    ) -> Result<Self, McpError> {
        let accepted_late = AcceptedLate::default();
        let mode = lifecycle(sessions);
        let first = Self::with_child(start()?, handler.clone(), mode, accepted_late.clone()).await;
        let other = match first {
            // It started slowly and does not know the older handshake.
            Err(_) if accepted_late.get() => ClientLifecycleMode::Discover {
                preferred_versions: vec![STATELESS],
            },
            Err(McpError::Ended(_)) if !sessions => ClientLifecycleMode::Initialize,
            first => return first,
        };
        let handler = handler.for_new_connection();
        Self::with_child(start()?, handler, other, AcceptedLate::default()).await
    }

    async fn with_child(
        (child, pipes): (Child, ChildPipes),
        handler: ConnectionHandler,
        lifecycle: ClientLifecycleMode,
        accepted_late: AcceptedLate,
    ) -> Result<Self, McpError> {
        let end = EndReason::default();
        let alive = Arc::new(());
        let child_alive = Arc::downgrade(&alive);
        let transport = StdioTransport::new(child, pipes, end.clone(), handler.clone(), alive);
        let transport = WithoutLateAnswers::new(transport, accepted_late);
        let mut live = Self::handshake(transport, handler, lifecycle, end).await?;
        live.child = child_alive;
        live.is_stdio = true;
        Ok(live)
    }

    /// Performs the handshake with a server over HTTP.
    pub(super) async fn over_http(client: HttpClient, sessions: bool) -> Result<Self, McpError> {
        let handler = client.handler.clone();
        let config = StreamableHttpClientTransportConfig::with_uri(client.url.as_str())
            .max_sse_event_size(RESPONSE_BYTES_LIMIT)
            // Concurrent calls are limited by the gateway.
            .max_concurrent_requests(CONCURRENT_REQUESTS_LIMIT)
            // A call that was in flight when the session expired must not be sent again by rmcp.
            .reinit_on_expired_session(false);
        let transport = StreamableHttpClientTransport::with_client(client, config);
        let transport = WithoutLateAnswers::new(transport, AcceptedLate::default());
        Self::handshake(
            transport,
            handler,
            lifecycle(sessions),
            EndReason::default(),
        )
        .await
    }

    /// Performs the handshake over a transport.
    pub(super) async fn handshake<T>(
        transport: T,
        handler: ConnectionHandler,
        lifecycle: ClientLifecycleMode,
        end: EndReason,
    ) -> Result<Self, McpError>
    where
        T: Transport<RoleClient> + 'static,
    {
        let started = handler
            .serve_with_lifecycle::<_, T::Error, transport::TransportAdapterIdentity>(
                transport, lifecycle,
            );
        let service = started
            .await
            .map_err(|error| handshake_error(error, &end))?;
        let live = Self {
            service,
            end,
            has_answered: AtomicBool::new(false),
            since: Instant::now(),
            child: Weak::new(),
            is_stdio: false,
        };
        live.subscribe_to_lists();
        Ok(live)
    }

    /// Closes it, and waits until its child process has exited or been killed.
    pub(super) async fn close(&self) {
        self.service.cancellation_token().cancel();
        let gone = async {
            while self.child.strong_count() > 0 {
                tokio::time::sleep(EXIT_POLL).await;
            }
        };
        let _ = tokio::time::timeout(SHUTDOWN_WAIT * 2, gone).await;
    }

    pub(super) fn is_closed(&self) -> bool {
        self.service.is_closed() || self.service.is_transport_closed()
    }

    /// Whether it was useful for some time.
    pub(super) fn was_stable(&self) -> bool {
        self.has_answered.load(Ordering::Relaxed) && self.since.elapsed() >= STABLE_AFTER
    }

    pub(super) fn end_reason(&self) -> String {
        self.end.text()
    }

    /// What the server said about itself.
    pub(super) fn info(&self) -> Option<Arc<ServerPeerInfo>> {
        self.service.peer_info()
    }

    /// Whether the server keeps state for this client: in a session, or in its own process. The
    /// stateless version has no such state.
    pub(super) fn keeps_state(&self) -> bool {
        !self.is_stateless() && (self.is_stdio || self.handler().is_in_session())
    }

    pub(super) fn handler(&self) -> &ConnectionHandler {
        self.service.service()
    }

    /// Sends a request and waits for the response. On a timeout or when dropped, it sends a
    /// cancellation.
    pub(super) async fn request(
        &self,
        mut request: ClientRequest,
        mut meta: RequestMetaObject,
        interactive: Option<&InteractiveRequest>,
        timeout: Duration,
    ) -> Result<Value, FailedRequest> {
        let name = request.method().to_owned();
        self.describe_client(interactive, &mut meta);
        let in_flight =
            may_require_input(&request).then(|| self.handler().in_flight.begin(interactive));
        if let Some(in_flight) = &in_flight {
            request.extensions_mut().insert(in_flight.number);
        }
        let options = PeerRequestOptions::no_options().with_meta(meta);
        let peer = self.service.peer();
        let sent = peer.send_request_with_option(request, options).await;
        let handle = sent.map_err(|error| FailedRequest::not_sent(self.service_error(error)))?;
        let mut cancel = CancelOnDrop {
            peer,
            id: Some(handle.id.clone()),
        };
        let token = handle.progress_token.clone();
        let context = interactive.and_then(InteractiveRequest::context);
        let _progress =
            context.map(|context| self.handler().track_progress(token, context.clone()));
        let response = tokio::time::timeout(timeout, handle.await_response()).await;
        let Ok(response) = response else {
            return Err(FailedRequest::after_send(McpError::timeout(name, timeout)));
        };
        cancel.id = None;
        if let Some(in_flight) = in_flight {
            in_flight.responded();
        }
        let response = response.map_err(|error| self.service_error(error));
        if matches!(response, Ok(_) | Err(McpError::Rpc(_))) {
            self.has_answered.store(true, Ordering::Relaxed);
        }
        response
            .and_then(as_value)
            .map_err(FailedRequest::after_send)
    }

    /// In the stateless version every request states the capabilities and the log level of its
    /// client; in a session the handshake stated them.
    fn describe_client(
        &self,
        interactive: Option<&InteractiveRequest>,
        meta: &mut RequestMetaObject,
    ) {
        if !self.is_stateless() {
            return;
        }
        let client = interactive.map(InteractiveRequest::client);
        let kinds = client.map(|it| it.question_kinds()).unwrap_or_default();
        let declared = client.and_then(|it| it.declared());
        meta.set_client_capabilities(client_capabilities(kinds, declared));
        let context = interactive.and_then(InteractiveRequest::context);
        let level = context.and_then(Context::log_level);
        let level = level.and_then(|it| serde_json::from_value(it.into()).ok());
        if let Some(level) = level {
            meta.set_log_level(level);
        }
    }

    /// Whether the server uses the stateless version of the protocol.
    pub(super) fn is_stateless(&self) -> bool {
        let info = self.info();
        info.is_some_and(|info| info.protocol_version >= STATELESS)
    }

    /// Subscribes to a resource of a stateless server, until the returned handle is dropped; `None`
    /// for a session.
    pub(super) fn subscribe(&self, uri: &str) -> Option<AbortOnDropHandle<()>> {
        let mut filter = SubscriptionFilter::default();
        filter.resource_subscriptions = Some(vec![uri.to_owned()]);
        self.is_stateless()
            .then(|| AbortOnDropHandle::new(self.spawn_listener(filter)))
    }

    fn spawn_listener(&self, filter: SubscriptionFilter) -> JoinHandle<()> {
        let (peer, handler) = (self.service.peer().clone(), self.handler().clone());
        tokio::spawn(listen(peer, filter, handler))
    }

    /// Notifies the server that the roots of its client changed.
    pub(super) async fn notify_roots_changed(&self) {
        // If the connection has ended, the server asks for the roots on the next one.
        let _ = self.service.peer().notify_roots_list_changed().await;
    }

    fn service_error(&self, error: ServiceError) -> McpError {
        match error {
            ServiceError::McpError(error) if incoming::is_replacement(&error) => {
                McpError::UnreadableResponse
            }
            ServiceError::McpError(error) => McpError::Rpc(error.into()),
            ServiceError::TransportSend(error) => transport_error(error, &self.end),
            ServiceError::TransportClosed | ServiceError::Cancelled { .. } => {
                McpError::Ended(self.end_reason())
            }
            other => McpError::ProtocolViolation(other.to_string()),
        }
    }

    /// Stateless servers send `list_changed` only to subscribers.
    fn subscribe_to_lists(&self) {
        let info = self.info().filter(|_| self.is_stateless());
        let Some(info) = info else { return };
        let capabilities = &info.capabilities;
        let tools = capabilities.tools.as_ref().and_then(|it| it.list_changed);
        let prompts = capabilities.prompts.as_ref().and_then(|it| it.list_changed);
        let resources = capabilities.resources.as_ref();
        let resources = resources.and_then(|it| it.list_changed);
        if [tools, prompts, resources].contains(&Some(true)) {
            let mut filter = SubscriptionFilter::default();
            filter.tools_list_changed = tools;
            filter.prompts_list_changed = prompts;
            filter.resources_list_changed = resources;
            self.spawn_listener(filter);
        }
    }
}

/// Ends with the connection, or when the server ends it.
async fn listen(peer: Peer<RoleClient>, filter: SubscriptionFilter, handler: ConnectionHandler) {
    let Ok(mut subscription) = peer.listen(filter).await else {
        return;
    };
    while let Ok(Some(notification)) = subscription.next().await {
        let changes = &handler.changes;
        match notification {
            ServerNotification::ToolListChangedNotification(_) => {
                handler.tools.send_modify(|it| it.tools += 1);
            }
            ServerNotification::PromptListChangedNotification(_) => {
                changes.send_modify(|it| it.prompts += 1);
            }
            ServerNotification::ResourceListChangedNotification(_) => {
                changes.send_modify(|it| it.resources += 1);
            }
            other => {
                if let Some(notification) = to_service(&other) {
                    handler.listeners.notify(notification);
                }
            }
        }
    }
}

/// The newest version first, unless a session is wanted; falls back to the older handshake.
fn lifecycle(sessions: bool) -> ClientLifecycleMode {
    match sessions {
        true => ClientLifecycleMode::Initialize,
        false => ClientLifecycleMode::Auto {
            preferred_versions: vec![STATELESS],
            legacy_version: None,
        },
    }
}

/// The response as JSON: rmcp does not know every member that a server may send.
fn as_value(result: ServerResult) -> Result<Value, McpError> {
    serde_json::to_value(result)
        .map_err(|_| McpError::ProtocolViolation("the response cannot be serialised".to_owned()))
}

fn handshake_error(error: ClientInitializeError, end: &EndReason) -> McpError {
    match error {
        ClientInitializeError::TransportError { error, .. } => transport_error(error, end),
        ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::Cancelled => {
            McpError::Ended(end.text())
        }
        ClientInitializeError::JsonRpcError(error) => McpError::Rpc(error.into()),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => {
            handshake_error(*fallback, end)
        }
        ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
            McpError::ProtocolViolation("no protocol version in common".to_owned())
        }
        _ => McpError::ProtocolViolation("unexpected response to the handshake".to_owned()),
    }
}

fn transport_error(error: DynamicTransportError, end: &EndReason) -> McpError {
    match error.error.downcast::<StreamableHttpError<McpError>>() {
        Ok(error) => match *error {
            StreamableHttpError::Client(error) => error,
            StreamableHttpError::SessionExpired => McpError::SessionExpired,
            StreamableHttpError::TransportChannelClosed => McpError::Ended(end.text()),
            StreamableHttpError::Sse(_) | StreamableHttpError::UnexpectedEndOfStream => {
                McpError::Ended("the event stream broke".to_owned())
            }
            other => McpError::ProtocolViolation(other.to_string()),
        },
        // On stdio: the child has exited or is about to.
        Err(_) => McpError::Ended(end.text()),
    }
}
