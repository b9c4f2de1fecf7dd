//! A panpan served over HTTP, a client for it, and a service behind it.

#![allow(dead_code, reason = "each test binary uses a part of this")]

use std::sync::Arc;

use panpan_failure::Failure;
use panpan_faulty::{ObservedFailure, Row};
use panpan_runtime::retry::CircuitRule;
use panpan_runtime::{Credentials, Dispatcher};
use panpan_store::MemoryStore;
use panpan_surfaces::http::HttpSettings;
use panpan_surfaces::limits::Limits;
use panpan_surfaces::mcp::{ToolForm, tool_name};
use panpan_testkit::http::Response;
use panpan_testkit::{InProcessServer, ServeSettings};
use panpan_upstream::header::HeaderMap;
use panpan_upstream::{Allowed, Client, ClientSettings, Service, Url};
use serde_json::{Value, json};

/// The version of MCP that the client uses.
const VERSION: &str = "2026-07-28";

/// A running panpan and a client for it.
pub(crate) struct PanpanServer(InProcessServer);

impl PanpanServer {
    /// Serves the operations of a dispatcher.
    pub(crate) async fn start(
        dispatcher: &Dispatcher,
        store: &Arc<MemoryStore>,
        limits: Limits,
    ) -> Self {
        let http = HttpSettings {
            tools: ToolForm::Each,
            ..HttpSettings::default()
        };
        let settings = ServeSettings {
            limits,
            http,
            ..ServeSettings::default()
        };
        Self(InProcessServer::start(dispatcher.clone(), store.clone(), settings).await)
    }

    pub(crate) fn url(&self) -> Url {
        Url::parse(&format!("http://{}", self.0.address)).unwrap()
    }

    /// Calls an operation by `/call`; returns the response body.
    pub(crate) async fn call(&self, operation: &str, input: &Value, key: Option<&str>) -> String {
        let mut body = json!({"operation": operation, "input": input});
        if let Some(key) = key {
            body["idempotency_key"] = json!(key);
        }
        self.post("/call", &[], &body).await
    }

    /// Calls an operation as an MCP tool; returns the response body.
    pub(crate) async fn call_tool(
        &self,
        operation: &str,
        input: &Value,
        key: Option<&str>,
    ) -> String {
        let tool = tool_name(operation);
        let mut meta = json!({
            "io.modelcontextprotocol/protocolVersion": VERSION,
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        if let Some(key) = key {
            meta["dev.panpan/idempotency-key"] = json!(key);
        }
        let body = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": tool, "arguments": input, "_meta": meta},
        });
        let headers = [
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", VERSION),
            ("mcp-method", "tools/call"),
            ("mcp-name", &tool),
        ];
        self.post("/mcp", &headers, &body).await
    }

    pub(crate) async fn post(&self, path: &str, headers: &[(&str, &str)], body: &Value) -> String {
        self.post_raw(path, headers, body).await.text()
    }

    /// Sends a POST request; returns the response with its status and media type.
    pub(crate) async fn post_raw(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> Response {
        let headers = [headers, &[("content-type", "application/json")]].concat();
        let body = body.to_string();
        self.0
            .request("POST", path, &headers, body.as_bytes())
            .await
    }

    pub(crate) async fn get(&self, path: &str) -> String {
        self.0.request("GET", path, &[], b"").await.text()
    }
}

/// A service whose URL is allowed, wherever it is.
pub(crate) fn service(
    name: &str,
    url: &Url,
    settings: ClientSettings,
    credentials: Credentials,
) -> Service {
    let mut allowed = Allowed::default();
    allowed.allow_url(url);
    let client = Client::new(ClientSettings {
        allowed,
        ..settings
    });
    Service {
        name: name.to_owned(),
        base: Some(url.clone()),
        client: client.unwrap(),
        credentials,
        headers: HeaderMap::new(),
        passed: Vec::new(),
        circuit: CircuitRule::default(),
    }
}

/// How the outcome that a caller got differs from its row in the fault table.
pub(crate) fn differences_from_row(row: &Row, outcome: &Result<Value, Failure>) -> Vec<String> {
    let Err(failure) = outcome else {
        return row.differences(None);
    };
    row.differences(Some(ObservedFailure {
        code: failure.code().as_str(),
        category: failure.category().word(),
        retryable: failure.retryable(),
        effect: failure.effect().word(),
        retry_after_ms: failure.recovery().retry_after_ms,
        status: failure.upstream().and_then(|it| it.status),
    }))
}
