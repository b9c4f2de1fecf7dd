//! Telling clients that there are other tools now, or other resources or prompts.
//!
//! A session is told without asking; a client of the version without sessions asks by
//! `subscriptions/listen` and is told on the answer to that.

use std::sync::{Arc, Mutex, PoisonError};

use panpan_runtime::{CancellationToken, Listener};
use rmcp::RoleServer;
use rmcp::service::{Peer, ServiceError, SubscriptionContext, SubscriptionSendError};
use tokio::sync::watch;
use tokio_util::sync::DropGuard;

use super::attendant::{Attendant, Wanted};
use crate::caller::Caller;
use crate::gateway::Gateway;
use crate::library::Revision;

/// What one client has been told.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Looked at from before a client can have seen any list, until its watch begins.
    since: Mutex<Option<Watched>>,
    /// Ends the watch when the client has left.
    _watch: Mutex<Option<DropGuard>>,
}

/// What is watched for a client.
#[derive(Debug)]
struct Watched {
    tools: watch::Receiver<()>,
    /// With what has been seen of it.
    library: Option<(watch::Receiver<Revision>, Revision)>,
}

/// Which lists are others now.
#[derive(Clone, Copy, Debug, Default)]
struct Changed {
    tools: bool,
    resources: bool,
    prompts: bool,
}

impl Watched {
    fn at(gateway: &Gateway) -> Self {
        Self {
            tools: gateway.dispatcher().changes(),
            library: None,
        }
    }

    /// With what its caller has beside tools, which is known once it is known who calls.
    fn by(mut self, gateway: &Gateway, caller: &Caller) -> Self {
        self.library = gateway.library().map(|library| {
            let mut revisions = library.revisions(caller);
            let seen = *revisions.borrow_and_update();
            (revisions, seen)
        });
        self
    }

    /// Waits for the next change; `None` when there will be none.
    async fn changed(&mut self) -> Option<Changed> {
        let Self { tools, library } = self;
        let beside = async {
            let (revisions, seen) = library.as_mut()?;
            revisions.changed().await.ok()?;
            let before = std::mem::replace(seen, *revisions.borrow_and_update());
            Some(Changed {
                tools: false,
                resources: before.resources != seen.resources,
                prompts: before.prompts != seen.prompts,
            })
        };
        let other_tools = Changed {
            tools: true,
            ..Changed::default()
        };
        // Where there is no library, or no more of it, only tools change.
        tokio::select! {
            changed = tools.changed() => changed.ok().map(|()| other_tools),
            Some(changed) = beside => Some(changed),
        }
    }
}

impl Changes {
    /// Remembers what there is now: everything after this is a change to the client.
    pub(super) fn mark(&self, gateway: &Gateway) {
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        *since = Some(Watched::at(gateway));
    }

    fn since(&self, gateway: &Gateway) -> Watched {
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        since.take().unwrap_or_else(|| Watched::at(gateway))
    }

    /// Tells a session each time, until it ends.
    pub(super) fn tell_session(&self, gateway: &Gateway, caller: &Caller, peer: Peer<RoleServer>) {
        let mut watched = self.since(gateway).by(gateway, caller);
        let ended = CancellationToken::new();
        let mut watch = self._watch.lock().unwrap_or_else(PoisonError::into_inner);
        *watch = Some(ended.clone().drop_guard());
        drop(watch);
        tokio::spawn(ended.run_until_cancelled_owned(async move {
            while let Some(changed) = watched.changed().await {
                if changed.tell(&peer).await.is_err() {
                    return;
                }
            }
        }));
    }

    /// Tells a subscriber each time, until it leaves or the server ends.
    pub(super) async fn tell_subscriber(
        &self,
        gateway: &Gateway,
        caller: &Caller,
        subscriber: &SubscriptionContext,
        shutdown: &CancellationToken,
    ) {
        let mut watched = self.since(gateway).by(gateway, caller);
        let uris = subscriber.accepted().resource_subscriptions.clone();
        let (client, mut updates) = Attendant::following(&uris.unwrap_or_default());
        follow_all(gateway, caller, &client).await;
        loop {
            tokio::select! {
                Some(Wanted::Updated(updated)) = updates.recv() => {
                    let is_known = gateway.is_still_known(caller).await;
                    if !is_known || subscriber.sink().notify_resource_updated(updated.uri).await.is_err() {
                        return;
                    }
                }
                () = subscriber.cancelled() => return,
                () = shutdown.cancelled() => return,
                changed = watched.changed() => {
                    let Some(changed) = changed else { return };
                    if changed.tell_wanted(subscriber).await.is_err() {
                        return;
                    }
                }
            }
        }
    }
}

/// Follows resources at the servers behind, for one client.
async fn follow_all(gateway: &Gateway, caller: &Caller, client: &Arc<Attendant>) {
    let Some(library) = gateway.library() else {
        return;
    };
    let listener: Arc<dyn Listener> = client.clone();
    library.attend(caller, &listener);
    for uri in client.uris() {
        // One that cannot be followed is never said to have changed.
        if let Err(failure) = library.follow(caller, &uri, true).await {
            tracing::debug!(%failure, "a resource cannot be followed");
        }
    }
}

impl Changed {
    async fn tell(self, peer: &Peer<RoleServer>) -> Result<(), ServiceError> {
        if self.tools {
            peer.notify_tool_list_changed().await?;
        }
        if self.resources {
            peer.notify_resource_list_changed().await?;
        }
        if self.prompts {
            peer.notify_prompt_list_changed().await?;
        }
        Ok(())
    }

    async fn tell_wanted(
        self,
        subscriber: &SubscriptionContext,
    ) -> Result<(), SubscriptionSendError> {
        let (wanted, sink) = (subscriber.accepted(), subscriber.sink());
        if self.tools && wanted.tools_list_changed == Some(true) {
            sink.notify_tool_list_changed().await?;
        }
        if self.resources && wanted.resources_list_changed == Some(true) {
            sink.notify_resource_list_changed().await?;
        }
        if self.prompts && wanted.prompts_list_changed == Some(true) {
            sink.notify_prompt_list_changed().await?;
        }
        Ok(())
    }
}
