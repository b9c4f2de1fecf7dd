//! Handlers for monitoring: `/healthz`, `/readyz` and `/metrics`.

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use panpan_failure::dialect::Dialect;

use super::service::identified;
use super::{HttpState, response};
use crate::gateway::Surface;

/// The media type of OpenMetrics text.
const METRICS_TYPE: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");

/// `GET /healthz`: the process is alive.
pub(super) async fn health() -> &'static str {
    "ok"
}

/// `GET /readyz`: the store answers and is not full. A stopping server accepts no connections, so it needs no check.
pub(super) async fn readiness(State(state): State<HttpState>) -> Response {
    match state.0.gateway.check_store().await {
        Ok(()) => "ready".into_response(),
        Err(failure) => response::problem(&state, &failure, StatusCode::SERVICE_UNAVAILABLE),
    }
}

/// `GET /metrics`: about the operations that the caller may call; about all with the watch scope.
pub(super) async fn metrics(State(state): State<HttpState>, request: Request) -> Response {
    let caller = match identified(request.extensions()) {
        Ok(caller) => caller,
        Err(failure) => {
            return response::refused_unread(&state, Surface::Http, Dialect::Problem, failure);
        }
    };
    let mut response = state.0.gateway.metrics_text(&caller).into_response();
    response.headers_mut().insert(CONTENT_TYPE, METRICS_TYPE);
    response
}
