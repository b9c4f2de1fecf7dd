//! What is offered beside operations: resources, prompts, the completion of arguments, and lines of logs.
//!
//! Whoever has such things behind implements [`Library`] and lends it to the gateway; the protocols that
//! know them pass them on. Everything is the JSON of the Model Context Protocol.

use std::fmt;
use std::sync::Arc;

use panpan_failure::Failure;
use panpan_runtime::{AskPerson, BoxFuture, Listener};
use serde_json::{Map, Value};
use tokio::sync::watch;

use crate::caller::Caller;

/// What a library has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// Resources and templates of them.
    pub resources: bool,
    /// Prompts.
    pub prompts: bool,
    /// The completion of arguments.
    pub completions: bool,
    /// Lines of logs.
    pub logging: bool,
    /// That clients are told when a resource they follow has other contents.
    pub subscriptions: bool,
}

/// What the one server behind says about itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct About {
    /// Its name, title, version and icons, as the protocol writes them.
    pub server_info: Value,
    /// How it is to be used.
    pub instructions: Option<String>,
    /// Its capabilities, as the protocol writes them.
    pub capabilities: Value,
}

/// How long a list stays fresh, and who may keep it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// For how long, in milliseconds.
    pub ttl_ms: u64,
    /// Whether it may be kept for others than the caller that asked.
    pub is_public: bool,
}

/// How often the lists of a library have changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Revision {
    /// Those of resources and their templates.
    pub resources: u64,
    /// That of prompts.
    pub prompts: u64,
}

/// The person behind a request and their client, where they can be asked.
pub type Person = Option<Arc<dyn AskPerson>>;

/// An answer of a library.
pub type Lent<'a, T> = BoxFuture<'a, Result<T, Failure>>;

/// Resources, prompts and the completion of arguments.
///
/// What a caller may not see is left out of lists and fails as what is absent.
pub trait Library: Send + Sync + fmt::Debug {
    /// What there is. Asked whenever a client begins, and answered without waiting.
    fn offer(&self) -> Offer;

    /// What the one server behind says about itself, where clients are to take panpan for it. Answered without
    /// waiting.
    fn about(&self) -> Option<About> {
        None
    }

    /// How long a list stays fresh and who may keep it, as the servers behind say; asked after the list. `member` is
    /// the member of the result that holds it.
    fn freshness(&self, member: &str) -> Option<Freshness> {
        let _ = member;
        None
    }

    /// Tells when a list has changed for a caller. Called within a runtime of tokio.
    fn revisions(&self, caller: &Caller) -> watch::Receiver<Revision>;

    /// All resources, as they stand in the result of `resources/list`.
    fn resources<'a>(&'a self, caller: &'a Caller) -> Lent<'a, Vec<Value>>;

    /// All templates of resources, as they stand in the result of `resources/templates/list`.
    fn templates<'a>(&'a self, caller: &'a Caller) -> Lent<'a, Vec<Value>>;

    /// A resource, as the result of `resources/read`. A server that asks something before asks `person`.
    fn read<'a>(&'a self, caller: &'a Caller, uri: &'a str, person: Person) -> Lent<'a, Value>;

    /// All prompts, as they stand in the result of `prompts/list`.
    fn prompts<'a>(&'a self, caller: &'a Caller) -> Lent<'a, Vec<Value>>;

    /// A prompt with its arguments filled in, as the result of `prompts/get`. A server that asks something before
    /// asks `person`.
    fn prompt<'a>(
        &'a self,
        caller: &'a Caller,
        name: &'a str,
        arguments: Map<String, Value>,
        person: Person,
    ) -> Lent<'a, Value>;

    /// Has a client hear what is said to its caller outside of any call, and be asked there.
    fn attend(&self, caller: &Caller, client: &Arc<dyn Listener>) {
        let _ = (caller, client);
    }

    /// Has log lines of a level and above be said to a caller.
    fn set_level<'a>(&'a self, caller: &'a Caller, level: &'a str) -> Lent<'a, ()> {
        let _ = (caller, level);
        Box::pin(async { Ok(()) })
    }

    /// Has a caller be told when a resource has other contents, or no longer.
    fn follow<'a>(&'a self, caller: &'a Caller, uri: &'a str, wanted: bool) -> Lent<'a, ()> {
        let _ = (caller, uri, wanted);
        Box::pin(async { Ok(()) })
    }

    /// Values for an argument, as the result of `completion/complete`; gets the params of it.
    fn complete<'a>(&'a self, caller: &'a Caller, params: Value) -> Lent<'a, Value>;
}
