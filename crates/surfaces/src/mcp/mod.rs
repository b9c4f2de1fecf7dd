//! The Model Context Protocol: every operation is a tool.
//!
//! The only module that knows the MCP library. A failing tool is a result with `isError`; only a tool
//! that does not exist is an error of the protocol, as the specification says.

mod answer;
mod key;
mod lines;
mod name;
#[cfg(test)]
mod tests;
mod tool;

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;

use panpan_contract::catalogue::nearest;
use panpan_contract::operation::OperationType;
use panpan_runtime::{CallRequest, CancellationToken, Dispatcher, Operation};
use rmcp::model::{
    CallToolRequestMethod, CallToolRequestParams, CallToolResponse, CallToolResult, ConstString,
    CustomRequest, CustomResult, ErrorCode, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::transport::stdio_pipes;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::{Value, json};
use tokio::io::DuplexStream;

pub use answer::IDEMPOTENCY_RESULT_META_KEY;
pub use key::{IDEMPOTENCY_META_KEY, KEY_ARGUMENT, SEED_META_KEY};
pub use name::{TOOL_NAME_LENGTH_LIMIT, tool_name};
pub use tool::{DESCRIBED_CODES_LIMIT, ERRORS_META_KEY};

/// What an agent is told about all tools of this server.
const INSTRUCTIONS: &str = "A failing tool answers with isError and one JSON object: read error.code \
for what happened and error.recovery for what to do next. Repeat the identical call only when \
error.recovery.retry_strategy.suggested_delay is given, after that many milliseconds; and where \
error.panpan.effect is not none, only if the tool is idempotent. Otherwise change something first. To \
ask again what became of a change, repeat it with the idempotency_key it had: it is not done twice.";

/// Why MCP could not be served.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The peer did not get through the beginning of the protocol.
    #[error("the MCP client did not complete the handshake")]
    Handshake(#[source] Box<ServerInitializeError>),
    /// The pipes broke.
    #[error("the pipes to the MCP client broke")]
    Pipe(#[source] std::io::Error),
    /// The task that served it ended by a defect.
    #[error("serving MCP stopped by a defect")]
    Stopped(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Serves the operations as tools on stdin and stdout until the client leaves.
///
/// Nothing else may write to stdout meanwhile.
pub async fn serve_stdio(dispatcher: Dispatcher) -> Result<(), Error> {
    let (input, output) = stdio_pipes();
    let (library, lines) = lines::guarded(input, output);
    let served = serve(dispatcher, library);
    let (served, carried) = tokio::join!(served, lines);
    served?;
    match carried {
        // A client that stops reading has left.
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Error::Pipe(error)),
        _ => Ok(()),
    }
}

async fn serve(dispatcher: Dispatcher, library: DuplexStream) -> Result<(), Error> {
    let running = match Server::new(dispatcher).serve(library).await {
        Ok(running) => running,
        // A client that leaves before it says anything has simply left.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(Error::Handshake(Box::new(error))),
    };
    let ended = running.waiting().await;
    ended
        .map(drop)
        .map_err(|error| Error::Stopped(error.into()))
}

/// The operations of a registry as tools.
#[derive(Clone, Debug)]
struct Server {
    dispatcher: Dispatcher,
    tools: BTreeMap<String, Entry>,
}

/// A tool as it is listed, and the operation behind it.
#[derive(Clone, Debug)]
struct Entry {
    tool: Tool,
    operation: Arc<Operation>,
}

impl Server {
    fn new(dispatcher: Dispatcher) -> Self {
        let tools = dispatcher
            .callable(None)
            .into_iter()
            .filter_map(|operation| {
                let tool = tool::of(operation.spec())?;
                Some((tool.name.to_string(), Entry { tool, operation }))
            })
            .collect();
        Self { dispatcher, tools }
    }

    async fn call(
        &self,
        name: &str,
        mut input: Value,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let entry = self.tools.get(name).ok_or_else(|| self.unknown(name))?;
        let spec = entry.operation.spec();
        let key = key::of(spec, &context.meta, &mut input);
        let abort = CancellationToken::new();
        let mut call = CallRequest {
            retry_seed: key::seed(&context.meta),
            abort: Some(abort.clone()),
            ..CallRequest::from_wire(spec.name.as_str(), input)
        };
        let (key, work) = match key {
            Ok(stated) => {
                let changes = spec.op_type == OperationType::Mutation;
                let made = || changes.then(|| self.dispatcher.new_key());
                call.key = stated.or_else(made);
                (call.key.clone(), self.dispatcher.dispatch(call))
            }
            Err(failure) => {
                let answer = self.dispatcher.reject(call, failure);
                return answer::of_answer(answer, None);
            }
        };
        let mut work = pin!(work);
        let answer = tokio::select! {
            answer = &mut work => answer,
            () = context.ct.cancelled() => {
                // A cancelled notice stops the work. A client that has left does not: what holds a key
                // goes on to its record, and anything else is dropped here.
                if !context.peer.is_transport_closed() {
                    abort.cancel();
                    work.await;
                }
                // It is not sent.
                return Err(ErrorData::internal_error("the call was cancelled", None));
            }
        };
        answer::of_answer(answer, key.as_ref())
    }

    fn unknown(&self, name: &str) -> ErrorData {
        let near = nearest(name, self.tools.keys().map(String::as_str));
        let shown = shown(name);
        let data = json!({"tool": shown, "nearest": near});
        ErrorData::invalid_params(format!("there is no tool {shown}"), Some(data))
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let this = Implementation::new("panpan", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(this)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.tools.values().map(|entry| entry.tool.clone());
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let input = Value::Object(request.arguments.unwrap_or_default());
        let result = self.call(&request.name, input, &context).await?;
        Ok(result.into())
    }

    /// Gets every request the library cannot read as one it knows, also a `tools/call` whose params
    /// have the wrong shape: arguments that are no object are the tool's to refuse, like all others.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method != CallToolRequestMethod::VALUE {
            let message = format!("there is no method {}", shown(&request.method));
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None));
        }
        let mut params = request.params.unwrap_or_default();
        let Some(Value::String(name)) = params.get_mut("name").map(Value::take) else {
            let message = "tools/call needs the name of a tool, as a string";
            return Err(ErrorData::invalid_params(message, None));
        };
        let input = params.get_mut("arguments").map(Value::take);
        let input = input.unwrap_or_else(|| json!({}));
        let result = self.call(&name, input, &context).await?;
        serde_json::to_value(result)
            .map(CustomResult)
            .map_err(|_| answer::unwritable())
    }
}

/// A word of the caller's, no longer than a name.
fn shown(text: &str) -> String {
    text.chars().take(TOOL_NAME_LENGTH_LIMIT).collect()
}
