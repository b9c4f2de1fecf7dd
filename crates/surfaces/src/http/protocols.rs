//! The protocols that come by HTTP and have rooms of their own: JSON-RPC, WebSocket, MCP.

use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderName, StatusCode};
use panpan_failure::dialect::Dialect;
use panpan_failure::{Failure, codes};

use super::key::{self, Stated};
use super::service::{self, Admitted, Identified, Peer, identified};
use super::{HttpState, answer, body};
use crate::gateway::Surface;
use crate::{jsonrpc, ws};

/// `POST /rpc`: JSON-RPC 2.0, whose errors are answers like any other.
pub(super) async fn jsonrpc(
    state: &HttpState,
    identified: Identified,
    request: Admitted,
) -> Response {
    let (parts, body) = request.into_parts();
    let read = match (Stated::alone_in(&parts.headers), &identified) {
        // What comes too fast is not read, not even for its id.
        (_, Err(failure)) if failure.code().as_str() == codes::ERR_RATE_LIMITED.code => {
            Err(failure.clone())
        }
        (Ok(terms), _) => body::read(body, state).await.map(|body| (terms, body)),
        (Err(failure), _) => Err(failure),
    };
    let (terms, body) = match read {
        Ok(read) => read,
        Err(failure) => {
            let mut response =
                answer::turned_away_from(state, Surface::JsonRpc, Dialect::JsonRpc, failure);
            *response.status_mut() = StatusCode::OK;
            return response;
        }
    };
    match jsonrpc::serve(&state.0.gateway, &identified, &terms, &body).await {
        Some(answers) => answer::json_of(answers),
        None => StatusCode::NO_CONTENT.into_response(),
    }
}

/// `/mcp`: whose token is not valid is told so before anything is read. The body is read here, since the
/// library waits for one as long as it takes.
pub(super) async fn mcp(state: &HttpState, identified: Identified, request: Admitted) -> Response {
    let (parts, body) = request.into_parts();
    let caller =
        identified.and_then(|caller| Ok(caller.stating(Stated::alone_in(&parts.headers)?)));
    let read = match caller {
        Ok(caller) => body::read(body, state).await.map(|body| (caller, body)),
        Err(failure) => Err(failure),
    };
    match read {
        Ok((caller, body)) => state.0.mcp.answer(caller, parts, body).await,
        Err(failure) => answer::turned_away_from(state, Surface::Mcp, Dialect::JsonRpc, failure),
    }
}

/// `GET /ws`: a WebSocket, for a caller whose token, if it has one, is valid.
pub(super) async fn websocket(
    State(state): State<HttpState>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
    request: Request,
) -> Response {
    let caller = match identified(request.extensions()) {
        Ok(caller) => caller,
        Err(failure) => {
            return answer::turned_away_from(&state, Surface::WebSocket, Dialect::Call, failure);
        }
    };
    let upgrade = match upgrade {
        Ok(upgrade) => ws::configure(upgrade, state.0.gateway.limits()),
        Err(rejection) => {
            let failure = Failure::new(codes::INVALID_REQUEST)
                .with_message("a WebSocket is opened by a GET request that asks for the upgrade")
                .caused_by(&rejection);
            return answer::plain(&state, &failure, rejection.status());
        }
    };
    if let Some(header) = key::stated_in(request.headers()) {
        return answer::plain(&state, &of_no_call(header), StatusCode::BAD_REQUEST);
    }
    let peer = request.extensions().get::<Peer>().cloned();
    let token = service::token(request.headers())
        .ok()
        .flatten()
        .map(str::to_owned);
    upgrade.on_upgrade(move |socket| async move {
        let (gateway, stopping) = (state.0.gateway.clone(), state.0.stopping.clone());
        let address = peer.as_ref().map(|peer| peer.address);
        let open = peer.map(|peer| peer.open);
        let task = gateway.tasks().token();
        let who = ws::Who::new(gateway, token, address, caller.principal);
        ws::serve(who, socket, open, stopping).await;
        drop(task);
    })
}

/// A WebSocket carries many calls, each with a key of its own.
fn of_no_call(header: &HeaderName) -> Failure {
    Failure::new(codes::INVALID_REQUEST)
        .with_message(format!(
            "the header {header} applies to one call, and a WebSocket carries many"
        ))
        .with_detail("header", header.as_str())
        .with_actions(["Leave the header out and state it in the message of each call"])
}
