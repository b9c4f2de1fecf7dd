//! A client that stays connected: it hears what MCP servers say outside of calls, and can be asked there, for as
//! long as its token counts.
//!
//! Servers never wait for it: a limited number of notices wait to be sent, and further ones are dropped.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use panpan_runtime::{
    Answerable, AskPerson, BoxFuture, Listener, Notice, Question, Reply, Unasked,
};
use rmcp::RoleServer;
use rmcp::model::{
    CustomNotification, LoggingLevel, LoggingMessageNotificationParam,
    ResourceUpdatedNotificationParam, ServerNotification,
};
use rmcp::service::{Peer, PeerRequestOptions, ServiceError};
use serde::Deserialize as _;
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use super::progress::reaches;
use super::questions::{Abilities, answered, asked, request};
use crate::caller::Caller;
use crate::gateway::Gateway;

/// How many notices wait for a client.
pub(super) const NOTICES_LIMIT: usize = 256;

/// How many resources one client follows.
pub(super) const FOLLOWED_LIMIT: usize = 1_000;

/// The notice that an address was visited.
const VISITED: &str = "notifications/elicitation/complete";

/// How long a client has to answer what is asked outside of a call.
const PATIENCE: Duration = Duration::from_secs(60);

/// The level of log lines that a client asked for.
pub(super) type Level = Arc<Mutex<Option<LoggingLevel>>>;

/// What a client has set, or what it is to hear.
pub(super) fn level_of(level: &Level) -> Option<LoggingLevel> {
    *level.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A notice that a client wants to hear.
#[derive(Debug)]
pub(super) enum Wanted {
    Logged(LoggingMessageNotificationParam),
    Updated(ResourceUpdatedNotificationParam),
    Visited(CustomNotification),
}

/// A client that stays connected.
#[derive(Debug)]
pub(super) struct Attendant {
    notices: mpsc::Sender<Wanted>,
    followed: Mutex<BTreeSet<String>>,
    level: Option<Level>,
    /// How it is asked, where it can be.
    asked: Option<(Session, Abilities)>,
}

/// The session of a client, with the caller that opened it.
#[derive(Clone, Debug)]
pub(super) struct Session {
    pub(super) gateway: Gateway,
    pub(super) caller: Caller,
    pub(super) peer: Peer<RoleServer>,
}

impl Session {
    /// Whether its caller is still known: a token may have been revoked.
    async fn counts(&self) -> bool {
        self.gateway.is_still_known(&self.caller).await
    }
}

impl Attendant {
    /// The client of a session, which is sent what it wants to hear until it has left.
    pub(super) fn in_session(
        session: Session,
        client: Option<Abilities>,
        level: Level,
    ) -> Arc<Self> {
        let (notices, wanted) = mpsc::channel(NOTICES_LIMIT);
        tokio::spawn(send(wanted, session.clone()));
        Arc::new(Self {
            notices,
            followed: Mutex::default(),
            level: Some(level),
            asked: client.map(|client| (session, client)),
        })
    }

    /// A client that follows resources by one request, and where it is heard what happens to them.
    pub(super) fn following(uris: &[String]) -> (Arc<Self>, mpsc::Receiver<Wanted>) {
        let (notices, wanted) = mpsc::channel(NOTICES_LIMIT);
        let followed = uris.iter().take(FOLLOWED_LIMIT).cloned().collect();
        let attendant = Self {
            notices,
            followed: Mutex::new(followed),
            level: None,
            asked: None,
        };
        (Arc::new(attendant), wanted)
    }

    /// What it follows.
    pub(super) fn uris(&self) -> BTreeSet<String> {
        self.followed().clone()
    }

    /// Follows a resource; whether there was room for it.
    pub(super) fn follow(&self, uri: &str) -> bool {
        let mut followed = self.followed();
        let has_room = followed.len() < FOLLOWED_LIMIT || followed.contains(uri);
        if has_room {
            followed.insert(uri.to_owned());
        }
        has_room
    }

    pub(super) fn unfollow(&self, uri: &str) {
        self.followed().remove(uri);
    }

    fn followed(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wanted(&self, notice: Notice) -> Option<Wanted> {
        match notice {
            Notice::Logged(line) => {
                let line = LoggingMessageNotificationParam::deserialize(line).ok()?;
                let level = level_of(self.level.as_ref()?);
                reaches(line.level, level).then_some(Wanted::Logged(line))
            }
            Notice::Updated(params) => {
                let updated = ResourceUpdatedNotificationParam::deserialize(params).ok()?;
                let is_followed = self.is_followed(&updated.uri);
                is_followed.then_some(Wanted::Updated(updated))
            }
            Notice::Visited(params) => {
                let (_, client) = self.asked.as_ref()?;
                let notice = CustomNotification::new(VISITED, Some(params));
                client.kinds.visit.then_some(Wanted::Visited(notice))
            }
        }
    }

    /// Whether a client follows a resource or what it is part of.
    fn is_followed(&self, uri: &str) -> bool {
        let followed = self.followed();
        let is_part = |whole: &String| {
            let rest = uri.strip_prefix(whole.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.starts_with('/'))
        };
        followed.contains(uri) || followed.iter().any(is_part)
    }
}

impl AskPerson for Attendant {
    fn answerable(&self) -> Answerable {
        let asked = self.asked.as_ref();
        asked.map_or_else(Answerable::default, |(_, client)| client.kinds)
    }

    fn declared(&self) -> Option<&Map<String, Value>> {
        let (_, client) = self.asked.as_ref()?;
        Some(&client.declared).filter(|it| !it.is_empty())
    }

    fn ask(&self, question: Question) -> BoxFuture<'_, Result<Reply, Unasked>> {
        Box::pin(async move {
            let (session, client) = self.asked.as_ref().ok_or(Unasked::Nobody)?;
            if !session.counts().await {
                return Err(Unasked::Gone);
            }
            if !client.kinds.includes(&question.wanted) {
                return Err(Unasked::Kind);
            }
            let request = asked(question).and_then(request).ok_or(Unasked::Kind)?;
            let options = PeerRequestOptions::with_timeout(PATIENCE);
            let sent = session
                .peer
                .send_request_with_option(request, options)
                .await;
            let handle = sent.map_err(|_| Unasked::Gone)?;
            match handle.await_response().await {
                Ok(result) => answered(result),
                Err(ServiceError::McpError(_)) => Err(Unasked::Nobody),
                Err(ServiceError::Timeout { .. }) => Err(Unasked::Silence),
                Err(_) => Err(Unasked::Gone),
            }
        })
    }
}

impl Listener for Attendant {
    fn hear(&self, notice: Notice) {
        if let Some(wanted) = self.wanted(notice) {
            // A client that takes nothing misses what there is no room for.
            let _ = self.notices.try_send(wanted);
        }
    }
}

async fn send(mut wanted: mpsc::Receiver<Wanted>, session: Session) {
    while let Some(wanted) = wanted.recv().await {
        if !session.counts().await {
            return;
        }
        let sent = match wanted {
            Wanted::Logged(line) => session.peer.notify_logging_message(line).await,
            Wanted::Updated(updated) => session.peer.notify_resource_updated(updated).await,
            Wanted::Visited(notice) => {
                let notice = ServerNotification::CustomNotification(notice);
                session.peer.send_notification(notice).await
            }
        };
        if sent.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_client_hears_of_what_it_follows_and_of_nothing_else() {
        let uris = ["test://a".to_owned(), "test://dir/".to_owned()];
        let (client, mut wanted) = Attendant::following(&uris);
        let updated = |uri: &str| Notice::Updated(json!({"uri": uri}));
        for uri in ["test://a", "test://b", "test://ab", "test://dir/x"] {
            client.hear(updated(uri));
        }
        client.hear(Notice::Logged(json!({"level": "error", "data": "x"})));
        client.unfollow("test://a");
        client.hear(updated("test://a"));
        let mut heard = Vec::new();
        while let Ok(Wanted::Updated(updated)) = wanted.try_recv() {
            heard.push(updated.uri);
        }
        assert_eq!(heard, ["test://a", "test://dir/x"]);
    }

    #[test]
    fn so_many_notices_wait_and_so_many_resources_are_followed() {
        let (client, mut wanted) = Attendant::following(&["test://a".to_owned()]);
        for _ in 0..NOTICES_LIMIT * 2 {
            client.hear(Notice::Updated(json!({"uri": "test://a"})));
        }
        let heard = std::iter::from_fn(|| wanted.try_recv().ok()).count();
        assert_eq!(heard, NOTICES_LIMIT);
        let followed = (0..FOLLOWED_LIMIT).filter(|it| client.follow(&format!("test://{it}")));
        assert_eq!(followed.count(), FOLLOWED_LIMIT - 1);
    }
}
