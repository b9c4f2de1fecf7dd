//! The connections to one server: one for each caller, where the server keeps state for its clients.
//!
//! What a caller leaves in a session (a resource, a login, a draft) is there for that caller alone. One connection
//! serves all callers where the server keeps no state, where the operator says so, and for callers that cannot be
//! told apart. How many sessions are open is bounded, and one that is not used for a while ends.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use panpan_runtime::StateOwner;
use tokio::sync::watch;
use tokio::time::Instant;

use super::audience::Audience;
use super::ear::McpChanges;
use super::error::McpError;
use super::link::Link;
use super::settings::{McpSessions, McpSettings, McpSettingsError};

/// How often sessions are looked at that may have been idle for too long, by how long that is.
const LOOKS_PER_IDLE: u32 = 4;

/// The longest time between two looks.
const LONGEST_LOOK: Duration = Duration::from_secs(10);

/// The part of all sessions that clients without a token may have.
const SHARE_OF_UNKNOWN: usize = 2;

/// The connections to one server.
#[derive(Debug)]
pub(super) struct Pool {
    /// The connection that tools are listed over, and that is shared where nothing has to be kept apart.
    own: Arc<Link>,
    pub(super) audience: Arc<Audience>,
    rules: McpSessions,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    sessions: HashMap<StateOwner, Session>,
    /// Where callers learn that lists of their session have changed.
    heard: HashMap<StateOwner, watch::Sender<McpChanges>>,
    /// Whether the server keeps state, as far as is known.
    keeps_state: Option<bool>,
    /// Whether a task looks for idle sessions.
    is_watched: bool,
    is_closed: bool,
}

#[derive(Debug)]
struct Session {
    link: Arc<Link>,
    last_use: Instant,
}

impl Session {
    /// Whether no call uses it.
    fn is_free(&self) -> bool {
        Arc::strong_count(&self.link) == 1
    }
}

impl Pool {
    pub(super) fn new(settings: McpSettings) -> Result<Self, McpSettingsError> {
        let rules = settings.sessions_of_callers;
        let audience = Arc::new(Audience::default());
        Ok(Self {
            own: Arc::new(Link::new(settings, audience.clone())?),
            audience,
            rules,
            state: Mutex::default(),
        })
    }

    /// The connection that belongs to no caller.
    pub(super) fn own(&self) -> &Arc<Link> {
        &self.own
    }

    /// The connection for the calls of an owner of state.
    pub(super) async fn of(self: &Arc<Self>, owner: &StateOwner) -> Result<Arc<Link>, McpError> {
        if self.is_one_for_all(owner) || !self.keeps_state().await? {
            return Ok(self.own.clone());
        }
        self.session_of(owner)
    }

    /// Tells an owner of state when lists of its session have changed.
    pub(super) fn changes_for(self: &Arc<Self>, owner: &StateOwner) -> watch::Receiver<McpChanges> {
        let keeps_state = self.known_to_keep_state() == Some(true);
        if self.is_one_for_all(owner) || !keeps_state {
            return self.own.changes();
        }
        self.heard_by(&mut self.state(), owner).subscribe()
    }

    fn is_one_for_all(&self, owner: &StateOwner) -> bool {
        self.rules.shared || *owner == StateOwner::Anyone
    }

    /// Whether the server keeps state for its clients; connects if that is not known.
    async fn keeps_state(&self) -> Result<bool, McpError> {
        if let Some(known) = self.known_to_keep_state() {
            return Ok(known);
        }
        let keeps_state = self.own.connected().await?.keeps_state();
        self.state().keeps_state = Some(keeps_state);
        Ok(keeps_state)
    }

    /// A server that was replaced by another is known anew by its connection.
    fn known_to_keep_state(&self) -> Option<bool> {
        let current = self.own.current().map(|live| live.keeps_state());
        let mut state = self.state();
        state.keeps_state = current.or(state.keeps_state);
        state.keeps_state
    }

    fn session_of(self: &Arc<Self>, owner: &StateOwner) -> Result<Arc<Link>, McpError> {
        let mut state = self.state();
        if state.is_closed {
            return Err(McpError::Ended("this side closed it".to_owned()));
        }
        if let Some(session) = state.sessions.get_mut(owner) {
            session.last_use = Instant::now();
            return Ok(session.link.clone());
        }
        let is_full = state.sessions.len() >= self.rules.limit;
        let limit = match is_known(owner) {
            true => self.rules.limit,
            // Clients without a token do not take the places of callers that have one.
            false => (self.rules.limit / SHARE_OF_UNKNOWN).max(1),
        };
        if is_full || (!is_known(owner) && state.count_of_unknown() >= limit) {
            let unused = state.take_least_used(owner);
            end(unused.ok_or(McpError::Full { limit })?);
        }
        let changes = self.heard_by(&mut state, owner);
        let link = Arc::new(self.own.another(owner.clone(), changes));
        let session = Session {
            link: link.clone(),
            last_use: Instant::now(),
        };
        state.sessions.insert(owner.clone(), session);
        Ok(link)
    }

    /// Where an owner of state learns of changes. Other tools are the server's: they change for all.
    fn heard_by(
        self: &Arc<Self>,
        state: &mut State,
        owner: &StateOwner,
    ) -> watch::Sender<McpChanges> {
        if let Some(known) = state.heard.get(owner) {
            return known.clone();
        }
        let changes = watch::Sender::default();
        tokio::spawn(pass_on_tools(
            changes.subscribe(),
            Arc::downgrade(&self.own),
        ));
        state.heard.insert(owner.clone(), changes.clone());
        if !std::mem::replace(&mut state.is_watched, true) {
            tokio::spawn(end_idle(Arc::downgrade(self), self.rules.idle));
        }
        changes
    }

    /// Ends all connections for good.
    pub(super) async fn close(&self) {
        let sessions = {
            let mut state = self.state();
            state.is_closed = true;
            std::mem::take(&mut state.sessions)
        };
        let closing = sessions.values().map(|session| session.link.close());
        futures_util::future::join(self.own.close(), futures_util::future::join_all(closing)).await;
    }

    /// Ends all processes of the server without waiting.
    pub(super) fn kill(&self) {
        self.state().is_closed = true;
        self.own.kill();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn count_of_unknown(&self) -> usize {
        self.sessions.keys().filter(|it| !is_known(it)).count()
    }

    /// Takes out a session that no call uses, to make room for one of this owner: that of a client
    /// without a token first, and for such a client no other; of these the one that was used least recently.
    fn take_least_used(&mut self, owner: &StateOwner) -> Option<Session> {
        let free = self.sessions.iter().filter(|(_, it)| it.is_free());
        let free = free.filter(|(other, _)| is_known(owner) || !is_known(other));
        let (owner, _) = free.min_by_key(|(other, it)| (is_known(other), it.last_use))?;
        let owner = owner.clone();
        self.sessions.remove(&owner)
    }

    /// Takes out what was not used for this long, and forgets who heard of changes and is gone.
    fn take_idle(&mut self, idle: Duration) -> Vec<Session> {
        // One that a call uses is used until that ends.
        for session in self.sessions.values_mut().filter(|it| !it.is_free()) {
            session.last_use = Instant::now();
        }
        let is_over = |session: &Session| session.is_free() && session.last_use.elapsed() >= idle;
        let taken = self.sessions.extract_if(|_, session| is_over(session));
        let taken = taken.map(|(_, session)| session).collect();
        let sessions = &self.sessions;
        self.heard
            .retain(|owner, changes| sessions.contains_key(owner) || changes.receiver_count() > 1);
        taken
    }
}

fn is_known(owner: &StateOwner) -> bool {
    matches!(owner, StateOwner::Caller(_))
}

fn end(session: Session) {
    tokio::spawn(async move { session.link.close().await });
}

/// Ends sessions that are not used, until there are none left.
async fn end_idle(pool: Weak<Pool>, idle: Duration) {
    loop {
        tokio::time::sleep((idle / LOOKS_PER_IDLE).min(LONGEST_LOOK)).await;
        let Some(pool) = pool.upgrade() else { return };
        let mut state = pool.state();
        state.take_idle(idle).into_iter().for_each(end);
        if state.sessions.is_empty() && state.heard.is_empty() {
            state.is_watched = false;
            return;
        }
    }
}

/// Has tools listed anew when a session says that there are others.
async fn pass_on_tools(mut changes: watch::Receiver<McpChanges>, own: Weak<Link>) {
    let mut seen = changes.borrow_and_update().tools;
    while changes.changed().await.is_ok() {
        let Some(own) = own.upgrade() else { return };
        let now = changes.borrow_and_update().tools;
        if now != seen {
            seen = now;
            own.doubt_tools();
        }
    }
}
