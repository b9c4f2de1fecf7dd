//! The resources, prompts and completions of MCP servers, offered to MCP clients through the gateway.
//!
//! Tools are operations: see `backend`.

use std::sync::{Arc, Weak};

use panpan_failure::Failure;
use panpan_mcp::library::{Changes, Freshness, List, Offer, Request, ServerPeerInfo};
use panpan_runtime::{BoxFuture, Listener, StateOwner};
use panpan_surfaces::{Caller, Gateway, Library, RequestSource};
use panpan_upstream::mcp::{McpCaller, McpServers, McpUpstream};
use serde_json::Value;
use tokio::sync::watch;

/// Offers the resources, prompts and completions of these MCP servers through the gateway.
pub(crate) fn attach(gateway: &Gateway, servers: &[McpUpstream]) {
    if servers.is_empty() {
        return;
    }
    let servers = Arc::new(McpServers::new(servers.iter().cloned()));
    servers.refresh_offer();
    tokio::spawn(refresh_on_changes(
        servers.changes_for(&StateOwner::Anyone),
        Arc::downgrade(&servers),
    ));
    gateway.set_library(Arc::new(ServerLibrary(servers)));
}

/// Refreshes the features of the servers whenever a server changes a list or connects.
async fn refresh_on_changes(mut changes: watch::Receiver<Changes>, servers: Weak<McpServers>) {
    while changes.changed().await.is_ok() {
        let Some(servers) = servers.upgrade() else {
            return;
        };
        servers.refresh_offer();
    }
}

/// The resources, prompts and completions of all MCP servers. A caller sees those of the servers whose scopes it
/// has.
#[derive(Debug)]
struct ServerLibrary(Arc<McpServers>);

impl Library for ServerLibrary {
    fn offer(&self) -> Offer {
        self.0.offer()
    }

    fn about(&self) -> Option<ServerPeerInfo> {
        self.0.about()
    }

    fn unavailable_for(&self, caller: &Caller, tool: &str) -> Option<Failure> {
        self.0.unavailable_for(&mcp_caller(caller), tool)
    }

    fn unavailable(&self) -> Vec<String> {
        self.0.unavailable()
    }

    fn freshness(&self, list: List) -> Option<Freshness> {
        self.0.freshness(list)
    }

    fn changes(&self, caller: &Caller) -> watch::Receiver<Changes> {
        self.0.changes_for(&caller.state_owner())
    }

    fn attend(&self, caller: &Caller, client: &Arc<dyn Listener>) {
        self.0.add_listener(&mcp_caller(caller), client);
    }

    fn roots_changed<'a>(&'a self, caller: &'a Caller) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let caller = mcp_caller(caller);
            self.0.notify_roots_changed(&caller).await;
        })
    }

    fn request<'a>(
        &'a self,
        caller: &'a Caller,
        request: Request,
        source: RequestSource,
    ) -> BoxFuture<'a, Result<Value, Failure>> {
        Box::pin(async move {
            let caller = McpCaller {
                client: source.client,
                meta: source.meta,
                ..mcp_caller(caller)
            };
            self.0.request(&caller, request).await
        })
    }
}

fn mcp_caller(caller: &Caller) -> McpCaller<'_> {
    McpCaller {
        identity: caller.identity.as_deref(),
        owner: caller.state_owner(),
        ..McpCaller::default()
    }
}
