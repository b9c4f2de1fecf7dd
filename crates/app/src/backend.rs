//! The backend that commands serve from or call into: the store, the operations and the dispatcher.

mod running;
mod tasks;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context;
use futures_util::future::join_all;
use panpan_mcp::names::DEFINITION_EXTENSION;
use panpan_redact::Redactor;
use panpan_runtime::system::SystemClock;
use panpan_runtime::{Builder, Dispatcher, Ports, Registration, Registry, Settings};
use panpan_surfaces::identity::Tokens;
use panpan_surfaces::mcp::TaskInputs;
use panpan_upstream::mcp::{McpError, McpOperations, McpUpstream};

use crate::config::{Config, TaskSettings};
use crate::log::{amount, warn};
use crate::sources::{LoadError, Loaded, SourceCalls, Sources};
use crate::store::{Store, StoreAddress};

/// How long keyed calls may continue after a command is done, for commands without that setting.
pub(crate) const DRAIN: Duration = Duration::from_secs(30);

/// How long to wait for the tools of an MCP server before the other operations are served without them.
const TOOLS_TIMEOUT: Duration = Duration::from_secs(10);

/// The store, the dispatcher and the sources of its operations.
#[derive(Debug)]
pub(crate) struct Backend {
    store: Store,
    dispatcher: Dispatcher,
    servers: Vec<McpUpstream>,
    /// The call settings of each server.
    calls: Vec<SourceCalls>,
    sources: Mutex<SourceOperations>,
    /// How this command runs tasks; one that only creates them has none.
    tasks: Option<TaskSettings>,
    /// The questions of tasks that run here.
    task_inputs: Arc<TaskInputs>,
}

/// A selection of MCP servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServerSet {
    All,
    /// Those whose tools are not known yet.
    Missing,
}

/// How many operations are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OperationCounts {
    /// From services and MCP servers.
    pub(crate) from_sources: usize,
    pub(crate) built_in: usize,
}

/// The operations that the sources had when they were last read.
#[derive(Debug, Default)]
struct SourceOperations {
    described: Loaded,
    servers: Vec<ServerTools>,
}

/// The tools of one MCP server.
#[derive(Debug, Default)]
struct ServerTools {
    /// `None` until the server has listed its tools.
    operations: Option<McpOperations>,
    /// Whether its program could not be started.
    cannot_start: bool,
}

/// Why the tools of a server are not available.
struct Unavailable {
    reason: String,
    cannot_start: bool,
}

impl Backend {
    /// Opens a store of any size, with the built-in operations only: for short commands.
    pub(crate) fn open(address: &StoreAddress) -> anyhow::Result<Self> {
        let store = open_store(address, u64::MAX)?;
        Self::with(
            store,
            Loaded::default(),
            Vec::new(),
            Vec::new(),
            Settings::default(),
        )
    }

    /// Opens the store, with the built-in operations and those of the described services. MCP servers are not
    /// started before [`Self::refresh_tools`].
    pub(crate) fn open_with(config: &Config) -> anyhow::Result<Self> {
        let sources = &config.sources;
        let (described, servers) = (sources.load()?, sources.upstreams()?);
        warn_about_blocked(&described);
        let store = open_store(&config.store, config.store_bytes())?;
        let backend = Self::with(
            store.with_webhooks(config.tasks.webhook_key.clone()),
            described,
            servers,
            sources.server_calls(),
            config.settings(),
        )?;
        Ok(Self {
            tasks: Some(config.tasks.clone()),
            ..backend
        })
    }

    fn with(
        store: Store,
        described: Loaded,
        servers: Vec<McpUpstream>,
        calls: Vec<SourceCalls>,
        settings: Settings,
    ) -> anyhow::Result<Self> {
        let sources = SourceOperations {
            servers: servers.iter().map(|_| ServerTools::default()).collect(),
            described,
        };
        sources.check_overlays(&store)?;
        let registry = sources.registry(&store)?;
        let ports = Ports::system(store.outcomes.clone());
        let dispatcher = Dispatcher::with_settings(registry, ports, settings);
        Ok(Self {
            store,
            dispatcher,
            servers,
            calls,
            sources: Mutex::new(sources),
            tasks: None,
            task_inputs: TaskInputs::new(),
        })
    }

    /// Reads the described services again and serves them. Calls in flight keep the old definitions.
    pub(crate) fn reload(&self, sources: &Sources) -> anyhow::Result<()> {
        let described = sources.load()?;
        warn_about_blocked(&described);
        let mut current = self.sources();
        let before = std::mem::replace(&mut current.described, described);
        let checked = current.check_overlays(&self.store);
        match checked
            .map_err(Into::into)
            .and_then(|()| current.registry(&self.store))
        {
            Ok(registry) => self.dispatcher.replace(registry),
            Err(error) => {
                current.described = before;
                return Err(error);
            }
        }
        Ok(())
    }

    /// Asks MCP servers for their tools and serves them. A server that does not answer keeps its tools.
    pub(crate) async fn refresh_tools(&self, set: ServerSet) -> anyhow::Result<()> {
        let is_missing = |index: &usize| self.sources().servers[*index].operations.is_none();
        let all = 0..self.servers.len();
        let selected = all.filter(|index| set == ServerSet::All || is_missing(index));
        let fetched = selected.map(async |index| (index, fetch_tools(&self.servers[index]).await));
        let mut any_fetched = false;
        let fetched = join_all(fetched).await;
        let mut sources = self.sources();
        for (index, tools) in fetched {
            let namespace = self.servers[index].namespace();
            match tools {
                Ok(operations) => {
                    any_fetched = true;
                    if let Err(reason) = self.accept_tools(&mut sources, index, operations) {
                        warn(&format!(
                            "cannot serve the tools of MCP server {namespace}: {reason}"
                        ));
                    }
                }
                Err(Unavailable {
                    reason,
                    cannot_start,
                }) => {
                    sources.servers[index].cannot_start = cannot_start;
                    warn(&format!("MCP server {namespace} is unavailable: {reason}"));
                }
            }
        }
        if !any_fetched {
            return Ok(());
        }
        // A server that changed its tools must not stop the other operations.
        if let Err(error) = sources.check_overlays(&self.store) {
            warn(&error.to_string());
        }
        self.dispatcher.replace(sources.registry(&self.store)?);
        Ok(())
    }

    /// Accepts the tools of a server unless they conflict with other operations: the names that one server
    /// chooses must not stop the others.
    fn accept_tools(
        &self,
        sources: &mut SourceOperations,
        index: usize,
        operations: McpOperations,
    ) -> Result<(), String> {
        let operations = self.with_call_settings(index, operations);
        if let Some((tool, other)) = self.name_conflict(sources, index, &operations) {
            return Err(format!(
                "{other} also has a tool {tool}; set names = \"prefixed\" in the table of one of them"
            ));
        }
        let before = sources.servers[index].operations.replace(operations);
        if let Err(error) = sources.registry(&self.store) {
            sources.servers[index].operations = before;
            return Err(format!("{error:#}"));
        }
        sources.servers[index].cannot_start = false;
        Ok(())
    }

    /// A tool whose name another server also uses without a prefix, and that server.
    fn name_conflict(
        &self,
        sources: &SourceOperations,
        index: usize,
        operations: &McpOperations,
    ) -> Option<(String, &str)> {
        let names: BTreeSet<&str> = unprefixed_names(operations).collect();
        let others = self.servers.iter().zip(&sources.servers).enumerate();
        let others = others.filter(|(other, _)| *other != index);
        others.into_iter().find_map(|(_, (server, tools))| {
            let mut others = unprefixed_names(tools.operations.as_ref()?);
            let shared = others.find(|name| names.contains(name))?;
            Some((shared.to_owned(), server.namespace()))
        })
    }

    /// Applies the call settings of a server to its operations.
    fn with_call_settings(&self, index: usize, mut operations: McpOperations) -> McpOperations {
        let calls = &self.calls[index];
        let registrations = operations.registrations.into_iter();
        let registrations = registrations.map(|it| it.with(|spec| calls.apply(spec)));
        operations.registrations = registrations.collect();
        let unmatched = calls.unmatched(operations.registrations.iter().map(|it| it.name()));
        if !unmatched.is_empty() {
            let (namespace, unmatched) = (self.servers[index].namespace(), unmatched.join(", "));
            warn(&format!(
                "settings for tools that MCP server {namespace} does not have: {unmatched}"
            ));
        }
        operations
    }

    /// The MCP servers.
    pub(crate) fn servers(&self) -> &[McpUpstream] {
        &self.servers
    }

    /// Kills the MCP servers that were started, for a process that exits at once: a server may ignore the end of
    /// its input and would stay.
    pub(crate) fn kill_servers(&self) {
        for server in &self.servers {
            server.kill();
        }
    }

    /// Whether the tools of an MCP server are not known yet.
    pub(crate) fn misses_tools(&self) -> bool {
        let sources = self.sources();
        sources.servers.iter().any(|it| it.operations.is_none())
    }

    /// Whether there is no tool for an MCP client and never will be: no MCP server can be started, and no other
    /// operation is a tool.
    pub(crate) fn can_never_have_tools(&self) -> bool {
        let registry = self.dispatcher.registry();
        let has_tools = registry.operations().any(|it| it.is_offered_to_models());
        let sources = self.sources();
        !has_tools
            && !sources.servers.is_empty()
            && sources.servers.iter().all(|it| it.cannot_start)
    }

    /// Whether the demo operations are served.
    pub(crate) fn has_demo(&self) -> bool {
        self.sources().described.built_in.demo
    }

    /// How many operations are served.
    pub(crate) fn operation_counts(&self) -> OperationCounts {
        let total = self.dispatcher.registry().operations().count();
        let built_in = self.sources().built_in(&self.store).len();
        OperationCounts {
            from_sources: total.saturating_sub(built_in),
            built_in,
        }
    }

    /// One line about each source.
    pub(crate) fn describe_sources(&self) -> Vec<String> {
        let sources = self.sources();
        let mut lines = sources.described.lines.clone();
        let warnings = sources.described.warnings.len();
        if warnings > 0 {
            let warnings = amount(warnings, "warning", "warnings");
            lines.push(format!(
                "{warnings} about the descriptions; `panpan import openapi FILE` shows them"
            ));
        }
        for (server, tools) in self.servers.iter().zip(&sources.servers) {
            let namespace = server.namespace();
            lines.push(match &tools.operations {
                Some(it) => {
                    let operations = amount(it.registrations.len(), "operation", "operations");
                    format!("{namespace}: {operations} of an MCP server")
                }
                None => format!("{namespace}: MCP server unavailable; panpan keeps trying"),
            });
        }
        lines
    }

    fn sources(&self) -> MutexGuard<'_, SourceOperations> {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The dispatcher.
    pub(crate) fn dispatcher(&self) -> &Dispatcher {
        &self.dispatcher
    }

    /// The tokens in the store.
    pub(crate) fn tokens(&self) -> Tokens {
        Tokens::new(self.store.documents.clone(), Arc::new(SystemClock))
    }
}

fn open_store(address: &StoreAddress, size_bytes: u64) -> anyhow::Result<Store> {
    address.open(size_bytes).context("cannot open the store")
}

impl SourceOperations {
    /// All operations.
    fn registry(&self, store: &Store) -> anyhow::Result<Registry> {
        let mut others = self.not_described(store);
        self.described.apply_overlays(&mut others);
        let described = self.described.registrations.iter().cloned();
        let all = others.into_iter().chain(described);
        let all = all.fold(Registry::builder(), Builder::add);
        all.build().context("operations conflict")
    }

    /// The built-in operations and those of MCP servers.
    fn not_described(&self, store: &Store) -> Vec<Registration> {
        let mut operations = self.built_in(store);
        let servers = self.servers.iter().filter_map(|it| it.operations.as_ref());
        operations.extend(servers.flat_map(|it| it.registrations.iter().cloned()));
        operations
    }

    fn built_in(&self, store: &Store) -> Vec<Registration> {
        let built_in = &self.described.built_in;
        let mut operations = built_in.registrations(&store.outcomes, &store.flows);
        operations.extend(self.described.outbound.iter().cloned());
        operations
    }

    /// Checks the overlays for all operations, once all operations are known.
    fn check_overlays(&self, store: &Store) -> Result<(), LoadError> {
        match self.servers.iter().all(|it| it.operations.is_some()) {
            true => self.described.check_overlays(&self.not_described(store)),
            false => Ok(()),
        }
    }
}

async fn fetch_tools(server: &McpUpstream) -> Result<McpOperations, Unavailable> {
    match tokio::time::timeout(TOOLS_TIMEOUT, server.operations()).await {
        Ok(Ok(operations)) => Ok(operations),
        Ok(Err(error)) => Err(Unavailable {
            cannot_start: matches!(error, McpError::Start { .. }),
            reason: with_causes(error),
        }),
        Err(_) => Err(Unavailable {
            reason: format!(
                "no answer within {} s; its tools are served as soon as it answers",
                TOOLS_TIMEOUT.as_secs()
            ),
            cannot_start: false,
        }),
    }
}

/// An error and its causes, in one redacted line.
fn with_causes(error: McpError) -> String {
    let message = format!("{:#}", anyhow::Error::new(error));
    Redactor::new().text(&message).into_owned()
}

/// The names of the tools that are served without a prefix.
fn unprefixed_names(operations: &McpOperations) -> impl Iterator<Item = &str> {
    let definitions = operations
        .registrations
        .iter()
        .filter_map(|it| it.spec().extensions.get(DEFINITION_EXTENSION));
    definitions.filter_map(|it| it.get("name")?.as_str())
}

/// How many blocked addresses are reported.
const BLOCKED_LIMIT: usize = 8;

fn warn_about_blocked(described: &Loaded) {
    for line in described.blocked.iter().take(BLOCKED_LIMIT) {
        warn(line);
    }
}
