//! The Model Context Protocol: every operation is a tool.
//!
//! The only module that knows the MCP library. A failing tool is a result with `isError`; only a tool
//! that does not exist is an error of the protocol, as the specification says.

#![allow(
    deprecated,
    reason = "sampling, roots, logging and resources/subscribe are those of 2025-11-25, which most servers and clients speak"
)]

mod answer;
mod arguments;
mod attendant;
mod back;
mod call;
mod changes;
mod content;
mod general;
mod handler;
mod http;
mod key;
mod library;
mod lines;
mod message;
mod name;
mod parked;
mod plain;
mod progress;
mod questions;
mod refusal;
mod root;
mod running;
mod served;
mod server;
mod sessions;
#[cfg(test)]
mod tests;
mod tool;
mod tools;
mod turn;

use panpan_runtime::CancellationToken;
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::stdio_pipes;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::caller::Caller;
use crate::gateway::Gateway;
use lines::Lines;
use server::{Server, Shared};

pub use answer::IDEMPOTENCY_RESULT_META_KEY;
pub use content::CONTENT_MARK;
pub use general::TOOLS_LIMIT;
pub use http::{HttpSettings, McpHttpService, http_service};
pub use key::{IDEMPOTENCY_META_KEY, KEY_ARGUMENT, SEED_META_KEY};
pub use name::{TOOL_NAME_LENGTH_LIMIT, tool_name};
pub use parked::{PARKED_FOR, PARKED_LIMIT, PARKED_PER_CALLER_LIMIT};
pub use tool::{DESCRIBED_CODES_LIMIT, ERRORS_META_KEY, NAME_EXTENSION};
pub use tools::listed;

/// How operations are shown as tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolForm {
    /// Each as a tool of its own, unless there are more than [`TOOLS_LIMIT`] for a caller.
    #[default]
    Auto,
    /// Each as a tool of its own, however many there are.
    Each,
    /// Four tools that find, describe and call operations: `search`, `schema`, `call` and `batch`. A
    /// client that knows the tool of an operation from before may still call it.
    Search,
}

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

/// Serves the operations as tools on stdin and stdout until the client leaves, all calls in the name of
/// one caller.
///
/// Nothing else may write to stdout meanwhile.
pub async fn serve_stdio(gateway: Gateway, caller: Caller) -> Result<(), Error> {
    serve_stdio_as(gateway, caller, ToolForm::default()).await
}

/// Serves like [`serve_stdio`], with the operations in a form of the caller's choice.
pub async fn serve_stdio_as(gateway: Gateway, caller: Caller, form: ToolForm) -> Result<(), Error> {
    let (input, output) = stdio_pipes();
    let (lines, broken) = Lines::new(input, output);
    let left = CancellationToken::new();
    let shared = Shared::new(gateway, form, left.clone(), left.clone());
    // Whoever has left comes back to no call.
    let _left = left.drop_guard();
    serve(Server::on_pipe(shared, caller), lines).await?;
    broken.why().map_or(Ok(()), |error| Err(Error::Pipe(error)))
}

async fn serve<R, W>(server: Server, lines: Lines<R, W>) -> Result<(), Error>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let running = match server.serve(lines).await {
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
