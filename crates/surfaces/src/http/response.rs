//! Builds HTTP responses: status, headers, and a body in the requested dialect.

use axum::body::Body;
use axum::response::Response;
use http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use panpan_failure::dialect::{Dialect, Envelope};
use panpan_failure::{Failure, Redacted, codes};
use panpan_runtime::Answer;
use serde::Serialize;
use serde_json::Value;

use super::HttpState;
use super::service::REQUEST_ID;
use crate::gateway::Surface;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const PROBLEM: HeaderValue = HeaderValue::from_static("application/problem+json");
const ERROR_ID: HeaderName = HeaderName::from_static("panpan-error-id");
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// Initial capacity of a body, in bytes: enough for most.
const BODY_CAPACITY: usize = 512;

/// Marks a response to a request whose body was not read: its connection cannot be reused.
#[derive(Clone, Copy, Debug)]
pub(super) struct BodyUnread;

/// The response to a call.
pub(super) fn of_call(answer: &Answer, dialect: Dialect) -> Response {
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

/// The response to a request that did not become a call.
pub(super) fn refused(
    state: &HttpState,
    dialect: Dialect,
    operation: &str,
    failure: Failure,
) -> Response {
    let failure = refusal(state, Surface::Http, operation, failure);
    of_failure(&failure, status(&failure), dialect, Envelope::default())
}

/// The response to a request that was refused before its body was read.
pub(super) fn refused_unread(
    state: &HttpState,
    surface: Surface,
    dialect: Dialect,
    failure: Failure,
) -> Response {
    let failure = refusal(state, surface, "", failure);
    let mut response = of_failure(&failure, status(&failure), dialect, Envelope::default());
    response.extensions_mut().insert(BodyUnread);
    response
}

/// A problem response with an explicit status, for requests that are not calls.
pub(super) fn problem(state: &HttpState, failure: &Failure, status: StatusCode) -> Response {
    let failure = refusal(state, Surface::Http, "", failure.clone());
    let mut response = of_failure(&failure, status, Dialect::Problem, Envelope::default());
    response.extensions_mut().insert(BodyUnread);
    response
}

/// Records the refusal of a request like any other failure.
pub(super) fn refusal(
    state: &HttpState,
    surface: Surface,
    operation: &str,
    failure: Failure,
) -> Redacted {
    let answer = state.0.gateway.refuse_unread(surface, operation, failure);
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

/// The status of a failure. FORBIDDEN without a valid token is 401.
pub(super) fn status(failure: &Failure) -> StatusCode {
    if *failure.kind() == codes::FORBIDDEN.into() && !is_authenticated(failure) {
        return StatusCode::UNAUTHORIZED;
    }
    StatusCode::from_u16(failure.kind().http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

fn is_authenticated(failure: &Failure) -> bool {
    let details = failure.details();
    details.and_then(|details| details.get("authenticated")) == Some(&Value::Bool(true))
}

/// Adds the headers that HTTP defines for a failure.
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
        // Whole seconds, rounded up: a caller that retries a moment too early is refused again.
        headers.insert(RETRY_AFTER, HeaderValue::from(delay_ms.div_ceil(1000)));
    }
    let kind = failure.kind();
    if *kind == codes::FORBIDDEN.into() || *kind == codes::UNAUTHORIZED.into() {
        headers.insert(WWW_AUTHENTICATE, challenge(failure));
    }
}

fn challenge(failure: &Failure) -> HeaderValue {
    let detail = |name: &str| failure.details().and_then(|details| details.get(name));
    if is_authenticated(failure) {
        let scopes = detail("required_scopes").and_then(Value::as_array);
        let scopes = scopes.into_iter().flatten().filter_map(Value::as_str);
        let scopes = scopes.collect::<Vec<_>>().join(" ");
        let refused = "Bearer realm=\"panpan\", error=\"insufficient_scope\"";
        let scoped = format!("{refused}, scope=\"{scopes}\"");
        let scoped = HeaderValue::from_str(&scoped).ok();
        let scoped = scoped.filter(|_| !scopes.is_empty());
        return scoped.unwrap_or(HeaderValue::from_static(refused));
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
    let mut bytes = Vec::with_capacity(BODY_CAPACITY);
    serde_json::to_writer(&mut bytes, document)
        .expect("member names are strings, and writing to memory cannot fail");
    with_body(status, media_type, bytes)
}

/// A response with serialized JSON.
pub(super) fn json_bytes(bytes: impl Into<Body>) -> Response {
    with_body(StatusCode::OK, JSON, bytes)
}

fn with_body(status: StatusCode, media_type: HeaderValue, bytes: impl Into<Body>) -> Response {
    let mut response = Response::new(bytes.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    response
}

/// A 200 response with a JSON body.
pub(super) fn json(document: &impl Serialize) -> Response {
    written(StatusCode::OK, JSON, document)
}
