//! What MCP servers offer beside tools, lent to the protocols in front.

use std::sync::{Arc, Weak};

use panpan_runtime::Listener;
use panpan_surfaces::{
    About, Caller, Elicitor, Freshness, Gateway, Library, LibraryFuture, Offer, Revision,
};
use panpan_upstream::mcp::{McpAbout, McpCaller, McpChanges, McpFreshness, McpServers};
use serde_json::{Map, Value};
use tokio::sync::watch;

use crate::backend::Backend;

/// Lends what the MCP servers of a backend have beside tools, if it has servers.
pub(crate) fn lend(gateway: &Gateway, backend: &Backend) {
    let servers = backend.servers();
    if servers.is_empty() {
        return;
    }
    let libraries = Arc::new(McpServers::new(servers.iter().cloned()));
    libraries.refresh_capabilities();
    tokio::spawn(look_again(libraries.changes(), Arc::downgrade(&libraries)));
    gateway.set_library(Arc::new(Shelves { libraries }));
}

/// Looks at what servers offer whenever one of them has changed, or was connected to.
async fn look_again(mut changes: watch::Receiver<McpChanges>, libraries: Weak<McpServers>) {
    while changes.changed().await.is_ok() {
        let Some(libraries) = libraries.upgrade() else {
            return;
        };
        libraries.refresh_capabilities();
    }
}

/// Passes on to one caller that its lists have changed, for as long as it listens.
async fn pass_on(mut changes: watch::Receiver<McpChanges>, revision: watch::Sender<Revision>) {
    loop {
        tokio::select! {
            changed = changes.changed() => if changed.is_err() { return },
            () = revision.closed() => return,
        }
        let McpChanges {
            resources, prompts, ..
        } = *changes.borrow_and_update();
        revision.send_replace(Revision { resources, prompts });
    }
}

/// The resources, prompts and completions of all MCP servers. Each is seen by callers
/// that have the scopes of its server.
#[derive(Debug)]
struct Shelves {
    libraries: Arc<McpServers>,
}

impl Library for Shelves {
    fn offer(&self) -> Offer {
        let offer = self.libraries.capabilities();
        Offer {
            resources: offer.resources,
            prompts: offer.prompts,
            completions: offer.completions,
            logging: offer.logging,
            subscriptions: offer.subscriptions,
        }
    }

    fn about(&self) -> Option<About> {
        let McpAbout {
            server_info,
            instructions,
            capabilities,
        } = self.libraries.about()?;
        Some(About {
            server_info,
            instructions,
            capabilities,
        })
    }

    fn freshness(&self, member: &str) -> Option<Freshness> {
        let McpFreshness { ttl_ms, is_public } = self.libraries.freshness(member)?;
        Some(Freshness { ttl_ms, is_public })
    }

    fn revisions(&self, caller: &Caller) -> watch::Receiver<Revision> {
        let (revision, heard) = watch::channel(Revision::default());
        let changes = self.libraries.changes_for(&caller.state_owner());
        tokio::spawn(pass_on(changes, revision));
        heard
    }

    fn resources<'a>(&'a self, caller: &'a Caller) -> LibraryFuture<'a, Vec<Value>> {
        Box::pin(async { self.libraries.resources(&asking(caller)).await })
    }

    fn templates<'a>(&'a self, caller: &'a Caller) -> LibraryFuture<'a, Vec<Value>> {
        Box::pin(async { self.libraries.templates(&asking(caller)).await })
    }

    fn read<'a>(
        &'a self,
        caller: &'a Caller,
        uri: &'a str,
        person: Elicitor,
    ) -> LibraryFuture<'a, Value> {
        Box::pin(async move {
            let caller = McpCaller {
                client: person,
                ..asking(caller)
            };
            self.libraries.read(&caller, uri).await
        })
    }

    fn prompts<'a>(&'a self, caller: &'a Caller) -> LibraryFuture<'a, Vec<Value>> {
        Box::pin(async { self.libraries.prompts(&asking(caller)).await })
    }

    fn prompt<'a>(
        &'a self,
        caller: &'a Caller,
        name: &'a str,
        arguments: Map<String, Value>,
        person: Elicitor,
    ) -> LibraryFuture<'a, Value> {
        Box::pin(async move {
            let caller = McpCaller {
                client: person,
                ..asking(caller)
            };
            self.libraries.prompt(&caller, name, arguments).await
        })
    }

    fn attend(&self, caller: &Caller, client: &Arc<dyn Listener>) {
        self.libraries.add_listener(&asking(caller), client);
    }

    fn set_level<'a>(&'a self, caller: &'a Caller, level: &'a str) -> LibraryFuture<'a, ()> {
        Box::pin(async move { self.libraries.set_level(&asking(caller), level).await })
    }

    fn follow<'a>(
        &'a self,
        caller: &'a Caller,
        uri: &'a str,
        wanted: bool,
    ) -> LibraryFuture<'a, ()> {
        Box::pin(async move {
            self.libraries
                .set_subscribed(&asking(caller), uri, wanted)
                .await
        })
    }

    fn complete<'a>(&'a self, caller: &'a Caller, params: Value) -> LibraryFuture<'a, Value> {
        Box::pin(async move { self.libraries.complete(&asking(caller), params).await })
    }
}

fn asking(caller: &Caller) -> McpCaller<'_> {
    McpCaller {
        identity: caller.identity.as_deref(),
        owner: caller.state_owner(),
        client: None,
    }
}
