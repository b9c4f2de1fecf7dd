//! Who hears what a server says outside of any call: the clients of the callers that a connection belongs to.
//!
//! A connection of one caller is heard by the clients of that caller alone. One that all share is heard only where
//! every client has asked for what is said itself, or where there is only one client.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use panpan_redact::Redactor;
use panpan_runtime::{
    Answerable, Credentials, Listener, Notice, Question, Reply, StateOwner, Unasked,
};
use serde_json::{Map, Value};

/// The clients that stay connected, each with the owner of what it leaves at servers.
#[derive(Debug, Default)]
pub(super) struct Audience(Mutex<Vec<(StateOwner, Weak<dyn Listener>)>>);

impl Audience {
    /// Has a client hear from now on, for as long as it is there.
    pub(super) fn attend(&self, owner: StateOwner, listener: &Arc<dyn Listener>) {
        let mut listeners = self.listeners();
        listeners.retain(|(_, it)| it.strong_count() > 0);
        listeners.push((owner, Arc::downgrade(listener)));
    }

    fn of(&self, is_meant: impl Fn(&StateOwner) -> bool) -> Vec<Arc<dyn Listener>> {
        let listeners = self.listeners();
        let meant = listeners.iter().filter(|(owner, _)| is_meant(owner));
        meant.filter_map(|(_, it)| it.upgrade()).collect()
    }

    fn listeners(&self) -> MutexGuard<'_, Vec<(StateOwner, Weak<dyn Listener>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Those who hear one connection. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Hearers {
    audience: Arc<Audience>,
    /// Whose connection it is; that of anyone is shared by all.
    owner: StateOwner,
    /// Whether there is only one client.
    is_alone: bool,
    secrets: Credentials,
}

impl Hearers {
    pub(super) fn of_all(audience: Arc<Audience>, is_alone: bool, secrets: Credentials) -> Self {
        Self {
            audience,
            owner: StateOwner::Anyone,
            is_alone,
            secrets,
        }
    }

    /// Whether only one client hears it, or those of one caller.
    pub(super) fn is_of_one(&self) -> bool {
        self.is_alone || self.owner != StateOwner::Anyone
    }

    /// Those who hear the connection of one owner.
    pub(super) fn of(&self, owner: StateOwner) -> Self {
        Self {
            owner,
            ..self.clone()
        }
    }

    /// Passes on a notice, without the secrets of the server.
    pub(super) fn hear(&self, notice: Notice) {
        let is_shared = self.owner == StateOwner::Anyone;
        let listeners = match &notice {
            // Each client hears only of what it has subscribed to itself.
            Notice::Updated(_) if is_shared => self.audience.of(|_| true),
            _ => self.clients(),
        };
        if listeners.is_empty() {
            return;
        }
        let notice = match notice {
            Notice::Logged(mut line) => {
                let mut redactor = Redactor::new();
                self.secrets.teach(&mut redactor);
                redactor.value(&mut line);
                Notice::Logged(line)
            }
            other @ (Notice::Updated(_) | Notice::Visited(_)) => other,
        };
        for listener in listeners {
            listener.hear(notice.clone());
        }
    }

    /// What the client of this connection can be asked outside of any call.
    pub(super) fn answerable(&self) -> Answerable {
        let newest = self.clients().pop();
        newest.map_or_else(Answerable::default, |it| it.answerable())
    }

    /// The experimental capabilities and extensions that the client of this connection declares.
    pub(super) fn declared(&self) -> Option<Map<String, Value>> {
        self.clients().pop()?.declared().cloned()
    }

    /// Puts a question to the client of this connection that came last.
    pub(super) async fn ask(&self, question: Question) -> Result<Reply, Unasked> {
        let newest = self.clients().pop().ok_or(Unasked::Nobody)?;
        newest.ask(question).await
    }

    fn clients(&self) -> Vec<Arc<dyn Listener>> {
        match self.owner == StateOwner::Anyone {
            true if self.is_alone => self.audience.of(|_| true),
            true => Vec::new(),
            false => self.audience.of(|owner| *owner == self.owner),
        }
    }
}

#[cfg(test)]
mod tests {
    use panpan_runtime::{AskPerson, BoxFuture};
    use serde_json::json;

    use super::*;

    #[derive(Debug, Default)]
    struct Client(Mutex<Vec<Notice>>);

    impl AskPerson for Client {
        fn ask(&self, _: Question) -> BoxFuture<'_, Result<Reply, Unasked>> {
            Box::pin(async { Ok(Reply::Declined) })
        }
    }

    impl Listener for Client {
        fn hear(&self, notice: Notice) {
            self.0.lock().unwrap().push(notice);
        }
    }

    fn caller(name: &str) -> StateOwner {
        StateOwner::Caller(name.into())
    }

    #[test]
    fn a_line_reaches_the_clients_of_the_caller_whose_connection_it_came_by_and_no_others() {
        let audience = Arc::new(Audience::default());
        let [ann, bob] = ["ann", "bob"].map(|name| {
            let client = Arc::new(Client::default());
            let listener: Arc<dyn Listener> = client.clone();
            audience.attend(caller(name), &listener);
            client
        });
        let heard = |client: &Client| std::mem::take(&mut *client.0.lock().unwrap()).len();
        let line = || Notice::Logged(json!({"level": "info", "data": "x"}));
        let updated = || Notice::Updated(json!({"uri": "a:b"}));
        let shared = Hearers::of_all(audience.clone(), false, Credentials::default());
        shared.of(caller("ann")).hear(line());
        assert_eq!((heard(&ann), heard(&bob)), (1, 0));
        shared.of(caller("cid")).hear(line());
        assert_eq!((heard(&ann), heard(&bob)), (0, 0));
        shared.hear(line());
        assert_eq!((heard(&ann), heard(&bob)), (0, 0));
        shared.hear(updated());
        assert_eq!((heard(&ann), heard(&bob)), (1, 1));
        let alone = Hearers::of_all(audience, true, Credentials::default());
        drop(bob);
        alone.hear(line());
        assert_eq!(heard(&ann), 1);
    }
}
