//! What a server knows: who calls, which tools there are for them, and what is running.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use ::http::request::Parts;
use panpan_runtime::{CancellationToken, Operation, meant};
use rmcp::model::{CallToolResponse, Extensions, LoggingLevel, Tool};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;

use super::ToolForm;
use super::attendant::{Attendant, Level, level_of};
use super::back::Return;
use super::changes::Changes;
use super::general::{General, TOOLS_LIMIT};
use super::name::TOOL_NAME_LENGTH_LIMIT;
use super::parked::ParkedCalls;
use super::refusal;
use super::running::Running;
use super::tools::{Catalogue, Tools};
use super::turn::Turn;
use crate::caller::Caller;
use crate::gateway::Gateway;

/// What all servers of one endpoint have in common.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) gateway: Gateway,
    tools: Tools,
    form: ToolForm,
    pub(super) stopping: CancellationToken,
    pub(super) shutdown: CancellationToken,
    pub(super) parked: Arc<ParkedCalls>,
}

/// The server of one client: of a pipe, of a session, or of a single request that belongs to none.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) shared: Arc<Shared>,
    /// Who calls where a request does not say itself.
    caller: Caller,
    /// Whether it outlives a request, so that notices about other requests reach it.
    lasts: AtomicBool,
    pub(super) running: Running,
    pub(super) changes: Changes,
    /// The level of log lines the client asked for.
    pub(super) level: Level,
    /// The client of a session, once that has begun.
    pub(super) attendant: OnceLock<Arc<Attendant>>,
}

impl Shared {
    /// From `stopping` on nobody is asked and no call waits for a reply; everything ends at `shutdown`.
    pub(super) fn new(
        gateway: Gateway,
        form: ToolForm,
        stopping: CancellationToken,
        shutdown: CancellationToken,
    ) -> Arc<Self> {
        Arc::new(Self {
            gateway,
            tools: Tools::default(),
            form,
            parked: ParkedCalls::new(stopping.clone()),
            stopping,
            shutdown,
        })
    }

    /// The tools of all operations there are now.
    pub(super) fn catalogue(&self) -> Arc<Catalogue> {
        self.tools.of(&self.gateway.dispatcher().registry())
    }
}

impl Server {
    /// The server of a client on a pipe.
    pub(super) fn on_pipe(shared: Arc<Shared>, caller: Caller) -> Self {
        Self::new(shared, caller, true)
    }

    /// The server of a session or of one request over HTTP, which say themselves who calls.
    pub(super) fn on_http(shared: Arc<Shared>) -> Self {
        Self::new(shared, Caller::anonymous(None), false)
    }

    fn new(shared: Arc<Shared>, caller: Caller, lasts: bool) -> Self {
        Self {
            shared,
            caller,
            lasts: AtomicBool::new(lasts),
            running: Running::default(),
            changes: Changes::default(),
            level: Level::default(),
            attendant: OnceLock::new(),
        }
    }

    pub(super) fn log_level(&self) -> Option<LoggingLevel> {
        level_of(&self.level)
    }

    pub(super) fn gateway(&self) -> &Gateway {
        &self.shared.gateway
    }

    /// Whether it is there for more than one request.
    pub(super) fn lasts(&self) -> bool {
        self.lasts.load(Ordering::Relaxed)
    }

    /// Notes that a session begins.
    pub(super) fn last(&self) {
        self.lasts.store(true, Ordering::Relaxed);
    }

    /// Who calls: known anew with every request, also within a session.
    pub(super) fn caller<'a>(&'a self, context: &'a RequestContext<RoleServer>) -> &'a Caller {
        self.caller_in(&context.extensions)
    }

    /// The caller of the request or notice these came with.
    pub(super) fn caller_in<'a>(&'a self, extensions: &'a Extensions) -> &'a Caller {
        let parts = extensions.get::<Parts>();
        let told = parts.and_then(|parts| parts.extensions.get::<Caller>());
        told.unwrap_or(&self.caller)
    }

    /// The tools of all operations there are now.
    pub(super) fn catalogue(&self) -> Arc<Catalogue> {
        self.shared.catalogue()
    }

    /// The tools as this caller sees them.
    pub(super) fn listed(&self, catalogue: &Catalogue, caller: &Caller) -> Vec<Tool> {
        let callable = self.gateway().callable(caller);
        if self.are_searched(catalogue, &callable) {
            return General::tools(self.gateway().limits().batch);
        }
        let entries = catalogue.among(&callable);
        entries.filter_map(|entry| entry.tool.clone()).collect()
    }

    /// Whether a caller that may call these operations finds tools by searching for them.
    fn are_searched(&self, catalogue: &Catalogue, callable: &[Arc<Operation>]) -> bool {
        match self.shared.form {
            // Tools under the names of their server are listed as that server lists them.
            ToolForm::Auto => {
                let entries = catalogue.among(callable);
                entries.filter(|it| !it.has_own_name).count() > TOOLS_LIMIT
            }
            ToolForm::Each => false,
            ToolForm::Search => true,
        }
    }

    /// Calls a tool.
    pub(super) async fn call(
        &self,
        name: &str,
        input: Value,
        back: Option<Return>,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let catalogue = self.catalogue();
        let turn = Turn::new(self, context, back);
        // A tool of a server may have the name of one of panpan's; the one that is listed is meant.
        let is_general = General::from_name(name).is_some() && {
            let callable = self.gateway().callable(self.caller(context));
            self.are_searched(&catalogue, &callable)
        };
        if let Some(entry) = catalogue.by_tool(name).filter(|_| !is_general) {
            return turn.tool(entry, input).await;
        }
        let listed = self.listed(&catalogue, self.caller(context));
        let is_listed = listed.iter().any(|tool| tool.name == name);
        match General::from_name(name).filter(|_| is_listed) {
            // Larger than all else and seldom taken: on the heap, it makes no other call larger.
            Some(general) => Box::pin(general.call(&turn, &catalogue, input)).await,
            None => Err(unknown(name, &listed)),
        }
    }
}

/// Only what the caller can see is near to anything.
fn unknown(name: &str, listed: &[Tool]) -> ErrorData {
    let near = meant(name, listed.iter().map(|tool| &*tool.name));
    refusal::no_such_tool(&shown(name), &near)
}

/// A word of the caller's, no longer than a name.
pub(super) fn shown(text: &str) -> String {
    text.chars().take(TOOL_NAME_LENGTH_LIMIT).collect()
}
