//! One connection to a server, from its handshake to its end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use panpan_runtime::{Context, Notice};
use rmcp::model::{
    CancelledNotificationParam, ClientRequest, GetExtensions, ProtocolVersion, RequestId,
    RequestMetaObject, ServerNotification, ServerPeerInfo, ServerResult, SubscriptionFilter,
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
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::asking::AskingCall;
use super::child::{AFTER_OUR_END, Child, EXIT_LOOK, Ends};
use super::children::Children;
use super::ear::{Ear, offered};
use super::error::{McpError, Refusal, Unanswered};
use super::foreign;
use super::pipes::{Pipes, Why};
use super::settings::McpCommand;
use super::underway::may_ask;
use super::web::{ANSWER_BYTES_LIMIT, Web};

/// How long a server is told of something nobody waits for.
const NOTICE: Duration = Duration::from_secs(5);

/// How many requests of one connection are under way at once.
const REQUESTS_AT_ONCE: usize = 1_024;

/// How long a connection lasts that did not come about in vain.
const STEADY: Duration = Duration::from_secs(10);

/// A connection that came about.
#[derive(Debug)]
pub(super) struct Live {
    service: RunningService<RoleClient, Ear>,
    why: Why,
    /// Whether anything beyond the handshake was answered.
    answered: AtomicBool,
    since: Instant,
    /// Held by its child for as long as that is there.
    child: Weak<()>,
    is_piped: bool,
}

impl Live {
    /// Starts a process and shakes hands with it.
    ///
    /// Some servers end when they are asked what they do not know; those are asked in the old way.
    pub(super) async fn with_child(
        namespace: &str,
        command: &McpCommand,
        children: &Children,
        ear: Ear,
        sessions: bool,
    ) -> Result<Self, McpError> {
        let start = || Child::start(namespace, command, children);
        match Self::piped(start()?, ear.clone(), way(sessions)).await {
            Err(McpError::Ended(_)) if !sessions => {
                let old = ClientLifecycleMode::Initialize;
                Self::piped(start()?, ear.anew(), old).await
            }
            other => other,
        }
    }

    async fn piped(
        (child, ends): (Child, Ends),
        ear: Ear,
        way: ClientLifecycleMode,
    ) -> Result<Self, McpError> {
        let why = Why::default();
        let held = Arc::new(());
        let child_held = Arc::downgrade(&held);
        let pipes = Pipes::new(child, ends, why.clone(), ear.clone(), held);
        let mut live = Self::over(pipes, ear, way, why).await?;
        live.child = child_held;
        live.is_piped = true;
        Ok(live)
    }

    /// Shakes hands with a server that listens.
    pub(super) async fn with_web(web: Web, sessions: bool) -> Result<Self, McpError> {
        let ear = web.ear.clone();
        let config = StreamableHttpClientTransportConfig::with_uri(web.url.as_str())
            .max_sse_event_size(ANSWER_BYTES_LIMIT)
            // How many calls run at once is limited where they come in.
            .max_concurrent_requests(REQUESTS_AT_ONCE)
            // A call that was under way when the session ended must not look refused.
            .reinit_on_expired_session(false);
        let transport = StreamableHttpClientTransport::with_client(web, config);
        Self::over(transport, ear, way(sessions), Why::default()).await
    }

    async fn over<T>(
        transport: T,
        ear: Ear,
        way: ClientLifecycleMode,
        why: Why,
    ) -> Result<Self, McpError>
    where
        T: Transport<RoleClient> + 'static,
    {
        let shaken = ear.serve_with_lifecycle::<_, T::Error, transport::TransportAdapterIdentity>(
            transport, way,
        );
        let service = shaken.await.map_err(|error| not_begun(error, &why))?;
        let live = Self {
            service,
            why,
            answered: AtomicBool::new(false),
            since: Instant::now(),
            child: Weak::new(),
            is_piped: false,
        };
        live.follow_changes();
        Ok(live)
    }

    /// Ends it, and waits until its child has ended or has been made to.
    pub(super) async fn end(&self) {
        self.service.cancellation_token().cancel();
        let gone = async {
            while self.child.strong_count() > 0 {
                tokio::time::sleep(EXIT_LOOK).await;
            }
        };
        let _ = tokio::time::timeout(AFTER_OUR_END * 2, gone).await;
    }

    pub(super) fn is_over(&self) -> bool {
        self.service.is_closed() || self.service.is_transport_closed()
    }

    /// Whether it was good for anything, for some time.
    pub(super) fn was_steady(&self) -> bool {
        self.answered.load(Ordering::Relaxed) && self.since.elapsed() >= STEADY
    }

    pub(super) fn why(&self) -> String {
        self.why.told()
    }

    /// What the server said of itself.
    pub(super) fn info(&self) -> Option<Arc<ServerPeerInfo>> {
        self.service.peer_info()
    }

    /// Whether the server keeps state for the client it has here: in a session, or in a process of its own. The
    /// version of the protocol without sessions knows no such state.
    pub(super) fn keeps_state(&self) -> bool {
        !self.is_stateless() && (self.is_piped || self.ear().is_in_session())
    }

    pub(super) fn ear(&self) -> &Ear {
        self.service.service()
    }

    /// Asks and waits. Whoever stops waiting, or waits too long, has the server told.
    pub(super) async fn ask(
        &self,
        what: &'static str,
        mut request: ClientRequest,
        mut meta: RequestMetaObject,
        call: Option<&AskingCall>,
        patience: Duration,
    ) -> Result<Value, Unanswered> {
        self.describe_client(call, &mut meta);
        let begun = may_ask(&request).then(|| self.ear().underway.begin(call));
        if let Some(begun) = &begun {
            request.extensions_mut().insert(begun.number);
        }
        let options = PeerRequestOptions::no_options().with_meta(meta);
        let peer = self.service.peer();
        let sent = peer.send_request_with_option(request, options).await;
        let handle = sent.map_err(|error| Unanswered::before(self.trouble(error)))?;
        let mut abandoned = Abandoned {
            peer,
            id: Some(handle.id.clone()),
        };
        let token = handle.progress_token.clone();
        let context = call.and_then(AskingCall::context);
        let _listening = context.map(|context| self.ear().listen(token, context.clone()));
        let answered = tokio::time::timeout(patience, handle.await_response()).await;
        let Ok(answered) = answered else {
            let waited_ms = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
            return Err(Unanswered::after(McpError::Silent { what, waited_ms }));
        };
        abandoned.id = None;
        if let Some(begun) = begun {
            begun.answered();
        }
        let answer = answered.map_err(|error| self.trouble(error));
        if matches!(answer, Ok(_) | Err(McpError::Refused(_))) {
            self.answered.store(true, Ordering::Relaxed);
        }
        answer.and_then(as_value).map_err(Unanswered::after)
    }

    /// Where every request says anew what its client can do and wants to hear, this one says so. Sessions were
    /// told once, for all calls.
    fn describe_client(&self, call: Option<&AskingCall>, meta: &mut RequestMetaObject) {
        if !self.is_stateless() {
            return;
        }
        let kinds = call.map(AskingCall::answerable);
        let declared = call.and_then(AskingCall::declared);
        meta.set_client_capabilities(offered(kinds.unwrap_or_default(), declared));
        let context = call.and_then(AskingCall::context);
        let level = context.and_then(Context::log_level);
        let level = level.and_then(|it| serde_json::from_value(it.into()).ok());
        if let Some(level) = level {
            meta.set_log_level(level);
        }
    }

    /// Whether the server speaks the version of the protocol without sessions.
    pub(super) fn is_stateless(&self) -> bool {
        let info = self.info();
        info.is_some_and(|info| info.protocol_version >= ProtocolVersion::V_2026_07_28)
    }

    /// Follows a resource of a server without sessions, until what is returned is dropped; nothing for others.
    pub(super) fn follow_resource(&self, uri: &str) -> Option<AbortOnDropHandle<()>> {
        self.is_stateless().then(|| {
            let mut filter = SubscriptionFilter::default();
            filter.resource_subscriptions = Some(vec![uri.to_owned()]);
            let peer = self.service.peer().clone();
            AbortOnDropHandle::new(tokio::spawn(follow(peer, filter, self.ear().clone())))
        })
    }

    fn trouble(&self, error: ServiceError) -> McpError {
        match error {
            ServiceError::McpError(error) if foreign::is_instead_of_answer(&error) => {
                McpError::Unreadable
            }
            ServiceError::McpError(error) => McpError::Refused(Refusal {
                code: error.code.0.into(),
                message: error.message.into_owned(),
                data: error.data,
            }),
            ServiceError::TransportSend(error) => of_transport(error, &self.why),
            ServiceError::TransportClosed | ServiceError::Cancelled { .. } => {
                McpError::Ended(self.why())
            }
            other => McpError::Nonsense(other.to_string()),
        }
    }

    /// Servers without sessions have to be asked for notices.
    fn follow_changes(&self) {
        let info = self.info();
        let asked = info.filter(|info| info.protocol_version >= ProtocolVersion::V_2026_07_28);
        let Some(info) = asked else { return };
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
            tokio::spawn(follow(
                self.service.peer().clone(),
                filter,
                self.ear().clone(),
            ));
        }
    }
}

/// Ends with the connection, or when the server ends it.
async fn follow(peer: Peer<RoleClient>, filter: SubscriptionFilter, ear: Ear) {
    let Ok(mut subscription) = peer.listen(filter).await else {
        return;
    };
    while let Ok(Some(notice)) = subscription.next().await {
        if let ServerNotification::ResourceUpdatedNotification(updated) = &notice {
            let params = serde_json::to_value(&updated.params).unwrap_or_default();
            ear.hearers.hear(Notice::Updated(params));
            continue;
        }
        ear.note(|changes| match notice {
            ServerNotification::ToolListChangedNotification(_) => changes.tools += 1,
            ServerNotification::PromptListChangedNotification(_) => changes.prompts += 1,
            ServerNotification::ResourceListChangedNotification(_) => changes.resources += 1,
            _ => {}
        });
    }
}

/// The newest version first, unless there is to be a session; servers that do not know it are met in the
/// old way.
fn way(sessions: bool) -> ClientLifecycleMode {
    match sessions {
        true => ClientLifecycleMode::Initialize,
        false => ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: None,
        },
    }
}

/// The raw answer: the library does not know everything a server may say in it.
fn as_value(result: ServerResult) -> Result<Value, McpError> {
    serde_json::to_value(result)
        .map_err(|_| McpError::Nonsense("the answer cannot be written".to_owned()))
}

fn not_begun(error: ClientInitializeError, why: &Why) -> McpError {
    match error {
        ClientInitializeError::TransportError { error, .. } => of_transport(error, why),
        ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::Cancelled => {
            McpError::Ended(why.told())
        }
        ClientInitializeError::JsonRpcError(error) => McpError::Refused(Refusal {
            code: error.code.0.into(),
            message: error.message.into_owned(),
            data: error.data,
        }),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => not_begun(*fallback, why),
        ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
            McpError::Nonsense("it speaks no version of MCP that is known here".to_owned())
        }
        _ => McpError::Nonsense("it answered the handshake with something else".to_owned()),
    }
}

fn of_transport(error: DynamicTransportError, why: &Why) -> McpError {
    match error.error.downcast::<StreamableHttpError<McpError>>() {
        Ok(error) => match *error {
            StreamableHttpError::Client(error) => error,
            StreamableHttpError::SessionExpired => McpError::SessionExpired,
            StreamableHttpError::TransportChannelClosed => McpError::Ended(why.told()),
            StreamableHttpError::Sse(_) | StreamableHttpError::UnexpectedEndOfStream => {
                McpError::Ended("its stream of events broke".to_owned())
            }
            other => McpError::Nonsense(other.to_string()),
        },
        // A pipe: the child is gone, or about to be.
        Err(_) => McpError::Ended(why.told()),
    }
}

/// Tells the server that nobody waits any more, unless the answer came.
struct Abandoned<'a> {
    peer: &'a Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        let (Some(id), Ok(handle)) = (self.id.take(), tokio::runtime::Handle::try_current()) else {
            return;
        };
        let peer = self.peer.clone();
        handle.spawn(async move {
            let reason = Some("nobody waits for the answer any more".to_owned());
            let notice = CancelledNotificationParam::new(Some(id), reason);
            let _ = tokio::time::timeout(NOTICE, peer.notify_cancelled(notice)).await;
        });
    }
}
