//! What several servers offer beside tools, as one library.
//!
//! Prompts carry the namespace of their server before their name. Resources keep their URIs, since
//! results refer to them: a URI belongs to the server that listed it, or whose template it begins like.
//! Where two servers claim the same, the one that was named first has it, among those that admit the
//! caller: the others are not there for it.

mod known;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::join_all;
use jiff::Timestamp;
use panpan_failure::{Effect, Failure, codes};
use panpan_runtime::{Listener, StateOwner};
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::{McpAbout, McpCaller, McpChanges, McpError, McpFreshness, McpOffer, McpUpstream};
use known::{Known, Listed};

/// What stands between a namespace and the name of a prompt.
const SEPARATOR: &str = "__";

/// Several servers, for what they offer beside tools.
#[derive(Debug)]
pub struct McpLibraries {
    servers: Vec<McpUpstream>,
    known: Mutex<Known>,
    changes: watch::Sender<McpChanges>,
    /// Changes are followed while there is one who listens.
    _heard: watch::Receiver<McpChanges>,
    /// Ends with the library.
    _following: AbortOnDrop,
}

/// Tasks that end when nobody needs them any more.
#[derive(Debug)]
struct AbortOnDrop(Vec<AbortHandle>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        for task in &self.0 {
            task.abort();
        }
    }
}

/// Which of a server's lists is meant.
type List = fn(&mut Listed) -> &mut BTreeSet<String>;

impl McpLibraries {
    /// The libraries of these servers; to be made within a runtime of tokio. Nothing is known of them
    /// before they were asked.
    pub fn new(servers: impl IntoIterator<Item = McpUpstream>) -> Self {
        let servers: Vec<McpUpstream> = servers.into_iter().collect();
        let (changes, heard) = watch::channel(McpChanges::default());
        let following = servers.iter().map(|server| {
            let task = tokio::spawn(follow(server.changes(), changes.clone()));
            task.abort_handle()
        });
        Self {
            _following: AbortOnDrop(following.collect()),
            known: Mutex::new(Known::of(servers.len())),
            servers,
            changes,
            _heard: heard,
        }
    }

    /// Tells when a list of one of them has changed.
    pub fn changes(&self) -> watch::Receiver<McpChanges> {
        self.changes.subscribe()
    }

    /// Tells an owner of state when a list has changed for it. To be called within a runtime of tokio.
    pub fn changes_for(&self, owner: &StateOwner) -> watch::Receiver<McpChanges> {
        let (changes, heard) = watch::channel(McpChanges::default());
        for server in &self.servers {
            tokio::spawn(follow(server.changes_for(owner), changes.clone()));
        }
        heard
    }

    /// Looks at what the servers offer that there is a connection to, and waits for none. What one offered
    /// before stays: it will be back.
    pub fn look(&self) -> McpOffer {
        let offer = &mut self.known().offer;
        for found in self.servers.iter().filter_map(McpUpstream::known_offer) {
            offer.tools |= found.tools;
            offer.resources |= found.resources;
            offer.prompts |= found.prompts;
            offer.completions |= found.completions;
            offer.logging |= found.logging;
            offer.subscriptions |= found.subscriptions;
        }
        *offer
    }

    /// What the only server says about itself, where it is shown under its own names.
    pub fn about(&self) -> Option<McpAbout> {
        match self.servers.as_slice() {
            // It is said to all who begin, before it is known what they may see.
            [only] if only.has_own_names() && only.is_open() => only.about(),
            _ => None,
        }
    }

    /// How long a list stays fresh and who may keep it, as all servers said when they were last asked for it.
    pub fn freshness(&self, member: &str) -> Option<McpFreshness> {
        let servers = self.servers.iter();
        McpFreshness::of_all(servers.map(|server| server.freshness(member)))
    }

    /// What they offered when they were last looked at.
    pub fn offer(&self) -> McpOffer {
        self.known().offer
    }

    /// The resources of the servers that admit a caller. A server that does not answer has none for now,
    /// unless none does.
    pub async fn resources(&self, caller: &McpCaller<'_>) -> Result<Vec<Value>, Failure> {
        let asked = self.asked(caller, McpUpstream::list_resources).await;
        self.gathered(&caller.owner, asked, "uri", |it| &mut it.resources)
    }

    /// The resource templates of the servers that admit a caller.
    pub async fn templates(&self, caller: &McpCaller<'_>) -> Result<Vec<Value>, Failure> {
        let asked = self.asked(caller, McpUpstream::list_resource_templates);
        self.gathered(&caller.owner, asked.await, "uriTemplate", |it| {
            &mut it.templates
        })
    }

    /// The prompts of the servers that admit a caller, each with the namespace of its server.
    pub async fn prompts(&self, caller: &McpCaller<'_>) -> Result<Vec<Value>, Failure> {
        let mut asked = self.asked(caller, McpUpstream::list_prompts).await;
        for (place, prompts) in &mut asked {
            let server = &self.servers[*place];
            for prompt in prompts.iter_mut().flatten() {
                if let Some(own) = prompt.get("name").and_then(Value::as_str) {
                    prompt["name"] = format!("{}{own}", prefix(server)).into();
                }
            }
        }
        self.gathered(&caller.owner, asked, "name", |it| &mut it.prompts)
    }

    /// The contents of a resource, as the result of `resources/read`.
    pub async fn read(&self, caller: &McpCaller<'_>, uri: &str) -> Result<Value, Failure> {
        let server = self.owner_of_resource(caller, uri).await?;
        told(server, server.read_resource(caller, uri).await)
    }

    async fn owner_of_resource(
        &self,
        caller: &McpCaller<'_>,
        uri: &str,
    ) -> Result<&McpUpstream, Failure> {
        let find = || {
            let admits = |place| self.admits(place, caller);
            self.known().server_of(uri, &caller.owner, admits)
        };
        let mut owner = find();
        if owner.is_none() {
            self.resources(caller).await?;
            self.templates(caller).await?;
            owner = find();
        }
        let server = owner.map(|place| &self.servers[place]);
        server.ok_or_else(|| absent("resource", uri))
    }

    /// Has a client hear what servers say to an owner of state outside of any call.
    pub fn attend(&self, caller: &McpCaller<'_>, listener: &Arc<dyn Listener>) {
        let servers = self.servers.iter();
        for server in servers.filter(|server| server.admits(caller.identity)) {
            server.attend(&caller.owner, listener);
        }
    }

    /// Has all servers that log do so at a level.
    pub async fn set_level(&self, caller: &McpCaller<'_>, level: &str) -> Result<(), Failure> {
        let servers = self.servers.iter();
        let servers = servers.filter(|server| server.admits(caller.identity));
        let set = servers.map(|server| async move {
            told(server, server.set_level(&caller.owner, level).await)
        });
        join_all(set).await.into_iter().collect()
    }

    /// Follows a resource, or no longer.
    pub async fn follow(
        &self,
        caller: &McpCaller<'_>,
        uri: &str,
        wanted: bool,
    ) -> Result<(), Failure> {
        let server = self.owner_of_resource(caller, uri).await?;
        let done = match wanted {
            true => server.follow_resource(&caller.owner, uri).await,
            false => server.unfollow_resource(&caller.owner, uri).await,
        };
        told(server, done)
    }

    /// A prompt with its arguments filled in, as the result of `prompts/get`.
    pub async fn prompt(
        &self,
        caller: &McpCaller<'_>,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<Value, Failure> {
        let (server, own) = self.owner_of_prompt(caller, name).await?;
        told(server, server.get_prompt(caller, own, arguments).await)
    }

    /// Values for an argument, as the result of `completion/complete`; takes the params of it.
    pub async fn complete(
        &self,
        caller: &McpCaller<'_>,
        mut params: Value,
    ) -> Result<Value, Failure> {
        let reference = params.get("ref").cloned().unwrap_or_default();
        if let Some(name) = reference.get("name").and_then(Value::as_str) {
            let (server, own) = self.owner_of_prompt(caller, name).await?;
            params["ref"]["name"] = json!(own);
            return told(server, server.complete(&caller.owner, params).await);
        }
        let uri = reference.get("uri").and_then(Value::as_str);
        let uri = uri.ok_or_else(|| absent("reference", "without a name or a URI"))?;
        let server = self.owner_of_template(caller, uri).await?;
        told(server, server.complete(&caller.owner, params).await)
    }

    async fn owner_of_template(
        &self,
        caller: &McpCaller<'_>,
        uri: &str,
    ) -> Result<&McpUpstream, Failure> {
        let find = || self.owner(caller, uri, |it| &mut it.templates);
        let mut owner = find();
        if owner.is_none() {
            self.templates(caller).await?;
            owner = find();
        }
        owner.ok_or_else(|| absent("resource template", uri))
    }

    /// Whose a prompt is, and what it is called there.
    async fn owner_of_prompt<'a>(
        &'a self,
        caller: &McpCaller<'_>,
        name: &'a str,
    ) -> Result<(&'a McpUpstream, &'a str), Failure> {
        let find = || self.owner(caller, name, |it| &mut it.prompts);
        let mut owner = find();
        if owner.is_none() {
            self.prompts(caller).await?;
            owner = find();
        }
        let owner = owner.and_then(|server| Some((server, name.strip_prefix(&prefix(server))?)));
        owner.ok_or_else(|| absent("prompt", name))
    }

    /// The first server that admits a caller and has a name in one of its lists.
    fn owner(&self, caller: &McpCaller<'_>, name: &str, list: List) -> Option<&McpUpstream> {
        let mut known = self.known();
        let mut lists = self.servers.iter().zip(known.lists_for(&caller.owner));
        lists.find_map(|(server, it)| {
            let owns = server.admits(caller.identity) && list(it).contains(name);
            owns.then_some(server)
        })
    }

    fn admits(&self, place: usize, caller: &McpCaller<'_>) -> bool {
        self.servers[place].admits(caller.identity)
    }

    /// What each server that admits a caller lists.
    async fn asked<'a, F: Future<Output = Result<Vec<Value>, McpError>>>(
        &'a self,
        caller: &'a McpCaller<'_>,
        list: impl Fn(&'a McpUpstream, &'a StateOwner) -> F,
    ) -> Answers {
        let servers = self.servers.iter().enumerate();
        let admitting = servers.filter(|(_, server)| server.admits(caller.identity));
        let asked = admitting.map(|(place, server)| {
            let listed = list(server, &caller.owner);
            async move { (place, listed.await) }
        });
        join_all(asked).await
    }

    /// The items that have such a name, the first of each; what each server has is remembered.
    fn gathered(
        &self,
        owner: &StateOwner,
        answers: Answers,
        member: &str,
        list: List,
    ) -> Result<Vec<Value>, Failure> {
        let (mut items, mut names) = (Vec::new(), BTreeSet::new());
        let (mut answered, mut failed) = (answers.is_empty(), None);
        for (place, answer) in answers {
            let server = &self.servers[place];
            match told(server, answer) {
                Ok(listed) => {
                    answered = true;
                    let own = |it: &Value| it.get(member)?.as_str().map(str::to_owned);
                    let all = listed.iter().filter_map(own).collect();
                    *list(&mut self.known().lists_for(owner)[place]) = all;
                    let first = |it: &Value| own(it).is_some_and(|name| names.insert(name));
                    items.extend(listed.into_iter().filter(first));
                }
                Err(failure) => {
                    tracing::warn!(server = server.namespace(), "{failure}");
                    failed.get_or_insert(failure);
                }
            }
        }
        match failed {
            Some(failure) if !answered => Err(failure),
            _ => Ok(items),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What servers listed, by their places.
type Answers = Vec<(usize, Result<Vec<Value>, McpError>)>;

/// Adds what changes at one server to what has changed at all of them.
async fn follow(mut server: watch::Receiver<McpChanges>, all: watch::Sender<McpChanges>) {
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

/// What stands before the names of a server's prompts.
fn prefix(server: &McpUpstream) -> String {
    if server.has_own_names() {
        return String::new();
    }
    format!("{}{SEPARATOR}", server.namespace())
}

fn told<T>(server: &McpUpstream, answered: Result<T, McpError>) -> Result<T, Failure> {
    answered.map_err(|error| server.failure(error, Timestamp::now()))
}

fn absent(what: &'static str, name: &str) -> Failure {
    Failure::new(codes::ARTIFACT_NOT_FOUND)
        .with_message(format!("there is no such {what}"))
        .with_detail(what, super::lifted::bounded(name))
        .with_effect(Effect::None)
}
