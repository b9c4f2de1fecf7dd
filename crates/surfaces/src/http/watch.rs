//! For those who watch: is it alive, is it ready, what did it do.

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use panpan_failure::dialect::Dialect;

use super::service::identified;
use super::{HttpState, answer};

/// The form of the counts that Prometheus asks for.
const METRICS_TYPE: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");

/// `GET /healthz`: the process answers.
pub(super) async fn health() -> &'static str {
    "ok"
}

/// `GET /readyz`: the store answers. A server that stops takes no connections and so is not asked.
pub(super) async fn readiness(State(state): State<HttpState>) -> Response {
    match state.0.gateway.look_at_store().await {
        Ok(()) => "ready".into_response(),
        Err(failure) => answer::plain(&state, &failure, StatusCode::SERVICE_UNAVAILABLE),
    }
}

/// `GET /metrics`: about the operations a caller may call; about all for those who may watch.
pub(super) async fn metrics(State(state): State<HttpState>, request: Request) -> Response {
    let caller = match identified(request.extensions()) {
        Ok(caller) => caller,
        Err(failure) => return answer::turned_away(&state, Dialect::Problem, failure),
    };
    let mut response = state.0.gateway.told(&caller).into_response();
    response.headers_mut().insert(CONTENT_TYPE, METRICS_TYPE);
    response
}
