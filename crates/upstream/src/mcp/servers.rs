//! The resources, prompts and completion of several servers, merged.
//!
//! Prompts are prefixed with the namespace of their server. Resources keep their URIs, since
//! results refer to them: a URI belongs to the server that listed it or whose template matches. Of
//! two servers with the same item the first one wins, among those that admit the caller.

mod list_cache;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::join_all;
use jiff::Timestamp;
use panpan_failure::{Effect, Failure, codes};
use panpan_mcp::library::{Changes, Freshness, List, Offer, Request, ServerPeerInfo};
use panpan_runtime::{Listener, StateOwner};
use rmcp::model::Reference;
use serde_json::Value;
use tokio::sync::watch;

use super::{McpCaller, McpError, McpUpstream};
use list_cache::ListCache;

/// The separator between a namespace and the name of a prompt.
const SEPARATOR: &str = "__";

/// Several servers as one source of resources and prompts.
#[derive(Debug)]
pub struct McpServers {
    servers: Vec<McpUpstream>,
    cache: Mutex<ListCache>,
}

impl McpServers {
    /// Merges these servers. Nothing is known about them until they are asked.
    pub fn new(servers: impl IntoIterator<Item = McpUpstream>) -> Self {
        let servers: Vec<McpUpstream> = servers.into_iter().collect();
        Self {
            cache: Mutex::new(ListCache::new(servers.len())),
            servers,
        }
    }

    /// Notifies an owner of state of a changed list. Must be called within a tokio runtime.
    pub fn changes_for(&self, owner: &StateOwner) -> watch::Receiver<Changes> {
        let (changes, receiver) = watch::channel(Changes::default());
        for server in &self.servers {
            tokio::spawn(forward_changes(server.changes_for(owner), changes.clone()));
        }
        receiver
    }

    /// Updates the features from the servers that are connected now, without waiting. Those of a
    /// disconnected server are kept: it will be back.
    pub fn refresh_offer(&self) -> Offer {
        let all = &mut self.cache().offer;
        let known = self.servers.iter().filter_map(McpUpstream::known_offer);
        *all = known.fold(*all, Offer::or);
        *all
    }

    /// What the only server says about itself, if its own names are used.
    pub fn about(&self) -> Option<ServerPeerInfo> {
        match self.servers.as_slice() {
            // Clients see it before their permissions are known.
            [only] if only.keeps_names() && only.is_open() => only.about(),
            _ => None,
        }
    }

    /// Why a tool that no server has listed may exist nevertheless: a server whose tools are not
    /// known yet. Must be called within a tokio runtime.
    pub fn unavailable_for(&self, caller: &McpCaller<'_>, tool: &str) -> Option<Failure> {
        let now = Timestamp::now();
        let servers = self.admitting(caller).map(|(_, server)| server);
        let mut may_have_it = servers.filter(|server| tool.starts_with(&prefix(server)));
        let failure = may_have_it.find_map(|server| server.unavailable(now))?;
        let message = format!(
            "{}; whether it has the tool {} is not known",
            failure.message(),
            super::tool_error::bounded(tool)
        );
        Some(failure.with_message(message))
    }

    /// The servers whose tools are not known, each with the reason; without those that require
    /// scopes. Must be called within a tokio runtime.
    pub fn unavailable(&self) -> Vec<String> {
        let now = Timestamp::now();
        let open = self.servers.iter().filter(|it| it.is_open());
        let failures = open.filter_map(|server| server.unavailable(now));
        failures.map(|it| it.message().to_owned()).collect()
    }

    /// The freshness of a list, if all servers stated it with their last response.
    pub fn freshness(&self, list: List) -> Option<Freshness> {
        Freshness::of_all(self.servers.iter().map(|server| server.freshness(list)))
    }

    /// The features at the last refresh.
    pub fn offer(&self) -> Offer {
        self.cache().offer
    }

    /// Adds a client that receives the notifications of servers outside of calls.
    pub fn add_listener(&self, caller: &McpCaller<'_>, listener: &Arc<dyn Listener>) {
        for (_, server) in self.admitting(caller) {
            server.add_listener(&caller.owner, listener);
        }
    }

    /// Notifies all servers that keep a session of the caller that its roots changed.
    pub async fn notify_roots_changed(&self, caller: &McpCaller<'_>) {
        let servers = self.admitting(caller);
        join_all(servers.map(|(_, server)| server.notify_roots_changed(&caller.owner))).await;
    }

    /// The result of a request. Lists have the items of all servers that admit the caller; servers
    /// that do not answer are skipped, unless none answers.
    pub async fn request(
        &self,
        caller: &McpCaller<'_>,
        mut request: Request,
    ) -> Result<Value, Failure> {
        let server = match &mut request {
            Request::List(list) => return self.list(caller, *list).await.map(Value::from),
            Request::SetLevel(_) => return self.request_of_all(caller, request).await,
            Request::Read(uri) | Request::Subscribe(uri) | Request::Unsubscribe(uri) => {
                self.server_of(caller, List::Resources, uri).await?
            }
            Request::Prompt { name, .. } => self.server_of_prompt(caller, name).await?,
            Request::Complete(params) => match &mut params.r#ref {
                Reference::Prompt(prompt) => {
                    self.server_of_prompt(caller, &mut prompt.name).await?
                }
                Reference::Resource(resource) => {
                    self.server_of(caller, List::Templates, &resource.uri)
                        .await?
                }
                _ => return Err(not_found("reference", "without a name or a URI")),
            },
        };
        as_failure(server, server.request(caller, request).await)
    }

    /// Sends a request to all servers that admit a caller.
    async fn request_of_all(
        &self,
        caller: &McpCaller<'_>,
        request: Request,
    ) -> Result<Value, Failure> {
        let requests = self.admitting(caller).map(|(_, server)| {
            let response = server.request(caller, request.clone());
            async move { as_failure(server, response.await) }
        });
        let responses: Result<Vec<Value>, Failure> = join_all(requests).await.into_iter().collect();
        responses.map(Value::from)
    }

    /// The server of a prompt. Its name is replaced by that at the server.
    async fn server_of_prompt(
        &self,
        caller: &McpCaller<'_>,
        name: &mut String,
    ) -> Result<&McpUpstream, Failure> {
        let server = self.server_of(caller, List::Prompts, name).await?;
        if let Some(own) = name.strip_prefix(&prefix(server)) {
            *name = own.to_owned();
        }
        Ok(server)
    }

    /// The server that has an item. Servers are asked for their lists if none is known to have it.
    async fn server_of(
        &self,
        caller: &McpCaller<'_>,
        list: List,
        name: &str,
    ) -> Result<&McpUpstream, Failure> {
        let find = || {
            let admits = |position: usize| self.servers[position].admits(caller.identity);
            self.cache().server_of(list, name, &caller.owner, admits)
        };
        let mut position = find();
        let mut unlisted = Ok(());
        if position.is_none() {
            unlisted = self.list(caller, list).await.map(drop);
            if list == List::Resources {
                // Not every server with resources has templates.
                let templates = self.list(caller, List::Templates).await;
                unlisted = unlisted.and(templates.map(drop));
            }
            position = find();
        }
        let server = position.map(|it| &self.servers[it]);
        let unlisted_server = || self.server_of_unlisted(caller, list, name);
        if let Some(server) = server.or_else(unlisted_server) {
            return Ok(server);
        }
        unlisted?;
        Err(not_found(list.item(), name))
    }

    /// The server to ask for a resource that none has listed, such as one that a result links to:
    /// the only server, or the only one that lists resources with the same scheme.
    fn server_of_unlisted(
        &self,
        caller: &McpCaller<'_>,
        list: List,
        uri: &str,
    ) -> Option<&McpUpstream> {
        if list != List::Resources {
            return None;
        }
        if let [only] = self.servers.as_slice() {
            return Some(only).filter(|it| it.admits(caller.identity));
        }
        let admits = |position: usize| self.servers[position].admits(caller.identity);
        let position = self.cache().server_with_scheme(uri, &caller.owner, admits);
        position.map(|it| &self.servers[it])
    }

    fn admitting(&self, caller: &McpCaller<'_>) -> impl Iterator<Item = (usize, &McpUpstream)> {
        let servers = self.servers.iter().enumerate();
        servers.filter(|(_, server)| server.admits(caller.identity))
    }

    /// Merges the lists of all servers that admit a caller and drops duplicates; remembers which
    /// server listed what. Prompts get the namespace of their server.
    async fn list(&self, caller: &McpCaller<'_>, list: List) -> Result<Vec<Value>, Failure> {
        let lists = self.admitting(caller).map(|(position, server)| async move {
            (position, server.list(list, &caller.owner).await)
        });
        let lists = join_all(lists).await;
        let (mut items, mut names) = (Vec::new(), BTreeSet::new());
        let (mut has_answer, mut failed) = (lists.is_empty(), None);
        for (position, listed) in lists {
            let server = &self.servers[position];
            match as_failure(server, listed) {
                Ok(mut listed) => {
                    has_answer = true;
                    if list == List::Prompts {
                        listed.iter_mut().for_each(|it| add_prefix(server, it));
                    }
                    let name = |it: &Value| it.get(list.key())?.as_str().map(str::to_owned);
                    let all = listed.iter().filter_map(name).collect();
                    self.cache().set(&caller.owner, position, list, all);
                    let first = |it: &Value| name(it).is_some_and(|name| names.insert(name));
                    items.extend(listed.into_iter().filter(first));
                }
                Err(failure) => {
                    tracing::warn!(server = server.namespace(), "{failure}");
                    failed.get_or_insert(failure);
                }
            }
        }
        match failed {
            Some(failure) if !has_answer => Err(failure),
            _ => Ok(items),
        }
    }

    fn cache(&self) -> MutexGuard<'_, ListCache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds the changes of one server to those of all.
async fn forward_changes(mut server: watch::Receiver<Changes>, all: watch::Sender<Changes>) {
    let mut seen = *server.borrow_and_update();
    loop {
        tokio::select! {
            changed = server.changed() => if changed.is_err() { return },
            // No receiver is left.
            () = all.closed() => return,
        }
        let now = *server.borrow_and_update();
        all.send_modify(|all| {
            all.tools += now.tools - seen.tools;
            all.prompts += now.prompts - seen.prompts;
            all.resources += now.resources - seen.resources;
        });
        seen = now;
    }
}

/// The prefix of a server's prompts.
fn prefix(server: &McpUpstream) -> String {
    if server.keeps_names() {
        return String::new();
    }
    format!("{}{SEPARATOR}", server.namespace())
}

fn add_prefix(server: &McpUpstream, prompt: &mut Value) {
    if let Some(own) = prompt.get("name").and_then(Value::as_str) {
        prompt["name"] = format!("{}{own}", prefix(server)).into();
    }
}

fn as_failure<T>(server: &McpUpstream, result: Result<T, McpError>) -> Result<T, Failure> {
    result.map_err(|error| server.failure(error, Timestamp::now()))
}

fn not_found(what: &'static str, name: &str) -> Failure {
    Failure::new(codes::ARTIFACT_NOT_FOUND)
        .with_message(format!("there is no such {what}"))
        .with_detail(what, super::tool_error::bounded(name))
        .with_effect(Effect::None)
}
