//! The HTTP client under the Streamable HTTP transport: limits body sizes and keeps error
//! responses.
//!
//! The client of rmcp reads bodies of any length and discards the body of an error response.
//! Sessions, streams and the order of messages are left to rmcp.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use http::Method;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use panpan_mcp::names::ELICITATION_COMPLETE;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};
use url::Url;

use super::client_handler::ConnectionHandler;
use super::error::{HttpResponse, McpError};
use super::incoming;
use crate::charset;
use crate::exchange::display_url;
use crate::transport::{ConnectionPool, Payload, RawResponse, TransportError, header_pairs};
use crate::transport_failure::TransportFailure;

/// The longest response that is read, in bytes; also the longest event of a stream.
pub const RESPONSE_BYTES_LIMIT: usize = 16 * 1024 * 1024;

/// The longest error response that is read, in bytes.
const ERROR_BYTES_LIMIT: usize = 64 * 1024;

/// The headers of an error response that are kept: delays, what the credential lacks, and the
/// content type.
const KEPT_HEADER_PREFIXES: [&str; 4] = ["retry-", "ratelimit", "x-ratelimit", "www-authenticate"];

/// Messages with which restarted servers reject an old session, with 400 instead of 404. Only these
/// exact messages mean that the request was not processed.
const UNKNOWN_SESSION_MESSAGES: [&str; 5] = [
    "Bad Request: No valid session ID provided",
    "Bad Request: Server not initialized",
    "Bad Request: Mcp-Session-Id header is required",
    "Bad Request: Missing session ID",
    "Session not found",
];

const ACCEPT_VALUE: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

type HttpError = StreamableHttpError<McpError>;
type Headers = HashMap<HeaderName, HeaderValue>;

/// The endpoint of a server, with the headers of every request.
#[derive(Clone, Debug)]
pub(super) struct HttpClient {
    pub(super) wire: ConnectionPool,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) handler: ConnectionHandler,
}

impl HttpClient {
    async fn send(
        &self,
        method: Method,
        session: Option<&Arc<str>>,
        extra: Headers,
        body: Option<Vec<u8>>,
    ) -> Result<RawResponse, HttpError> {
        let mut headers = self.headers.clone();
        headers.insert(ACCEPT, ACCEPT_VALUE);
        if body.is_some() {
            headers.insert(CONTENT_TYPE, JSON);
        }
        let session = session.and_then(|session| HeaderValue::from_str(session).ok());
        headers.extend(session.map(|session| (SESSION, session)));
        headers.extend(extra);
        let payload = Payload::new(body.map(Bytes::from), None);
        let sent = self.wire.send(method, &self.url, headers, payload).await;
        sent.map_err(|error| network_error(&self.url, error))
    }

    async fn read_success(
        &self,
        reply: RawResponse,
        message: &ClientJsonRpcMessage,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let session = reply.headers().get(SESSION);
        let session = session.and_then(|id| id.to_str().ok()).map(str::to_owned);
        if session.is_some() {
            self.handler.mark_session();
        }
        if reply.is_events() {
            let origin = match message {
                ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
                _ => None,
            };
            let events = self.events(reply, origin);
            return Ok(StreamableHttpPostResponse::Sse(events, session));
        }
        let is_request = matches!(message, ClientJsonRpcMessage::Request(_));
        if !is_request {
            // The response to a notification or a response is ignored.
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        let head = self.head(&reply);
        let (body, is_whole) = self.read(reply, RESPONSE_BYTES_LIMIT).await?;
        if !is_whole {
            let reason = format!("a response exceeds {RESPONSE_BYTES_LIMIT} bytes");
            return Err(StreamableHttpError::Client(McpError::ProtocolViolation(
                reason,
            )));
        }
        match incoming::parse(body.trim_ascii()) {
            Some(message) => Ok(StreamableHttpPostResponse::Json(message, session)),
            None => Err(status_error(head, &body)),
        }
    }

    /// An error response with a JSON-RPC body is a JSON-RPC error, unless its status is more
    /// specific.
    async fn read_error(
        &self,
        reply: RawResponse,
        message: &ClientJsonRpcMessage,
        has_session: bool,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let head = self.head(&reply);
        let (body, _) = self.read(reply, ERROR_BYTES_LIMIT).await?;
        let error = match incoming::parse(body.trim_ascii()) {
            Some(ServerJsonRpcMessage::Error(message)) => Some(message.error),
            _ => None,
        };
        if matches!(head.status, 401 | 403 | 429) {
            return Err(status_error(head, &body));
        }
        if has_session && head.status == 400 && rejects_session(error.as_ref(), &body) {
            return Err(StreamableHttpError::SessionExpired);
        }
        let ClientJsonRpcMessage::Request(request) = message else {
            return Err(status_error(head, &body));
        };
        // Servers that do not know `server/discover` reject it in many ways; all mean an older
        // version.
        let is_discover = matches!(request.request, ClientRequest::DiscoverRequest(_));
        let unknown = || ErrorData::invalid_request("server/discover is unknown", None);
        let is_unknown = is_discover && (400..500).contains(&head.status);
        match error.or_else(|| is_unknown.then(unknown)) {
            Some(error) => Ok(error_message(error, &request.id)),
            None => Err(status_error(head, &body)),
        }
    }

    /// The status and the kept headers of a response.
    fn head(&self, reply: &RawResponse) -> HttpResponse {
        let is_kept = |name: &str| {
            name == CONTENT_TYPE.as_str()
                || KEPT_HEADER_PREFIXES
                    .iter()
                    .any(|start| name.starts_with(start))
        };
        let kept = header_pairs(reply.headers()).filter(|(name, _)| is_kept(name));
        let kept = kept.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let location = self.location(reply).map(|to| (LOCATION.to_string(), to));
        HttpResponse {
            status: reply.status().as_u16(),
            headers: kept.chain(location).collect(),
            body: String::new(),
        }
    }

    /// The target of a redirect, without parts that may be secret; often only a trailing slash
    /// differs.
    fn location(&self, reply: &RawResponse) -> Option<String> {
        let to = reply.headers().get(LOCATION)?.to_str().ok()?;
        let to = self.url.join(to).ok()?;
        Some(format!(
            "{}{}",
            to.origin().ascii_serialization(),
            to.path()
        ))
    }

    /// Reads the body up to a limit; with it, whether that was all of it.
    async fn read(
        &self,
        mut reply: RawResponse,
        limit: usize,
    ) -> Result<(BytesMut, bool), HttpError> {
        let mut body = BytesMut::new();
        let read = reply.read_into(&mut body, limit).await;
        let is_whole = read.map_err(|error| network_error(&self.url, error))?;
        Ok((body, is_whole))
    }

    /// The events of a stream, which may belong to a request, each limited in size.
    fn events(
        &self,
        reply: RawResponse,
        origin: Option<RequestId>,
    ) -> BoxStream<'static, Result<Sse, SseError>> {
        let mut size = EventSize::default();
        let bytes = reply.into_chunks().map(move |chunk| {
            let chunk = chunk.map_err(std::io::Error::other)?;
            size.add(&chunk)?;
            Ok::<_, std::io::Error>(chunk)
        });
        let handler = self.handler.clone();
        SseStream::from_bytes_stream(bytes)
            .map(move |event| event.map(|event| observed(event, &handler, origin.as_ref())))
            .boxed()
    }
}

impl StreamableHttpClient for HttpClient {
    type Error = McpError;

    async fn post_message(
        &self,
        _: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _: Option<String>,
        custom_headers: Headers,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        self.handler.in_flight.record_sent(&message);
        let body = serde_json::to_vec(&message)?;
        let session = session_id.as_ref();
        let reply = self.send(Method::POST, session, custom_headers, Some(body));
        let reply = reply.await?;
        let status = reply.status().as_u16();
        match status {
            202 | 204 => return Ok(StreamableHttpPostResponse::Accepted),
            404 if session_id.is_some() => return Err(StreamableHttpError::SessionExpired),
            _ => {}
        }
        if !(200..300).contains(&status) {
            return self.read_error(reply, &message, session_id.is_some()).await;
        }
        self.read_success(reply, &message).await
    }

    async fn delete_session(
        &self,
        _: Arc<str>,
        session_id: Arc<str>,
        _: Option<String>,
        custom_headers: Headers,
    ) -> Result<(), HttpError> {
        let reply = self.send(Method::DELETE, Some(&session_id), custom_headers, None);
        if reply.await?.status().is_success() {
            Ok(())
        } else {
            Err(StreamableHttpError::ServerDoesNotSupportDeleteSession)
        }
    }

    async fn get_stream(
        &self,
        _: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _: Option<String>,
        mut headers: Headers,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, HttpError> {
        let last = last_event_id.and_then(|last| HeaderValue::try_from(last).ok());
        headers.extend(last.map(|last| (LAST_EVENT_ID, last)));
        let reply = self.send(Method::GET, session_id.as_ref(), headers, None);
        let reply = reply.await?;
        // Any other answer means that the server has no such stream, which is optional.
        if !reply.status().is_success() || !reply.is_events() {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        Ok(self.events(reply, None))
    }
}

/// Whether an error response says that the session is unknown, as JSON-RPC or as plain text.
fn rejects_session(error: Option<&ErrorData>, body: &[u8]) -> bool {
    let text = error.map_or(body.trim_ascii(), |error| error.message.as_bytes());
    UNKNOWN_SESSION_MESSAGES
        .iter()
        .any(|known| known.as_bytes() == text)
}

fn error_message(error: ErrorData, id: &RequestId) -> StreamableHttpPostResponse {
    let message = ServerJsonRpcMessage::error(error, Some(id.clone()));
    StreamableHttpPostResponse::Json(message, None)
}

fn network_error(url: &Url, error: TransportError) -> HttpError {
    let broken = TransportFailure::of(&error);
    let reported = match broken {
        // There is no timeout here that a message could state.
        TransportFailure::HeadTimeout | TransportFailure::BodyTimeout => {
            TransportFailure::Connection
        }
        other => other,
    };
    StreamableHttpError::Client(McpError::Network {
        message: reported.message(&display_url(url), Duration::ZERO),
        kind: broken.network_failure(),
        sent: error.had_connection(),
        source: Arc::new(error),
    })
}

fn status_error(head: HttpResponse, body: &[u8]) -> HttpError {
    let body = &body[..body.len().min(ERROR_BYTES_LIMIT)];
    StreamableHttpError::Client(McpError::HttpStatus(HttpResponse {
        body: charset::text(body, head.header("content-type")).into_owned(),
        ..head
    }))
}

/// Treats a message in an event like a message in a body: rewritten and observed.
fn observed(mut event: Sse, handler: &ConnectionHandler, origin: Option<&RequestId>) -> Sse {
    const OBSERVED: [&str; 4] = [
        "notifications/progress",
        "notifications/message",
        "notifications/resources/updated",
        ELICITATION_COMPLETE,
    ];
    let Some(data) = event.data.as_deref() else {
        return event;
    };
    if OBSERVED.iter().any(|it| data.contains(it))
        && let Some(message) = incoming::parse(data.trim().as_bytes())
    {
        handler.observe(&message, origin);
    }
    event.data = incoming::rewrite(data).or(event.data);
    event
}

/// Counts the bytes since the last empty line.
#[derive(Debug, Default)]
struct EventSize {
    bytes: usize,
    line_bytes: usize,
}

impl EventSize {
    fn add(&mut self, chunk: &[u8]) -> Result<(), std::io::Error> {
        for byte in chunk {
            match byte {
                b'\n' if self.line_bytes == 0 => self.bytes = 0,
                b'\n' => self.line_bytes = 0,
                b'\r' => {}
                _ => self.line_bytes += 1,
            }
            self.bytes += 1;
            if self.bytes > RESPONSE_BYTES_LIMIT {
                let reason = format!("an event exceeds {RESPONSE_BYTES_LIMIT} bytes");
                return Err(std::io::Error::other(reason));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_each_event_is_limited_separately() {
        for (first, second, fits) in [
            (RESPONSE_BYTES_LIMIT, 0, true),
            (RESPONSE_BYTES_LIMIT, 1, false),
            (RESPONSE_BYTES_LIMIT + 1, 0, false),
        ] {
            let mut size = EventSize::default();
            let added = size
                .add(&vec![b'a'; first])
                .and_then(|()| size.add(&vec![b'a'; second]));
            assert_eq!(added.is_ok(), fits, "{first} {second}");
        }
        let mut size = EventSize::default();
        let half = vec![b'a'; RESPONSE_BYTES_LIMIT / 2];
        for _ in 0..5 {
            size.add(&half).unwrap();
            size.add(b"\r\n\r\n").unwrap();
        }
    }
}
