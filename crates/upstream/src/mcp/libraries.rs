//! What several servers offer beside tools, as one library.
//!
//! Prompts carry the namespace of their server before their name. Resources keep their URIs, since
//! results refer to them: a URI belongs to the server that listed it, or whose template it begins like.
//! Where two servers claim the same, the one that was named first has it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::future::join_all;
use jiff::Timestamp;
use panpan_contract::{Effect, Failure, codes};
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::{McpChanges, McpError, McpOffer, McpUpstream};

/// What stands between a namespace and the name of a prompt.
const SEPARATOR: &str = "__";

/// Several servers, for what they offer beside tools.
#[derive(Debug)]
pub struct McpLibraries {
    servers: Vec<McpUpstream>,
    known: Mutex<Known>,
    changes: watch::Sender<McpChanges>,
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

/// Whose is what, as far as it was listed. Numbers are places among the servers.
#[derive(Clone, Debug, Default)]
struct Known {
    offer: McpOffer,
    resources: BTreeMap<String, usize>,
    templates: BTreeMap<String, usize>,
    prompts: BTreeMap<String, (usize, String)>,
}

impl McpLibraries {
    /// The libraries of these servers; to be made within a runtime of tokio. Nothing is known of them
    /// before they were asked.
    pub fn new(servers: impl IntoIterator<Item = McpUpstream>) -> Self {
        let servers: Vec<McpUpstream> = servers.into_iter().collect();
        let changes = watch::Sender::default();
        let following = servers.iter().map(|server| {
            let task = tokio::spawn(follow(server.changes(), changes.clone()));
            task.abort_handle()
        });
        Self {
            _following: AbortOnDrop(following.collect()),
            servers,
            known: Mutex::default(),
            changes,
        }
    }

    /// Tells when a list of one of them has changed.
    pub fn changes(&self) -> watch::Receiver<McpChanges> {
        self.changes.subscribe()
    }

    /// Asks every server what it offers. Those that do not answer offer nothing for now.
    pub async fn look(&self) -> McpOffer {
        let mut offer = McpOffer::default();
        for found in join_all(self.servers.iter().map(McpUpstream::offer)).await {
            let found = found.unwrap_or_default();
            offer.tools |= found.tools;
            offer.resources |= found.resources;
            offer.prompts |= found.prompts;
            offer.completions |= found.completions;
        }
        self.known().offer = offer;
        offer
    }

    /// What they offered when they were last looked at.
    pub fn offer(&self) -> McpOffer {
        self.known().offer
    }

    /// The resources of all servers. A server that does not answer has none for now, unless none does.
    pub async fn resources(&self) -> Result<Vec<Value>, Failure> {
        let listed = join_all(self.servers.iter().map(McpUpstream::list_resources)).await;
        let gathered = Gathered::of(&self.servers, listed);
        let (items, owners) = gathered.named_by("uri")?;
        self.known().resources = owners;
        Ok(items)
    }

    /// The resource templates of all servers.
    pub async fn templates(&self) -> Result<Vec<Value>, Failure> {
        let listed = join_all(
            self.servers
                .iter()
                .map(McpUpstream::list_resource_templates),
        )
        .await;
        let gathered = Gathered::of(&self.servers, listed);
        let (items, owners) = gathered.named_by("uriTemplate")?;
        self.known().templates = owners;
        Ok(items)
    }

    /// The prompts of all servers, each with the namespace of its server.
    pub async fn prompts(&self) -> Result<Vec<Value>, Failure> {
        let mut own_names = BTreeMap::new();
        let mut listed = join_all(self.servers.iter().map(McpUpstream::list_prompts)).await;
        for (place, (server, prompts)) in self.servers.iter().zip(&mut listed).enumerate() {
            for prompt in prompts.iter_mut().flatten() {
                let Some(own) = prompt.get("name").and_then(Value::as_str) else {
                    continue;
                };
                let (name, own) = (named(server, own), own.to_owned());
                prompt["name"] = name.clone().into();
                own_names.entry(name).or_insert((place, own));
            }
        }
        let gathered = Gathered::of(&self.servers, listed);
        let (items, _) = gathered.named_by("name")?;
        self.known().prompts = own_names;
        Ok(items)
    }

    /// The contents of a resource, as the result of `resources/read`.
    pub async fn read(&self, uri: &str) -> Result<Value, Failure> {
        let mut owner = self.known().owner_of(uri);
        if owner.is_none() {
            self.resources().await?;
            self.templates().await?;
            owner = self.known().owner_of(uri);
        }
        let server = owner.and_then(|place| self.servers.get(place));
        let server = server.ok_or_else(|| absent("resource", uri))?;
        told(server, server.read_resource(uri).await)
    }

    /// A prompt with its arguments filled in, as the result of `prompts/get`.
    pub async fn prompt(
        &self,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<Value, Failure> {
        let (server, own) = self.owner_of_prompt(name).await?;
        told(server, server.get_prompt(&own, arguments).await)
    }

    /// Values for an argument, as the result of `completion/complete`; takes the params of it.
    pub async fn complete(&self, mut params: Value) -> Result<Value, Failure> {
        let reference = params.get("ref").cloned().unwrap_or_default();
        if let Some(name) = reference.get("name").and_then(Value::as_str) {
            let (server, own) = self.owner_of_prompt(name).await?;
            params["ref"]["name"] = json!(own);
            return told(server, server.complete(params).await);
        }
        let uri = reference.get("uri").and_then(Value::as_str);
        let uri = uri.ok_or_else(|| absent("reference", "without a name or a URI"))?;
        let mut owner = self.known().templates.get(uri).copied();
        if owner.is_none() {
            self.templates().await?;
            owner = self.known().templates.get(uri).copied();
        }
        let server = owner.and_then(|place| self.servers.get(place));
        let server = server.ok_or_else(|| absent("resource template", uri))?;
        told(server, server.complete(params).await)
    }

    async fn owner_of_prompt(&self, name: &str) -> Result<(&McpUpstream, String), Failure> {
        let mut owner = self.known().prompts.get(name).cloned();
        if owner.is_none() {
            self.prompts().await?;
            owner = self.known().prompts.get(name).cloned();
        }
        let owner = owner.and_then(|(place, own)| Some((self.servers.get(place)?, own)));
        owner.ok_or_else(|| absent("prompt", name))
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// Who listed a URI, or whose template it begins like, the longest beginning first.
    fn owner_of(&self, uri: &str) -> Option<usize> {
        if let Some(place) = self.resources.get(uri) {
            return Some(*place);
        }
        let beginnings = self.templates.iter().map(|(template, place)| {
            let beginning = template.split('{').next().unwrap_or_default();
            (beginning, *place)
        });
        beginnings
            .filter(|(beginning, _)| !beginning.is_empty() && uri.starts_with(beginning))
            .max_by_key(|(beginning, _)| beginning.len())
            .map(|(_, place)| place)
    }
}

/// The lists of several servers.
#[derive(Default)]
struct Gathered {
    items: Vec<(usize, Value)>,
    answered: bool,
    failed: Option<Failure>,
}

impl Gathered {
    fn of(servers: &[McpUpstream], listed: Vec<Result<Vec<Value>, McpError>>) -> Self {
        let mut gathered = Self::default();
        for (place, (server, listed)) in servers.iter().zip(listed).enumerate() {
            gathered.add(place, server, listed);
        }
        gathered
    }

    fn add(&mut self, place: usize, server: &McpUpstream, listed: Result<Vec<Value>, McpError>) {
        match told(server, listed) {
            Ok(items) => {
                self.answered = true;
                self.items
                    .extend(items.into_iter().map(|item| (place, item)));
            }
            Err(failure) => {
                tracing::warn!(server = server.namespace(), "{failure}");
                self.failed.get_or_insert(failure);
            }
        }
    }

    /// The items that have such a name and whose they are, the first of each name.
    fn named_by(self, member: &str) -> Result<(Vec<Value>, BTreeMap<String, usize>), Failure> {
        if let Some(failure) = self.failed.filter(|_| !self.answered) {
            return Err(failure);
        }
        let mut owners = BTreeMap::new();
        let mut items = Vec::new();
        for (place, item) in self.items {
            let Some(name) = item.get(member).and_then(Value::as_str) else {
                continue;
            };
            if !owners.contains_key(name) {
                owners.insert(name.to_owned(), place);
                items.push(item);
            }
        }
        Ok((items, owners))
    }
}

/// Adds what changes at one server to what has changed at all of them.
async fn follow(mut server: watch::Receiver<McpChanges>, all: watch::Sender<McpChanges>) {
    let mut seen = *server.borrow_and_update();
    while server.changed().await.is_ok() {
        let now = *server.borrow_and_update();
        all.send_modify(|all| {
            all.tools += now.tools - seen.tools;
            all.prompts += now.prompts - seen.prompts;
            all.resources += now.resources - seen.resources;
        });
        seen = now;
    }
}

fn named(server: &McpUpstream, prompt: &str) -> String {
    format!("{}{SEPARATOR}{prompt}", server.namespace())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_belongs_to_whoever_listed_it_or_begins_it_longest() {
        let owned = |names: &[(&str, usize)]| {
            let names = names.iter();
            names
                .map(|(name, place)| ((*name).to_owned(), *place))
                .collect()
        };
        let known = Known {
            resources: owned(&[("demo://a", 0), ("demo://b/x", 1)]),
            templates: owned(&[("demo://{any}", 2), ("demo://b/{id}", 3), ("{any}", 4)]),
            ..Known::default()
        };
        for (uri, owner) in [
            ("demo://a", Some(0)),
            ("demo://b/x", Some(1)),
            ("demo://b/y", Some(3)),
            ("demo://c", Some(2)),
            ("file:///etc/passwd", None),
            ("", None),
        ] {
            assert_eq!(known.owner_of(uri), owner, "{uri}");
        }
    }
}
