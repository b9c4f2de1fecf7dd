//! What is asked for, in each protocol: to give back the same input.

use std::net::SocketAddr;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::load::Connection;

/// The operation that gives back its input, as every protocol but MCP calls it.
pub(crate) const ECHO: &str = "bench/echo";

/// The same as a tool.
pub(crate) const ECHO_TOOL: &str = "bench__echo";

/// The path of a server that gives back the body.
pub(crate) const ECHO_PATH: &str = "/echo";

/// The operation that such a server carries out.
pub(crate) const IMPORTED: &str = "imported/echo";

/// A protocol, and the paths it is served at by everybody.
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
    /// `/call` of an operation that another server carries out.
    Imported,
    /// The same asked of that server itself.
    Upstream,
}

const JSON: &str = "content-type: application/json\r\n";
const MCP: &str =
    "content-type: application/json\r\naccept: application/json, text/event-stream\r\n";
const MODERN: &str = "2026-07-28";
const LEGACY: &str = "2025-11-25";

/// About two hundred bytes of the usual kind.
pub(crate) fn input() -> Value {
    json!({
        "owner": "octo-org",
        "repository": "hello-ports",
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
    /// Does what has to go before the first request on a connection; gives the request.
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

    /// Whether an answer gives back the input.
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
        let answer: Value = serde_json::from_str(text.context("there is no message in it")?)?;
        let given_back = answer.pointer(pointer) == Some(&input());
        ensure!(given_back, "not what was asked for: {answer}");
        Ok(())
    }
}

/// Opens a session, and gives the headers of requests in it.
async fn open_session(connection: &mut Connection, address: SocketAddr) -> anyhow::Result<String> {
    let this = json!({"name": "bench", "version": "1"});
    let params = json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": this});
    let request = post(address, "/mcp", MCP, &rpc("initialize", params));
    connection.exchange(&request).await?;
    let session = connection.header("mcp-session-id");
    let session = session.context("the server opens no session")?;
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
