//! Serves one connection: TLS handshake, timeouts, requests, shutdown.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use panpan_runtime::CancellationToken;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;
use tokio_util::io::InspectReader;

use super::head_errors::WithHeadErrors;
use super::timer::ConnectionTimer;
use crate::gateway::Gateway;
use crate::http::{ConnectionInfo, HttpService};
use crate::limits::Permit;
use crate::metrics::Metrics;

/// Maximum size of a request head, in bytes.
pub(crate) const HEAD_BYTES_LIMIT: usize = 64 * 1024;

/// The state that all connections share.
pub(super) struct Connections {
    pub(super) service: HttpService,
    pub(super) tls: Option<TlsAcceptor>,
    pub(super) gateway: Gateway,
    pub(super) stopping: CancellationToken,
}

/// How long a stopping server waits for clients to read their responses after all calls have ended.
const LAST_RESPONSES: Duration = Duration::from_secs(5);

/// The permits of a connection: one of all connections, and one of its address.
pub(super) type Permits = (OwnedSemaphorePermit, Permit);

/// An open connection. It is counted until this is dropped, also as a WebSocket.
#[derive(Debug)]
pub(crate) struct OpenConnection {
    metrics: Metrics,
    received_bytes: AtomicU64,
    _permits: Permits,
}

impl OpenConnection {
    /// The number of bytes received so far.
    pub(crate) fn received_bytes(&self) -> u64 {
        self.received_bytes.load(Ordering::Relaxed)
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.metrics.connections().dec();
    }
}

impl Connections {
    /// Serves one connection in a task.
    pub(super) fn serve(self: &Arc<Self>, stream: TcpStream, peer: SocketAddr, permits: Permits) {
        // Responses are written whole; waiting to fill a packet would only delay them.
        let _ = stream.set_nodelay(true);
        let metrics = self.gateway.metrics().clone();
        metrics.connections().inc();
        let info = ConnectionInfo {
            address: peer.ip().to_canonical(),
            scheme: if self.tls.is_some() { "https" } else { "http" },
            open: Arc::new(OpenConnection {
                metrics,
                received_bytes: AtomicU64::new(0),
                _permits: permits,
            }),
        };
        let this = self.clone();
        self.gateway
            .tasks()
            .spawn(async move { this.run(stream, info).await });
    }

    async fn run(&self, stream: TcpStream, info: ConnectionInfo) {
        let Some(tls) = &self.tls else {
            return self.serve_http(stream, info).await;
        };
        let handshake = tls.accept(stream);
        let handshake = tokio::time::timeout(self.gateway.limits().head_timeout, handshake);
        let address: IpAddr = info.address;
        let handshake = tokio::select! {
            handshake = handshake => handshake,
            () = self.stopping.cancelled() => return,
        };
        match handshake {
            Ok(Ok(stream)) => self.serve_http(stream, info).await,
            Ok(Err(error)) => tracing::debug!(%address, %error, "TLS handshake failed"),
            Err(_) => tracing::debug!(%address, "TLS handshake timed out"),
        }
    }

    async fn serve_http(
        &self,
        stream: impl AsyncRead + AsyncWrite + Send + 'static,
        info: ConnectionInfo,
    ) {
        let limits = self.gateway.limits();
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(limits.write_timeout));
        let open = info.open.clone();
        let stream = InspectReader::new(Box::pin(stream), move |bytes: &[u8]| {
            let length = bytes.len() as u64;
            open.received_bytes.fetch_add(length, Ordering::Relaxed);
        });
        let stream = WithHeadErrors::new(stream, self.service.clone());
        let (service, address) = (&self.service, info.address);
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            let info = info.clone();
            async move { Ok::<_, Infallible>(service.handle(info, request).await) }
        });
        let connection = http1::Builder::new()
            .timer(ConnectionTimer::default())
            .header_read_timeout(limits.head_timeout)
            .max_header_size(HEAD_BYTES_LIMIT)
            // Most responses are small: writing head and body in one piece is cheaper.
            .writev(false)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades();
        let mut connection = pin!(connection);
        // In a set of its own, the token is polled only when it fires. Polled with every request, its lock would
        // be contended by all connections.
        let mut stopping = FuturesUnordered::from_iter([self.stopping.cancelled()]);
        let ended = tokio::select! {
            biased;
            ended = connection.as_mut() => ended,
            Some(()) = stopping.next() => {
                // The request in flight is answered; no further request is accepted.
                connection.as_mut().graceful_shutdown();
                tokio::select! {
                    ended = connection => ended,
                    () = self.calls_drained() => return,
                }
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%address, %error, "connection failed");
        }
    }

    /// Waits until all calls have ended and their responses had time to be read. Clients that still send a
    /// request are not waited for.
    async fn calls_drained(&self) {
        self.gateway.wait_for_calls().await;
        tokio::time::sleep(LAST_RESPONSES).await;
    }
}
