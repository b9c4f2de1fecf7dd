//! MCP over HTTP: sessions for the versions that have them, single requests for the stateless
//! version.
//!
//! Host, origin and token have been checked before, and the body has been read.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ::http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER};
use ::http::request::Parts;
use ::http::{Extensions, HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use axum::body::{Body, Bytes};
use axum::response::IntoResponse as _;
use bytes::BytesMut;
use futures_util::StreamExt as _;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use panpan_failure::Failure;
use panpan_failure::read::wide_numbers;
use panpan_runtime::CancellationToken;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;
use tower::Service as _;

use super::ToolForm;
use super::fast_path::{FastCall, SESSION};
use super::message::{error_response, id_of, not_a_message, parse_json};
use super::server::{Server, Shared};
use super::sessions::{Rejection, SESSION_REQUEST, SessionRequest, Sessions};
use super::tasks::{keep_task_member, may_have_task_member};
use crate::caller::Caller;
use crate::gateway::Gateway;
use crate::json::has_no_duplicate_members;

/// How long the first events of a response are collected before they are sent.
const COLLECT_FOR: Duration = Duration::from_millis(5);

/// The size at which collecting ends.
const COLLECT_BYTES: usize = 64 * 1024;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The body of a response from rmcp.
type RmcpBody = BoxBody<Bytes, std::convert::Infallible>;

/// How MCP is served over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpSettings {
    /// How operations are shown as tools.
    pub form: ToolForm,
    /// The limit of open sessions.
    pub sessions: usize,
    /// The limit of open sessions per caller.
    pub sessions_per_caller: usize,
    /// How long a session may stay idle before it is closed.
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

/// MCP as an HTTP service; see [`http_service`].
#[derive(Clone)]
pub struct McpHttpService {
    rmcp: StreamableHttpService<Server, Sessions>,
    sessions: Arc<Sessions>,
    shared: Arc<Shared>,
    body_limit: usize,
}

/// Serves the operations as tools over HTTP until `shutdown`. An earlier `stopping` cancels parked
/// calls and open input requests.
pub fn http_service(
    gateway: Gateway,
    settings: HttpSettings,
    stopping: CancellationToken,
    shutdown: CancellationToken,
) -> McpHttpService {
    let body_limit = gateway.limits().body_bytes;
    let sessions = Arc::new(Sessions::new(&settings));
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_json_response(true)
        // Events without a message break older clients; `Sessions` sends them only to versions that
        // allow them.
        .with_sse_retry(None)
        .with_max_request_body_bytes(body_limit)
        .with_cancellation_token(shutdown.clone());
    let shared = Shared::new(gateway, settings.form, stopping, shutdown);
    let servers = shared.clone();
    let server = move || Ok(Server::new(servers.clone(), None));
    McpHttpService {
        shared,
        rmcp: StreamableHttpService::new(server, sessions.clone(), config),
        sessions,
        body_limit,
    }
}

impl fmt::Debug for McpHttpService {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("McpHttpService");
        shown.field("body_limit", &self.body_limit);
        shown.finish_non_exhaustive()
    }
}

impl McpHttpService {
    /// Answers a request whose body has been read, for a caller that was admitted.
    pub async fn answer(&self, caller: Caller, mut parts: Parts, body: Bytes) -> Response<Body> {
        normalise_media_types(&mut parts.headers);
        if let Some(call) = FastCall::read(&parts, &body, self.body_limit)
            && let Some((status, response)) = call.answer(&self.shared, &caller).await
        {
            return json_response(status, response);
        }
        // Boxed: its future is larger than most calls need.
        Box::pin(self.answer_by_rmcp(caller, parts, body)).await
    }

    async fn answer_by_rmcp(
        &self,
        caller: Caller,
        mut parts: Parts,
        body: Bytes,
    ) -> Response<Body> {
        if let Some(error) = self.duplicate_members(&parts, &body) {
            return json_response(StatusCode::BAD_REQUEST, error);
        }
        let body = self.with_task_member(&parts, body);
        let (is_message, ends_session) = (is_message(&parts), parts.method == Method::DELETE);
        let session_request = SessionRequest::new(caller.principal.clone(), &parts.headers);
        let session = parts.headers.get(SESSION).and_then(|it| it.to_str().ok());
        let session = session.filter(|it| self.sessions.is_open(it, &caller.principal));
        let caller = match session {
            Some(session) => caller.in_session(&format!("mcp:{session}")),
            None => caller,
        };
        // rmcp copies all extensions of a request.
        parts.extensions = Extensions::new();
        parts.extensions.insert(caller);
        let request = Request::from_parts(parts, Full::new(body.clone()));
        let call = self.rmcp.clone().call(request);
        let Ok(response) = SESSION_REQUEST.scope(session_request.clone(), call).await;
        match (session_request.rejection(), response.status()) {
            (Some(Rejection::UnknownSession), _) => unknown_session(),
            (Some(Rejection::Full(failure)), _) => too_many_sessions(failure),
            // rmcp answers 415 to a body that it cannot parse.
            (None, StatusCode::UNSUPPORTED_MEDIA_TYPE) if is_message => {
                let error = match parse_json(&body, self.body_limit) {
                    Ok(value) => not_a_message(id_of(&value)),
                    Err(invalid) => invalid.response,
                };
                json_response(StatusCode::BAD_REQUEST, error)
            }
            // rmcp answers 202; clients expect 204 once a session has ended.
            (None, StatusCode::ACCEPTED) if ends_session => StatusCode::NO_CONTENT.into_response(),
            (None, _) if is_message => collected(response).await,
            (None, _) => response.map(Body::new),
        }
    }

    /// The same body; a member that rmcp would drop is moved to where it is kept.
    fn with_task_member(&self, parts: &Parts, body: Bytes) -> Bytes {
        let is_in_session = parts.headers.contains_key(SESSION);
        if !is_in_session || !is_message(parts) || !may_have_task_member(&body) {
            return body;
        }
        let mut message = parse_json(&body, self.body_limit).unwrap_or(Value::Null);
        match keep_task_member(&mut message) {
            true => message.to_string().into(),
            false => body,
        }
    }

    /// The response to a body with duplicate members, of which rmcp would use the last. Bodies that
    /// are not JSON are left to rmcp.
    fn duplicate_members(&self, parts: &Parts, body: &Bytes) -> Option<Vec<u8>> {
        if !is_message(parts)
            || has_no_duplicate_members(body) && wide_numbers(body).next().is_none()
        {
            return None;
        }
        // The slow parser, which finds out whether and where members are duplicated.
        let parsed = parse_json(body, self.body_limit);
        parsed.err().map(|invalid| invalid.response)
    }
}

/// The same response with its first events joined. In a session even a single message arrives as
/// two events; writing each separately would cost about as much as the call.
async fn collected(response: Response<RmcpBody>) -> Response<Body> {
    let (parts, mut body) = response.into_parts();
    let mut first = BytesMut::new();
    let collecting = tokio::time::timeout(COLLECT_FOR, collect(&mut body, &mut first));
    let is_whole = collecting.await.unwrap_or(false);
    let first = Full::new(first.freeze());
    let body = if is_whole {
        Body::new(first)
    } else {
        Body::from_stream(first.into_data_stream().chain(body.into_data_stream()))
    };
    Response::from_parts(parts, body)
}

/// Collects the body; `true` if that was all of it.
async fn collect(body: &mut RmcpBody, first: &mut BytesMut) -> bool {
    while first.len() < COLLECT_BYTES {
        let Some(frame) = body.frame().await else {
            return true;
        };
        let Ok(data) = frame.map(|frame| frame.into_data().unwrap_or_default());
        first.extend_from_slice(&data);
    }
    false
}

/// Whether a request carries a message, by the same rule as in rmcp.
fn is_message(parts: &Parts) -> bool {
    let sent = parts.headers.get(CONTENT_TYPE);
    parts.method == Method::POST
        && sent.is_some_and(|it| it.as_bytes().starts_with(JSON.as_bytes()))
}

/// Media types are case-insensitive and may be spread over several header lines; rmcp compares
/// case-sensitively and reads only the first line.
fn normalise_media_types(headers: &mut HeaderMap) {
    for name in [ACCEPT, CONTENT_TYPE] {
        let mut lines = headers.get_all(&name).iter();
        let is_lower = |it: &HeaderValue| !it.as_bytes().iter().any(u8::is_ascii_uppercase);
        if lines.next().is_none_or(is_lower) && lines.next().is_none() {
            continue;
        }
        let lines = headers.get_all(&name).iter();
        let values: Vec<Vec<u8>> = lines.map(|it| it.as_bytes().to_ascii_lowercase()).collect();
        if let Ok(line) = HeaderValue::from_bytes(&values.join(&b", "[..])) {
            headers.insert(name, line);
        }
    }
}

/// The response of rmcp for an unknown session.
fn unknown_session() -> Response<Body> {
    let mut response = Response::new(Body::from("Not Found: Session not found"));
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

fn too_many_sessions(failure: &Failure) -> Response<Body> {
    let status = StatusCode::from_u16(failure.kind().http_status());
    let status = status.unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
    let mut response = json_response(status, error_response(failure.clone(), None));
    let wait_ms = failure.recovery().retry_after_ms.unwrap_or_default();
    let wait = HeaderValue::from(wait_ms.div_ceil(1000));
    response.headers_mut().insert(RETRY_AFTER, wait);
    response
}

fn json_response(status: StatusCode, body: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    /// The frames in which a response with these events is written. `rest` arrives only after
    /// `pause`.
    async fn frames_of(
        first: Vec<&'static str>,
        pause: Duration,
        rest: &'static str,
    ) -> Vec<Bytes> {
        let first = stream::iter(first).map(Bytes::from);
        let rest = stream::once(async move {
            tokio::time::sleep(pause).await;
            Bytes::from_static(rest.as_bytes())
        });
        let frames = first.chain(rest).map(|it| Ok(::http_body::Frame::data(it)));
        let body = BoxBody::new(http_body_util::StreamBody::new(frames));
        let body = collected(Response::new(body)).await.into_body();
        body.into_data_stream().map(Result::unwrap).collect().await
    }

    #[tokio::test(start_paused = true)]
    async fn events_that_arrive_together_are_written_together_and_wait_for_no_others() {
        let (soon, later) = (Duration::from_millis(1), Duration::from_secs(1));
        let whole = frames_of(vec!["id: 0\n\n", "data: 1\n\n"], soon, "data: 2\n\n").await;
        assert_eq!(whole, ["id: 0\n\ndata: 1\n\ndata: 2\n\n"]);
        let split = frames_of(vec!["id: 0\n\n", "data: 1\n\n"], later, "data: 2\n\n").await;
        assert_eq!(split, ["id: 0\n\ndata: 1\n\n", "data: 2\n\n"]);
        let long: &str = "x".repeat(COLLECT_BYTES).leak();
        let bounded = frames_of(vec![long, "a"], soon, "b").await;
        assert_eq!(bounded.concat().len(), long.len() + 2);
        assert_eq!(bounded[0].len(), long.len());
    }
}
