//! HTTP over pooled connections: sends one request and returns its response as it arrives.
//!
//! Follows no redirects, uses no proxies and repeats no request that may have been sent. `guard` decides which
//! hosts are allowed; `transport_failure` says what an error means.

mod connect;
mod error;
mod payload;
mod resolve;
mod tls;

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::Stream;
use http::header::{ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue, USER_AGENT};
use http::{Method, Request, Response, StatusCode};
use http_body::{Body as _, Frame};
use hyper::body::Incoming;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;
use url::Url;

pub(crate) use connect::ConnectTimeout;
use connect::Connector;
pub(crate) use error::TransportError;
pub(crate) use payload::Payload;
pub use resolve::{Lookup, LookupFuture, SystemLookup};
pub(crate) use resolve::{NoAddress, Resolver};
pub use tls::SetupError;
pub(crate) use tls::{with_system_roots, without_roots};

/// How long an idle connection is kept. Servers keep theirs longer: a request on a connection that the server is
/// just closing is lost, and a lost write may or may not have been done.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);

const AGENT: HeaderValue = HeaderValue::from_static(concat!("panpan/", env!("CARGO_PKG_VERSION")));

/// Connections to upstreams, kept for the next request. Clones share them.
#[derive(Clone)]
pub(crate) struct ConnectionPool(legacy::Client<Connector, Payload>);

impl ConnectionPool {
    /// The connect timeout covers the name lookup and the TLS handshake.
    pub(crate) fn new(tls: ClientConfig, resolver: Resolver, connect_timeout: Duration) -> Self {
        let connector = Connector::new(tls, resolver, connect_timeout);
        let client = legacy::Client::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_timer(TokioTimer::new())
            // Most requests are small: one write of head and body costs less than two.
            .http1_writev(false)
            .build(connector);
        Self(client)
    }

    /// Sends a request and waits for the head of the response.
    pub(crate) async fn send(
        &self,
        method: Method,
        url: &Url,
        headers: HeaderMap,
        payload: Payload,
    ) -> Result<RawResponse, TransportError> {
        let uri = url.as_str().parse().map_err(TransportError::InvalidUrl)?;
        let mut request = Request::new(payload);
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        request.headers_mut().entry(USER_AGENT).or_insert(AGENT);
        // Without this header a server may compress the body in any way.
        let identity = HeaderValue::from_static("identity");
        request
            .headers_mut()
            .entry(ACCEPT_ENCODING)
            .or_insert(identity);
        let response = self.0.request(request).await;
        response
            .map(RawResponse)
            .map_err(TransportError::NoResponse)
    }
}

impl fmt::Debug for ConnectionPool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ConnectionPool")
            .finish_non_exhaustive()
    }
}

/// A response whose head was received; dropping it aborts the rest.
#[derive(Debug)]
pub(crate) struct RawResponse(Response<Incoming>);

impl RawResponse {
    pub(crate) fn status(&self) -> StatusCode {
        self.0.status()
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        self.0.headers()
    }

    pub(crate) fn take_headers(&mut self) -> HeaderMap {
        std::mem::take(self.0.headers_mut())
    }

    /// Whether the body is labelled as a stream of server-sent events.
    pub(crate) fn is_events(&self) -> bool {
        let media_type = media_type(self.headers());
        media_type.is_some_and(|it| it.eq_ignore_ascii_case("text/event-stream"))
    }

    /// Reads the body up to a limit; returns whether that was all of it. If reading fails, `body` has the part
    /// that was received.
    pub(crate) async fn read_into(
        &mut self,
        body: &mut BytesMut,
        limit: usize,
    ) -> Result<bool, TransportError> {
        while let Some(bytes) = self.chunk().await? {
            let room = limit - body.len();
            if bytes.len() > room {
                body.extend_from_slice(&bytes[..room]);
                return Ok(false);
            }
            body.extend_from_slice(&bytes);
        }
        Ok(true)
    }

    /// The next chunk of the body; `None` at its end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, TransportError> {
        std::future::poll_fn(|context| self.poll_chunk(context))
            .await
            .transpose()
    }

    /// The chunks of the body.
    pub(crate) fn into_chunks(mut self) -> impl Stream<Item = Result<Bytes, TransportError>> {
        futures_util::stream::poll_fn(move |context| self.poll_chunk(context))
    }

    fn poll_chunk(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, TransportError>>> {
        loop {
            let frame = Pin::new(self.0.body_mut()).poll_frame(context);
            match ready!(frame).map(|frame| frame.map(Frame::into_data)) {
                Some(Ok(Ok(bytes))) => return Poll::Ready(Some(Ok(bytes))),
                // Trailers are not part of the body.
                Some(Ok(Err(_))) => {}
                Some(Err(error)) => {
                    return Poll::Ready(Some(Err(TransportError::Interrupted(error))));
                }
                None => return Poll::Ready(None),
            }
        }
    }
}

/// The media type that headers state, without its parameters.
pub(crate) fn media_type(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    Some(essence(value)).filter(|it| !it.is_empty())
}

/// A media type without its parameters.
pub(crate) fn essence(media_type: &str) -> &str {
    media_type.split(';').next().unwrap_or_default().trim()
}

/// Names and values of headers; a value that is not text is skipped.
pub(crate) fn header_pairs(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    let pairs = headers.iter();
    pairs.filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
}
