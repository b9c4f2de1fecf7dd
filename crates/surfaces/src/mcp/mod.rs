//! The Model Context Protocol: every operation is a tool.
//!
//! The only module of this crate that uses rmcp. A failing tool is a result with `isError`; only an
//! unknown tool is a JSON-RPC error, as the specification requires.

#![allow(
    deprecated,
    reason = "sampling, roots, logging and resources/subscribe are those of 2025-11-25, which most servers and clients speak"
)]

mod arguments;
mod call;
mod connected_client;
mod fast_path;
mod features;
mod gateway_tools;
mod handler;
mod http;
mod in_flight;
mod input_requests;
mod interactive;
mod key;
mod list_changes;
mod message;
mod parked;
mod progress;
mod request;
mod resume;
mod rpc_error;
mod schema_root;
mod server;
mod sessions;
mod stdio;
mod tasks;
#[cfg(test)]
mod tests;
mod tool;
mod tool_index;
mod tool_name;
mod tool_result;

use std::fmt;
use std::time::Duration;

use panpan_mcp::input::UsableCapabilities;
use panpan_runtime::CancellationToken;
use rmcp::ServiceExt;
use rmcp::model::{ClientCapabilities, ClientJsonRpcMessage};
use rmcp::service::ServerInitializeError;
use rmcp::transport::io::{StdioReader, StdioWriter};
use rmcp::transport::stdio_pipes;
use serde::Deserialize as _;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::caller::Caller;
use crate::gateway::Gateway;
use server::{Server, Shared};
use stdio::{EndReason, StdioTransport};

pub use gateway_tools::TOOLS_LIMIT;
pub use http::{HttpSettings, McpHttpService, http_service};
pub use parked::{PARKED_FOR, PARKED_LIMIT, PARKED_PER_CALLER_LIMIT};
pub use tasks::{McpTasks, TASK_QUESTIONS_LIMIT, TASK_QUESTIONS_PER_OWNER_LIMIT, TaskInputs};
pub use tool::DESCRIBED_CODES_LIMIT;
pub use tool_index::tool_list;
pub use tool_name::{TOOL_NAME_LENGTH_LIMIT, tool_name};

/// How operations are shown as tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolForm {
    /// One tool per operation, unless a caller has more than [`TOOLS_LIMIT`] of them.
    #[default]
    Auto,
    /// One tool per operation, without a limit.
    Each,
    /// Four tools that find, describe and call operations: `search`, `schema`, `call` and `batch`.
    /// A client that already knows the tool of an operation may still call it.
    Search,
}

/// Why MCP could not be served.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The client did not complete the handshake.
    #[error("the MCP client did not complete the handshake")]
    Handshake(#[source] Box<ServerInitializeError>),
    /// Reading stdin or writing stdout failed.
    #[error("reading from or writing to the MCP client failed")]
    Stdio(#[source] std::io::Error),
    /// The task that served the client panicked.
    #[error("the task that served the MCP client panicked")]
    Stopped(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// The client on stdin and stdout. Nothing else may write to stdout meanwhile.
pub struct StdioClient {
    transport: StdioTransport<StdioReader, StdioWriter>,
    end: EndReason,
}

impl fmt::Debug for StdioClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("StdioClient")
            .finish_non_exhaustive()
    }
}

impl StdioClient {
    /// Takes over stdin and stdout. Must be called within a tokio runtime.
    pub fn new() -> Self {
        let (input, output) = stdio_pipes();
        let (transport, end) = StdioTransport::new(input, output);
        Self { transport, end }
    }

    /// The capabilities of the client, as its first message states them; `None` if it states none or
    /// has sent nothing within this time.
    pub async fn capabilities(&mut self, within: Duration) -> Option<UsableCapabilities> {
        let first = tokio::time::timeout(within, self.transport.peek()).await;
        stated_capabilities(first.ok()??)
    }
}

impl Default for StdioClient {
    fn default() -> Self {
        Self::new()
    }
}

/// The capabilities in `initialize`, or in the `_meta` of another request.
fn stated_capabilities(first: &ClientJsonRpcMessage) -> Option<UsableCapabilities> {
    let message = serde_json::to_value(first).ok()?;
    let params = message.get("params")?;
    let stated = match message.get("method")?.as_str()? {
        "initialize" => params.get("capabilities")?,
        _ => params.get("_meta")?.get(fast_path::CAPABILITIES_IN_META)?,
    };
    let stated = ClientCapabilities::deserialize(stated).ok()?;
    Some(UsableCapabilities::of(&stated).unwrap_or_default())
}

/// Serves the operations as tools to the client on stdin and stdout until it disconnects. All calls
/// are made in the name of one caller.
pub async fn serve_stdio(
    client: StdioClient,
    gateway: Gateway,
    caller: Caller,
    form: ToolForm,
) -> Result<(), Error> {
    let StdioClient { transport, end } = client;
    let disconnected = CancellationToken::new();
    let shared = Shared::new(gateway, form, disconnected.clone(), disconnected.clone());
    // Cancels parked calls when the client disconnects.
    let _disconnected = disconnected.drop_guard();
    serve(Server::new(shared, Some(caller)), transport).await?;
    end.error().map_or(Ok(()), |error| Err(Error::Stdio(error)))
}

async fn serve<R, W>(server: Server, transport: StdioTransport<R, W>) -> Result<(), Error>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let running = match server.serve(transport).await {
        Ok(running) => running,
        // A client that disconnects before the handshake is not an error.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(Error::Handshake(Box::new(error))),
    };
    let ended = running.waiting().await;
    ended
        .map(drop)
        .map_err(|error| Error::Stopped(error.into()))
}
