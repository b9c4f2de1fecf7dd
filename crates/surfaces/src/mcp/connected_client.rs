//! A client that stays connected: it gets the notifications of upstream servers and can be asked
//! for input outside of calls, as long as its token is valid.
//!
//! Upstream servers never wait for it: at the limit further notifications are dropped.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use panpan_mcp::input::{UsableCapabilities, in_session, to_request};
use panpan_mcp::notifications::to_protocol;
use panpan_runtime::{
    AskClient, AskError, BoxFuture, Listener, Question, QuestionKinds, QuestionReply,
    ServiceNotification,
};
use rmcp::RoleServer;
use rmcp::model::{LoggingLevel, ServerNotification};
use rmcp::service::{Peer, PeerRequestOptions};
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use super::input_requests::reply_in;
use super::progress::is_at_least;
use crate::caller::Caller;
use crate::gateway::Gateway;

/// The number of notifications that wait for a client.
pub(super) const NOTIFICATIONS_LIMIT: usize = 256;

/// The number of resources that one client can subscribe to.
pub(super) const SUBSCRIPTIONS_LIMIT: usize = 1_000;

/// The timeout of an input request outside of a call.
const INPUT_TIMEOUT: Duration = Duration::from_secs(60);

/// The log level that a client set.
pub(super) type Level = Arc<Mutex<Option<LoggingLevel>>>;

/// The current log level of a client.
pub(super) fn level_of(level: &Level) -> Option<LoggingLevel> {
    *level.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A client that stays connected.
#[derive(Debug)]
pub(super) struct ConnectedClient {
    notifications: mpsc::Sender<ServerNotification>,
    subscribed: Mutex<BTreeSet<String>>,
    level: Option<Level>,
    /// The session for input requests, if the client can be asked.
    input: Option<(Session, UsableCapabilities)>,
}

/// The session of a client, with the caller that opened it.
#[derive(Clone, Debug)]
pub(super) struct Session {
    pub(super) gateway: Gateway,
    pub(super) caller: Caller,
    pub(super) peer: Peer<RoleServer>,
}

impl Session {
    /// Whether the token of its caller is still valid.
    async fn is_valid(&self) -> bool {
        self.gateway.is_still_known(&self.caller).await
    }
}

impl ConnectedClient {
    /// The client of a session, which is sent notifications until it disconnects.
    pub(super) fn in_session(
        session: Session,
        client: Option<UsableCapabilities>,
        level: Level,
    ) -> Arc<Self> {
        let (notifications, receiver) = mpsc::channel(NOTIFICATIONS_LIMIT);
        tokio::spawn(send(receiver, session.clone()));
        Arc::new(Self {
            notifications,
            subscribed: Mutex::default(),
            level: Some(level),
            input: client.map(|client| (session, client)),
        })
    }

    /// A client that subscribes to resources with one request, and the receiver of their updates.
    pub(super) fn subscribed_to(
        uris: &[String],
    ) -> (Arc<Self>, mpsc::Receiver<ServerNotification>) {
        let (notifications, receiver) = mpsc::channel(NOTIFICATIONS_LIMIT);
        let subscribed = uris.iter().take(SUBSCRIPTIONS_LIMIT).cloned().collect();
        let client = Self {
            notifications,
            subscribed: Mutex::new(subscribed),
            level: None,
            input: None,
        };
        (Arc::new(client), receiver)
    }

    /// The resources it is subscribed to.
    pub(super) fn uris(&self) -> BTreeSet<String> {
        self.subscribed().clone()
    }

    /// Subscribes to a resource; `false` at the limit.
    pub(super) fn subscribe(&self, uri: &str) -> bool {
        let mut subscribed = self.subscribed();
        let has_room = subscribed.len() < SUBSCRIPTIONS_LIMIT || subscribed.contains(uri);
        if has_room {
            subscribed.insert(uri.to_owned());
        }
        has_room
    }

    pub(super) fn unsubscribe(&self, uri: &str) {
        self.subscribed().remove(uri);
    }

    fn subscribed(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.subscribed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the client wants a notification.
    fn wants(&self, notification: &ServerNotification) -> bool {
        match notification {
            ServerNotification::LoggingMessageNotification(it) => {
                let level = self.level.as_ref().map(level_of);
                level.is_some_and(|level| is_at_least(it.params.level, level))
            }
            ServerNotification::ResourceUpdatedNotification(it) => self.covers(&it.params.uri),
            _ => self.question_kinds().url,
        }
    }

    /// Whether a subscription of the client is for this resource or a parent of it.
    fn covers(&self, uri: &str) -> bool {
        let subscribed = self.subscribed();
        let is_parent = |parent: &String| {
            let rest = uri.strip_prefix(parent.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.starts_with('/'))
        };
        subscribed.contains(uri) || subscribed.iter().any(is_parent)
    }
}

impl AskClient for ConnectedClient {
    fn question_kinds(&self) -> QuestionKinds {
        let input = self.input.as_ref();
        input.map_or_else(QuestionKinds::default, |(_, client)| client.kinds)
    }

    fn declared(&self) -> Option<&Map<String, Value>> {
        let (_, client) = self.input.as_ref()?;
        Some(&client.declared).filter(|it| !it.is_empty())
    }

    fn ask(&self, question: Question) -> BoxFuture<'_, Result<QuestionReply, AskError>> {
        Box::pin(async move {
            let (session, client) = self.input.as_ref().ok_or(AskError::Unsupported)?;
            if !session.is_valid().await {
                return Err(AskError::CallerLeft);
            }
            if !client.kinds.includes(&question.kind) {
                return Err(AskError::UnsupportedKind);
            }
            let request = to_request(question).and_then(in_session);
            let request = request.ok_or(AskError::UnsupportedKind)?;
            let options = PeerRequestOptions::with_timeout(INPUT_TIMEOUT);
            let sent = session
                .peer
                .send_request_with_option(request, options)
                .await;
            let handle = sent.map_err(|_| AskError::CallerLeft)?;
            reply_in(handle.await_response().await)
        })
    }
}

impl Listener for ConnectedClient {
    fn notify(&self, notice: ServiceNotification) {
        let notification = to_protocol(notice);
        if let Some(notification) = notification.filter(|it| self.wants(it)) {
            // Dropped if the client does not read and the queue is full.
            let _ = self.notifications.try_send(notification);
        }
    }

    /// A client without sessions states them with each request.
    fn states_capabilities(&self) -> bool {
        self.level.is_some()
    }

    fn is_subscribed(&self, uri: &str) -> bool {
        self.subscribed().contains(uri)
    }
}

async fn send(mut notifications: mpsc::Receiver<ServerNotification>, session: Session) {
    while let Some(notification) = notifications.recv().await {
        if !session.is_valid().await {
            return;
        }
        if session.peer.send_notification(notification).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_client_is_notified_only_of_resources_it_subscribed_to() {
        let uris = ["test://a".to_owned(), "test://dir/".to_owned()];
        let (client, mut notifications) = ConnectedClient::subscribed_to(&uris);
        let updated = |uri: &str| ServiceNotification::ResourceUpdated(json!({"uri": uri}));
        for uri in ["test://a", "test://b", "test://ab", "test://dir/x"] {
            client.notify(updated(uri));
        }
        client.notify(ServiceNotification::Log(
            json!({"level": "error", "data": "x"}),
        ));
        client.unsubscribe("test://a");
        client.notify(updated("test://a"));
        let mut uris = Vec::new();
        while let Ok(ServerNotification::ResourceUpdatedNotification(updated)) =
            notifications.try_recv()
        {
            uris.push(updated.params.uri);
        }
        assert_eq!(uris, ["test://a", "test://dir/x"]);
    }

    #[test]
    fn notifications_and_subscriptions_of_a_client_are_limited() {
        let (client, mut notifications) = ConnectedClient::subscribed_to(&["test://a".to_owned()]);
        for _ in 0..NOTIFICATIONS_LIMIT * 2 {
            client.notify(ServiceNotification::ResourceUpdated(
                json!({"uri": "test://a"}),
            ));
        }
        let received = std::iter::from_fn(|| notifications.try_recv().ok()).count();
        assert_eq!(received, NOTIFICATIONS_LIMIT);
        let accepted =
            (0..SUBSCRIPTIONS_LIMIT).filter(|it| client.subscribe(&format!("test://{it}")));
        assert_eq!(accepted.count(), SUBSCRIPTIONS_LIMIT - 1);
    }
}
