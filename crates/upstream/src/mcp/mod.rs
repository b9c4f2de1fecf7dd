//! MCP servers behind operations: every tool of a server is an operation.
//!
//! The only module of this crate that uses rmcp. A server is connected to on first use and again after a connection has ended; everything that is waited
//! for has a timeout or a limit. Failures are classified in `tool_error` (results of tools) and
//! `request_failure` (everything else).

#![allow(
    deprecated,
    reason = "sampling, roots, logging and resources/subscribe are those of 2025-11-25, which most servers and clients speak"
)]

mod call;
mod cancel_on_drop;
mod child;
mod children;
mod client_handler;
mod connection;
mod connection_state;
mod echoed_input;
mod error;
mod error_shapes;
mod features;
mod http;
mod in_flight;
mod incoming;
mod input_requests;
mod input_required;
mod late_answers;
mod listeners;
mod live_connection;
mod operation_names;
mod pool;
mod request_failure;
mod rpc_error;
mod servers;
mod settings;
mod stdio;
mod tool_error;
mod tool_import;
mod write_effect;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use panpan_failure::{Failure, Marked};
use panpan_mcp::library::{Changes, Freshness, List, ServerPeerInfo};
use panpan_mcp::names::PANPAN_CAPABILITY;
use panpan_redact::Redactor;
use panpan_runtime::retry::{BudgetSettings, UpstreamHealth};
use panpan_runtime::{AskClient, Identity, Registration, StateOwner};
use rmcp::model::Implementation;
use serde_json::{Map, Value};
use tokio::sync::watch;

use call::ToolCall;
pub use connection_state::{FIRST_BACKOFF, MAX_BACKOFF};
use error::{FailedRequest, milliseconds};
pub use error::{HttpResponse, McpError, RpcError};
pub use features::{ITEMS_LIMIT, PAGES_LIMIT};
pub use http::RESPONSE_BYTES_LIMIT;
pub use input_required::ROUNDS_LIMIT;
use pool::Pool;
use request_failure::SideEffects;
pub use servers::McpServers;
pub use settings::{
    McpAddress, McpCommand, McpNames, McpSessions, McpSettings, McpSettingsError, McpTimeouts,
    McpTransport, NAMESPACE_LENGTH_LIMIT,
};
pub use stdio::{LINE_BYTES_LIMIT, SKIPPED_LINES_LIMIT, UNREAD_RESPONSES_LIMIT};
pub use tool_error::{FAILURE_BYTES_LIMIT, MESSAGE_CHARACTERS_LIMIT};
pub use tool_import::{ERRORS_LIMIT, McpWarning};

/// The delay until a server that is not available is called again, if nothing states one.
const UNAVAILABLE_DELAY: Duration = Duration::from_secs(3);

/// An MCP server. Clones are the same server; dropping the last one closes the connection and ends
/// a process that was started.
#[derive(Clone, Debug)]
pub struct McpUpstream {
    pool: Arc<Pool>,
    /// The circuit and the retry budget that all its tools share.
    upstream: Arc<UpstreamHealth>,
    scopes: Arc<[String]>,
    names: McpNames,
    /// The freshness of its lists.
    freshness: Arc<Mutex<BTreeMap<List, Freshness>>>,
    /// Whether its tools are known.
    tools: Arc<Mutex<ToolsState>>,
}

/// Whether the tools of a server are known.
#[derive(Clone, Debug, Default)]
enum ToolsState {
    #[default]
    NotListed,
    NotListedBecause(McpError),
    Listed,
}

fn is_panpan(info: &ServerPeerInfo) -> bool {
    let is_named = |it: &Implementation| it.name == "panpan";
    let experimental = info.capabilities.experimental.as_ref();
    info.server_info.as_ref().is_some_and(is_named)
        || experimental.is_some_and(|it| it.contains_key(PANPAN_CAPABILITY))
}

/// The caller of a request for resources, prompts or completion.
#[derive(Clone, Debug, Default)]
pub struct McpCaller<'a> {
    /// The identity of the caller, if it is known.
    pub identity: Option<&'a Identity>,
    /// The owner of the state that the caller leaves at servers.
    pub owner: StateOwner,
    /// The client behind the request, if it can be asked for input.
    pub client: Option<Arc<dyn AskClient>>,
    /// The members of `_meta` for the server.
    pub meta: Map<String, Value>,
}

/// The tools of a server as operations.
#[derive(Clone, Debug)]
pub struct McpOperations {
    /// The operations, ordered by name.
    pub registrations: Vec<Registration>,
    /// The tools, or parts of tools, that could not be used.
    pub warnings: Vec<McpWarning>,
}

impl McpUpstream {
    /// Prepares the connection; nothing is started or sent yet.
    pub fn new(settings: McpSettings) -> Result<Self, McpSettingsError> {
        let budget = BudgetSettings::default();
        let upstream = UpstreamHealth::new(&settings.namespace, settings.circuit, budget);
        let upstream = Arc::new(upstream);
        let scopes = settings.scopes.clone().into();
        let names = settings.names;
        let pool = Arc::new(Pool::new(settings)?);
        Ok(Self {
            pool,
            upstream,
            scopes,
            names,
            freshness: Arc::default(),
            tools: Arc::default(),
        })
    }

    /// The first segment of the names of its operations.
    pub fn namespace(&self) -> &str {
        &self.pool.shared().server.namespace
    }

    /// Whether a caller has the scopes that this server requires.
    pub fn admits(&self, caller: Option<&Identity>) -> bool {
        let has = |scope: &String| caller.is_some_and(|it| it.scopes.contains(scope));
        self.scopes.iter().all(has)
    }

    /// Whether its tools and prompts keep the names that the server gives them.
    pub fn keeps_names(&self) -> bool {
        self.names == McpNames::Own
    }

    /// Whether the server requires no scopes.
    fn is_open(&self) -> bool {
        self.scopes.is_empty()
    }

    /// What the server says about itself, if it is connected.
    pub fn about(&self) -> Option<ServerPeerInfo> {
        let live = self.pool.shared().current()?;
        let mut info = ServerPeerInfo::clone(&*live.info()?);
        info.instructions = info.instructions.as_deref().map(tool_error::bounded);
        info.server_info.is_some().then_some(info)
    }

    /// Notifies of changed lists, so that its operations can be imported again.
    pub fn changes(&self) -> watch::Receiver<Changes> {
        self.pool.shared().changes()
    }

    /// Notifies an owner of state of changed lists in its session.
    pub fn changes_for(&self, owner: &StateOwner) -> watch::Receiver<Changes> {
        self.pool.changes_for(owner)
    }

    /// Its tools as operations. Connects if necessary.
    pub async fn operations(&self) -> Result<McpOperations, McpError> {
        let listed = self.list_operations().await;
        let mut state = self.tools_state();
        match &listed {
            Ok(_) => *state = ToolsState::Listed,
            Err(error) if !matches!(*state, ToolsState::Listed) => {
                *state = ToolsState::NotListedBecause(error.clone());
            }
            Err(_) => {}
        }
        drop(state);
        listed
    }

    /// Why its tools are not known; `None` once they are. Without a connection, one is opened in the
    /// background; must be called within a tokio runtime.
    pub fn unavailable(&self, now: Timestamp) -> Option<Failure> {
        let stated = match self.tools_state().clone() {
            ToolsState::Listed => return None,
            ToolsState::NotListed => McpError::Starting,
            ToolsState::NotListedBecause(error) => error,
        };
        let error = self.pool.shared().unavailable().unwrap_or(stated);
        let failed = FailedRequest::not_sent(error);
        let failure =
            request_failure::failure(self.namespace(), &failed, SideEffects::ReadOnly, now);
        let failure = match failure.retryable() && failure.stated_retry_after_ms().is_none() {
            true => failure.with_retry_after_ms(milliseconds(UNAVAILABLE_DELAY)),
            false => failure,
        };
        Some(self.redacted(failure))
    }

    fn tools_state(&self) -> MutexGuard<'_, ToolsState> {
        self.tools.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn list_operations(&self) -> Result<McpOperations, McpError> {
        let tools = self.list(List::Tools, &StateOwner::Anyone).await?;
        let connection = self.pool.shared();
        let live = connection.connected().await?;
        let by_panpan = live.info().is_some_and(|info| is_panpan(&info));
        let (imported, warnings) =
            tool_import::operations(self.namespace(), &tools, by_panpan, self.names);
        let timeout_ms = connection.server.timeouts.call.map(milliseconds);
        let registrations = imported.into_iter().map(|mut imported| {
            imported.spec.timeout_ms = timeout_ms;
            imported.spec.access_control.require(&self.scopes);
            let call = ToolCall::new(self.pool.clone(), &imported);
            Registration::new(imported.spec, call)
                .with_credentials(connection.server.secrets.clone())
                .behind(self.upstream.clone())
                .relaying()
                .with_unchecked_formats()
        });
        Ok(McpOperations {
            registrations: registrations.collect(),
            warnings,
        })
    }

    /// Closes the connection for good. A process that was started gets some time to exit and is
    /// then killed.
    pub async fn close(&self) {
        self.pool.close().await;
    }

    /// Kills a process that was started, with everything it started, and starts no other. For an
    /// immediate exit: nothing is waited for.
    pub fn kill(&self) {
        self.pool.kill();
    }

    /// The failure for a request that only reads.
    pub fn failure(&self, error: McpError, now: Timestamp) -> Failure {
        let failed = match &error {
            McpError::Start { .. } | McpError::Backoff { .. } | McpError::LimitReached { .. } => {
                FailedRequest::not_sent(error)
            }
            _ => FailedRequest::after_send(error),
        };
        let failure =
            request_failure::failure(self.namespace(), &failed, SideEffects::ReadOnly, now);
        self.redacted(failure)
    }

    /// The failure without the secrets of the server.
    fn redacted(&self, failure: Failure) -> Failure {
        let mut redactor = Redactor::new();
        self.pool.shared().server.secrets.teach(&mut redactor);
        failure.redacted_by(redactor, Marked::default()).into()
    }
}
