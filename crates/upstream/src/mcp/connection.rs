//! The connection to a server: opened on first use and reopened after it ended.
//!
//! A server that fails repeatedly is not connected to for a growing time (backoff), up to a limit;
//! requests fail immediately meanwhile.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use panpan_contract::binding::SuccessBodies;
use panpan_mcp::library::Changes;
use panpan_runtime::{Credentials, QUESTIONS_WAIT_LIMIT_MS, StateOwner};
use rmcp::model::{
    ClientRequest, LoggingLevel, RequestMetaObject, SetLevelRequest, SetLevelRequestParams,
    SubscribeRequest, SubscribeRequestParams, UnsubscribeRequest, UnsubscribeRequestParams,
};
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use super::child::Child;
use super::children::Children;
use super::client_handler::ConnectionHandler;
use super::connection_state::ConnectionState;
use super::error::{FailedRequest, McpError};
use super::http::HttpClient;
use super::input_requests::InteractiveRequest;
use super::listeners::{ConnectionListeners, Listeners};
use super::live_connection::LiveConnection;
use super::settings::{McpCommand, McpSettings, McpSettingsError, McpTimeouts, McpTransport};
use crate::remote::connection_pool;

/// The reconnecting connection to one server.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) server: Arc<ServerFacts>,
    handler: ConnectionHandler,
    /// What the clients of the connection subscribed to.
    subscriptions: Mutex<Subscriptions>,
    /// Locked while a connection is being opened.
    opening: tokio::sync::Mutex<()>,
    state: Mutex<ConnectionState>,
}

/// What all connections to one server have in common.
#[derive(Debug)]
pub(super) struct ServerFacts {
    pub(super) namespace: String,
    pub(super) timeouts: McpTimeouts,
    pub(super) success_bodies: SuccessBodies,
    /// The secrets of the server, which it may repeat in messages.
    pub(super) secrets: Credentials,
    target: Target,
    children: Children,
    sessions: bool,
}

/// How the server is reached.
#[derive(Clone, Debug)]
enum Target {
    Child(McpCommand),
    Http(Box<HttpClient>),
}

/// The limit of resource subscriptions per connection.
pub(super) const SUBSCRIPTIONS_LIMIT: usize = 1_000;

/// What clients subscribed to. Repeated on a new connection.
#[derive(Debug, Default)]
struct Subscriptions {
    level: Option<LoggingLevel>,
    /// The resources, each with the handle of its subscription at a stateless server.
    resources: BTreeMap<String, Option<AbortOnDropHandle<()>>>,
}

impl Subscriptions {
    fn check_room_for(&self, uri: &str) -> Result<(), McpError> {
        let is_full = self.resources.len() >= SUBSCRIPTIONS_LIMIT;
        match is_full && !self.resources.contains_key(uri) {
            true => Err(McpError::LimitReached {
                what: "resource subscriptions",
                limit: SUBSCRIPTIONS_LIMIT,
            }),
            false => Ok(()),
        }
    }
}

impl Connection {
    pub(super) fn new(
        settings: McpSettings,
        listeners: Arc<Listeners>,
    ) -> Result<Self, McpSettingsError> {
        settings.check_namespace()?;
        let secrets = settings.secrets();
        let has_one_client = settings.sessions_of_callers.alone;
        let listeners = ConnectionListeners::shared(listeners, has_one_client, secrets.clone());
        let handler = ConnectionHandler::new(watch::Sender::default(), listeners);
        let target = match settings.transport {
            McpTransport::Stdio(command) if command.program.is_empty() => {
                return Err(McpSettingsError::NoProgram);
            }
            McpTransport::Stdio(command) => Target::Child(command),
            McpTransport::Http(address) => {
                let (url, headers) = (address.parsed()?, address.header_map()?);
                let ca = address.ca.as_deref();
                let wire = connection_pool(&url, ca, settings.timeouts.start)
                    .map_err(McpSettingsError::Client)?;
                let handler = handler.clone();
                let client = HttpClient {
                    wire,
                    url,
                    headers,
                    handler,
                };
                Target::Http(Box::new(client))
            }
        };
        let server = ServerFacts {
            namespace: settings.namespace,
            timeouts: settings.timeouts,
            success_bodies: settings.success_bodies,
            secrets,
            target,
            children: Children::default(),
            sessions: settings.sessions,
        };
        Ok(Self::with(Arc::new(server), handler))
    }

    /// Another connection to the same server, for the session of a caller.
    pub(super) fn for_caller(&self, owner: StateOwner, changes: watch::Sender<Changes>) -> Self {
        let listeners = self.handler.listeners.for_owner(owner);
        let mut handler = ConnectionHandler::new(changes, listeners);
        handler.tools = self.handler.tools.clone();
        Self::with(self.server.clone(), handler)
    }

    fn with(server: Arc<ServerFacts>, handler: ConnectionHandler) -> Self {
        Self {
            server,
            handler,
            subscriptions: Mutex::default(),
            opening: tokio::sync::Mutex::default(),
            state: Mutex::default(),
        }
    }

    pub(super) fn changes(&self) -> watch::Receiver<Changes> {
        self.handler.changes.subscribe()
    }

    /// Sets the log level, if the server belongs to one caller. Stateless ones get it with every request.
    pub(super) async fn set_level(self: &Arc<Self>, level: LoggingLevel) -> Result<(), McpError> {
        if !self.handler.listeners.is_exclusive() || self.connected().await?.is_stateless() {
            return Ok(());
        }
        self.subscriptions().level = Some(level);
        let done = self.request(set_level(level), Map::new(), None);
        done.await.map(drop)
    }

    /// Subscribes to a resource.
    pub(super) async fn subscribe(self: &Arc<Self>, uri: &str) -> Result<(), McpError> {
        self.subscriptions().check_room_for(uri)?;
        let live = self.connected().await?;
        let subscription = live.subscribe(uri);
        if subscription.is_none() {
            self.request(subscribe(uri), Map::new(), None).await?;
        }
        let mut subscriptions = self.subscriptions();
        // Again, since other clients may have subscribed meanwhile.
        subscriptions.check_room_for(uri)?;
        subscriptions.resources.insert(uri.to_owned(), subscription);
        Ok(())
    }

    /// Unsubscribes from a resource, unless other clients are or may be subscribed to it.
    pub(super) async fn unsubscribe(self: &Arc<Self>, uri: &str) -> Result<(), McpError> {
        let listeners = &self.handler.listeners;
        if !listeners.is_exclusive() || listeners.is_subscribed(uri) {
            return Ok(());
        }
        let subscription = self.subscriptions().resources.remove(uri);
        if matches!(subscription, Some(Some(_))) {
            return Ok(());
        }
        let done = self.request(unsubscribe(uri), Map::new(), None);
        done.await.map(drop)
    }

    /// Notifies the server that the roots of its client changed, if there is a connection. A shared connection
    /// has no roots of its own, and a stateless server asks for them in each call.
    pub(super) async fn notify_roots_changed(&self) {
        if let Some(live) = self.current().filter(|it| !it.is_stateless())
            && self.handler.listeners.is_exclusive()
        {
            live.notify_roots_changed().await;
        }
    }

    /// Repeats the subscriptions of clients on a new connection.
    fn resubscribe(&self, live: &Arc<LiveConnection>) {
        let mut subscriptions = self.subscriptions();
        let mut requests: Vec<ClientRequest> =
            subscriptions.level.map(set_level).into_iter().collect();
        for (uri, subscription) in &mut subscriptions.resources {
            *subscription = live.subscribe(uri);
            if subscription.is_none() {
                requests.push(subscribe(uri));
            }
        }
        let (live, timeout) = (live.clone(), self.server.timeouts.list);
        tokio::spawn(async move {
            for request in requests {
                let meta = RequestMetaObject::new();
                // A refusal is repeated to the next client that asks.
                let _ = live.request(request, meta, None, timeout).await;
            }
        });
    }

    fn subscriptions(&self) -> MutexGuard<'_, Subscriptions> {
        self.subscriptions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks the known tools as outdated.
    pub(super) fn mark_tools_outdated(&self) {
        self.handler.tools.send_modify(|it| it.tools += 1);
    }

    /// Sends a request with these members of `_meta`. It may be repeated; the server may ask for input.
    pub(super) async fn request(
        self: &Arc<Self>,
        request: ClientRequest,
        members: Map<String, Value>,
        interactive: Option<&InteractiveRequest>,
    ) -> Result<Value, McpError> {
        let for_answers_ms = interactive.map_or(0, |_| QUESTIONS_WAIT_LIMIT_MS);
        let timeout = self.server.timeouts.list + Duration::from_millis(for_answers_ms);
        let send = async |live: &LiveConnection, request| {
            let mut meta = RequestMetaObject::new();
            meta.0.0.extend(members.clone());
            live.request(request, meta, interactive, timeout).await
        };
        let live = self.connected().await?;
        let mut response = send(&live, request.clone()).await;
        if response.as_ref().is_err_and(FailedRequest::ends_connection) {
            self.forget(&live);
            response = send(&*self.connected().await?, request).await;
        }
        response.map_err(|failed| failed.error)
    }

    /// The current connection, or a new one.
    ///
    /// Connecting continues if the caller stops waiting: the next one finds the connection ready.
    pub(super) async fn connected(self: &Arc<Self>) -> Result<Arc<LiveConnection>, McpError> {
        if let Some(live) = self.current() {
            return Ok(live);
        }
        let connection = self.clone();
        let opened = tokio::spawn(async move { connection.open().await }).await;
        opened.unwrap_or_else(|_| Err(McpError::Ended("connecting was aborted".to_owned())))
    }

    /// Why there is no connection; if there is none, one is opened without waiting for it.
    pub(super) fn unavailable(self: &Arc<Self>) -> Option<McpError> {
        if self.current().is_some() {
            return None;
        }
        if let Err(error) = self.state().check_backoff() {
            return Some(error);
        }
        if self.opening.try_lock().is_ok() {
            let connection = self.clone();
            tokio::spawn(async move { connection.connected().await.map(drop) });
        }
        let last = self.state().last.clone();
        Some(last.map_or(McpError::Starting, |it| McpError::clone(&it)))
    }

    async fn open(&self) -> Result<Arc<LiveConnection>, McpError> {
        let _opening = self.opening.lock().await;
        if let Some(live) = self.current() {
            return Ok(live);
        }
        self.state().check_backoff()?;
        let timeout = self.server.timeouts.start;
        let opened = tokio::time::timeout(timeout, self.handshake()).await;
        match opened.unwrap_or_else(|_| Err(McpError::timeout("the handshake", timeout))) {
            Ok(live) => Ok(self.store(live)),
            Err(error) => Err(self.record_failure(error)),
        }
    }

    async fn handshake(&self) -> Result<LiveConnection, McpError> {
        let handler = self.handler.for_new_connection();
        let ServerFacts {
            target, sessions, ..
        } = &*self.server;
        match target {
            Target::Child(command) => {
                let start = || Child::start(&self.server.namespace, command, &self.server.children);
                LiveConnection::over_stdio(start, handler, *sessions).await
            }
            Target::Http(client) => {
                let client = HttpClient {
                    handler,
                    ..(**client).clone()
                };
                LiveConnection::over_http(client, *sessions).await
            }
        }
    }

    fn store(&self, live: LiveConnection) -> Arc<LiveConnection> {
        let live = Arc::new(live);
        let mut state = self.state();
        state.live = Some(live.clone());
        let was_connected = std::mem::replace(&mut state.was_connected, true);
        drop(state);
        if was_connected {
            self.resubscribe(&live);
        }
        // The first session of a caller shows what it saw before, and tools are the same in all
        // sessions.
        let is_of_caller = self.handler.listeners.has_owner();
        if was_connected || !is_of_caller {
            self.handler.changes.send_modify(|changes| {
                changes.tools += u64::from(!is_of_caller);
                changes.prompts += 1;
                changes.resources += 1;
            });
        }
        live
    }

    /// Kills the process without waiting, and starts no other.
    pub(super) fn kill(&self) {
        self.state().closed = true;
        self.server.children.kill();
    }

    /// Closes the connection and opens no other.
    pub(super) async fn close(&self) {
        let live = {
            let mut state = self.state();
            state.closed = true;
            state.live.take()
        };
        if let Some(live) = live {
            live.close().await;
        }
    }

    /// The connection, if it is still open.
    pub(super) fn current(&self) -> Option<Arc<LiveConnection>> {
        let mut state = self.state();
        let live = state.live.clone()?;
        if !live.is_closed() {
            return Some(live);
        }
        state.ended(&live);
        None
    }

    /// Drops a connection.
    pub(super) fn forget(&self, live: &Arc<LiveConnection>) {
        let mut state = self.state();
        let is_current = |current: &Arc<LiveConnection>| Arc::ptr_eq(current, live);
        if state.live.as_ref().is_some_and(is_current) {
            state.ended(live);
        }
    }

    fn record_failure(&self, error: McpError) -> McpError {
        tracing::debug!(server = self.server.namespace, "{error}");
        self.state().record_failure(error.clone());
        error
    }

    fn state(&self) -> MutexGuard<'_, ConnectionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn set_level(level: LoggingLevel) -> ClientRequest {
    SetLevelRequest::new(SetLevelRequestParams::new(level)).into()
}

fn subscribe(uri: &str) -> ClientRequest {
    SubscribeRequest::new(SubscribeRequestParams::new(uri)).into()
}

fn unsubscribe(uri: &str) -> ClientRequest {
    UnsubscribeRequest::new(UnsubscribeRequestParams::new(uri)).into()
}
