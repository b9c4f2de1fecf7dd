//! The sessions of clients, for the protocol versions that have sessions.
//!
//! A session belongs to the principal that opened it and does not exist for anyone else. The number
//! of sessions is limited, per caller and in total. Most clients disconnect without ending their
//! session, so at the limit the least recently used session is closed; rmcp closes idle ones.

use std::collections::HashMap;
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use ::http::HeaderMap;
use futures_core::Stream;
use futures_util::StreamExt;
use panpan_failure::{Failure, codes};
use rmcp::model::{ClientJsonRpcMessage, ProtocolVersion, ServerJsonRpcMessage};
use rmcp::transport::common::http_header::HEADER_MCP_PROTOCOL_VERSION;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError,
};
use rmcp::transport::streamable_http_server::session::{
    ServerSseMessage, SessionId, SessionManager,
};

use super::http::HttpSettings;
use super::tasks::{declare_for_session, may_list, pass_unread};
use crate::caller::Principal;
use crate::limits::{ConcurrencyLimit, Permit};

tokio::task_local! {
    /// The HTTP request that is being served: rmcp asks about sessions without naming the caller.
    pub(super) static SESSION_REQUEST: SessionRequest;
}

/// The caller of an HTTP request, and the reason for which it was rejected.
#[derive(Clone, Debug)]
pub(super) struct SessionRequest {
    pub(super) principal: Principal,
    /// Whether the client accepts events without a message.
    takes_empty_events: bool,
    rejection: Arc<OnceLock<Rejection>>,
}

/// A rejection that rmcp cannot express.
#[derive(Debug)]
pub(super) enum Rejection {
    /// The caller has no such session.
    UnknownSession,
    /// The session limit has been reached.
    Full(Failure),
}

impl SessionRequest {
    pub(super) fn new(principal: Principal, headers: &HeaderMap) -> Self {
        let version = headers.get(HEADER_MCP_PROTOCOL_VERSION);
        let first = ProtocolVersion::V_2025_11_25;
        let takes_empty_events =
            version.is_some_and(|it| it.as_bytes() >= first.as_str().as_bytes());
        Self {
            principal,
            takes_empty_events,
            rejection: Arc::default(),
        }
    }

    pub(super) fn rejection(&self) -> Option<&Rejection> {
        self.rejection.get()
    }
}

/// Why a session could not be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionsError {
    #[error("session limit reached")]
    Full,
    #[error(transparent)]
    Rmcp(#[from] LocalSessionManagerError),
}

/// The open sessions and their owners.
#[derive(Debug)]
pub(super) struct Sessions {
    rmcp: LocalSessionManager,
    room: ConcurrencyLimit,
    owners: Mutex<Owners>,
}

#[derive(Debug, Default)]
struct Owners {
    by_session: HashMap<SessionId, Owner>,
    /// Counts every use of any session.
    uses: u64,
}

#[derive(Debug)]
struct Owner {
    principal: Principal,
    /// The value of `uses` at its last use.
    last_use: u64,
    /// Cloned by every open stream.
    open: Arc<()>,
    _permit: Permit,
}

impl Owners {
    fn is_owned_by(&self, id: &SessionId, principal: &Principal) -> bool {
        let owner = self.by_session.get(id);
        owner.is_some_and(|it| it.principal == *principal)
    }

    fn touch(&mut self, id: &SessionId) -> Option<&mut Owner> {
        self.uses += 1;
        let owner = self.by_session.get_mut(id)?;
        owner.last_use = self.uses;
        Some(owner)
    }

    /// Removes the least recently used session that has no open stream.
    fn take_least_used(&mut self, among: impl Fn(&Owner) -> bool) -> Option<SessionId> {
        let unused = self.by_session.iter();
        let unused = unused.filter(|(_, it)| among(it) && Arc::strong_count(&it.open) == 1);
        let (id, _) = unused.min_by_key(|(_, it)| it.last_use)?;
        let id = id.clone();
        self.by_session.remove(&id);
        Some(id)
    }
}

impl Sessions {
    pub(super) fn new(settings: &HttpSettings) -> Self {
        let mut rmcp = LocalSessionManager::default();
        rmcp.session_config.keep_alive = Some(settings.session_idle);
        Self {
            rmcp,
            room: ConcurrencyLimit::new(
                "sessions",
                settings.sessions,
                settings.sessions_per_caller,
            ),
            owners: Mutex::default(),
        }
    }

    fn owners(&self) -> MutexGuard<'_, Owners> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this caller has an open session with this id.
    pub(super) fn is_open(&self, id: &str, principal: &Principal) -> bool {
        self.owners().is_owned_by(&id.into(), principal)
    }

    async fn admit(&self, request: &SessionRequest) -> Result<Owner, SessionsError> {
        loop {
            let failure = match self.room.acquire(&request.principal) {
                Ok(permit) => {
                    return Ok(Owner {
                        principal: request.principal.clone(),
                        last_use: 0,
                        open: Arc::default(),
                        _permit: permit,
                    });
                }
                Err(failure) => failure,
            };
            let Some(unused) = self.take_unused(&request.principal, &failure) else {
                let _ = request.rejection.set(Rejection::Full(failure));
                return Err(SessionsError::Full);
            };
            self.rmcp.close_session(&unused).await?;
        }
    }

    /// Removes a session to make room for a new one of this caller: one of its own, if there is
    /// one.
    fn take_unused(&self, principal: &Principal, refusal: &Failure) -> Option<SessionId> {
        let mut owners = self.owners();
        let own = owners.take_least_used(|it| it.principal == *principal);
        let is_total_limit = refusal.code().as_str() == codes::ERR_OVERLOADED.code;
        own.or_else(|| is_total_limit.then(|| owners.take_least_used(|_| true))?)
    }

    /// The same stream; while it is open, the session is not closed to make room.
    fn keep_open<S: Stream>(
        &self,
        id: &SessionId,
        stream: S,
    ) -> impl Stream<Item = S::Item> + use<S> {
        let guard = self.owners().touch(id).map(|it| it.open.clone());
        stream.map(move |item| {
            let _guard = &guard;
            item
        })
    }
}

impl SessionManager for Sessions {
    type Error = SessionsError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let request = SESSION_REQUEST.get();
        let owner = self.admit(&request).await?;
        let (id, transport) = self.rmcp.create_session().await?;
        let mut owners = self.owners();
        owners.by_session.insert(id.clone(), owner);
        owners.touch(&id);
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        let response = self.rmcp.initialize_session(id, message).await?;
        let may_list = SESSION_REQUEST.with(|request| may_list(&request.principal));
        Ok(declare_for_session(response, may_list))
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        let is_own = SESSION_REQUEST.with(|request| {
            let mut owners = self.owners();
            owners.is_owned_by(id, &request.principal) && owners.touch(id).is_some()
        });
        Ok(is_own && self.rmcp.has_session(id).await?)
    }

    /// Called for a client that ends its session, and outside of any HTTP request when a session
    /// has expired.
    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        let is_other_caller = SESSION_REQUEST.try_with(|request| {
            let is_other_caller = !self.owners().is_owned_by(id, &request.principal);
            if is_other_caller {
                let _ = request.rejection.set(Rejection::UnknownSession);
            }
            is_other_caller
        });
        if is_other_caller.unwrap_or(false) {
            return Ok(());
        }
        self.owners().by_session.remove(id);
        Ok(self.rmcp.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = self.rmcp.create_stream(id, pass_unread(message)).await?;
        let takes_empty = SESSION_REQUEST.with(|request| request.takes_empty_events);
        let stream = self.keep_open(id, stream);
        Ok(stream.filter(move |event| ready(takes_empty || event.message.is_some())))
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Self::Error> {
        Ok(self.rmcp.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = self.rmcp.create_standalone_stream(id).await?;
        Ok(self.keep_open(id, stream))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = self.rmcp.resume(id, last_event_id).await?;
        Ok(self.keep_open(id, stream))
    }
}
