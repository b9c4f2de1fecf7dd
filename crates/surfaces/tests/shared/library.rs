//! A library with one public entry and one entry for callers with a scope, of each kind.

use std::sync::{Arc, Mutex};

use panpan_failure::{Failure, codes};
use panpan_runtime::Listener;
use panpan_surfaces::{Caller, Elicitor, Library, LibraryFuture, Offer, Revision};
use serde_json::{Map, Value, json};
use tokio::sync::watch;

/// The scope that the restricted entries require.
pub(crate) const SCOPE: &str = "tests:run";

/// The last part of each name, and whether the entry is public.
const ITEMS: [(&str, bool); 2] = [("open", true), ("scoped", false)];

/// The library of the tests.
#[derive(Debug, Default)]
pub(crate) struct TestLibrary(watch::Sender<Revision>, pub(crate) Listeners);

/// The registered clients.
pub(crate) type Listeners = Arc<Mutex<Vec<Arc<dyn Listener>>>>;

impl Library for TestLibrary {
    fn offer(&self) -> Offer {
        Offer {
            resources: true,
            prompts: true,
            completions: true,
            logging: true,
            ..Offer::default()
        }
    }

    fn attend(&self, _: &Caller, client: &Arc<dyn Listener>) {
        self.1.lock().unwrap().push(client.clone());
    }

    fn revisions(&self, _: &Caller) -> watch::Receiver<Revision> {
        self.0.subscribe()
    }

    fn resources<'a>(&'a self, caller: &'a Caller) -> LibraryFuture<'a, Vec<Value>> {
        listed(
            caller,
            |it| json!({"uri": format!("test://{it}"), "name": it}),
        )
    }

    fn templates<'a>(&'a self, caller: &'a Caller) -> LibraryFuture<'a, Vec<Value>> {
        listed(
            caller,
            |it| json!({"uriTemplate": format!("test://{it}/{{id}}"), "name": it}),
        )
    }

    fn read<'a>(
        &'a self,
        caller: &'a Caller,
        uri: &'a str,
        _: Elicitor,
    ) -> LibraryFuture<'a, Value> {
        found(
            caller,
            uri,
            json!({"contents": [{"uri": uri, "text": "hi"}]}),
        )
    }

    fn prompts<'a>(&'a self, caller: &'a Caller) -> LibraryFuture<'a, Vec<Value>> {
        listed(caller, |it| json!({"name": format!("test__{it}")}))
    }

    fn prompt<'a>(
        &'a self,
        caller: &'a Caller,
        name: &'a str,
        _: Map<String, Value>,
        _: Elicitor,
    ) -> LibraryFuture<'a, Value> {
        let content = json!({"type": "text", "text": "hi"});
        found(
            caller,
            name,
            json!({"messages": [{"role": "user", "content": content}]}),
        )
    }

    fn complete<'a>(&'a self, caller: &'a Caller, params: Value) -> LibraryFuture<'a, Value> {
        let name = params["ref"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        found(caller, &name, json!({"completion": {"values": ["hi"]}}))
    }
}

fn visible(caller: &Caller) -> impl Iterator<Item = &'static str> {
    let identity = caller.identity.as_ref();
    let has_scope = identity.is_some_and(|it| it.scopes.contains(SCOPE));
    let visible = ITEMS
        .into_iter()
        .filter(move |(_, open)| *open || has_scope);
    visible.map(|(name, _)| name)
}

fn listed<'a>(caller: &Caller, write: impl Fn(&str) -> Value) -> LibraryFuture<'a, Vec<Value>> {
    let items = visible(caller).map(write).collect();
    Box::pin(async { Ok(items) })
}

fn found<'a>(caller: &Caller, name: &str, result: Value) -> LibraryFuture<'a, Value> {
    let is_visible = visible(caller).any(|it| name.ends_with(it));
    let absent = || Failure::new(codes::ARTIFACT_NOT_FOUND).with_message("no such entry");
    Box::pin(async move { is_visible.then_some(result).ok_or_else(absent) })
}
