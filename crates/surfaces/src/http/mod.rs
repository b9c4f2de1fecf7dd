//! The HTTP surface: settings, shared state and routes.
//!
//! Every request goes through admission in `service` first. Handlers of calls use the `Identified` that it
//! stores; error pages and health checks ignore it.

mod body;
mod call;
mod decode;
mod dialect;
mod discover;
mod documents;
mod headers;
mod monitoring;
mod pages;
mod protocols;
mod response;
mod service;
mod subscribe;
mod task_events;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::routing::{MethodRouter, any, get, post};
use http::HeaderName;
use panpan_runtime::CancellationToken;

use crate::gateway::Gateway;
use crate::mcp;

use documents::{DocumentCache, Format};
pub(crate) use service::ConnectionInfo;
pub use service::{Hosts, HttpService, Origins};

/// The settings of the HTTP surface.
#[derive(Clone, Debug, Default)]
pub struct HttpSettings {
    /// The host names of this server.
    pub hosts: Hosts,
    /// The origins that may call it from a browser.
    pub origins: Origins,
    /// How operations become MCP tools.
    pub tools: mcp::ToolForm,
    /// Request headers that hold secrets for upstream services.
    pub passed_headers: Vec<HeaderName>,
}

/// The state that all handlers share.
#[derive(Clone, Debug)]
struct HttpState(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    gateway: Gateway,
    settings: HttpSettings,
    /// Fires when the server starts to stop.
    stopping: CancellationToken,
    mcp: mcp::McpHttpService,
    documents: DocumentCache,
}

/// How long the MCP library may take to send the last responses after all calls have ended.
const MCP_DRAIN: Duration = Duration::from_millis(500);

/// Fires when the server stops and no call runs any more. The MCP library ends its connections without a
/// useful response, so it must not stop earlier.
fn stopped_and_idle(gateway: &Gateway, stopping: &CancellationToken) -> CancellationToken {
    let idle = CancellationToken::new();
    let (gateway, stopping, fired) = (gateway.clone(), stopping.clone(), idle.clone());
    tokio::spawn(async move {
        stopping.cancelled().await;
        gateway.wait_for_calls().await;
        tokio::time::sleep(MCP_DRAIN).await;
        fired.cancel();
    });
    idle
}

/// The service with all paths. Must be called within a tokio runtime. When `stopping` fires, streams end and
/// the server is no longer ready.
pub fn router(
    gateway: Gateway,
    settings: HttpSettings,
    stopping: CancellationToken,
) -> HttpService {
    let form = mcp::HttpSettings {
        form: settings.tools,
        ..mcp::HttpSettings::default()
    };
    let state = HttpState(Arc::new(Inner {
        mcp: mcp::http_service(
            gateway.clone(),
            form,
            stopping.clone(),
            stopped_and_idle(&gateway, &stopping),
        ),
        gateway,
        settings,
        stopping,
        documents: DocumentCache::default(),
    }));
    HttpService::new(paths().with_state(state.clone()), state)
}

/// The routes. `HttpService::handle` answers POST requests of the fast paths itself; here only their wrong
/// methods are left.
fn paths() -> Router<HttpState> {
    let fast_paths = ["/call", "/rpc", "/tasks", "/"];
    let paths = fast_paths.into_iter().fold(Router::new(), |paths, path| {
        paths.route(path, post(call::wrong_method))
    });
    paths
        .route("/batch", post(call::batch))
        .route("/operations/{*name}", post(call::named))
        .route("/subscribe", post(subscribe::subscribe))
        .route("/tasks/{id}/events", get(task_events::follow))
        .route("/search", get(discover::search))
        .route("/schema", get(discover::schema))
        .route("/ws", any(protocols::websocket))
        .route("/errors", get(pages::all))
        .route("/errors/{code}", get(pages::one))
        .route("/openapi.json", document(Format::OpenApi))
        .route("/contract.json", document(Format::Contract))
        .route("/healthz", get(monitoring::health))
        .route("/readyz", get(monitoring::readiness))
        .route("/metrics", get(monitoring::metrics))
        .method_not_allowed_fallback(call::wrong_method)
        .fallback(call::no_such_path)
}

fn document(format: Format) -> MethodRouter<HttpState> {
    get(move |State(state), request: Request| documents::respond(state, request, format))
}
