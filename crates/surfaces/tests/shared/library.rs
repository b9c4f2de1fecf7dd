//! A library with one public entry and one entry for callers with a scope, of each kind.

use std::sync::{Arc, Mutex};

use panpan_failure::{Failure, codes};
use panpan_mcp::library::{Changes, List, Offer, Request};
use panpan_runtime::{BoxFuture, Listener};
use panpan_surfaces::{Caller, Library, RequestSource};
use rmcp::model::Reference;
use serde_json::{Value, json};
use tokio::sync::watch;

/// The scope that the restricted entries require.
pub(crate) const SCOPE: &str = "tests:run";

/// The last part of each name, and whether the entry is public.
const ITEMS: [(&str, bool); 2] = [("open", true), ("scoped", false)];

/// The library of the tests.
#[derive(Debug, Default)]
pub(crate) struct TestLibrary(watch::Sender<Changes>, pub(crate) Listeners);

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

    fn changes(&self, _: &Caller) -> watch::Receiver<Changes> {
        self.0.subscribe()
    }

    fn request<'a>(
        &'a self,
        caller: &'a Caller,
        request: Request,
        _: RequestSource,
    ) -> BoxFuture<'a, Result<Value, Failure>> {
        let result = match request {
            Request::List(list) => Ok(visible(caller).map(|it| item(list, it)).collect()),
            Request::Read(uri) => {
                let contents = json!({"contents": [{"uri": uri, "text": "hi"}]});
                found(caller, &uri, contents)
            }
            Request::Prompt { name, .. } => {
                let content = json!({"type": "text", "text": "hi"});
                let messages = json!({"messages": [{"role": "user", "content": content}]});
                found(caller, &name, messages)
            }
            Request::Complete(params) => {
                let name = match params.r#ref {
                    Reference::Prompt(prompt) => prompt.name,
                    _ => String::new(),
                };
                found(caller, &name, json!({"completion": {"values": ["hi"]}}))
            }
            _ => Ok(Value::Null),
        };
        Box::pin(async { result })
    }
}

fn item(list: List, name: &str) -> Value {
    match list {
        List::Resources => json!({"uri": format!("test://{name}"), "name": name}),
        List::Templates => json!({"uriTemplate": format!("test://{name}/{{id}}"), "name": name}),
        List::Prompts | List::Tools => json!({"name": format!("test__{name}")}),
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

fn found(caller: &Caller, name: &str, result: Value) -> Result<Value, Failure> {
    let is_visible = visible(caller).any(|it| name.ends_with(it));
    let absent = || Failure::new(codes::ARTIFACT_NOT_FOUND).with_message("no such entry");
    is_visible.then_some(result).ok_or_else(absent)
}
