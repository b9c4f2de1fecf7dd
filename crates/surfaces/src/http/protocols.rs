//! Handlers that pass requests on to the other protocols over HTTP: JSON-RPC, WebSocket, MCP.

use std::sync::Arc;

use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::header::{ALLOW, SEC_WEBSOCKET_VERSION};
use http::{HeaderName, HeaderValue, StatusCode};
use panpan_failure::dialect::Dialect;
use panpan_failure::{Failure, codes};

use super::service::{self, Admitted, ConnectionInfo, Identified, identified};
use super::{HttpState, body, headers, response, task_events};
use crate::gateway::Surface;
use crate::{jsonrpc, ws};

/// `POST /rpc`: JSON-RPC 2.0. Errors have status 200, too.
pub(super) async fn jsonrpc(
    state: &HttpState,
    identified: Identified,
    request: Admitted,
) -> Response {
    let (parts, body) = request.into_parts();
    let read = match (headers::options(&parts.headers), &identified) {
        // A request over the rate limit is not read, not even for its id.
        (_, Err(failure)) if failure.code().as_str() == codes::ERR_RATE_LIMITED.code => {
            Err(failure.clone())
        }
        (Ok(options), _) => body::read(body, state).await.map(|body| (options, body)),
        (Err(failure), _) => Err(failure),
    };
    let (options, body) = match read {
        Ok(read) => read,
        Err(failure) => {
            let mut response =
                response::refused_unread(state, Surface::JsonRpc, Dialect::JsonRpc, failure);
            *response.status_mut() = StatusCode::OK;
            return response;
        }
    };
    let gateway = &state.0.gateway;
    let parsed = jsonrpc::Parsed::new(&body, gateway.limits());
    let is_streamed = parsed.request().is_some_and(task_events::is_requested);
    match jsonrpc::serve(gateway, &identified, &options, parsed).await {
        Some(bytes) if is_streamed => task_events::after_execute(state, &identified, bytes),
        Some(bytes) => response::json_bytes(bytes),
        None => StatusCode::NO_CONTENT.into_response(),
    }
}

/// `/mcp`: an invalid token is refused before the body is read. The body is read here, since the MCP library
/// has no timeout for it.
pub(super) async fn mcp(state: &HttpState, identified: Identified, request: Admitted) -> Response {
    let (parts, body) = request.into_parts();
    let caller = identified.and_then(|mut caller| {
        caller.header_options = Some(Arc::new(headers::options(&parts.headers)?));
        Ok(caller)
    });
    let read = match caller {
        Ok(caller) => body::read(body, state).await.map(|body| (caller, body)),
        Err(failure) => Err(failure),
    };
    match read {
        Ok((caller, body)) => state.0.mcp.answer(caller, parts, body).await,
        Err(failure) => response::refused_unread(state, Surface::Mcp, Dialect::JsonRpc, failure),
    }
}

/// `GET /ws`: a WebSocket, for a caller with a valid token or none.
pub(super) async fn websocket(
    State(state): State<HttpState>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
    request: Request,
) -> Response {
    let caller = match identified(request.extensions()) {
        Ok(caller) => caller,
        Err(failure) => {
            return response::refused_unread(&state, Surface::WebSocket, Dialect::Call, failure);
        }
    };
    let upgrade = match upgrade {
        Ok(upgrade) => ws::configure(upgrade, state.0.gateway.limits()),
        Err(rejection) => {
            let failure = Failure::new(codes::INVALID_REQUEST)
                .with_message("open a WebSocket with a GET request that asks for the upgrade")
                .caused_by(&rejection);
            let mut response = response::problem(&state, &failure, rejection.status());
            let headers = response.headers_mut();
            headers.insert(ALLOW, HeaderValue::from_static("GET"));
            headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
            return response;
        }
    };
    if let Some(header) = headers::find_option(request.headers()) {
        return response::problem(&state, &option_refused(header), StatusCode::BAD_REQUEST);
    }
    let connection = request.extensions().get::<ConnectionInfo>().cloned();
    let token = service::token(request.headers())
        .ok()
        .flatten()
        .map(str::to_owned);
    upgrade.on_upgrade(move |socket| async move {
        let (gateway, stopping) = (state.0.gateway.clone(), state.0.stopping.clone());
        let address = connection.as_ref().map(|it| it.address);
        let open = connection.map(|it| it.open);
        let task = gateway.tasks().token();
        let client = ws::WsClient::new(gateway, token, address, caller.principal);
        ws::serve(ws::KEEPALIVE, client, socket, open, stopping).await;
        drop(task);
    })
}

/// Call options belong into the messages: a WebSocket carries many calls.
fn option_refused(header: &HeaderName) -> Failure {
    Failure::new(codes::INVALID_REQUEST)
        .with_message(format!(
            "the header {header} applies to a single call, but a WebSocket carries many"
        ))
        .with_detail("header", header.as_str())
        .with_actions(["Remove the header and set the option in the message of each call"])
}
