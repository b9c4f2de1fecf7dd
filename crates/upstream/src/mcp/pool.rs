//! The connections to one server: one per caller if the server keeps state for its clients.
//!
//! State in a session (a resource, a login, a draft) belongs to one caller. A single connection
//! serves all callers if the server keeps no state or the operator configured it so, and for
//! callers that cannot be told apart. The number of sessions is limited, and idle ones are closed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use panpan_mcp::library::Changes;
use panpan_runtime::StateOwner;
use tokio::sync::watch;
use tokio::time::Instant;

use super::connection::Connection;
use super::error::McpError;
use super::listeners::Listeners;
use super::settings::{McpSessions, McpSettings, McpSettingsError};

/// How often idle sessions are looked for, per idle time.
const CHECKS_PER_IDLE: u32 = 4;

/// The longest interval between two looks.
const MAX_CHECK_INTERVAL: Duration = Duration::from_secs(10);

/// The divisor of the session limit for clients without a token.
const ANONYMOUS_DIVISOR: usize = 2;

/// The connections to one server.
#[derive(Debug)]
pub(super) struct Pool {
    /// The connection for listing tools; shared by all callers if there is no state to keep apart.
    shared: Arc<Connection>,
    pub(super) listeners: Arc<Listeners>,
    rules: McpSessions,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    sessions: HashMap<StateOwner, Session>,
    /// The senders of list changes, by owner.
    changes: HashMap<StateOwner, watch::Sender<Changes>>,
    /// Whether the server keeps state, if known.
    keeps_state: Option<bool>,
    /// Whether the task that closes idle sessions is running.
    has_idle_task: bool,
    is_closed: bool,
}

#[derive(Debug)]
struct Session {
    connection: Arc<Connection>,
    last_use: Instant,
}

impl Session {
    /// Whether no call uses it.
    fn is_free(&self) -> bool {
        Arc::strong_count(&self.connection) == 1
    }
}

impl Pool {
    pub(super) fn new(settings: McpSettings) -> Result<Self, McpSettingsError> {
        let rules = settings.sessions_of_callers;
        let listeners = Arc::new(Listeners::default());
        Ok(Self {
            shared: Arc::new(Connection::new(settings, listeners.clone())?),
            listeners,
            rules,
            state: Mutex::default(),
        })
    }

    /// The connection that belongs to no caller.
    pub(super) fn shared(&self) -> &Arc<Connection> {
        &self.shared
    }

    /// The connection for the calls of an owner of state.
    pub(super) async fn connection_for(
        self: &Arc<Self>,
        owner: &StateOwner,
    ) -> Result<Arc<Connection>, McpError> {
        if self.uses_shared(owner) || !self.keeps_state().await? {
            return Ok(self.shared.clone());
        }
        self.session_of(owner)
    }

    /// The connection for the calls of an owner of state, unless it has none yet.
    pub(super) fn existing_connection_for(&self, owner: &StateOwner) -> Option<Arc<Connection>> {
        if self.uses_shared(owner) {
            return Some(self.shared.clone());
        }
        let state = self.state();
        state.sessions.get(owner).map(|it| it.connection.clone())
    }

    /// Notifies an owner of state of changed lists in its session.
    pub(super) fn changes_for(self: &Arc<Self>, owner: &StateOwner) -> watch::Receiver<Changes> {
        let keeps_state = self.known_to_keep_state() == Some(true);
        if self.uses_shared(owner) || !keeps_state {
            return self.shared.changes();
        }
        self.changes_of(&mut self.state(), owner).subscribe()
    }

    fn uses_shared(&self, owner: &StateOwner) -> bool {
        self.rules.shared || *owner == StateOwner::Anyone
    }

    /// Whether the server keeps state for its clients; connects if that is not known.
    async fn keeps_state(&self) -> Result<bool, McpError> {
        if let Some(known) = self.known_to_keep_state() {
            return Ok(known);
        }
        let keeps_state = self.shared.connected().await?.keeps_state();
        self.state().keeps_state = Some(keeps_state);
        Ok(keeps_state)
    }

    /// Asked of the current connection each time: the server may have been replaced.
    fn known_to_keep_state(&self) -> Option<bool> {
        let current = self.shared.current().map(|live| live.keeps_state());
        let mut state = self.state();
        state.keeps_state = current.or(state.keeps_state);
        state.keeps_state
    }

    fn session_of(self: &Arc<Self>, owner: &StateOwner) -> Result<Arc<Connection>, McpError> {
        let mut state = self.state();
        if state.is_closed {
            return Err(McpError::Ended("closed by panpan".to_owned()));
        }
        if let Some(session) = state.sessions.get_mut(owner) {
            session.last_use = Instant::now();
            return Ok(session.connection.clone());
        }
        let is_full = state.sessions.len() >= self.rules.limit;
        let limit = match is_known(owner) {
            true => self.rules.limit,
            // Clients without a token must not use up the sessions of callers with a token.
            false => (self.rules.limit / ANONYMOUS_DIVISOR).max(1),
        };
        if is_full || (!is_known(owner) && state.anonymous_count() >= limit) {
            let unused = state.take_least_used(owner);
            let reached = McpError::LimitReached {
                what: "sessions",
                limit,
            };
            close(unused.ok_or(reached)?);
        }
        let changes = self.changes_of(&mut state, owner);
        let connection = Arc::new(self.shared.for_caller(owner.clone(), changes));
        let session = Session {
            connection: connection.clone(),
            last_use: Instant::now(),
        };
        state.sessions.insert(owner.clone(), session);
        Ok(connection)
    }

    /// The sender of list changes for an owner.
    fn changes_of(
        self: &Arc<Self>,
        state: &mut State,
        owner: &StateOwner,
    ) -> watch::Sender<Changes> {
        if let Some(known) = state.changes.get(owner) {
            return known.clone();
        }
        let changes: watch::Sender<Changes> = watch::Sender::default();
        state.changes.insert(owner.clone(), changes.clone());
        if !std::mem::replace(&mut state.has_idle_task, true) {
            tokio::spawn(close_idle(Arc::downgrade(self), self.rules.idle));
        }
        changes
    }

    /// Closes all connections for good.
    pub(super) async fn close(&self) {
        let sessions = {
            let mut state = self.state();
            state.is_closed = true;
            std::mem::take(&mut state.sessions)
        };
        let closing = sessions.values().map(|session| session.connection.close());
        futures_util::future::join(self.shared.close(), futures_util::future::join_all(closing))
            .await;
    }

    /// Kills all processes of the server without waiting.
    pub(super) fn kill(&self) {
        self.state().is_closed = true;
        self.shared.kill();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn anonymous_count(&self) -> usize {
        self.sessions.keys().filter(|it| !is_known(it)).count()
    }

    /// Removes a session that no call uses, to make room for one of this owner. Clients without a
    /// token lose theirs first and cannot replace those of others; among equals the least recently
    /// used one is removed.
    fn take_least_used(&mut self, owner: &StateOwner) -> Option<Session> {
        let free = self.sessions.iter().filter(|(_, it)| it.is_free());
        let free = free.filter(|(other, _)| is_known(owner) || !is_known(other));
        let (owner, _) = free.min_by_key(|(other, it)| (is_known(other), it.last_use))?;
        let owner = owner.clone();
        self.sessions.remove(&owner)
    }

    /// Removes sessions that were idle for this long, and the senders that have no receiver left.
    fn take_idle(&mut self, idle: Duration) -> Vec<Session> {
        // A session counts as used until its call ends.
        for session in self.sessions.values_mut().filter(|it| !it.is_free()) {
            session.last_use = Instant::now();
        }
        let is_expired =
            |session: &Session| session.is_free() && session.last_use.elapsed() >= idle;
        let taken = self.sessions.extract_if(|_, session| is_expired(session));
        let taken = taken.map(|(_, session)| session).collect();
        let sessions = &self.sessions;
        self.changes
            .retain(|owner, changes| sessions.contains_key(owner) || changes.receiver_count() > 0);
        taken
    }
}

fn is_known(owner: &StateOwner) -> bool {
    matches!(owner, StateOwner::Caller(_))
}

fn close(session: Session) {
    tokio::spawn(async move { session.connection.close().await });
}

/// Closes idle sessions until there are none left.
async fn close_idle(pool: Weak<Pool>, idle: Duration) {
    loop {
        tokio::time::sleep((idle / CHECKS_PER_IDLE).min(MAX_CHECK_INTERVAL)).await;
        let Some(pool) = pool.upgrade() else { return };
        let mut state = pool.state();
        state.take_idle(idle).into_iter().for_each(close);
        if state.sessions.is_empty() && state.changes.is_empty() {
            state.has_idle_task = false;
            return;
        }
    }
}
