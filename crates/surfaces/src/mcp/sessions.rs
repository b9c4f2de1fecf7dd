//! The sessions of clients that speak a version of the protocol which has them.
//!
//! A session belongs to whoever opened it: for anybody else there is none of that name. How many may be
//! open is bounded, for one caller and for all. Most clients leave without ending theirs, so the one that
//! was used least recently ends when there is no room for another; those nobody uses are ended by the
//! library in the end.

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
use crate::caller::Principal;
use crate::limits::{ConcurrencyLimit, Permit};

tokio::task_local! {
    /// The request that is being served: the library asks about sessions without saying for whom.
    pub(super) static VISIT: Visit;
}

/// Who asks, and what became of it where the library has no word for that.
#[derive(Clone, Debug)]
pub(super) struct Visit {
    pub(super) principal: Principal,
    /// Whether the client takes an event without a message for what it is.
    takes_empty_events: bool,
    verdict: Arc<OnceLock<Verdict>>,
}

/// What the library cannot tell a client itself.
#[derive(Debug)]
pub(super) enum Verdict {
    /// There is no session of that name.
    Unknown,
    /// There is no room for another session.
    Full(Failure),
}

impl Visit {
    pub(super) fn of(principal: Principal, headers: &HeaderMap) -> Self {
        let version = headers.get(HEADER_MCP_PROTOCOL_VERSION);
        let first = ProtocolVersion::V_2025_11_25;
        let takes_empty_events =
            version.is_some_and(|it| it.as_bytes() >= first.as_str().as_bytes());
        Self {
            principal,
            takes_empty_events,
            verdict: Arc::default(),
        }
    }

    pub(super) fn verdict(&self) -> Option<&Verdict> {
        self.verdict.get()
    }
}

/// Why a session could not be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionsError {
    #[error("there is no room for another session")]
    Full,
    #[error(transparent)]
    Library(#[from] LocalSessionManagerError),
}

/// The open sessions, and whose they are.
#[derive(Debug)]
pub(super) struct Sessions {
    library: LocalSessionManager,
    room: ConcurrencyLimit,
    owners: Mutex<Owners>,
}

#[derive(Debug, Default)]
struct Owners {
    by_session: HashMap<SessionId, Owner>,
    /// How many times any session was used.
    uses: u64,
}

#[derive(Debug)]
struct Owner {
    principal: Principal,
    /// Which of all uses its last was.
    last_use: u64,
    /// Held by every stream that is open.
    open: Arc<()>,
    _permit: Permit,
}

impl Owners {
    fn is_of(&self, id: &SessionId, principal: &Principal) -> bool {
        let owner = self.by_session.get(id);
        owner.is_some_and(|it| it.principal == *principal)
    }

    fn use_of(&mut self, id: &SessionId) -> Option<&mut Owner> {
        self.uses += 1;
        let owner = self.by_session.get_mut(id)?;
        owner.last_use = self.uses;
        Some(owner)
    }

    /// Takes out the one that was used least recently and has no stream open now.
    fn take_unused(&mut self, among: impl Fn(&Owner) -> bool) -> Option<SessionId> {
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
        let mut library = LocalSessionManager::default();
        library.session_config.keep_alive = Some(settings.session_idle);
        Self {
            library,
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

    /// Whether a session of this id is open, and of this caller.
    pub(super) fn is_open(&self, id: &str, principal: &Principal) -> bool {
        self.owners().is_of(&id.into(), principal)
    }

    async fn enter(&self, visit: &Visit) -> Result<Owner, SessionsError> {
        loop {
            let failure = match self.room.acquire(&visit.principal) {
                Ok(permit) => {
                    return Ok(Owner {
                        principal: visit.principal.clone(),
                        last_use: 0,
                        open: Arc::default(),
                        _permit: permit,
                    });
                }
                Err(failure) => failure,
            };
            let Some(unused) = self.take_unused(&visit.principal, &failure) else {
                let _ = visit.verdict.set(Verdict::Full(failure));
                return Err(SessionsError::Full);
            };
            self.library.close_session(&unused).await?;
        }
    }

    /// A session that may end for another of this caller: one of its own, if it has one.
    fn take_unused(&self, principal: &Principal, refusal: &Failure) -> Option<SessionId> {
        let mut owners = self.owners();
        let own = owners.take_unused(|it| it.principal == *principal);
        let is_all_taken = refusal.code().as_str() == codes::ERR_OVERLOADED.code;
        own.or_else(|| is_all_taken.then(|| owners.take_unused(|_| true))?)
    }

    /// The same stream, which while it is open keeps the session from being ended for another.
    fn held<S: Stream>(&self, id: &SessionId, stream: S) -> impl Stream<Item = S::Item> + use<S> {
        let held = self.owners().use_of(id).map(|it| it.open.clone());
        stream.map(move |item| {
            let _held = &held;
            item
        })
    }
}

impl SessionManager for Sessions {
    type Error = SessionsError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let visit = VISIT.get();
        let owner = self.enter(&visit).await?;
        let (id, transport) = self.library.create_session().await?;
        let mut owners = self.owners();
        owners.by_session.insert(id.clone(), owner);
        owners.use_of(&id);
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        Ok(self.library.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        let is_own = VISIT.with(|visit| {
            let mut owners = self.owners();
            owners.is_of(id, &visit.principal) && owners.use_of(id).is_some()
        });
        Ok(is_own && self.library.has_session(id).await?)
    }

    /// Called for clients that end a session, and without a visit when one has ended by itself.
    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        let is_foreign = VISIT.try_with(|visit| {
            let is_foreign = !self.owners().is_of(id, &visit.principal);
            if is_foreign {
                let _ = visit.verdict.set(Verdict::Unknown);
            }
            is_foreign
        });
        if is_foreign.unwrap_or(false) {
            return Ok(());
        }
        self.owners().by_session.remove(id);
        Ok(self.library.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = self.library.create_stream(id, message).await?;
        let takes_empty = VISIT.with(|visit| visit.takes_empty_events);
        let stream = self.held(id, stream);
        Ok(stream.filter(move |event| ready(takes_empty || event.message.is_some())))
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Self::Error> {
        Ok(self.library.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = self.library.create_standalone_stream(id).await?;
        Ok(self.held(id, stream))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = self.library.resume(id, last_event_id).await?;
        Ok(self.held(id, stream))
    }
}
