//! What MCP servers offer besides tools: resources, prompts, completion of arguments, and log messages.
//!
//! The application implements [`Library`] and sets it on the gateway; the MCP surface serves it. All values
//! are JSON as the Model Context Protocol defines it.

use std::fmt;
use std::sync::Arc;

use panpan_failure::Failure;
use panpan_mcp::library::{Changes, Freshness, List, Offer, Request, ServerPeerInfo};
use panpan_runtime::{AskClient, BoxFuture, Listener};
use serde_json::{Map, Value};
use tokio::sync::watch;

use crate::caller::Caller;

/// Resources, prompts and completions.
///
/// Entries that a caller may not see are omitted from lists, and requests for them fail as if they did not
/// exist.
pub trait Library: Send + Sync + fmt::Debug {
    /// The supported features. Called for each new client; must not block.
    fn offer(&self) -> Offer;

    /// The description of the upstream server that panpan presents as its own, if there is exactly one. Must
    /// not block.
    fn about(&self) -> Option<ServerPeerInfo> {
        None
    }

    /// Why an unknown tool may exist nevertheless: an upstream server that is not available yet. Must not block.
    fn unavailable_for(&self, caller: &Caller, tool: &str) -> Option<Failure> {
        let _ = (caller, tool);
        None
    }

    /// One sentence about each upstream server whose tools are not known yet. Must not block.
    fn unavailable(&self) -> Vec<String> {
        Vec::new()
    }

    /// How long a list may be cached, as the upstream servers declare; called after the list.
    fn freshness(&self, list: List) -> Option<Freshness> {
        let _ = list;
        None
    }

    /// Reports changes of the lists that a caller sees. Called within a tokio runtime.
    fn changes(&self, caller: &Caller) -> watch::Receiver<Changes>;

    /// Registers a client for notifications and elicitations outside of calls.
    fn attend(&self, caller: &Caller, client: &Arc<dyn Listener>) {
        let _ = (caller, client);
    }

    /// The client of a caller reports that its roots changed.
    fn roots_changed<'a>(&'a self, caller: &'a Caller) -> BoxFuture<'a, ()> {
        let _ = caller;
        Box::pin(async {})
    }

    /// The result of a request.
    fn request<'a>(
        &'a self,
        caller: &'a Caller,
        request: Request,
        source: RequestSource,
    ) -> BoxFuture<'a, Result<Value, Failure>>;
}

/// The client behind a request.
#[derive(Clone, Debug, Default)]
pub struct RequestSource {
    /// Gets the elicitations of the server; `None` if the client does not support them.
    pub client: Option<Arc<dyn AskClient>>,
    /// The members of `_meta` that it sends to the server.
    pub meta: Map<String, Value>,
}
