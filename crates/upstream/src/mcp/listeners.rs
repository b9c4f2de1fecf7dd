//! The clients that receive a server's notifications outside of calls.
//!
//! A connection of one caller notifies only the clients of that caller. A shared connection
//! notifies clients only of resources that they subscribed to, unless there is a single client.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use panpan_mcp::input::UsableCapabilities;
use panpan_redact::Redactor;
use panpan_runtime::{Credentials, Listener, ServiceNotification, StateOwner};

/// The connected clients.
#[derive(Debug, Default)]
pub(super) struct Listeners {
    /// Each with the owner of its state.
    clients: Mutex<Vec<(StateOwner, Weak<dyn Listener>)>>,
    /// The capabilities of the only client, if they are known before it is connected.
    expected: OnceLock<UsableCapabilities>,
}

impl Listeners {
    /// Notes the capabilities of the only client.
    pub(super) fn expect(&self, client: UsableCapabilities) {
        let _ = self.expected.set(client);
    }

    /// Adds a client, for as long as it exists.
    pub(super) fn add(&self, owner: StateOwner, listener: &Arc<dyn Listener>) {
        let mut listeners = self.all();
        listeners.retain(|(_, it)| it.strong_count() > 0);
        listeners.push((owner, Arc::downgrade(listener)));
    }

    fn select(&self, is_recipient: impl Fn(&StateOwner) -> bool) -> Vec<Arc<dyn Listener>> {
        let listeners = self.all();
        let selected = listeners.iter().filter(|(owner, _)| is_recipient(owner));
        selected.filter_map(|(_, it)| it.upgrade()).collect()
    }

    fn all(&self) -> MutexGuard<'_, Vec<(StateOwner, Weak<dyn Listener>)>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The clients that receive the notifications of one connection. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct ConnectionListeners {
    listeners: Arc<Listeners>,
    /// The owner of the connection; `Anyone` if it is shared.
    owner: StateOwner,
    /// Whether there is only one client.
    has_one_client: bool,
    secrets: Credentials,
}

impl ConnectionListeners {
    pub(super) fn shared(
        listeners: Arc<Listeners>,
        has_one_client: bool,
        secrets: Credentials,
    ) -> Self {
        Self {
            listeners,
            owner: StateOwner::Anyone,
            has_one_client,
            secrets,
        }
    }

    /// Whether the connection belongs to one owner of state.
    pub(super) fn has_owner(&self) -> bool {
        self.owner != StateOwner::Anyone
    }

    /// Whether the connection belongs to a single client or owner of state.
    pub(super) fn is_exclusive(&self) -> bool {
        self.has_one_client || self.has_owner()
    }

    /// The listeners of an owner's connection.
    pub(super) fn for_owner(&self, owner: StateOwner) -> Self {
        Self {
            owner,
            ..self.clone()
        }
    }

    /// Passes on a notification, with the secrets of the server redacted.
    pub(super) fn notify(&self, mut notice: ServiceNotification) {
        let is_shared = !self.has_owner();
        let listeners = match &notice {
            // A client passes on only updates that it subscribed to.
            ServiceNotification::ResourceUpdated(_) if is_shared => self.listeners.select(|_| true),
            _ => self.clients(),
        };
        if listeners.is_empty() {
            return;
        }
        if let ServiceNotification::Log(line) = &mut notice {
            let mut redactor = Redactor::new();
            self.secrets.teach(&mut redactor);
            redactor.value(line);
        }
        for listener in listeners {
            listener.notify(notice.clone());
        }
    }

    /// Whether a client of this connection is subscribed to a resource.
    pub(super) fn is_subscribed(&self, uri: &str) -> bool {
        self.clients().iter().any(|it| it.is_subscribed(uri))
    }

    /// The newest client of this connection, which is asked for input outside of calls.
    pub(super) fn newest(&self) -> Option<Arc<dyn Listener>> {
        self.clients().pop()
    }

    /// The capabilities of the clients of this connection; `None` if they are not known yet. Of
    /// several clients the first one decides, as it does for the session.
    pub(super) fn capabilities(&self) -> Option<UsableCapabilities> {
        let clients = self.clients();
        let stated = clients.iter().find(|it| it.states_capabilities());
        let stated = stated.map(|client| UsableCapabilities {
            kinds: client.question_kinds(),
            declared: client.declared().cloned().unwrap_or_default(),
        });
        let expected = self.listeners.expected.get();
        stated.or_else(|| expected.filter(|_| self.has_one_client).cloned())
    }

    fn clients(&self) -> Vec<Arc<dyn Listener>> {
        match self.has_owner() {
            true => self.listeners.select(|owner| *owner == self.owner),
            false => self.listeners.select(|_| self.has_one_client),
        }
    }
}

#[cfg(test)]
mod tests {
    use panpan_runtime::{AskClient, AskError, BoxFuture, Question, QuestionReply};
    use serde_json::json;

    use super::*;

    #[derive(Debug, Default)]
    struct Client(Mutex<Vec<ServiceNotification>>);

    impl AskClient for Client {
        fn ask(&self, _: Question) -> BoxFuture<'_, Result<QuestionReply, AskError>> {
            Box::pin(async { Ok(QuestionReply::Declined) })
        }
    }

    impl Listener for Client {
        fn notify(&self, notice: ServiceNotification) {
            self.0.lock().unwrap().push(notice);
        }

        fn is_subscribed(&self, uri: &str) -> bool {
            let notified = self.0.lock().unwrap();
            notified.contains(&ServiceNotification::ResourceUpdated(json!({"uri": uri})))
        }
    }

    fn caller(name: &str) -> StateOwner {
        StateOwner::Caller(name.into())
    }

    #[test]
    fn a_log_message_reaches_only_the_clients_of_the_connections_caller() {
        let listeners = Arc::new(Listeners::default());
        let [ann, bob] = ["ann", "bob"].map(|name| {
            let client = Arc::new(Client::default());
            let listener: Arc<dyn Listener> = client.clone();
            listeners.add(caller(name), &listener);
            client
        });
        let received = |client: &Client| std::mem::take(&mut *client.0.lock().unwrap()).len();
        let message = || ServiceNotification::Log(json!({"level": "info", "data": "x"}));
        let updated = || ServiceNotification::ResourceUpdated(json!({"uri": "a:b"}));
        let shared = ConnectionListeners::shared(listeners.clone(), false, Credentials::default());
        shared.for_owner(caller("ann")).notify(message());
        assert_eq!((received(&ann), received(&bob)), (1, 0));
        shared.for_owner(caller("cid")).notify(message());
        assert_eq!((received(&ann), received(&bob)), (0, 0));
        shared.notify(message());
        assert_eq!((received(&ann), received(&bob)), (0, 0));
        shared.notify(updated());
        assert_eq!((received(&ann), received(&bob)), (1, 1));
        let single = ConnectionListeners::shared(listeners, true, Credentials::default());
        drop(bob);
        single.notify(message());
        assert_eq!(received(&ann), 1);
    }

    #[test]
    fn a_resource_is_subscribed_while_any_client_of_the_caller_is() {
        let listeners = Arc::new(Listeners::default());
        let clients = ["ann", "ann", "bob"].map(|name| {
            let client = Arc::new(Client::default());
            let listener: Arc<dyn Listener> = client.clone();
            listeners.add(caller(name), &listener);
            client
        });
        let shared = ConnectionListeners::shared(listeners, false, Credentials::default());
        let is_subscribed = |name| shared.for_owner(caller(name)).is_subscribed("a:b");
        assert!(!is_subscribed("ann"));
        clients[1].notify(ServiceNotification::ResourceUpdated(json!({"uri": "a:b"})));
        assert!(is_subscribed("ann"));
        assert!(!is_subscribed("bob"));
    }
}
