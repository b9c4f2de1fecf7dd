//! The HTTP below Streamable HTTP: bounded bodies, and statuses kept with what they say.
//!
//! The library brings a client of its own that reads bodies of any length and forgets what a refusal
//! said. Which message goes when, sessions and streams stay the library's.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use http::Method;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};
use url::Url;

use super::ear::Ear;
use super::error::{HttpAnswer, McpError};
use super::foreign;
use crate::charset;
use crate::exchange::display_url;
use crate::transport::{ConnectionPool, Payload, RawResponse, TransportError};
use crate::transport_failure::TransportFailure;

/// The longest answer that is read, in bytes; also the longest event of a stream.
pub const ANSWER_BYTES_LIMIT: usize = 16 * 1024 * 1024;

/// How much of a refusal is read, in bytes.
const REFUSAL_BYTES_LIMIT: usize = 64 * 1024;

/// The headers of a refusal that say when to come back, or what kind of answer it is.
const KEPT_HEADERS: [&str; 3] = ["retry-", "ratelimit", "x-ratelimit"];

/// What servers that have started anew say to a session from before, with a 400 in place of a 404. Only these
/// words, and no others, say that the request was not looked at.
const UNKNOWN_SESSION: [&str; 5] = [
    "Bad Request: No valid session ID provided",
    "Bad Request: Server not initialized",
    "Bad Request: Mcp-Session-Id header is required",
    "Bad Request: Missing session ID",
    "Session not found",
];

const ACCEPTED: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const EVENTS: &str = "text/event-stream";
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

type Failed = StreamableHttpError<McpError>;
type Headers = HashMap<HeaderName, HeaderValue>;

/// An address that is posted to, with what is presented there.
#[derive(Clone, Debug)]
pub(super) struct Web {
    pub(super) wire: ConnectionPool,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) ear: Ear,
}

impl Web {
    async fn send(
        &self,
        method: Method,
        session: Option<&Arc<str>>,
        extra: Headers,
        body: Option<Vec<u8>>,
    ) -> Result<RawResponse, Failed> {
        let mut headers = self.headers.clone();
        headers.insert(ACCEPT, ACCEPTED);
        if body.is_some() {
            headers.insert(CONTENT_TYPE, JSON);
        }
        let session = session.and_then(|session| HeaderValue::from_str(session).ok());
        headers.extend(session.map(|session| (SESSION, session)));
        headers.extend(extra);
        let payload = Payload::new(body.map(Bytes::from), None);
        let sent = self.wire.send(method, &self.url, headers, payload).await;
        sent.map_err(|error| network(&self.url, error))
    }

    async fn accepted(
        &self,
        reply: RawResponse,
        message: &ClientJsonRpcMessage,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let session = reply.headers().get(SESSION);
        let session = session.and_then(|id| id.to_str().ok()).map(str::to_owned);
        if session.is_some() {
            self.ear.enter_session();
        }
        if is_kind(&reply, EVENTS) {
            let origin = match message {
                ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
                _ => None,
            };
            let events = self.events(reply, origin);
            return Ok(StreamableHttpPostResponse::Sse(events, session));
        }
        let is_request = matches!(message, ClientJsonRpcMessage::Request(_));
        if !is_request {
            // What is said to a message that wants no answer makes no difference.
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        let head = self.head(&reply);
        let body = self.read(reply, ANSWER_BYTES_LIMIT).await?;
        if body.len() > ANSWER_BYTES_LIMIT {
            let reason = format!("an answer has more than {ANSWER_BYTES_LIMIT} bytes");
            return Err(StreamableHttpError::Client(McpError::Nonsense(reason)));
        }
        match foreign::message(body.trim_ascii()) {
            Some(message) => Ok(StreamableHttpPostResponse::Json(message, session)),
            None => Err(status_error(head, &body)),
        }
    }

    /// A refusal in the protocol is one of the protocol, except where its status says more.
    async fn refused(
        &self,
        reply: RawResponse,
        message: &ClientJsonRpcMessage,
        has_session: bool,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let head = self.head(&reply);
        let body = self.read(reply, REFUSAL_BYTES_LIMIT).await?;
        let said = match foreign::message(body.trim_ascii()) {
            Some(ServerJsonRpcMessage::Error(error)) => Some(error.error),
            _ => None,
        };
        if matches!(head.status, 401 | 403 | 429) {
            return Err(status_error(head, &body));
        }
        if has_session && head.status == 400 && denies_session(said.as_ref(), &body) {
            return Err(StreamableHttpError::SessionExpired);
        }
        let ClientJsonRpcMessage::Request(request) = message else {
            return Err(status_error(head, &body));
        };
        // Servers from before that method refuse it in many ways; all mean that they are older.
        let is_probe = matches!(request.request, ClientRequest::DiscoverRequest(_));
        let old = || ErrorData::invalid_request("server/discover is unknown here", None);
        let said = said.or_else(|| (is_probe && (400..500).contains(&head.status)).then(old));
        match said {
            Some(error) => Ok(answered(error, &request.id)),
            None => Err(status_error(head, &body)),
        }
    }

    /// What is kept of the head of an answer.
    fn head(&self, reply: &RawResponse) -> HttpAnswer {
        let is_kept = |name: &str| {
            name == CONTENT_TYPE.as_str()
                || KEPT_HEADERS.iter().any(|start| name.starts_with(start))
        };
        let kept = reply
            .headers()
            .iter()
            .filter(|(name, _)| is_kept(name.as_str()));
        HttpAnswer {
            status: reply.status().as_u16(),
            headers: kept
                .filter_map(|(name, value)| {
                    Some((name.to_string(), value.to_str().ok()?.to_owned()))
                })
                .chain(self.location(reply).map(|to| (LOCATION.to_string(), to)))
                .collect(),
            body: String::new(),
        }
    }

    /// Where else to ask, as it may be shown; often all that differs is a slash at the end.
    fn location(&self, reply: &RawResponse) -> Option<String> {
        let to = reply.headers().get(LOCATION)?.to_str().ok()?;
        let to = self.url.join(to).ok()?;
        Some(format!(
            "{}{}",
            to.origin().ascii_serialization(),
            to.path()
        ))
    }

    /// Reads to the end, or as far as shows that there is more than the limit.
    async fn read(&self, mut reply: RawResponse, limit: usize) -> Result<Vec<u8>, Failed> {
        let mut body = Vec::new();
        while body.len() <= limit {
            let Some(bytes) = reply
                .chunk()
                .await
                .map_err(|error| network(&self.url, error))?
            else {
                break;
            };
            let room = limit + 1 - body.len();
            body.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
        Ok(body)
    }

    /// The events of a stream, which may be that of a request, each within bounds.
    fn events(
        &self,
        reply: RawResponse,
        origin: Option<RequestId>,
    ) -> BoxStream<'static, Result<Sse, SseError>> {
        let mut room = Room::default();
        let bytes = reply.into_chunks().map(move |chunk| {
            let chunk = chunk.map_err(std::io::Error::other)?;
            room.take(&chunk)?;
            Ok::<_, std::io::Error>(chunk)
        });
        let ear = self.ear.clone();
        SseStream::from_bytes_stream(bytes)
            .map(move |event| event.map(|event| overheard(event, &ear, origin.as_ref())))
            .boxed()
    }
}

impl StreamableHttpClient for Web {
    type Error = McpError;

    async fn post_message(
        &self,
        _: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _: Option<String>,
        custom_headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        self.ear.underway.sent(&message);
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
            return self.refused(reply, &message, session_id.is_some()).await;
        }
        self.accepted(reply, &message).await
    }

    async fn delete_session(
        &self,
        _: Arc<str>,
        session_id: Arc<str>,
        _: Option<String>,
        custom_headers: Headers,
    ) -> Result<(), Failed> {
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
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failed> {
        let last = last_event_id.and_then(|last| HeaderValue::try_from(last).ok());
        headers.extend(last.map(|last| (LAST_EVENT, last)));
        let reply = self.send(Method::GET, session_id.as_ref(), headers, None);
        let reply = reply.await?;
        // Whatever else a server answers here, it has no such stream, and answers well without it.
        if !reply.status().is_success() || !is_kind(&reply, EVENTS) {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        Ok(self.events(reply, None))
    }
}

/// Whether a refusal says that there is no such session, in the protocol or as plain text.
fn denies_session(said: Option<&ErrorData>, body: &[u8]) -> bool {
    let words = said.map_or(body.trim_ascii(), |error| error.message.as_bytes());
    UNKNOWN_SESSION
        .iter()
        .any(|known| known.as_bytes() == words)
}

fn answered(error: ErrorData, id: &RequestId) -> StreamableHttpPostResponse {
    let message = ServerJsonRpcMessage::error(error, Some(id.clone()));
    StreamableHttpPostResponse::Json(message, None)
}

fn network(url: &Url, error: TransportError) -> Failed {
    let broken = TransportFailure::of(&error);
    let told = match broken {
        // Nobody here waits for a set time, and so none can be told.
        TransportFailure::HeadTimeout | TransportFailure::BodyTimeout => {
            TransportFailure::Connection
        }
        told => told,
    };
    StreamableHttpError::Client(McpError::Network {
        told: told.message(&display_url(url), Duration::ZERO),
        way: broken.network_failure(),
        sent: error.had_connection(),
        source: Arc::new(error),
    })
}

fn is_kind(reply: &RawResponse, kind: &str) -> bool {
    let found = reply.headers().get(CONTENT_TYPE);
    let found = found.and_then(|value| value.to_str().ok());
    let found = found.and_then(|value| value.split(';').next());
    found.is_some_and(|value| value.trim().eq_ignore_ascii_case(kind))
}

fn status_error(head: HttpAnswer, body: &[u8]) -> Failed {
    let body = &body[..body.len().min(REFUSAL_BYTES_LIMIT)];
    StreamableHttpError::Client(McpError::Status(HttpAnswer {
        body: charset::text(body, head.header("content-type")).into_owned(),
        ..head
    }))
}

/// What is kept and heard of messages that come alone is kept and heard of those in streams.
fn overheard(mut event: Sse, ear: &Ear, origin: Option<&RequestId>) -> Sse {
    const HEARD: [&str; 3] = [
        "notifications/progress",
        "notifications/message",
        "notifications/resources/updated",
    ];
    let Some(data) = event.data.as_deref() else {
        return event;
    };
    if HEARD.iter().any(|it| data.contains(it))
        && let Some(message) = foreign::message(data.trim().as_bytes())
    {
        ear.overhear(&message, origin);
    }
    event.data = foreign::rewritten(data).or(event.data);
    event
}

/// Counts the bytes since the last empty line.
#[derive(Debug, Default)]
struct Room {
    taken: usize,
    line: usize,
}

impl Room {
    fn take(&mut self, chunk: &[u8]) -> Result<(), std::io::Error> {
        for byte in chunk {
            match byte {
                b'\n' if self.line == 0 => self.taken = 0,
                b'\n' => self.line = 0,
                b'\r' => {}
                _ => self.line += 1,
            }
            self.taken += 1;
            if self.taken > ANSWER_BYTES_LIMIT {
                let reason = format!("an event has more than {ANSWER_BYTES_LIMIT} bytes");
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
    fn an_event_ends_at_its_limit_and_the_next_one_begins_anew() {
        for (first, second, fits) in [
            (ANSWER_BYTES_LIMIT, 0, true),
            (ANSWER_BYTES_LIMIT, 1, false),
            (ANSWER_BYTES_LIMIT + 1, 0, false),
        ] {
            let mut room = Room::default();
            let taken = room
                .take(&vec![b'a'; first])
                .and_then(|()| room.take(&vec![b'a'; second]));
            assert_eq!(taken.is_ok(), fits, "{first} {second}");
        }
        let mut room = Room::default();
        let half = vec![b'a'; ANSWER_BYTES_LIMIT / 2];
        for _ in 0..5 {
            room.take(&half).unwrap();
            room.take(b"\r\n\r\n").unwrap();
        }
    }
}
