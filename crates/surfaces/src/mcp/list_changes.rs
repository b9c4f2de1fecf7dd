//! Notifies clients that the list of tools, resources or prompts has changed.
//!
//! A session is notified unsolicited; a client of the stateless version subscribes with
//! `subscriptions/listen`.

use std::sync::{Arc, Mutex, PoisonError};

use panpan_mcp::library::{Changes, Request};
use panpan_runtime::{CancellationToken, Listener};
use rmcp::RoleServer;
use rmcp::model::ServerNotification;
use rmcp::service::{Peer, SubscriptionContext, SubscriptionSendError};
use tokio::sync::watch;
use tokio_util::sync::DropGuard;

use super::connected_client::ConnectedClient;
use super::features::send;
use crate::caller::Caller;
use crate::gateway::Gateway;

/// Which changes one client has been notified of.
#[derive(Debug, Default)]
pub(super) struct ListChanges {
    /// Subscribed before the client can have seen a list; taken over when its watch begins.
    since: Mutex<Option<Watch>>,
    /// Ends the watch when the client disconnects.
    _watch_task: Mutex<Option<DropGuard>>,
}

/// The lists that are watched for a client.
#[derive(Debug)]
struct Watch {
    tools: watch::Receiver<()>,
    /// With the changes that the client has seen.
    library: Option<(watch::Receiver<Changes>, Changes)>,
}

impl Watch {
    fn at(gateway: &Gateway) -> Self {
        Self {
            tools: gateway.dispatcher().changes(),
            library: None,
        }
    }

    /// Adds resources and prompts, which depend on the caller.
    fn for_caller(mut self, gateway: &Gateway, caller: &Caller) -> Self {
        self.library = gateway.library().map(|library| {
            let mut changes = library.changes(caller);
            let seen = *changes.borrow_and_update();
            (changes, seen)
        });
        self
    }

    /// The notifications of the next change; `None` when there will be none.
    async fn changed(&mut self) -> Option<Vec<ServerNotification>> {
        let Self { tools, library } = self;
        let features = async {
            let (changes, seen) = library.as_mut()?;
            changes.changed().await.ok()?;
            let before = std::mem::replace(seen, *changes.borrow_and_update());
            let resources = (before.resources != seen.resources)
                .then(|| ServerNotification::ResourceListChangedNotification(Default::default()));
            let prompts = (before.prompts != seen.prompts)
                .then(|| ServerNotification::PromptListChangedNotification(Default::default()));
            Some(resources.into_iter().chain(prompts).collect::<Vec<_>>())
        };
        // Without resources and prompts, only tools change.
        tokio::select! {
            changed = tools.changed() => {
                changed.ok()?;
                Some(vec![ServerNotification::ToolListChangedNotification(Default::default())])
            }
            Some(changed) = features => Some(changed),
        }
    }
}

impl ListChanges {
    /// Marks the current state: later changes are news to the client.
    pub(super) fn mark(&self, gateway: &Gateway) {
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        *since = Some(Watch::at(gateway));
    }

    fn since(&self, gateway: &Gateway) -> Watch {
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        since.take().unwrap_or_else(|| Watch::at(gateway))
    }

    /// Notifies a session of every change, until it ends.
    pub(super) fn notify_session(
        &self,
        gateway: &Gateway,
        caller: &Caller,
        peer: Peer<RoleServer>,
    ) {
        let mut watch = self.since(gateway).for_caller(gateway, caller);
        let ended = CancellationToken::new();
        let mut task = self
            ._watch_task
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *task = Some(ended.clone().drop_guard());
        drop(task);
        tokio::spawn(ended.run_until_cancelled_owned(async move {
            while let Some(changed) = watch.changed().await {
                for notification in changed {
                    if peer.send_notification(notification).await.is_err() {
                        return;
                    }
                }
            }
        }));
    }

    /// Notifies a subscriber of every change, until it cancels or the server shuts down.
    pub(super) async fn notify_subscriber(
        &self,
        gateway: &Gateway,
        caller: &Caller,
        subscriber: &SubscriptionContext,
        shutdown: &CancellationToken,
    ) {
        let mut watch = self.since(gateway).for_caller(gateway, caller);
        let uris = subscriber.accepted().resource_subscriptions.clone();
        let (client, mut updates) = ConnectedClient::subscribed_to(&uris.unwrap_or_default());
        subscribe_all(gateway, caller, &client).await;
        loop {
            let notifications = tokio::select! {
                Some(updated) = updates.recv() => match gateway.is_still_known(caller).await {
                    true => Some(vec![updated]),
                    false => None,
                },
                () = subscriber.cancelled() => None,
                () = shutdown.cancelled() => None,
                changed = watch.changed() => changed,
            };
            let Some(notifications) = notifications else {
                return;
            };
            for notification in notifications {
                match subscriber.sink().send(notification).await {
                    Ok(()) | Err(SubscriptionSendError::NotificationNotAccepted(_)) => {}
                    Err(_) => return,
                }
            }
        }
    }
}

/// Subscribes to resources of the upstream servers, for one client.
async fn subscribe_all(gateway: &Gateway, caller: &Caller, client: &Arc<ConnectedClient>) {
    let Some(library) = gateway.library() else {
        return;
    };
    let listener: Arc<dyn Listener> = client.clone();
    library.attend(caller, &listener);
    for uri in client.uris() {
        // The client gets no updates of a resource that cannot be subscribed to.
        if let Err(failure) = send(library, caller, Request::Subscribe(uri)).await {
            tracing::debug!(%failure, "cannot subscribe to a resource");
        }
    }
}
