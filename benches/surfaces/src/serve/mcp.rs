//! Servers in front of an MCP server: all of panpan, and a bare rmcp proxy that only forwards.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::anyhow;
use axum::Router;
use panpan_upstream::mcp::{McpAddress, McpNames, McpSettings, McpTransport, McpUpstream};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientConfig, ListToolsResult, PaginatedRequestParams,
    ProtocolVersion, ServerCapabilities, ServerConfig,
};
use rmcp::service::{
    ClientLifecycleMode, ClientServiceExt as _, RequestContext, RunningService, ServiceError,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_server::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::{ErrorData, RoleClient, RoleServer, ServerHandler};
use tokio::sync::OnceCell;

use super::bare;

/// All of panpan, with the tools of the upstream server as operations.
pub(super) async fn panpan(upstream: SocketAddr, sessions: bool) -> anyhow::Result<()> {
    let place = McpTransport::Http(McpAddress::new(url(upstream)));
    let settings = McpSettings {
        names: McpNames::Own,
        sessions,
        ..McpSettings::new("behind", place)
    };
    let upstream = McpUpstream::new(settings)?;
    let operations = upstream.operations().await?;
    super::panpan::serve_imported(operations.registrations).await
}

/// An rmcp server that forwards every request with an rmcp client: with one upstream session per client session, or
/// without sessions over one connection.
pub(super) async fn proxy(upstream: SocketAddr, sessions: bool) -> anyhow::Result<()> {
    let manager = Arc::new(LocalSessionManager::default());
    let shared = Arc::new(OnceCell::new());
    let make = move || {
        let client = match sessions {
            true => Arc::new(OnceCell::new()),
            false => shared.clone(),
        };
        Ok(Proxy {
            upstream,
            sessions,
            client,
        })
    };
    let service = StreamableHttpService::new(make, manager, bare::config());
    bare::serve(Router::new().route_service("/mcp", service)).await
}

fn url(upstream: SocketAddr) -> String {
    format!("http://{upstream}/mcp")
}

type Client = RunningService<RoleClient, ClientConfig>;

#[derive(Clone)]
struct Proxy {
    upstream: SocketAddr,
    sessions: bool,
    client: Arc<OnceCell<Client>>,
}

impl Proxy {
    async fn client(&self) -> Result<&Client, ErrorData> {
        let connected = self.client.get_or_try_init(|| async {
            let transport = StreamableHttpClientTransport::from_uri(url(self.upstream));
            let way = match self.sessions {
                true => ClientLifecycleMode::Initialize,
                false => ClientLifecycleMode::Auto {
                    preferred_versions: vec![ProtocolVersion::V_2026_07_28],
                    legacy_version: None,
                },
            };
            let client = ClientConfig::default();
            client.serve_with_lifecycle(transport, way).await
        });
        connected.await.map_err(|error| failed(&anyhow!(error)))
    }
}

impl ServerHandler for Proxy {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let listed = self.client().await?.list_tools(page).await;
        listed.map_err(passed_on)
    }

    async fn call_tool(
        &self,
        mut request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        // The rmcp client adds its own client information to the forwarded request.
        request.meta = None;
        let called = self.client().await?.call_tool(request).await;
        called.map(Into::into).map_err(passed_on)
    }
}

fn passed_on(error: ServiceError) -> ErrorData {
    match error {
        ServiceError::McpError(error) => error,
        other => failed(&anyhow!(other)),
    }
}

fn failed(error: &anyhow::Error) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}
