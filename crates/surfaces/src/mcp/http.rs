//! MCP over HTTP: sessions for the versions that have them, single requests for the one that has none.
//!
//! Hosts, origins and tokens are looked at before a request comes here, and its body has arrived.

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
use tower::Service as _;

use super::ToolForm;
use super::message::{id_of, no_message, refusal, value};
use super::plain::{Plain, SESSION};
use super::server::{Server, Shared};
use super::sessions::{Sessions, VISIT, Verdict, Visit};
use crate::caller::Caller;
use crate::gateway::Gateway;
use crate::json::has_no_duplicate_members;

/// How long the first events of an answer are gathered before they are sent.
const GATHERED_FOR: Duration = Duration::from_millis(5);

/// With how many bytes of them that ends.
const GATHERED_BYTES: usize = 64 * 1024;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The body of an answer of the library.
type LibraryBody = BoxBody<Bytes, std::convert::Infallible>;

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
pub struct McpHttpService {
    library: StreamableHttpService<Server, Sessions>,
    sessions: Arc<Sessions>,
    shared: Arc<Shared>,
    body_limit: usize,
}

/// Serves the operations as tools to HTTP requests, until `shutdown`. When `stopping` fires before, calls
/// that wait for somebody to come back are stopped and open questions are taken back, so that nobody waits
/// for them.
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
        // Not every version knows events without a message; the sessions send them to those that do.
        .with_sse_retry(None)
        .with_max_request_body_bytes(body_limit)
        .with_cancellation_token(shutdown.clone());
    let shared = Shared::new(gateway, settings.form, stopping, shutdown);
    let servers = shared.clone();
    let server = move || Ok(Server::on_http(servers.clone()));
    McpHttpService {
        shared,
        library: StreamableHttpService::new(server, sessions.clone(), config),
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
    /// Answers a request whose body has arrived, from somebody who may ask.
    pub async fn answer(&self, caller: Caller, mut parts: Parts, body: Bytes) -> Response<Body> {
        one_spelling(&mut parts.headers);
        if let Some(plain) = Plain::read(&parts, &body, self.body_limit)
            && let Some((status, answer)) = plain.answer(&self.shared, &caller).await
        {
            return with_json(status, answer);
        }
        // Larger than what nearly all calls need: on the heap, it makes no other answer larger.
        Box::pin(self.answer_by_library(caller, parts, body)).await
    }

    async fn answer_by_library(
        &self,
        caller: Caller,
        mut parts: Parts,
        body: Bytes,
    ) -> Response<Body> {
        if let Some(answer) = self.ambiguous(&parts, &body) {
            return with_json(StatusCode::BAD_REQUEST, answer);
        }
        let (is_message, ends_session) = (is_message(&parts), parts.method == Method::DELETE);
        let visit = Visit::of(caller.principal.clone(), &parts.headers);
        let session = parts.headers.get(SESSION).and_then(|it| it.to_str().ok());
        let session = session.filter(|it| self.sessions.is_open(it, &caller.principal));
        let caller = match session {
            Some(session) => caller.in_session(&format!("mcp:{session}")),
            None => caller,
        };
        // All the library hands on of a request; the more there is, the more it copies.
        parts.extensions = Extensions::new();
        parts.extensions.insert(caller);
        let request = Request::from_parts(parts, Full::new(body.clone()));
        let call = self.library.clone().call(request);
        let Ok(response) = VISIT.scope(visit.clone(), call).await;
        match (visit.verdict(), response.status()) {
            (Some(Verdict::Unknown), _) => unknown_session(),
            (Some(Verdict::Full(failure)), _) => full(failure),
            // What it cannot read the library calls a medium it does not support.
            (None, StatusCode::UNSUPPORTED_MEDIA_TYPE) if is_message => {
                let answer = match value(&body, self.body_limit) {
                    Ok(value) => no_message(id_of(&value)),
                    Err(unusable) => unusable.answer,
                };
                with_json(StatusCode::BAD_REQUEST, answer)
            }
            // What clients take for the end of a session; the library says that it will end.
            (None, StatusCode::ACCEPTED) if ends_session => StatusCode::NO_CONTENT.into_response(),
            (None, _) if is_message => gathered(response).await,
            (None, _) => response.map(Body::new),
        }
    }

    /// The answer to a body that is not read alike by everybody: the library would take the last of two
    /// members of one name. What is no message in JSON is left to it.
    fn ambiguous(&self, parts: &Parts, body: &Bytes) -> Option<Vec<u8>> {
        if !is_message(parts)
            || has_no_duplicate_members(body) && wide_numbers(body).next().is_none()
        {
            return None;
        }
        // Read slowly, to tell whether something is wrong with it, and what.
        let read = value(body, self.body_limit);
        read.err().map(|unusable| unusable.answer)
    }
}

/// The same answer with its first events together: in a session even one message comes as two events, and
/// each would be written alone, which costs both sides about as much as the call does.
async fn gathered(response: Response<LibraryBody>) -> Response<Body> {
    let (parts, mut body) = response.into_parts();
    let mut first = BytesMut::new();
    let gathering = tokio::time::timeout(GATHERED_FOR, gather(&mut body, &mut first));
    let is_whole = gathering.await.unwrap_or(false);
    let first = Full::new(first.freeze());
    let body = if is_whole {
        Body::new(first)
    } else {
        Body::from_stream(first.into_data_stream().chain(body.into_data_stream()))
    };
    Response::from_parts(parts, body)
}

/// Takes what comes of a body; `true` when that is all of it.
async fn gather(body: &mut LibraryBody, first: &mut BytesMut) -> bool {
    while first.len() < GATHERED_BYTES {
        let Some(frame) = body.frame().await else {
            return true;
        };
        let Ok(data) = frame.map(|frame| frame.into_data().unwrap_or_default());
        first.extend_from_slice(&data);
    }
    false
}

/// Whether a request brings a message, by the same rule as the library's, which refuses what is not JSON.
fn is_message(parts: &Parts) -> bool {
    let sent = parts.headers.get(CONTENT_TYPE);
    parts.method == Method::POST
        && sent.is_some_and(|it| it.as_bytes().starts_with(JSON.as_bytes()))
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

/// In the words of the library for a session it does not know.
fn unknown_session() -> Response<Body> {
    let mut response = Response::new(Body::from("Not Found: Session not found"));
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

fn full(failure: &Failure) -> Response<Body> {
    let status = StatusCode::from_u16(failure.kind().http_status());
    let status = status.unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
    let mut response = with_json(status, refusal(failure.clone(), None));
    let wait_ms = failure.recovery().retry_after_ms.unwrap_or_default();
    let wait = HeaderValue::from(wait_ms.div_ceil(1000));
    response.headers_mut().insert(RETRY_AFTER, wait);
    response
}

fn with_json(status: StatusCode, written: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(Body::from(written));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    /// The frames an answer with these events is written in. The rest comes only after `pause`.
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
        let body = gathered(Response::new(body)).await.into_body();
        body.into_data_stream().map(Result::unwrap).collect().await
    }

    #[tokio::test(start_paused = true)]
    async fn events_that_come_together_are_written_together_and_nothing_waits_for_the_others() {
        let (soon, later) = (Duration::from_millis(1), Duration::from_secs(1));
        let whole = frames_of(vec!["id: 0\n\n", "data: 1\n\n"], soon, "data: 2\n\n").await;
        assert_eq!(whole, ["id: 0\n\ndata: 1\n\ndata: 2\n\n"]);
        let split = frames_of(vec!["id: 0\n\n", "data: 1\n\n"], later, "data: 2\n\n").await;
        assert_eq!(split, ["id: 0\n\ndata: 1\n\n", "data: 2\n\n"]);
        let long: &str = "x".repeat(GATHERED_BYTES).leak();
        let bounded = frames_of(vec![long, "a"], soon, "b").await;
        assert_eq!(bounded.concat().len(), long.len() + 2);
        assert_eq!(bounded[0].len(), long.len());
    }
}
