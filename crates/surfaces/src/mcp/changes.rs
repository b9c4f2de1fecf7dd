//! Telling clients that there are other tools now.
//!
//! A session is told without asking; a client of the version without sessions asks by
//! `subscriptions/listen` and is told on the answer to that.

use std::sync::{Mutex, PoisonError};

use panpan_runtime::{CancellationToken, Dispatcher};
use rmcp::RoleServer;
use rmcp::service::{Peer, SubscriptionContext};
use tokio::sync::watch;
use tokio_util::sync::DropGuard;

/// What one client has been told.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Looked at from before a client can have seen any tools, until its watch begins.
    since: Mutex<Option<watch::Receiver<()>>>,
    /// Ends the watch when the client has left.
    _watch: Mutex<Option<DropGuard>>,
}

impl Changes {
    /// Remembers what there is now: everything after this is a change to the client.
    pub(super) fn mark(&self, dispatcher: &Dispatcher) {
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        *since = Some(dispatcher.changes());
    }

    fn since(&self, dispatcher: &Dispatcher) -> watch::Receiver<()> {
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        since.take().unwrap_or_else(|| dispatcher.changes())
    }

    /// Tells a session each time, until it ends.
    pub(super) fn tell_session(&self, dispatcher: &Dispatcher, peer: Peer<RoleServer>) {
        let mut changes = self.since(dispatcher);
        let ended = CancellationToken::new();
        let mut watch = self._watch.lock().unwrap_or_else(PoisonError::into_inner);
        *watch = Some(ended.clone().drop_guard());
        drop(watch);
        tokio::spawn(ended.run_until_cancelled_owned(async move {
            while changes.changed().await.is_ok() {
                if peer.notify_tool_list_changed().await.is_err() {
                    return;
                }
            }
        }));
    }

    /// Tells a subscriber each time, until it leaves or the server ends.
    pub(super) async fn tell_subscriber(
        &self,
        dispatcher: &Dispatcher,
        subscriber: &SubscriptionContext,
        shutdown: &CancellationToken,
    ) {
        let mut changes = self.since(dispatcher);
        let wants = subscriber.accepted().tools_list_changed == Some(true);
        loop {
            tokio::select! {
                () = subscriber.cancelled() => return,
                () = shutdown.cancelled() => return,
                changed = changes.changed(), if wants => {
                    let told = subscriber.sink().notify_tool_list_changed().await;
                    if changed.is_err() || told.is_err() {
                        return;
                    }
                }
            }
        }
    }
}
