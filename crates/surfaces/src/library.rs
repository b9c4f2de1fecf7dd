//! What MCP servers offer besides tools: resources, prompts, completion of arguments, and log messages.
//!
//! The application implements [`Library`] and sets it on the gateway; the MCP surface serves it. All values
//! are JSON as the Model Context Protocol defines it.

use std::fmt;
use std::sync::Arc;

use panpan_failure::Failure;
use panpan_runtime::{AskClient, BoxFuture, Listener};
use serde_json::{Map, Value};
use tokio::sync::watch;

use crate::caller::Caller;

/// The features that a library supports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// Resources and resource templates.
    pub resources: bool,
    /// Prompts.
    pub prompts: bool,
    /// Completion of arguments.
    pub completions: bool,
    /// Log messages.
    pub logging: bool,
    /// Notifications about changed contents of a resource.
    pub subscriptions: bool,
}

/// The description of the one upstream server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerInfo {
    /// Its name, title, version and icons, as the protocol writes them.
    pub server_info: Value,
    /// Its instructions for clients.
    pub instructions: Option<String>,
    /// Its capabilities, as the protocol writes them.
    pub capabilities: Value,
}

/// How long a list may be cached, and by whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// Time to live, in milliseconds.
    pub ttl_ms: u64,
    /// Whether a shared cache may keep it for other callers.
    pub is_public: bool,
}

/// Counters that grow whenever a list of a library changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Revision {
    /// Lists of resources and resource templates.
    pub resources: u64,
    /// List of prompts.
    pub prompts: u64,
}

/// Sends elicitations to the client of a request; `None` if the client does not support them.
pub type Elicitor = Option<Arc<dyn AskClient>>;

/// A future result of a library.
pub type LibraryFuture<'a, T> = BoxFuture<'a, Result<T, Failure>>;

/// Resources, prompts and completions.
///
/// Entries that a caller may not see are omitted from lists, and requests for them fail as if they did not
/// exist.
pub trait Library: Send + Sync + fmt::Debug {
    /// The supported features. Called for each new client; must not block.
    fn offer(&self) -> Offer;

    /// The description of the upstream server that panpan presents as its own, if there is exactly one. Must
    /// not block.
    fn about(&self) -> Option<ServerInfo> {
        None
    }

    /// How long a list may be cached, as the upstream servers declare; called after the list. `member` is the
    /// member of the result that holds the list.
    fn freshness(&self, member: &str) -> Option<Freshness> {
        let _ = member;
        None
    }

    /// Reports changes of the lists that a caller sees. Called within a tokio runtime.
    fn revisions(&self, caller: &Caller) -> watch::Receiver<Revision>;

    /// All resources, as in the result of `resources/list`.
    fn resources<'a>(&'a self, caller: &'a Caller) -> LibraryFuture<'a, Vec<Value>>;

    /// All resource templates, as in the result of `resources/templates/list`.
    fn templates<'a>(&'a self, caller: &'a Caller) -> LibraryFuture<'a, Vec<Value>>;

    /// A resource, as the result of `resources/read`. Elicitations of the server go to `elicitor`.
    fn read<'a>(
        &'a self,
        caller: &'a Caller,
        uri: &'a str,
        elicitor: Elicitor,
    ) -> LibraryFuture<'a, Value>;

    /// All prompts, as in the result of `prompts/list`.
    fn prompts<'a>(&'a self, caller: &'a Caller) -> LibraryFuture<'a, Vec<Value>>;

    /// A prompt with its arguments filled in, as the result of `prompts/get`. Elicitations of the server go to
    /// `elicitor`.
    fn prompt<'a>(
        &'a self,
        caller: &'a Caller,
        name: &'a str,
        arguments: Map<String, Value>,
        elicitor: Elicitor,
    ) -> LibraryFuture<'a, Value>;

    /// Registers a client for notifications and elicitations outside of calls.
    fn attend(&self, caller: &Caller, client: &Arc<dyn Listener>) {
        let _ = (caller, client);
    }

    /// Sets the lowest level of the log messages that a caller gets.
    fn set_level<'a>(&'a self, caller: &'a Caller, level: &'a str) -> LibraryFuture<'a, ()> {
        let _ = (caller, level);
        Box::pin(async { Ok(()) })
    }

    /// The client of a caller reports that its roots changed.
    fn roots_changed<'a>(&'a self, caller: &'a Caller) -> BoxFuture<'a, ()> {
        let _ = caller;
        Box::pin(async {})
    }

    /// Starts or stops notifications to a caller about changed contents of a resource.
    fn follow<'a>(
        &'a self,
        caller: &'a Caller,
        uri: &'a str,
        wanted: bool,
    ) -> LibraryFuture<'a, ()> {
        let _ = (caller, uri, wanted);
        Box::pin(async { Ok(()) })
    }

    /// Completions of an argument, as the result of `completion/complete`; `params` are those of the request.
    fn complete<'a>(&'a self, caller: &'a Caller, params: Value) -> LibraryFuture<'a, Value>;
}
