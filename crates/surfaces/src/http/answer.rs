//! From an outcome to a response: status, headers, and a body in the dialect asked for.

use axum::body::Body;
use axum::response::Response;
use http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use panpan_failure::dialect::{Dialect, Envelope};
use panpan_failure::{Failure, Redacted, codes};
use panpan_runtime::{Answer, CallRequest};
use serde::Serialize;
use serde_json::Value;

use super::HttpState;
use super::service::REQUEST_ID;
use crate::gateway::Surface;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const PROBLEM: HeaderValue = HeaderValue::from_static("application/problem+json");
const ERROR_ID: HeaderName = HeaderName::from_static("panpan-error-id");
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// How much room a body gets at first, in bytes: most need no more.
const ROOM: usize = 512;

/// A response whose request was not read to its end, so that its connection carries no other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unread;

/// The response to a call.
pub(super) fn of(answer: &Answer, dialect: Dialect) -> Response {
    let id = Value::from(answer.call.to_string());
    let envelope = Envelope {
        request_id: Some(&id),
        ..Envelope::default()
    };
    let mut response = match &answer.outcome {
        Ok(output) => written(StatusCode::OK, JSON, &dialect.success(output, envelope)),
        Err(failure) => of_failure(failure, status(failure), dialect, envelope),
    };
    let headers = response.headers_mut();
    if answer.replayed {
        headers.insert(REPLAYED, HeaderValue::from_static("true"));
    }
    if let Ok(id) = HeaderValue::from_str(id.as_str().unwrap_or_default()) {
        headers.insert(REQUEST_ID, id);
    }
    response
}

/// The response to a request that never became a call.
pub(super) fn refused(
    state: &HttpState,
    dialect: Dialect,
    operation: &str,
    failure: Failure,
) -> Response {
    let failure = refusal(state, Surface::Http, operation, failure);
    of_failure(&failure, status(&failure), dialect, Envelope::default())
}

/// The same before the request was read to its end.
pub(super) fn turned_away(state: &HttpState, dialect: Dialect, failure: Failure) -> Response {
    turned_away_from(state, Surface::Http, dialect, failure)
}

/// The same for a protocol that comes by HTTP.
pub(super) fn turned_away_from(
    state: &HttpState,
    surface: Surface,
    dialect: Dialect,
    failure: Failure,
) -> Response {
    let failure = refusal(state, surface, "", failure);
    let mut response = of_failure(&failure, status(&failure), dialect, Envelope::default());
    response.extensions_mut().insert(Unread);
    response
}

/// The same at a place that makes no calls, with a status of its own.
pub(super) fn plain(state: &HttpState, failure: &Failure, status: StatusCode) -> Response {
    let failure = refusal(state, Surface::Http, "", failure.clone());
    let mut response = of_failure(&failure, status, Dialect::Problem, Envelope::default());
    response.extensions_mut().insert(Unread);
    response
}

/// What is wrong with a request, on record like any other failure.
pub(super) fn refusal(
    state: &HttpState,
    surface: Surface,
    operation: &str,
    failure: Failure,
) -> Redacted {
    let request = CallRequest::from_wire(operation, Value::Null);
    let answer = state.0.gateway.refuse(surface, request, failure);
    answer.outcome.expect_err("a refused call has no output")
}

/// The response for a failure with this status.
pub(super) fn of_failure(
    failure: &Redacted,
    status: StatusCode,
    dialect: Dialect,
    envelope: Envelope<'_>,
) -> Response {
    let media_type = match dialect {
        Dialect::Problem => PROBLEM,
        _ => JSON,
    };
    let envelope = Envelope {
        http_status: Some(status.as_u16()),
        ..envelope
    };
    let mut response = written(status, media_type, &dialect.failure(failure, envelope));
    describe(failure, response.headers_mut());
    response
}

/// The status of a failure: FORBIDDEN asks a caller nobody knows to say who it is.
pub(super) fn status(failure: &Failure) -> StatusCode {
    if *failure.kind() == codes::FORBIDDEN.into() && !is_known(failure) {
        return StatusCode::UNAUTHORIZED;
    }
    StatusCode::from_u16(failure.kind().http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

fn is_known(failure: &Failure) -> bool {
    let details = failure.details();
    details.and_then(|details| details.get("authenticated")) == Some(&Value::Bool(true))
}

/// What HTTP itself has a place for.
pub(super) fn describe(failure: &Failure, headers: &mut HeaderMap) {
    if let Some(id) = failure
        .id()
        .and_then(|id| HeaderValue::from_str(&id.to_string()).ok())
    {
        headers.insert(ERROR_ID, id);
    }
    if let Some(delay_ms) = failure
        .recovery()
        .retry_after_ms
        .filter(|_| failure.retryable())
    {
        // Whole seconds, rounded up: a caller that comes a moment too early is refused again.
        headers.insert(RETRY_AFTER, HeaderValue::from(delay_ms.div_ceil(1000)));
    }
    if *failure.kind() == codes::FORBIDDEN.into() {
        headers.insert(WWW_AUTHENTICATE, challenge(failure));
    }
}

fn challenge(failure: &Failure) -> HeaderValue {
    let detail = |name: &str| failure.details().and_then(|details| details.get(name));
    if is_known(failure) {
        let scopes = detail("required_scopes").and_then(Value::as_array);
        let scopes: Vec<&str> = scopes
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let scoped = format!(
            "Bearer realm=\"panpan\", error=\"insufficient_scope\", scope=\"{}\"",
            scopes.join(" ")
        );
        if let Some(scoped) = HeaderValue::from_str(&scoped)
            .ok()
            .filter(|_| !scopes.is_empty())
        {
            return scoped;
        }
        return HeaderValue::from_static("Bearer realm=\"panpan\", error=\"insufficient_scope\"");
    }
    if detail("reason").is_some() {
        return HeaderValue::from_static("Bearer realm=\"panpan\", error=\"invalid_token\"");
    }
    HeaderValue::from_static("Bearer realm=\"panpan\"")
}

/// A response with a JSON body.
pub(super) fn written(
    status: StatusCode,
    media_type: HeaderValue,
    document: &impl Serialize,
) -> Response {
    let mut bytes = Vec::with_capacity(ROOM);
    serde_json::to_writer(&mut bytes, document)
        .expect("names are strings, and writing to memory does not fail");
    with_body(status, media_type, bytes)
}

/// A response whose JSON is written already.
pub(super) fn json_of(bytes: impl Into<Body>) -> Response {
    with_body(StatusCode::OK, JSON, bytes)
}

fn with_body(status: StatusCode, media_type: HeaderValue, bytes: impl Into<Body>) -> Response {
    let mut response = Response::new(bytes.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    response
}

/// A response with a JSON body and nothing to add.
pub(super) fn json(document: &impl Serialize) -> Response {
    written(StatusCode::OK, JSON, document)
}
