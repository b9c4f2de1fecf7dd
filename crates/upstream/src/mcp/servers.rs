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
use panpan_runtime::{Listener, StateOwner};
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::{
    McpAbout, McpCaller, McpCapabilities, McpChanges, McpError, McpFreshness, McpUpstream,
};
use list_cache::{ListCache, ServerLists};

/// The separator between a namespace and the name of a prompt.
const SEPARATOR: &str = "__";

/// Several servers as one source of resources and prompts.
#[derive(Debug)]
pub struct McpServers {
    servers: Vec<McpUpstream>,
    cache: Mutex<ListCache>,
    changes: watch::Sender<McpChanges>,
    /// Keeps the channel open.
    _receiver: watch::Receiver<McpChanges>,
    /// Aborted with this value.
    _forwarding: AbortOnDrop,
}

/// Tasks that are aborted on drop.
#[derive(Debug)]
struct AbortOnDrop(Vec<AbortHandle>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        for task in &self.0 {
            task.abort();
        }
    }
}

/// Selects one of a server's lists.
type List = fn(&mut ServerLists) -> &mut BTreeSet<String>;

impl McpServers {
    /// Merges these servers. Must be called within a tokio runtime. Nothing is known about them
    /// until they are asked.
    pub fn new(servers: impl IntoIterator<Item = McpUpstream>) -> Self {
        let servers: Vec<McpUpstream> = servers.into_iter().collect();
        let (changes, receiver) = watch::channel(McpChanges::default());
        let forwarding = servers.iter().map(|server| {
            let task = tokio::spawn(forward_changes(server.changes(), changes.clone()));
            task.abort_handle()
        });
        Self {
            _forwarding: AbortOnDrop(forwarding.collect()),
            cache: Mutex::new(ListCache::new(servers.len())),
            servers,
            changes,
            _receiver: receiver,
        }
    }

    /// Notifies of a changed list of any server.
    pub fn changes(&self) -> watch::Receiver<McpChanges> {
        self.changes.subscribe()
    }

    /// Notifies an owner of state of a changed list. Must be called within a tokio runtime.
    pub fn changes_for(&self, owner: &StateOwner) -> watch::Receiver<McpChanges> {
        let (changes, receiver) = watch::channel(McpChanges::default());
        for server in &self.servers {
            tokio::spawn(forward_changes(server.changes_for(owner), changes.clone()));
        }
        receiver
    }

    /// Updates the capabilities from the servers that are connected now, without waiting. Those of
    /// a disconnected server are kept: it will be back.
    pub fn refresh_capabilities(&self) -> McpCapabilities {
        let all = &mut self.cache().capabilities;
        for found in self
            .servers
            .iter()
            .filter_map(McpUpstream::known_capabilities)
        {
            all.tools |= found.tools;
            all.resources |= found.resources;
            all.prompts |= found.prompts;
            all.completions |= found.completions;
            all.logging |= found.logging;
            all.subscriptions |= found.subscriptions;
        }
        *all
    }

    /// What the only server says about itself, if its own names are used.
    pub fn about(&self) -> Option<McpAbout> {
        match self.servers.as_slice() {
            // Clients see it before their permissions are known.
            [only] if only.keeps_names() && only.is_open() => only.about(),
            _ => None,
        }
    }

    /// The freshness of a list, if all servers stated it with their last response.
    pub fn freshness(&self, member: &str) -> Option<McpFreshness> {
        let servers = self.servers.iter();
        McpFreshness::of_all(servers.map(|server| server.freshness(member)))
    }

    /// The capabilities at the last refresh.
    pub fn capabilities(&self) -> McpCapabilities {
        self.cache().capabilities
    }

    /// The resources of the servers that admit a caller. Servers that do not answer are skipped,
    /// unless none answers.
    pub async fn resources(&self, caller: &McpCaller<'_>) -> Result<Vec<Value>, Failure> {
        let lists = self.list_all(caller, McpUpstream::list_resources).await;
        self.merge(&caller.owner, lists, "uri", |it| &mut it.resources)
    }

    /// The resource templates of the servers that admit a caller.
    pub async fn templates(&self, caller: &McpCaller<'_>) -> Result<Vec<Value>, Failure> {
        let lists = self.list_all(caller, McpUpstream::list_resource_templates);
        self.merge(&caller.owner, lists.await, "uriTemplate", |it| {
            &mut it.templates
        })
    }

    /// The prompts of the servers that admit a caller, each with the namespace of its server.
    pub async fn prompts(&self, caller: &McpCaller<'_>) -> Result<Vec<Value>, Failure> {
        let mut lists = self.list_all(caller, McpUpstream::list_prompts).await;
        for (position, prompts) in &mut lists {
            let server = &self.servers[*position];
            for prompt in prompts.iter_mut().flatten() {
                if let Some(own) = prompt.get("name").and_then(Value::as_str) {
                    prompt["name"] = format!("{}{own}", prefix(server)).into();
                }
            }
        }
        self.merge(&caller.owner, lists, "name", |it| &mut it.prompts)
    }

    /// The contents of a resource, as the result of `resources/read`.
    pub async fn read(&self, caller: &McpCaller<'_>, uri: &str) -> Result<Value, Failure> {
        let server = self.server_of_resource(caller, uri).await?;
        as_failure(server, server.read_resource(caller, uri).await)
    }

    async fn server_of_resource(
        &self,
        caller: &McpCaller<'_>,
        uri: &str,
    ) -> Result<&McpUpstream, Failure> {
        let find = || {
            let admits = |position| self.admits(position, caller);
            self.cache().server_of(uri, &caller.owner, admits)
        };
        let mut position = find();
        if position.is_none() {
            self.resources(caller).await?;
            self.templates(caller).await?;
            position = find();
        }
        let server = position.map(|it| &self.servers[it]);
        server.ok_or_else(|| not_found("resource", uri))
    }

    /// Adds a client that receives the notifications of servers outside of calls.
    pub fn add_listener(&self, caller: &McpCaller<'_>, listener: &Arc<dyn Listener>) {
        let servers = self.servers.iter();
        for server in servers.filter(|server| server.admits(caller.identity)) {
            server.add_listener(&caller.owner, listener);
        }
    }

    /// Sets the log level at all servers that log.
    pub async fn set_level(&self, caller: &McpCaller<'_>, level: &str) -> Result<(), Failure> {
        let servers = self.servers.iter();
        let servers = servers.filter(|server| server.admits(caller.identity));
        let set = servers.map(|server| async move {
            as_failure(server, server.set_level(&caller.owner, level).await)
        });
        join_all(set).await.into_iter().collect()
    }

    /// Notifies all servers that keep a session of the caller that its roots changed.
    pub async fn notify_roots_changed(&self, caller: &McpCaller<'_>) {
        let servers = self.servers.iter();
        let servers = servers.filter(|server| server.admits(caller.identity));
        join_all(servers.map(|server| server.notify_roots_changed(&caller.owner))).await;
    }

    /// Subscribes to a resource or unsubscribes from it.
    pub async fn set_subscribed(
        &self,
        caller: &McpCaller<'_>,
        uri: &str,
        subscribed: bool,
    ) -> Result<(), Failure> {
        let server = self.server_of_resource(caller, uri).await?;
        let done = match subscribed {
            true => server.subscribe(&caller.owner, uri).await,
            false => server.unsubscribe(&caller.owner, uri).await,
        };
        as_failure(server, done)
    }

    /// A prompt with its arguments filled in, as the result of `prompts/get`.
    pub async fn prompt(
        &self,
        caller: &McpCaller<'_>,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<Value, Failure> {
        let (server, own_name) = self.server_of_prompt(caller, name).await?;
        let prompt = server.get_prompt(caller, own_name, arguments).await;
        as_failure(server, prompt)
    }

    /// Values for an argument, as the result of `completion/complete`; takes its params.
    pub async fn complete(
        &self,
        caller: &McpCaller<'_>,
        mut params: Value,
    ) -> Result<Value, Failure> {
        let reference = params.get("ref").cloned().unwrap_or_default();
        if let Some(name) = reference.get("name").and_then(Value::as_str) {
            let (server, own_name) = self.server_of_prompt(caller, name).await?;
            params["ref"]["name"] = json!(own_name);
            return as_failure(server, server.complete(&caller.owner, params).await);
        }
        let uri = reference.get("uri").and_then(Value::as_str);
        let uri = uri.ok_or_else(|| not_found("reference", "without a name or a URI"))?;
        let server = self.server_of_template(caller, uri).await?;
        as_failure(server, server.complete(&caller.owner, params).await)
    }

    async fn server_of_template(
        &self,
        caller: &McpCaller<'_>,
        uri: &str,
    ) -> Result<&McpUpstream, Failure> {
        let find = || self.server_listing(caller, uri, |it| &mut it.templates);
        let mut server = find();
        if server.is_none() {
            self.templates(caller).await?;
            server = find();
        }
        server.ok_or_else(|| not_found("resource template", uri))
    }

    /// The server of a prompt, and the prompt's name there.
    async fn server_of_prompt<'a>(
        &'a self,
        caller: &McpCaller<'_>,
        name: &'a str,
    ) -> Result<(&'a McpUpstream, &'a str), Failure> {
        let find = || self.server_listing(caller, name, |it| &mut it.prompts);
        let mut server = find();
        if server.is_none() {
            self.prompts(caller).await?;
            server = find();
        }
        let found = server.and_then(|server| Some((server, name.strip_prefix(&prefix(server))?)));
        found.ok_or_else(|| not_found("prompt", name))
    }

    /// The first server that admits a caller and lists this name.
    fn server_listing(
        &self,
        caller: &McpCaller<'_>,
        name: &str,
        list: List,
    ) -> Option<&McpUpstream> {
        let mut cache = self.cache();
        let mut lists = self.servers.iter().zip(cache.lists_for(&caller.owner));
        lists.find_map(|(server, it)| {
            let has_it = server.admits(caller.identity) && list(it).contains(name);
            has_it.then_some(server)
        })
    }

    fn admits(&self, position: usize, caller: &McpCaller<'_>) -> bool {
        self.servers[position].admits(caller.identity)
    }

    /// The lists of all servers that admit a caller.
    async fn list_all<'a, F: Future<Output = Result<Vec<Value>, McpError>>>(
        &'a self,
        caller: &'a McpCaller<'_>,
        list: impl Fn(&'a McpUpstream, &'a StateOwner) -> F,
    ) -> Lists {
        let servers = self.servers.iter().enumerate();
        let admitting = servers.filter(|(_, server)| server.admits(caller.identity));
        let lists = admitting.map(|(position, server)| {
            let listed = list(server, &caller.owner);
            async move { (position, listed.await) }
        });
        join_all(lists).await
    }

    /// Merges lists and drops duplicates; remembers which server listed what.
    fn merge(
        &self,
        owner: &StateOwner,
        lists: Lists,
        member: &str,
        list: List,
    ) -> Result<Vec<Value>, Failure> {
        let (mut items, mut names) = (Vec::new(), BTreeSet::new());
        let (mut has_answer, mut failed) = (lists.is_empty(), None);
        for (position, listed) in lists {
            let server = &self.servers[position];
            match as_failure(server, listed) {
                Ok(listed) => {
                    has_answer = true;
                    let name = |it: &Value| it.get(member)?.as_str().map(str::to_owned);
                    let all = listed.iter().filter_map(name).collect();
                    *list(&mut self.cache().lists_for(owner)[position]) = all;
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

/// The lists of servers, by position.
type Lists = Vec<(usize, Result<Vec<Value>, McpError>)>;

/// Adds the changes of one server to those of all.
async fn forward_changes(mut server: watch::Receiver<McpChanges>, all: watch::Sender<McpChanges>) {
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

fn as_failure<T>(server: &McpUpstream, result: Result<T, McpError>) -> Result<T, Failure> {
    result.map_err(|error| server.failure(error, Timestamp::now()))
}

fn not_found(what: &'static str, name: &str) -> Failure {
    Failure::new(codes::ARTIFACT_NOT_FOUND)
        .with_message(format!("there is no such {what}"))
        .with_detail(what, super::tool_error::bounded(name))
        .with_effect(Effect::None)
}
