//! MCP over HTTP: sessions for the versions that have them, single requests for the one that has none.
//!
//! Hosts, origins and tokens are looked at before a request comes here, and its body has arrived; who
//! calls stands among the request's extensions.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use ::http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER};
use ::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use axum::body::{Body, Bytes, to_bytes};
use axum::response::IntoResponse as _;
use panpan_contract::{Failure, codes};
use panpan_runtime::{BoxFuture, CancellationToken};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tower::Service;

use super::ToolForm;
use super::message::{id_of, no_message, refusal, value};
use super::server::{Server, Shared};
use super::sessions::{Sessions, VISIT, Verdict, Visit};
use crate::caller::{Caller, Principal};
use crate::desk::Desk;
use crate::json::is_plainly_unambiguous;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// How MCP is served over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpSettings {
    /// How operations are shown as tools.
    pub form: ToolForm,
    /// How many sessions are open at a time.
    pub sessions: usize,
    /// How many sessions of one caller are open at a time.
    pub sessions_per_caller: usize,
    /// How long a session may stay unused before it is ended.
    pub session_idle: Duration,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            form: ToolForm::default(),
            sessions: 4096,
            sessions_per_caller: 512,
            session_idle: Duration::from_secs(30 * 60),
        }
    }
}

/// MCP as a service of HTTP requests; see [`http_service`].
#[derive(Clone)]
pub struct HttpService {
    library: StreamableHttpService<Server, Sessions>,
    body_limit: usize,
}

/// Serves the operations as tools to HTTP requests, until `shutdown`.
///
/// Each request says in its extensions who calls, as a [`Caller`]; one that says nothing comes from
/// nobody in particular.
pub fn http_service(
    desk: Desk,
    settings: HttpSettings,
    shutdown: CancellationToken,
) -> HttpService {
    let body_limit = desk.limits().body_bytes;
    let sessions = Arc::new(Sessions::new(&settings));
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_json_response(true)
        // Not every version knows events without a message; the sessions send them to those that do.
        .with_sse_retry(None)
        .with_max_request_body_bytes(body_limit)
        .with_cancellation_token(shutdown.clone());
    let shared = Shared::new(desk, settings.form, shutdown);
    let server = move || Ok(Server::on_http(shared.clone()));
    HttpService {
        library: StreamableHttpService::new(server, sessions, config),
        body_limit,
    }
}

impl fmt::Debug for HttpService {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("HttpService");
        shown.field("body_limit", &self.body_limit);
        shown.finish_non_exhaustive()
    }
}

impl Service<Request<Body>> for HttpService {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move { Ok(service.answer(request).await) })
    }
}

impl HttpService {
    async fn answer(mut self, mut request: Request<Body>) -> Response<Body> {
        one_spelling(request.headers_mut());
        let caller = request.extensions().get::<Caller>();
        let principal = caller.map_or(Principal::Local, |caller| caller.principal.clone());
        let (request, body) = match self.read(request).await {
            Ok(read) => read,
            Err(refused) => return refused,
        };
        let ends_session = request.method() == Method::DELETE;
        let visit = Visit::of(principal, request.headers());
        let Ok(response) = VISIT.scope(visit.clone(), self.library.call(request)).await;
        match (visit.verdict(), response.status(), body) {
            (Some(Verdict::Unknown), ..) => unknown_session(),
            (Some(Verdict::Full(failure)), ..) => full(failure),
            // What it cannot read the library calls a medium it does not support.
            (None, StatusCode::UNSUPPORTED_MEDIA_TYPE, Some(body)) => {
                let answer = match value(&body, self.body_limit) {
                    Ok(value) => no_message(id_of(&value)),
                    Err(unusable) => unusable.answer,
                };
                refused(StatusCode::BAD_REQUEST, answer)
            }
            // What clients take for the end of a session; the library says that it will end.
            (None, StatusCode::ACCEPTED, _) if ends_session => {
                StatusCode::NO_CONTENT.into_response()
            }
            (None, ..) => response.map(Body::new),
        }
    }

    /// Looks into the body before the library does, which would take the last of two members of one name.
    /// What is no message in JSON is left to the library.
    async fn read(
        &self,
        request: Request<Body>,
    ) -> Result<(Request<Body>, Option<Bytes>), Response<Body>> {
        if request.method() != Method::POST || !is_json(request.headers()) {
            return Ok((request, None));
        }
        let (parts, body) = request.into_parts();
        let body = to_bytes(body, self.body_limit).await.map_err(|error| {
            let failure = Failure::new(codes::PARSE_ERROR).with_message(error.to_string());
            refused(StatusCode::BAD_REQUEST, refusal(failure, None))
        })?;
        if !is_plainly_unambiguous(&body) {
            // Read slowly, to tell whether something is wrong with it, and what.
            value(&body, self.body_limit)
                .map_err(|unusable| refused(StatusCode::BAD_REQUEST, unusable.answer))?;
        }
        let request = Request::from_parts(parts, Body::from(body.clone()));
        Ok((request, Some(body)))
    }
}

/// Media types are the same in capitals, and a list of them may stand in several lines; the library knows
/// small letters and reads the first line.
fn one_spelling(headers: &mut HeaderMap) {
    for name in [ACCEPT, CONTENT_TYPE] {
        let mut lines = headers.get_all(&name).iter();
        let is_small = |it: &HeaderValue| !it.as_bytes().iter().any(u8::is_ascii_uppercase);
        if lines.next().is_none_or(is_small) && lines.next().is_none() {
            continue;
        }
        let lines = headers.get_all(&name).iter();
        let stated: Vec<Vec<u8>> = lines.map(|it| it.as_bytes().to_ascii_lowercase()).collect();
        if let Ok(line) = HeaderValue::from_bytes(&stated.join(&b", "[..])) {
            headers.insert(name, line);
        }
    }
}

/// By the same rule as the library's, which refuses what is not.
fn is_json(headers: &HeaderMap) -> bool {
    let sent = headers.get(CONTENT_TYPE);
    sent.is_some_and(|it| it.as_bytes().starts_with(JSON.as_bytes()))
}

/// In the words of the library for a session it does not know.
fn unknown_session() -> Response<Body> {
    let mut response = Response::new(Body::from("Not Found: Session not found"));
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

fn full(failure: &Failure) -> Response<Body> {
    let status = StatusCode::from_u16(failure.kind().http_status());
    let status = status.unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
    let mut response = refused(status, refusal(failure.clone(), None));
    let wait_ms = failure.recovery().retry_after_ms.unwrap_or_default();
    let wait = HeaderValue::from(wait_ms.div_ceil(1000));
    response.headers_mut().insert(RETRY_AFTER, wait);
    response
}

fn refused(status: StatusCode, written: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(Body::from(written));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}
