//! The protocols that come by HTTP and have rooms of their own: JSON-RPC, WebSocket, MCP.

use axum::body::Body;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode};
use panpan_contract::dialect::Dialect;
use panpan_contract::{Failure, codes};
use tower::Service as _;

use super::door::{self, Peer, Visitor};
use super::{House, answer, body};
use crate::desk::Surface;
use crate::{jsonrpc, ws};

/// `POST /rpc`: JSON-RPC 2.0, whose errors are answers like any other.
pub(super) async fn jsonrpc(State(house): State<House>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let visitor = Visitor::of(&parts.extensions);
    let desk = &house.0.desk;
    let body = match body::read(body, &house).await {
        Ok(body) => body,
        Err(failure) => {
            let mut response =
                answer::turned_away_from(&house, Surface::JsonRpc, Dialect::JsonRpc, failure);
            *response.status_mut() = StatusCode::OK;
            return response;
        }
    };
    match jsonrpc::serve(desk, &visitor, &body).await {
        Some(answers) => {
            let json = HeaderValue::from_static("application/json");
            ([(http::header::CONTENT_TYPE, json)], answers).into_response()
        }
        None => StatusCode::NO_CONTENT.into_response(),
    }
}

/// `/mcp`: whose token is not valid is told so before anything is read. The body is read here, since the
/// library waits for one as long as it takes.
pub(super) async fn mcp(State(house): State<House>, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    let body = match Visitor::of(&parts.extensions) {
        Ok(caller) => {
            parts.extensions.insert(caller);
            body::read(body, &house).await
        }
        Err(failure) => Err(failure),
    };
    match body {
        Ok(body) => {
            let request = Request::from_parts(parts, Body::from(body));
            let Ok(response) = house.0.mcp.clone().call(request).await;
            response
        }
        Err(failure) => answer::turned_away_from(&house, Surface::Mcp, Dialect::JsonRpc, failure),
    }
}

/// `GET /ws`: a WebSocket, for a caller whose token, if it has one, is valid.
pub(super) async fn websocket(
    State(house): State<House>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
    request: Request,
) -> Response {
    if let Err(failure) = Visitor::of(request.extensions()) {
        return answer::turned_away_from(&house, Surface::WebSocket, Dialect::Call, failure);
    }
    let upgrade = match upgrade {
        Ok(upgrade) => ws::configure(upgrade, house.0.desk.limits()),
        Err(rejection) => {
            let failure = Failure::new(codes::INVALID_REQUEST)
                .with_message("a WebSocket is opened by a GET request that asks for the upgrade")
                .caused_by(&rejection);
            return answer::plain(&house, &failure, rejection.status());
        }
    };
    let peer = request.extensions().get::<Peer>().cloned();
    let token = door::token(request.headers())
        .ok()
        .flatten()
        .map(str::to_owned);
    upgrade.on_upgrade(move |socket| async move {
        let (desk, stopping) = (house.0.desk.clone(), house.0.stopping.clone());
        let address = peer.as_ref().map(|peer| peer.address);
        let _open = peer.map(|peer| peer.open);
        let task = desk.tasks().token();
        ws::serve(desk, token, address, socket, stopping).await;
        drop(task);
    })
}
