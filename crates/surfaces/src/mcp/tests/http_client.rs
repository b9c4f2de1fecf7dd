//! An HTTP client on a real connection that shows exactly what is sent and received. It uses
//! HTTP/1.0, so that bodies end with the connection.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use ::http::{Request, Response};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::routing::any;
use panpan_runtime::{CancellationToken, Identity};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::caller::Caller;
use crate::gateway::Gateway;
use crate::mcp::{HttpSettings, McpHttpService, http_service};

/// The header that names the caller in tests.
const WHO: &str = "x-who";
/// The header with the scope of the caller in tests.
pub(super) const SCOPE: &str = "x-scope";
/// The member of `_meta` with the capabilities of the client.
pub(super) const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// A server on the loopback address, and the headers of a client.
#[derive(Clone, Debug)]
pub(super) struct HttpClient {
    address: SocketAddr,
    headers: Vec<(String, String)>,
    pub(super) stopping: CancellationToken,
    pub(super) shutdown: CancellationToken,
}

/// A response whose body is still arriving.
#[derive(Debug)]
pub(super) struct HttpResponse {
    pub(super) status: u16,
    pub(super) headers: HashMap<String, String>,
    body: BufReader<TcpStream>,
}

/// The caller that a test names.
fn who(request: &Request<Body>) -> Option<Caller> {
    let said = |name| request.headers().get(name).map(|it| it.to_str().unwrap());
    let scope = said(SCOPE).unwrap_or_default();
    let identity = Identity::new(said(WHO)?).with_scope(scope);
    Some(Caller::known(Arc::new(identity)))
}

async fn answered(service: McpHttpService, request: Request<Body>) -> Response<Body> {
    let caller = who(&request).unwrap_or_else(|| Caller::anonymous(None));
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    service.answer(caller, parts, body).await
}

impl HttpClient {
    pub(super) async fn to(gateway: Gateway, settings: HttpSettings) -> Self {
        let (stopping, shutdown) = (CancellationToken::new(), CancellationToken::new());
        let service = http_service(gateway, settings, stopping.clone(), shutdown.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let answer = move |request| answered(service, request);
        let router = Router::new().route("/mcp", any(answer));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self {
            address,
            headers: Vec::new(),
            stopping,
            shutdown,
        }
    }

    /// The same client with another header.
    pub(super) fn with(&self, name: &str, value: &str) -> Self {
        let mut other = self.clone();
        other.headers.retain(|(known, _)| known != name);
        other.headers.push((name.to_owned(), value.to_owned()));
        other
    }

    pub(super) fn by(&self, who: &str) -> Self {
        self.with(WHO, who)
    }

    /// The same client without a caller.
    pub(super) fn by_nobody(&self) -> Self {
        let mut other = self.clone();
        other.headers.retain(|(known, _)| known != WHO);
        other
    }

    /// Sends a request unchanged.
    pub(super) async fn send(&self, method: &str, body: &[u8]) -> HttpResponse {
        let stream = self.sent(method, body).await;
        HttpResponse::read(BufReader::new(stream)).await
    }

    async fn sent(&self, method: &str, body: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let mut head = format!("{method} /mcp HTTP/1.0\r\nHost: localhost\r\n");
        let accept = "application/json, text/event-stream";
        let mut headers = self.headers.clone();
        for (name, value) in [("Accept", accept), ("Content-Type", "application/json")] {
            if !headers
                .iter()
                .any(|(known, _)| known.eq_ignore_ascii_case(name))
            {
                headers.push((name.to_owned(), value.to_owned()));
            }
        }
        for (name, value) in &headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
        stream.write_all(head.as_bytes()).await.unwrap();
        // A server that refuses early may have closed its side already.
        let _ = stream.write_all(body).await;
        stream
    }

    pub(super) async fn post(&self, message: &Value) -> HttpResponse {
        self.send("POST", message.to_string().as_bytes()).await
    }

    /// Sends `initialize`.
    pub(super) async fn open(&self) -> HttpResponse {
        self.post(&initialize(json!({}))).await
    }

    /// Opens a session.
    pub(super) async fn session(&self) -> Self {
        self.session_with(json!({})).await
    }

    /// Opens a session for a client with these capabilities.
    pub(super) async fn session_with(&self, capabilities: Value) -> Self {
        self.session_of(&initialize(capabilities)).await
    }

    /// Opens a session with this first message.
    pub(super) async fn session_of(&self, initialize: &Value) -> Self {
        let answered = self.post(initialize).await;
        assert_eq!(answered.status, 200);
        let version = initialize["params"]["protocolVersion"].as_str().unwrap();
        let session = self
            .with("Mcp-Session-Id", &answered.headers["mcp-session-id"])
            .with("MCP-Protocol-Version", version);
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(session.post(&initialized).await.status, 202);
        session
    }

    /// Sends a request of the stateless version.
    pub(super) async fn modern(&self, method: &str, params: Value) -> HttpResponse {
        self.modern_with(method, params, json!({})).await
    }

    pub(super) async fn modern_with(
        &self,
        method: &str,
        mut params: Value,
        meta: Value,
    ) -> HttpResponse {
        let mut whole = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            CAPABILITIES: {},
        });
        whole
            .as_object_mut()
            .unwrap()
            .extend(meta.as_object().unwrap().clone());
        params["_meta"] = whole;
        let name = params["name"].as_str().or(params["taskId"].as_str());
        let name = name.map(str::to_owned);
        let mut client = self
            .with("MCP-Protocol-Version", "2026-07-28")
            .with("Mcp-Method", method);
        if let Some(name) = name {
            client = client.with("Mcp-Name", &name);
        }
        client.post(&request(method, params)).await
    }

    /// Calls a tool in both versions and returns both responses.
    pub(super) async fn call_both(&self, tool: &str, arguments: Value) -> [Value; 2] {
        let params = json!({"name": tool, "arguments": arguments});
        let session = self.session().await;
        let old = session.post(&request("tools/call", params.clone())).await;
        let new = self.modern("tools/call", params).await;
        [old.message().await, new.message().await]
    }
}

pub(super) fn request(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

pub(super) fn initialize(capabilities: Value) -> Value {
    request(
        "initialize",
        json!({
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities,
            "clientInfo": {"name": "test", "version": "0"},
        }),
    )
}

impl HttpResponse {
    async fn read(mut body: BufReader<TcpStream>) -> Self {
        let mut line = String::new();
        body.read_line(&mut line).await.unwrap();
        let status = line.split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = HashMap::new();
        loop {
            let mut line = String::new();
            body.read_line(&mut line).await.unwrap();
            let Some((name, value)) = line.trim_end().split_once(": ") else {
                break;
            };
            headers.insert(name.to_lowercase(), value.to_owned());
        }
        Self {
            status,
            headers,
            body,
        }
    }

    /// The whole body.
    pub(super) async fn text(mut self) -> String {
        let mut text = String::new();
        self.body.read_to_string(&mut text).await.unwrap();
        text
    }

    /// The next message of a stream; `None` at its end.
    pub(super) async fn next(&mut self) -> Option<Value> {
        loop {
            let mut line = String::new();
            if self.body.read_line(&mut line).await.unwrap() == 0 {
                return None;
            }
            let data = line.strip_prefix("data:").map(str::trim);
            if let Some(data) = data.filter(|data| !data.is_empty()) {
                return Some(serde_json::from_str(data).unwrap());
            }
        }
    }

    /// The last message of a stream, or the message in the body.
    pub(super) async fn message(mut self) -> Value {
        if self.headers["content-type"] == "application/json" {
            return serde_json::from_str(&self.text().await).unwrap();
        }
        let mut last = Value::Null;
        while let Some(message) = self.next().await {
            last = message;
        }
        last
    }
}
