//! The requests in each protocol: all ask for their input to be returned.

use std::net::SocketAddr;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::load::Connection;

/// The operation that returns its input; MCP uses another name.
pub(crate) const ECHO: &str = "bench/echo";

/// The same operation as an MCP tool.
pub(crate) const ECHO_TOOL: &str = "bench__echo";

/// The path of the server that returns the request body.
pub(crate) const ECHO_PATH: &str = "/echo";

/// The operation that is imported from that server.
pub(crate) const IMPORTED: &str = "imported/echo";

/// A protocol, with the path that all servers use for it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// `/call`.
    Call,
    /// JSON-RPC 2.0 at `/rpc`.
    JsonRpc,
    /// MCP without sessions at `/mcp`.
    Mcp,
    /// MCP in a session at `/mcp`.
    McpSession,
    /// `/call` of an imported operation, which another server carries out.
    Imported,
    /// A direct request to that server.
    Upstream,
}

const JSON: &str = "content-type: application/json\r\n";
const MCP: &str =
    "content-type: application/json\r\naccept: application/json, text/event-stream\r\n";
const MODERN: &str = "2026-07-28";
const LEGACY: &str = "2025-11-25";

/// A typical input of about two hundred bytes.
pub(crate) fn input() -> Value {
    json!({
        "owner": "octo-org",
        "repository": "hello-world",
        "title": "it stops when the list is empty",
        "page": 3,
        "per_page": 100,
        "state": "open",
        "labels": ["bug", "help wanted"],
        "sort": "updated",
        "draft": false,
    })
}

impl Kind {
    /// Prepares a connection for its first request; returns the request.
    pub(crate) async fn prepare(
        self,
        connection: &mut Connection,
        address: SocketAddr,
    ) -> anyhow::Result<Vec<u8>> {
        let tool = json!({"name": ECHO_TOOL, "arguments": input()});
        Ok(match self {
            Self::Call => {
                let body = json!({"operation": ECHO, "input": input()});
                post(address, "/call", JSON, &body)
            }
            Self::Imported => {
                let body = json!({"operation": IMPORTED, "input": {"body": input()}});
                post(address, "/call", JSON, &body)
            }
            Self::Upstream => post(address, ECHO_PATH, JSON, &input()),
            Self::JsonRpc => post(address, "/rpc", JSON, &rpc(ECHO, input())),
            Self::Mcp => {
                let headers = format!(
                    "{MCP}mcp-protocol-version: {MODERN}\r\nmcp-method: tools/call\r\nmcp-name: {ECHO_TOOL}\r\n"
                );
                let mut params = tool;
                params["_meta"] = json!({
                    "io.modelcontextprotocol/protocolVersion": MODERN,
                    "io.modelcontextprotocol/clientCapabilities": {},
                });
                post(address, "/mcp", &headers, &rpc("tools/call", params))
            }
            Self::McpSession => {
                let headers = open_session(connection, address).await?;
                post(address, "/mcp", &headers, &rpc("tools/call", tool))
            }
        })
    }

    /// Checks that a response contains the input.
    pub(crate) fn check(self, body: &[u8]) -> anyhow::Result<()> {
        let body = std::str::from_utf8(body)?;
        let pointer = match self {
            Self::Call | Self::Imported => "/output",
            Self::Upstream => "",
            Self::JsonRpc => "/result",
            Self::Mcp | Self::McpSession => "/result/structuredContent",
        };
        let text = match self {
            Self::McpSession => body.lines().find_map(|line| {
                let data = line.strip_prefix("data:")?.trim();
                data.starts_with('{').then_some(data)
            }),
            _ => Some(body),
        };
        let answer: Value =
            serde_json::from_str(text.context("the response contains no message")?)?;
        let given_back = answer.pointer(pointer) == Some(&input());
        ensure!(
            given_back,
            "the response does not contain the input: {answer}"
        );
        Ok(())
    }
}

/// Opens a session; returns the headers of its requests.
async fn open_session(connection: &mut Connection, address: SocketAddr) -> anyhow::Result<String> {
    let this = json!({"name": "bench", "version": "1"});
    let params = json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": this});
    let request = post(address, "/mcp", MCP, &rpc("initialize", params));
    connection.exchange(&request).await?;
    let session = connection.header("mcp-session-id");
    let session = session.context("the server did not open a session")?;
    let headers = format!("{MCP}mcp-protocol-version: {LEGACY}\r\nmcp-session-id: {session}\r\n");
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let request = post(address, "/mcp", &headers, &initialized);
    connection.exchange(&request).await?;
    Ok(headers)
}

fn rpc(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

fn post(address: SocketAddr, path: &str, headers: &str, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\n{headers}content-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}
