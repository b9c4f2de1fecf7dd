//! MCP servers behind operations: every tool of a server is an operation.
//!
//! The only module of this crate that knows the MCP library, and none of the library's types leave it.
//! A server is connected to when it is first needed and again when a connection has ended; everything
//! that is waited for is waited for within bounds. What failures mean is in `lifted` and `trouble`.

#![allow(
    deprecated,
    reason = "sampling, roots, logging and resources/subscribe are those of 2025-11-25, which most servers and clients speak"
)]

mod asking;
mod audience;
mod call;
mod child;
mod children;
mod ear;
mod error;
mod foreign;
mod libraries;
mod library;
mod lifted;
mod link;
mod live;
mod names;
mod output;
mod pipes;
mod pool;
mod published;
mod rounds;
mod settings;
mod shapes;
mod trouble;
mod underway;
mod web;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use panpan_failure::{Failure, Marked};
use panpan_redact::Redactor;
use panpan_runtime::retry::{BudgetSettings, Upstream};
use panpan_runtime::{AskPerson, Identity, Registration, StateOwner};
use rmcp::model::{Implementation, ServerPeerInfo};
use tokio::sync::watch;

use call::ToolCall;
pub use ear::McpChanges;
use error::Unanswered;
pub use error::{HttpAnswer, McpError, Refusal};
pub use libraries::McpLibraries;
pub use library::{ITEMS_LIMIT, McpFreshness, McpOffer, PAGES_LIMIT};
pub use lifted::{FAILURE_BYTES_LIMIT, MESSAGE_CHARACTERS_LIMIT};
pub use link::{FIRST_REST, LONGEST_REST};
pub use output::FAILURE_BLOCKS_LIMIT;
pub use pipes::{LINE_BYTES_LIMIT, NONSENSE_LINES_LIMIT, UNREAD_ANSWERS_LIMIT};
use pool::Pool;
pub use published::{DEFINITION_EXTENSION, ERRORS_LIMIT, McpWarning, TOOL_EXTENSION};
pub use rounds::ROUNDS_LIMIT;
pub use settings::{
    McpAddress, McpCommand, McpNames, McpPatience, McpPlace, McpSessions, McpSettings,
    McpSettingsError, NAMESPACE_LENGTH_LIMIT,
};
use trouble::Stake;
pub use web::ANSWER_BYTES_LIMIT;

/// An MCP server. Clones are the same server; the last one to go ends the connection, and with it the
/// process of a server that was started.
#[derive(Clone, Debug)]
pub struct McpUpstream {
    pool: Arc<Pool>,
    /// The circuit and the retry budget all its tools share.
    upstream: Arc<Upstream>,
    scopes: Arc<[String]>,
    names: McpNames,
    /// What it said about its lists, by their names.
    freshness: Arc<Mutex<BTreeMap<&'static str, McpFreshness>>>,
}

/// The capability by which a panpan tells that it is one, whatever it calls itself.
const PANPAN_CAPABILITY: &str = "dev.panpan";

fn is_panpan(info: &ServerPeerInfo) -> bool {
    let is_named = |it: &Implementation| it.name == "panpan";
    let experimental = info.capabilities.experimental.as_ref();
    info.server_info.as_ref().is_some_and(is_named)
        || experimental.is_some_and(|it| it.contains_key(PANPAN_CAPABILITY))
}

/// What a server says about itself.
#[derive(Clone, Debug, PartialEq)]
pub struct McpAbout {
    /// Its name, title, version and icons, as the protocol writes them.
    pub server_info: serde_json::Value,
    /// How it is to be used.
    pub instructions: Option<String>,
    /// Its capabilities, as the protocol writes them.
    pub capabilities: serde_json::Value,
}

/// Who asks for what a server offers beside tools.
#[derive(Clone, Debug, Default)]
pub struct McpCaller<'a> {
    /// The identity of the caller, if it is known.
    pub identity: Option<&'a Identity>,
    /// Who owns what the caller leaves at servers.
    pub owner: StateOwner,
    /// The person behind the request and their client, where they can be asked.
    pub person: Option<Arc<dyn AskPerson>>,
}

/// The tools of a server as operations.
#[derive(Clone, Debug)]
pub struct McpOperations {
    /// The operations, in the order of their names.
    pub registrations: Vec<Registration>,
    /// What could not be used as it is.
    pub warnings: Vec<McpWarning>,
}

impl McpUpstream {
    /// Makes ready to connect; nothing is started or sent yet.
    pub fn new(settings: McpSettings) -> Result<Self, McpSettingsError> {
        let budget = BudgetSettings::default();
        let upstream = Upstream::new(&settings.namespace, settings.circuit, budget);
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
        })
    }

    /// The first step of the names of its operations.
    pub fn namespace(&self) -> &str {
        &self.pool.own().namespace
    }

    /// Whether a caller has the scopes that everything of it needs.
    pub fn admits(&self, caller: Option<&Identity>) -> bool {
        let has = |scope: &String| caller.is_some_and(|it| it.scopes.contains(scope));
        self.scopes.iter().all(has)
    }

    /// Whether its tools and prompts are known by the names it gives them.
    pub fn has_own_names(&self) -> bool {
        self.names == McpNames::Own
    }

    /// Whether no scopes are needed for it.
    fn is_open(&self) -> bool {
        self.scopes.is_empty()
    }

    /// What the server says about itself, if there is a connection.
    pub fn about(&self) -> Option<McpAbout> {
        let live = self.pool.own().current()?;
        let info = live.info()?;
        Some(McpAbout {
            server_info: serde_json::to_value(info.server_info.as_ref()?).ok()?,
            instructions: info.instructions.as_deref().map(lifted::bounded),
            capabilities: serde_json::to_value(&info.capabilities).ok()?,
        })
    }

    /// Tells when its lists have changed, so that whoever holds its operations can ask for them anew.
    pub fn changes(&self) -> watch::Receiver<McpChanges> {
        self.pool.own().changes()
    }

    /// Tells an owner of state when lists have changed in its session.
    pub fn changes_for(&self, owner: &StateOwner) -> watch::Receiver<McpChanges> {
        self.pool.changes_for(owner)
    }

    /// Its tools as operations. Connects if that has not been done.
    pub async fn operations(&self) -> Result<McpOperations, McpError> {
        let tools = self.list_tools().await?;
        let own = self.pool.own();
        let live = own.connected().await?;
        let by_panpan = live.info().is_some_and(|info| is_panpan(&info));
        let (published, warnings) =
            published::operations(self.namespace(), &tools, by_panpan, self.names);
        let timeout = own.patience.call;
        let timeout_ms = timeout.map(|it| u64::try_from(it.as_millis()).unwrap_or(u64::MAX));
        let registrations = published.into_iter().map(|mut published| {
            published.spec.timeout_ms = timeout_ms;
            published.spec.access_control.require(&self.scopes);
            let call = ToolCall::new(self.pool.clone(), &published);
            Registration::new(published.spec, call)
                .with_credentials(own.secrets.clone())
                .behind(self.upstream.clone())
                .relaying()
        });
        Ok(McpOperations {
            registrations: registrations.collect(),
            warnings,
        })
    }

    /// Ends the connection for good. A server that was started is left some time to end by itself, and is then
    /// made to.
    pub async fn close(&self) {
        self.pool.close().await;
    }

    /// Ends the process of a server that was started, with everything it started, and starts no other. For
    /// whoever leaves at once: nothing is waited for.
    pub fn kill(&self) {
        self.pool.kill();
    }

    /// What an error means to whoever waits for something that only reads.
    pub fn failure(&self, error: McpError, now: Timestamp) -> Failure {
        let lost = match &error {
            McpError::Start { .. } | McpError::Resting { .. } | McpError::Full { .. } => {
                Unanswered::before(error)
            }
            _ => Unanswered::after(error),
        };
        let failure = trouble::failure(self.namespace(), &lost, Stake::Nothing, now);
        let mut redactor = Redactor::new();
        self.pool.own().secrets.teach(&mut redactor);
        failure.redacted_by(redactor, Marked::default()).into()
    }
}
