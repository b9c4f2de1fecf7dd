//! One request over one connection, and its answer as it comes: the HTTP that everything here speaks.
//!
//! It asks at the addresses it is given and nowhere else: no redirects, no proxies, no second try of
//! anything that may have left. Who may be asked is the guard's, and what trouble means is `trouble`'s.

mod body;
mod connect;
mod error;
mod resolve;
mod tls;

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use http::header::{ACCEPT_ENCODING, HeaderMap, HeaderValue, USER_AGENT};
use http::{Method, Request, Response, StatusCode};
use http_body::{Body as _, Frame};
use hyper::body::Incoming;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;
use url::Url;

pub(crate) use body::Payload;
use connect::Connector;
pub(crate) use connect::TooLong;
pub(crate) use error::WireError;
pub use resolve::{Lookup, Lookups, SystemLookup};
pub(crate) use resolve::{NoAddress, Resolver};
pub use tls::SetupError;
pub(crate) use tls::{trusting, trusting_nobody};

/// How long a connection nobody uses is kept. Less than servers keep one: a request on a connection that
/// is just being closed is lost, and for a write nobody knows whether it was done.
const IDLE: Duration = Duration::from_secs(4);

const AGENT: HeaderValue = HeaderValue::from_static(concat!("panpan/", env!("CARGO_PKG_VERSION")));

/// Connections to whoever is asked, kept for the next request. Clones share them.
#[derive(Clone)]
pub(crate) struct Wire(legacy::Client<Connector, Payload>);

impl Wire {
    /// A connection may take so long to come about, its name and its secrecy included.
    pub(crate) fn new(tls: ClientConfig, resolver: Resolver, connect_timeout: Duration) -> Self {
        let connector = Connector::new(tls, resolver, connect_timeout);
        let client = legacy::Client::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE)
            .pool_timer(TokioTimer::new())
            // Most requests are small: one piece is sent for less than the two of a head and a body.
            .http1_writev(false)
            .build(connector);
        Self(client)
    }

    /// Sends a request; its answer has begun.
    pub(crate) async fn send(
        &self,
        method: Method,
        url: &Url,
        headers: HeaderMap,
        payload: Payload,
    ) -> Result<Reply, WireError> {
        let uri = url.as_str().parse().map_err(WireError::Address)?;
        let mut request = Request::new(payload);
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        request.headers_mut().entry(USER_AGENT).or_insert(AGENT);
        // Whoever is not told may pack an answer in any way.
        let unpacked = HeaderValue::from_static("identity");
        request
            .headers_mut()
            .entry(ACCEPT_ENCODING)
            .or_insert(unpacked);
        let answered = self.0.request(request).await;
        answered.map(Reply).map_err(WireError::Unanswered)
    }
}

impl fmt::Debug for Wire {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Wire").finish_non_exhaustive()
    }
}

/// An answer that has begun; dropping it ends it.
#[derive(Debug)]
pub(crate) struct Reply(Response<Incoming>);

impl Reply {
    pub(crate) fn status(&self) -> StatusCode {
        self.0.status()
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        self.0.headers()
    }

    pub(crate) fn take_headers(&mut self) -> HeaderMap {
        std::mem::take(self.0.headers_mut())
    }

    /// The next piece of its body; `None` at its end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, WireError> {
        std::future::poll_fn(|context| self.poll_chunk(context))
            .await
            .transpose()
    }

    /// The pieces of its body.
    pub(crate) fn into_chunks(mut self) -> impl Stream<Item = Result<Bytes, WireError>> {
        futures_util::stream::poll_fn(move |context| self.poll_chunk(context))
    }

    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, WireError>>> {
        loop {
            let frame = Pin::new(self.0.body_mut()).poll_frame(context);
            match ready!(frame).map(|frame| frame.map(Frame::into_data)) {
                Some(Ok(Ok(bytes))) => return Poll::Ready(Some(Ok(bytes))),
                // What follows the body is no part of it.
                Some(Ok(Err(_))) => {}
                Some(Err(error)) => return Poll::Ready(Some(Err(WireError::Cut(error)))),
                None => return Poll::Ready(None),
            }
        }
    }
}
