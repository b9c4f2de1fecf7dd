//! The state of a server: its caller, the tools that caller can see, and the requests in flight.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use ::http::request::Parts;
use panpan_runtime::{CallRequest, CancellationToken, Operation, similar_names};
use rmcp::model::{CallToolResponse, Extensions, Tool};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;

use super::ToolForm;
use super::call::NamedBy;
use super::connected_client::{ConnectedClient, Level};
use super::gateway_tools::{GatewayTool, TOOLS_LIMIT};
use super::in_flight::InFlight;
use super::list_changes::ListChanges;
use super::parked::ParkedCalls;
use super::request::{ActiveRequest, wire_version};
use super::resume::ResumeInput;
use super::rpc_error;
use super::tool_index::{ToolCache, ToolIndex};
use super::tool_name::TOOL_NAME_LENGTH_LIMIT;
use crate::caller::Caller;
use crate::gateway::Gateway;

/// The state that all servers of one endpoint share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) gateway: Gateway,
    tools: ToolCache,
    form: ToolForm,
    pub(super) stopping: CancellationToken,
    pub(super) shutdown: CancellationToken,
    pub(super) parked: Arc<ParkedCalls>,
}

/// The server of one client: on stdio, in a session, or for a single stateless request.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) shared: Arc<Shared>,
    /// The caller of requests that do not carry one.
    caller: Caller,
    /// Whether it outlives a request, so that notifications about other requests reach it.
    is_persistent: AtomicBool,
    pub(super) in_flight: InFlight,
    pub(super) list_changes: ListChanges,
    /// The log level that the client set.
    pub(super) level: Level,
    /// The client of a session, once `initialized` has arrived.
    pub(super) client: OnceLock<Arc<ConnectedClient>>,
}

impl Shared {
    /// After `stopping` no input is requested and no call stays parked; everything ends at
    /// `shutdown`.
    pub(super) fn new(
        gateway: Gateway,
        form: ToolForm,
        stopping: CancellationToken,
        shutdown: CancellationToken,
    ) -> Arc<Self> {
        Arc::new(Self {
            gateway,
            tools: ToolCache::default(),
            form,
            parked: ParkedCalls::new(stopping.clone()),
            stopping,
            shutdown,
        })
    }

    /// The tools of the current registry.
    pub(super) fn tool_index(&self) -> Arc<ToolIndex> {
        self.tools.index_for(&self.gateway.dispatcher().registry())
    }
}

impl Server {
    /// The server of a client on stdio, which has one caller, or of a session or a single stateless
    /// request over HTTP, where each request carries its caller.
    pub(super) fn new(shared: Arc<Shared>, on_stdio: Option<Caller>) -> Self {
        Self {
            shared,
            is_persistent: AtomicBool::new(on_stdio.is_some()),
            caller: on_stdio.unwrap_or_else(|| Caller::anonymous(None)),
            in_flight: InFlight::default(),
            list_changes: ListChanges::default(),
            level: Level::default(),
            client: OnceLock::new(),
        }
    }

    pub(super) fn gateway(&self) -> &Gateway {
        &self.shared.gateway
    }

    /// Whether it serves more than one request.
    pub(super) fn is_persistent(&self) -> bool {
        self.is_persistent.load(Ordering::Relaxed)
    }

    /// Notes that a session has begun.
    pub(super) fn mark_persistent(&self) {
        self.is_persistent.store(true, Ordering::Relaxed);
    }

    /// The caller of a request. Determined for every request, also within a session.
    pub(super) fn caller<'a>(&'a self, context: &'a RequestContext<RoleServer>) -> &'a Caller {
        self.caller_in(&context.extensions)
    }

    /// The caller of the request or notification with these extensions.
    pub(super) fn caller_in<'a>(&'a self, extensions: &'a Extensions) -> &'a Caller {
        let parts = extensions.get::<Parts>();
        let caller = parts.and_then(|parts| parts.extensions.get::<Caller>());
        caller.unwrap_or(&self.caller)
    }

    /// The tools of the current registry.
    pub(super) fn tool_index(&self) -> Arc<ToolIndex> {
        self.shared.tool_index()
    }

    /// The tools that this caller can see.
    pub(super) fn listed_tools(&self, index: &ToolIndex, caller: &Caller) -> Vec<Tool> {
        let callable = self.gateway().callable(caller);
        if self.uses_gateway_tools(index, &callable) {
            return GatewayTool::tools(self.gateway().limits().batch);
        }
        let entries = index.among(&callable);
        entries.filter_map(|entry| entry.tool.clone()).collect()
    }

    /// Whether a caller of these operations gets the search tools instead of one tool per
    /// operation.
    fn uses_gateway_tools(&self, index: &ToolIndex, callable: &[Arc<Operation>]) -> bool {
        match self.shared.form {
            // Tools under their server's own names are listed as that server lists them.
            ToolForm::Auto => {
                let entries = index.among(callable);
                entries.filter(|it| !it.has_server_name).count() > TOOLS_LIMIT
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
        resume: Option<ResumeInput>,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let index = self.tool_index();
        let request = ActiveRequest::new(self, context, resume);
        // An upstream tool may share its name with a gateway tool; the listed one wins.
        let is_gateway_tool = GatewayTool::from_name(name).is_some() && {
            let callable = self.gateway().callable(self.caller(context));
            self.uses_gateway_tools(&index, &callable)
        };
        if let Some(entry) = index.by_tool(name).filter(|_| !is_gateway_tool) {
            // Rarely used: boxed, so that other calls stay small.
            return match Box::pin(request.as_task(entry, &input)).await {
                Some(response) => response,
                None => request.tool(entry, input).await,
            };
        }
        let listed = self.listed_tools(&index, self.caller(context));
        let is_listed = listed.iter().any(|tool| tool.name == name);
        match GatewayTool::from_name(name).filter(|_| is_listed) {
            // Large and rarely used: boxed, so that other calls stay small.
            Some(tool) => Box::pin(tool.call(&request, &index, input)).await,
            None => unavailable(&request, &index, name)
                .unwrap_or_else(|| Err(unknown_tool(name, &listed))),
        }
    }
}

/// The response for a tool that an upstream server may have once it is available. A failing result,
/// because agents do not call a tool again that does not exist.
fn unavailable(
    request: &ActiveRequest<'_>,
    index: &ToolIndex,
    name: &str,
) -> Option<Result<CallToolResponse, ErrorData>> {
    let library = request.server.gateway().library()?;
    let failure = library.unavailable_for(request.caller(), name)?;
    let call = CallRequest::from_wire(truncated(name), Value::Null);
    let refused = request.scope.refused(call, failure, NamedBy::Tool);
    let result = refused.into_result(None, index, wire_version(request.context));
    Some(result.map(Into::into))
}

/// Suggests only names that the caller can see.
pub(super) fn unknown_tool(name: &str, listed: &[Tool]) -> ErrorData {
    let nearest = similar_names(name, listed.iter().map(|tool| &*tool.name));
    rpc_error::unknown_tool(&truncated(name), &nearest)
}

/// Text from the caller, cut to the length of a tool name.
pub(super) fn truncated(text: &str) -> String {
    text.chars().take(TOOL_NAME_LENGTH_LIMIT).collect()
}
