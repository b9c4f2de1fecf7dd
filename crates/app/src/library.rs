//! What MCP servers offer beside tools, lent to the protocols in front.

use std::sync::{Arc, Weak};

use panpan_runtime::Identity;
use panpan_surfaces::{Caller, Desk, Lent, Library, Offer, Revision};
use panpan_upstream::mcp::{McpChanges, McpLibraries};
use serde_json::{Map, Value};
use tokio::sync::watch;

use crate::house::House;

/// Lends what the MCP servers of a house have beside tools, if it has servers.
pub(crate) fn lend(desk: &Desk, house: &House) {
    let servers = house.servers();
    if servers.is_empty() {
        return;
    }
    let libraries = Arc::new(McpLibraries::new(servers.iter().cloned()));
    let revision = watch::Sender::new(Revision::default());
    let changes = libraries.changes();
    libraries.look();
    tokio::spawn(told(changes, Arc::downgrade(&libraries), revision.clone()));
    desk.lend(Arc::new(Shelves {
        libraries,
        revision,
    }));
}

/// Passes on that lists have changed, for as long as the servers are there.
async fn told(
    mut changes: watch::Receiver<McpChanges>,
    libraries: Weak<McpLibraries>,
    revision: watch::Sender<Revision>,
) {
    while changes.changed().await.is_ok() {
        // A connection that came about is a change too.
        if let Some(libraries) = libraries.upgrade() {
            libraries.look();
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
    libraries: Arc<McpLibraries>,
    revision: watch::Sender<Revision>,
}

impl Library for Shelves {
    fn offer(&self) -> Offer {
        let offer = self.libraries.offer();
        Offer {
            resources: offer.resources,
            prompts: offer.prompts,
            completions: offer.completions,
        }
    }

    fn revisions(&self) -> watch::Receiver<Revision> {
        self.revision.subscribe()
    }

    fn resources<'a>(&'a self, caller: &'a Caller) -> Lent<'a, Vec<Value>> {
        Box::pin(self.libraries.resources(identity(caller)))
    }

    fn templates<'a>(&'a self, caller: &'a Caller) -> Lent<'a, Vec<Value>> {
        Box::pin(self.libraries.templates(identity(caller)))
    }

    fn read<'a>(&'a self, caller: &'a Caller, uri: &'a str) -> Lent<'a, Value> {
        Box::pin(self.libraries.read(identity(caller), uri))
    }

    fn prompts<'a>(&'a self, caller: &'a Caller) -> Lent<'a, Vec<Value>> {
        Box::pin(self.libraries.prompts(identity(caller)))
    }

    fn prompt<'a>(
        &'a self,
        caller: &'a Caller,
        name: &'a str,
        arguments: Map<String, Value>,
    ) -> Lent<'a, Value> {
        Box::pin(self.libraries.prompt(identity(caller), name, arguments))
    }

    fn complete<'a>(&'a self, caller: &'a Caller, params: Value) -> Lent<'a, Value> {
        Box::pin(self.libraries.complete(identity(caller), params))
    }
}

fn identity(caller: &Caller) -> Option<&Identity> {
    caller.identity.as_deref()
}
