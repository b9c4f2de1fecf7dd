//! The backend every command that serves or makes calls lives in: a store, the operations, the dispatcher.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context;
use futures_util::future::join_all;
use panpan_redact::Redactor;
use panpan_runtime::system::SystemClock;
use panpan_runtime::{Builder, Dispatcher, Ports, Registration, Registry, Settings};
use panpan_surfaces::identity::Tokens;
use panpan_upstream::mcp::{DEFINITION_EXTENSION, McpError, McpOperations, McpUpstream};

use crate::config::Config;
use crate::sources::{LoadError, Loaded, SourceCalls, Sources};
use crate::store::{Store, StoreAddress};
use crate::terminal::warn;

/// How often counts are handed to the store, and old outcomes are forgotten.
const TEND: Duration = Duration::from_secs(2);

/// How long calls that hold a key may go on when everything else has ended, unless told otherwise.
pub(crate) const DRAIN: Duration = Duration::from_secs(30);

/// How long an MCP server is waited for before the others are served without it.
const SERVER_PATIENCE: Duration = Duration::from_secs(10);

/// A store, the dispatcher over it, and what its operations come from.
#[derive(Debug)]
pub(crate) struct Backend {
    store: Store,
    dispatcher: Dispatcher,
    servers: Vec<McpUpstream>,
    /// How calls to each server are made.
    calls: Vec<SourceCalls>,
    given: Mutex<Given>,
}

/// Which MCP servers are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whom {
    /// All of them.
    All,
    /// Those that have not answered yet.
    Missing,
}

/// What the sources gave when they were last asked.
#[derive(Debug, Default)]
struct Given {
    described: Loaded,
    /// The operations of each server; `None` until it has answered.
    served: Vec<Option<McpOperations>>,
}

impl Backend {
    /// Opens the store, of whatever size, and registers the program's own operations: for commands that
    /// end soon.
    pub(crate) fn open(address: &StoreAddress) -> anyhow::Result<Self> {
        let store = opened(address, u64::MAX)?;
        Self::with(
            store,
            Loaded::default(),
            Vec::new(),
            Vec::new(),
            Settings::default(),
        )
    }

    /// Opens the store and registers the program's own operations and those of the descriptions. No MCP
    /// server is started before it is asked what it offers.
    pub(crate) fn open_with(config: &Config) -> anyhow::Result<Self> {
        let sources = &config.sources;
        let (described, servers) = (sources.load()?, sources.upstreams()?);
        warn_of_blocked(&described);
        let store = opened(&config.store, config.store_bytes())?;
        Self::with(
            store,
            described,
            servers,
            sources.server_calls(),
            config.settings(),
        )
    }

    fn with(
        store: Store,
        described: Loaded,
        servers: Vec<McpUpstream>,
        calls: Vec<SourceCalls>,
        settings: Settings,
    ) -> anyhow::Result<Self> {
        let given = Given {
            served: servers.iter().map(|_| None).collect(),
            described,
        };
        given.misfits(&store)?;
        let registry = given.registry(&store)?;
        let ports = Ports::system(store.outcomes.clone());
        let dispatcher = Dispatcher::with_settings(registry, ports, settings);
        Ok(Self {
            store,
            dispatcher,
            servers,
            calls,
            given: Mutex::new(given),
        })
    }

    /// Reads the descriptions again and serves what they give now; calls under way end as they began.
    pub(crate) fn reload(&self, sources: &Sources) -> anyhow::Result<()> {
        let described = sources.load()?;
        warn_of_blocked(&described);
        let mut given = self.given();
        let before = std::mem::replace(&mut given.described, described);
        let fitting = given.misfits(&self.store);
        match fitting
            .map_err(Into::into)
            .and_then(|()| given.registry(&self.store))
        {
            Ok(registry) => self.dispatcher.replace(registry),
            Err(error) => {
                given.described = before;
                return Err(error);
            }
        }
        Ok(())
    }

    /// Asks MCP servers what they offer, all of them or those that have not answered yet, and serves that.
    /// One that does not answer keeps the operations it had.
    pub(crate) async fn ask_servers(&self, whom: Whom) -> anyhow::Result<()> {
        let asked: Vec<bool> = match whom {
            Whom::All => self.servers.iter().map(|_| true).collect(),
            Whom::Missing => self.given().served.iter().map(Option::is_none).collect(),
        };
        let answers = self.servers.iter().zip(asked);
        let answers = join_all(answers.map(|(server, asked)| answer(server, asked))).await;
        if answers.iter().all(Option::is_none) {
            return Ok(());
        }
        let mut given = self.given();
        for (at, answer) in answers.into_iter().enumerate() {
            if let Some(answer) = answer {
                self.take_up(&mut given, at, answer);
            }
        }
        // A server that changed its tools must not end the service of what is still there.
        if let Err(misfits) = given.misfits(&self.store) {
            warn(&misfits.to_string());
        }
        self.dispatcher.replace(given.registry(&self.store)?);
        Ok(())
    }

    /// Takes up what a server offers, unless that contradicts what there is: what one server calls its
    /// tools must not end the service of all others.
    fn take_up(&self, given: &mut Given, at: usize, answer: McpOperations) {
        let answer = self.set_up(at, answer);
        if let Some((tool, other)) = self.name_clash(given, at, &answer) {
            let namespace = self.servers[at].namespace();
            warn(&format!(
                "the tools of the MCP server {namespace} cannot be served: {other} has a tool {tool} too; write names = \"prefixed\" in the table of one of them"
            ));
            return;
        }
        let before = given.served[at].replace(answer);
        if let Err(error) = given.registry(&self.store) {
            given.served[at] = before;
            let namespace = self.servers[at].namespace();
            warn(&format!(
                "the tools of the MCP server {namespace} cannot be served: {error:#}"
            ));
        }
    }

    /// A tool that another server has under the same name, and that server.
    fn name_clash(
        &self,
        given: &Given,
        at: usize,
        answer: &McpOperations,
    ) -> Option<(String, &str)> {
        let names: BTreeSet<&str> = own_names(answer).collect();
        let others = self.servers.iter().zip(&given.served).enumerate();
        let others = others.filter(|(other, _)| *other != at);
        others.into_iter().find_map(|(_, (server, served))| {
            let shared = own_names(served.as_ref()?).find(|name| names.contains(name))?;
            Some((shared.to_owned(), server.namespace()))
        })
    }

    /// Has the operations of a server called as the configuration says.
    fn set_up(&self, at: usize, mut answer: McpOperations) -> McpOperations {
        let Some(calls) = self.calls.get(at) else {
            return answer;
        };
        let registrations = answer.registrations.into_iter();
        answer.registrations = registrations.map(|it| calls.applied_to(it)).collect();
        let idle = calls.idle(answer.registrations.iter().map(|it| it.name()));
        if !idle.is_empty() {
            let (namespace, idle) = (self.servers[at].namespace(), idle.join(", "));
            warn(&format!(
                "settings for operations that the MCP server {namespace} does not offer: {idle}"
            ));
        }
        answer
    }

    /// The MCP servers.
    pub(crate) fn servers(&self) -> &[McpUpstream] {
        &self.servers
    }

    /// Ends the MCP servers that were started, for whoever leaves without waiting: one that does not mind
    /// that nobody listens any more would stay.
    pub(crate) fn kill_servers(&self) {
        for server in &self.servers {
            server.kill();
        }
    }

    /// Whether an MCP server has not answered yet.
    pub(crate) fn misses_servers(&self) -> bool {
        self.given().served.iter().any(Option::is_none)
    }

    /// Whether the demonstration is served.
    pub(crate) fn has_demo(&self) -> bool {
        self.given().described.built_in.has_demo()
    }

    /// A line for people about each source.
    pub(crate) fn about_sources(&self) -> Vec<String> {
        let given = self.given();
        let mut lines = given.described.lines.clone();
        let warnings = given.described.warnings.len();
        if warnings > 0 {
            lines.push(format!(
                "{warnings} remarks about the descriptions; `panpan import openapi FILE` shows them"
            ));
        }
        for (server, served) in self.servers.iter().zip(&given.served) {
            let namespace = server.namespace();
            lines.push(match served {
                Some(it) => format!(
                    "{namespace}: {} operations of an MCP server",
                    it.registrations.len()
                ),
                None => {
                    format!("{namespace}: an MCP server that is not there yet; it is asked again")
                }
            });
        }
        lines
    }

    fn given(&self) -> MutexGuard<'_, Given> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The dispatcher.
    pub(crate) fn dispatcher(&self) -> &Dispatcher {
        &self.dispatcher
    }

    /// The tokens kept in the store.
    pub(crate) fn tokens(&self) -> Tokens {
        Tokens::new(self.store.documents.clone(), Arc::new(SystemClock))
    }

    /// Does some work while the backend is kept in order, and waits afterwards for calls that hold a key,
    /// for at most as long as is left then.
    pub(crate) async fn kept_while<T>(
        &self,
        work: impl Future<Output = T>,
        left: impl FnOnce() -> Duration,
    ) -> T {
        let tending = tokio::spawn(tend(self.dispatcher.clone()));
        let done = work.await;
        // Calls that hold a key go on when their callers have left.
        let drained = tokio::time::timeout(left(), self.dispatcher.drain()).await;
        tending.abort();
        // What was counted since the last time. Nobody is left to be told should that fail.
        let _ = self.dispatcher.tend().await;
        // A server that was started and is not told would stay when this process is gone.
        join_all(self.servers.iter().map(McpUpstream::close)).await;
        // Also one that was just being started.
        self.kill_servers();
        if drained.is_err() {
            warn(
                "calls with an idempotency key still ran in the end and were cut off; ask for them again with their keys",
            );
        }
        done
    }
}

fn opened(address: &StoreAddress, size_bytes: u64) -> anyhow::Result<Store> {
    address.open(size_bytes).context("cannot open the store")
}

impl Given {
    /// All operations there are now.
    fn registry(&self, store: &Store) -> anyhow::Result<Registry> {
        let mut others = self.others(store);
        self.described.show(&mut others);
        let described = self.described.registrations().iter().cloned();
        let all = others.into_iter().chain(described);
        let all = all.fold(Registry::builder(), Builder::add);
        all.build().context("the operations contradict each other")
    }

    /// The operations that come from no description of a service.
    fn others(&self, store: &Store) -> Vec<Registration> {
        let mut others = self.described.built_in.registrations(&store.outcomes);
        others.extend(self.described.reaching_out.iter().cloned());
        let served = self.served.iter().flatten();
        others.extend(served.flat_map(|it| it.registrations.iter().cloned()));
        others
    }

    /// What is wrong with overlays for everything, once everything is known.
    fn misfits(&self, store: &Store) -> Result<(), LoadError> {
        match self.served.iter().all(Option::is_some) {
            true => self.described.misfits(&self.others(store)),
            false => Ok(()),
        }
    }
}

/// The operations of a server that is asked and answers.
async fn answer(server: &McpUpstream, asked: bool) -> Option<McpOperations> {
    if !asked {
        return None;
    }
    match tokio::time::timeout(SERVER_PATIENCE, server.operations()).await {
        Ok(Ok(operations)) => Some(operations),
        Ok(Err(error)) => not_there(server, &chained(&error)),
        Err(_) => not_there(server, "it does not answer"),
    }
}

fn not_there(server: &McpUpstream, why: &str) -> Option<McpOperations> {
    let namespace = server.namespace();
    warn(&format!("the MCP server {namespace} is not there: {why}"));
    None
}

/// An error and what caused it, in one line without secrets.
fn chained(error: &McpError) -> String {
    let mut said = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(source) = cause {
        said.push_str(&format!(": {source}"));
        cause = source.source();
    }
    Redactor::new().text(&said).into_owned()
}

async fn tend(dispatcher: Dispatcher) {
    loop {
        tokio::time::sleep(TEND).await;
        // A store that is away now is asked again the next time; calls are told about it themselves.
        let _ = dispatcher.tend().await;
    }
}

/// The names of tools that are known by what their server calls them.
fn own_names(answer: &McpOperations) -> impl Iterator<Item = &str> {
    let definitions = answer
        .registrations
        .iter()
        .filter_map(|it| it.spec().extensions.get(DEFINITION_EXTENSION));
    definitions.filter_map(|it| it.get("name")?.as_str())
}

/// How many addresses that may not be connected to are named.
const BLOCKED_LIMIT: usize = 8;

fn warn_of_blocked(described: &Loaded) {
    for line in described.blocked.iter().take(BLOCKED_LIMIT) {
        warn(line);
    }
}
