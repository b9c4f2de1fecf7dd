//! The bare servers that panpan is compared with: the same work and nothing else.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::routing::post;
use axum::serve::ListenerExt as _;
use axum::{Json, Router};
use jsonrpsee::RpcModule;
use jsonrpsee::server::Server;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool as ListedTool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::request::{ECHO, ECHO_TOOL};

/// A hand-written `/call`.
pub(super) async fn axum() -> anyhow::Result<()> {
    let router = Router::new().route("/call", post(call));
    serve(router).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    #[allow(dead_code, reason = "parsed like the other members, but not used")]
    operation: String,
    pub(super) input: Value,
    #[allow(dead_code, reason = "parsed if it is sent")]
    idempotency_key: Option<String>,
    #[allow(dead_code, reason = "parsed if it is sent")]
    retry_seed: Option<i64>,
    #[allow(dead_code, reason = "parsed if it is sent")]
    timeout_ms: Option<u64>,
}

#[derive(Serialize)]
pub(super) struct Answered {
    request_id: Uuid,
    result: &'static str,
    output: Value,
}

impl Answered {
    pub(super) fn with(output: Value) -> Self {
        Self {
            request_id: Uuid::new_v4(),
            result: "success",
            output,
        }
    }
}

async fn call(Json(asked): Json<Asked>) -> Json<Answered> {
    Json(Answered::with(asked.input))
}

/// A jsonrpsee server with one method.
pub(super) async fn jsonrpsee() -> anyhow::Result<()> {
    let mut module = RpcModule::new(());
    module.register_async_method(ECHO, |params, _, _| async move { params.parse::<Value>() })?;
    let address = SocketAddr::from(([127, 0, 0, 1], 0));
    let server = Server::builder().build(address).await?;
    super::tell(server.local_addr()?)?;
    server.start(module).stopped().await;
    Ok(())
}

/// An rmcp server with one tool, configured like panpan's.
pub(super) async fn rmcp() -> anyhow::Result<()> {
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(|| Ok(Tool), sessions, config());
    let router = Router::new().route_service("/mcp", service);
    serve(router).await
}

/// The same configuration as in panpan.
pub(super) fn config() -> StreamableHttpServerConfig {
    StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_json_response(true)
}

pub(super) async fn serve(router: Router) -> anyhow::Result<()> {
    // Without it, a response in several writes waits for the acknowledgement of the first.
    let listener = super::listen().await?.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    Ok(axum::serve(listener, router).await?)
}

struct Tool;

impl ServerHandler for Tool {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema = Map::from_iter([("type".to_owned(), "object".into())]);
        let tool = ListedTool::new(ECHO_TOOL, "Gives back its input.", Arc::new(schema))
            .with_annotations(ToolAnnotations::new().read_only(true));
        Ok(ListToolsResult::with_all_items(vec![tool]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name != ECHO_TOOL {
            return Err(ErrorData::invalid_params("unknown tool", None));
        }
        let input = Value::Object(request.arguments.unwrap_or_default());
        Ok(CallToolResult::structured(input).into())
    }
}
