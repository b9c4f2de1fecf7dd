//! HTTP: which path is answered by what.
//!
//! Every request passes the service first, which knows where it may come from and who sent it. Paths
//! that make calls take the `Identified` it leaves behind; pages about codes, health and counts do not.

mod answer;
mod body;
mod call;
mod decode;
mod dialect;
mod discover;
mod documents;
mod key;
mod pages;
mod protocols;
mod service;
mod subscribe;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::{any, get, post};
use http::HeaderName;
use panpan_runtime::CancellationToken;

use crate::gateway::Gateway;
use crate::mcp;

use documents::Documents;
pub(crate) use service::Peer;
pub use service::{Hosts, HttpService, Origins};

/// How HTTP is served.
#[derive(Clone, Debug, Default)]
pub struct HttpSettings {
    /// The names this server is reached by.
    pub hosts: Hosts,
    /// The pages that may call it from a browser.
    pub origins: Origins,
    /// How operations become MCP tools.
    pub tools: mcp::ToolForm,
    /// Headers of callers that hold secrets for the services behind.
    pub passed_headers: Vec<HeaderName>,
}

/// What every path knows.
#[derive(Clone, Debug)]
struct HttpState(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    gateway: Gateway,
    settings: HttpSettings,
    /// Fires when the server begins to stop.
    stopping: CancellationToken,
    mcp: mcp::McpHttpService,
    documents: Documents,
}

/// How long answers are on their way through the MCP library when no call runs any more.
const LAST_ANSWERS: Duration = Duration::from_millis(500);

/// Fires when the server stops and no call runs any more: the library answers those it cuts off with
/// nothing a caller could use.
fn ended_after(gateway: &Gateway, stopping: &CancellationToken) -> CancellationToken {
    let ended = CancellationToken::new();
    let (gateway, stopping, told) = (gateway.clone(), stopping.clone(), ended.clone());
    tokio::spawn(async move {
        stopping.cancelled().await;
        gateway.until_idle().await;
        tokio::time::sleep(LAST_ANSWERS).await;
        told.cancel();
    });
    ended
}

/// All paths and the service before them, to be made within a runtime of tokio. When `stopping` fires,
/// streams end and the server is no longer ready.
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
            ended_after(&gateway, &stopping),
        ),
        gateway,
        settings,
        stopping,
        documents: Documents::default(),
    }));
    HttpService::before(paths().with_state(state.clone()), state)
}

/// All paths but those the service leads to itself, of which it leaves the wrong methods.
fn paths() -> Router<HttpState> {
    let by_the_door = ["/call", "/rpc", "/tasks", "/"];
    let paths = by_the_door.into_iter().fold(Router::new(), |paths, path| {
        paths.route(path, post(call::wrong_method))
    });
    paths
        .route("/batch", post(call::batch))
        .route("/operations/{*name}", post(call::named))
        .route("/subscribe", post(subscribe::subscribe))
        .route("/search", get(discover::search))
        .route("/schema", get(discover::schema))
        .route("/ws", any(protocols::websocket))
        .route("/errors", get(pages::all))
        .route("/errors/{code}", get(pages::one))
        .route("/openapi.json", get(documents::openapi))
        .route("/contract.json", get(documents::contract))
        .route("/healthz", get(watch::health))
        .route("/readyz", get(watch::readiness))
        .route("/metrics", get(watch::metrics))
        .method_not_allowed_fallback(call::wrong_method)
        .fallback(call::no_such_path)
}
