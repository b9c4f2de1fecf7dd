//! The resources, prompts and completions of MCP servers, offered to MCP clients through the gateway.
//!
//! Tools are operations: see `backend`.

use std::sync::{Arc, Weak};

use panpan_runtime::{BoxFuture, Listener};
use panpan_surfaces::{
    Caller, Elicitor, Freshness, Gateway, Library, LibraryFuture, Offer, Revision, ServerInfo,
};
use panpan_upstream::mcp::{McpAbout, McpCaller, McpChanges, McpFreshness, McpServers};
use serde_json::{Map, Value};
use tokio::sync::watch;

use crate::backend::Backend;

/// Offers the resources, prompts and completions of the backend's MCP servers through the gateway.
pub(crate) fn attach(gateway: &Gateway, backend: &Backend) {
    let servers = backend.servers();
    if servers.is_empty() {
        return;
    }
    let libraries = Arc::new(McpServers::new(servers.iter().cloned()));
    libraries.refresh_capabilities();
    tokio::spawn(refresh_on_changes(
        libraries.changes(),
        Arc::downgrade(&libraries),
    ));
    gateway.set_library(Arc::new(ServerLibrary { libraries }));
}

/// Refreshes the lists of the servers whenever a server changes one or connects.
async fn refresh_on_changes(mut changes: watch::Receiver<McpChanges>, libraries: Weak<McpServers>) {
    while changes.changed().await.is_ok() {
        let Some(libraries) = libraries.upgrade() else {
            return;
        };
        libraries.refresh_capabilities();
    }
}

/// Forwards changes to one caller, for as long as it listens.
async fn forward_changes(
    mut changes: watch::Receiver<McpChanges>,
    revision: watch::Sender<Revision>,
) {
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

/// The resources, prompts and completions of all MCP servers. A caller sees those of the servers whose scopes it
/// has.
#[derive(Debug)]
struct ServerLibrary {
    libraries: Arc<McpServers>,
}

impl Library for ServerLibrary {
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

    fn about(&self) -> Option<ServerInfo> {
        let McpAbout {
            server_info,
            instructions,
            capabilities,
        } = self.libraries.about()?;
        Some(ServerInfo {
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
        let (revision, receiver) = watch::channel(Revision::default());
        let changes = self.libraries.changes_for(&caller.state_owner());
        tokio::spawn(forward_changes(changes, revision));
        receiver
    }

    fn resources<'a>(&'a self, caller: &'a Caller) -> LibraryFuture<'a, Vec<Value>> {
        Box::pin(async { self.libraries.resources(&mcp_caller(caller)).await })
    }

    fn templates<'a>(&'a self, caller: &'a Caller) -> LibraryFuture<'a, Vec<Value>> {
        Box::pin(async { self.libraries.templates(&mcp_caller(caller)).await })
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
                ..mcp_caller(caller)
            };
            self.libraries.read(&caller, uri).await
        })
    }

    fn prompts<'a>(&'a self, caller: &'a Caller) -> LibraryFuture<'a, Vec<Value>> {
        Box::pin(async { self.libraries.prompts(&mcp_caller(caller)).await })
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
                ..mcp_caller(caller)
            };
            self.libraries.prompt(&caller, name, arguments).await
        })
    }

    fn attend(&self, caller: &Caller, client: &Arc<dyn Listener>) {
        self.libraries.add_listener(&mcp_caller(caller), client);
    }

    fn set_level<'a>(&'a self, caller: &'a Caller, level: &'a str) -> LibraryFuture<'a, ()> {
        Box::pin(async move { self.libraries.set_level(&mcp_caller(caller), level).await })
    }

    fn roots_changed<'a>(&'a self, caller: &'a Caller) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let caller = mcp_caller(caller);
            self.libraries.notify_roots_changed(&caller).await;
        })
    }

    fn follow<'a>(
        &'a self,
        caller: &'a Caller,
        uri: &'a str,
        wanted: bool,
    ) -> LibraryFuture<'a, ()> {
        Box::pin(async move {
            self.libraries
                .set_subscribed(&mcp_caller(caller), uri, wanted)
                .await
        })
    }

    fn complete<'a>(&'a self, caller: &'a Caller, params: Value) -> LibraryFuture<'a, Value> {
        Box::pin(async move { self.libraries.complete(&mcp_caller(caller), params).await })
    }
}

fn mcp_caller(caller: &Caller) -> McpCaller<'_> {
    McpCaller {
        identity: caller.identity.as_deref(),
        owner: caller.state_owner(),
        client: None,
    }
}
