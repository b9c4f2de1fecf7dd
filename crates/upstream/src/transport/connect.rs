//! Opens connections to resolved addresses, with TLS for https URLs, within the connect timeout.

use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use panpan_runtime::BoxFuture;
use rustls::ClientConfig;
use tokio::net::TcpStream;
use tower_service::Service;

use super::resolve::Resolver;

/// Interval of TCP keepalive probes on an idle connection.
const KEEPALIVE: Duration = Duration::from_secs(15);

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The connection was not established in time.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the connect timeout expired")]
pub(crate) struct ConnectTimeout;

/// Opens connections.
#[derive(Clone, Debug)]
pub(super) struct Connector {
    connector: HttpsConnector<HttpConnector<Resolver>>,
    timeout: Duration,
}

impl Connector {
    pub(super) fn new(tls: ClientConfig, resolver: Resolver, timeout: Duration) -> Self {
        let mut connector = HttpConnector::new_with_resolver(resolver);
        // Otherwise it would refuse https URLs.
        connector.enforce_http(false);
        connector.set_nodelay(true);
        connector.set_keepalive(Some(KEEPALIVE));
        Self {
            connector: HttpsConnector::from((connector, tls)),
            timeout,
        }
    }
}

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.connector.poll_ready(context)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = tokio::time::timeout(self.timeout, self.connector.call(uri));
        Box::pin(async move { connecting.await.map_err(|_| ConnectTimeout)? })
    }
}
