//! One connection: its handshake, its requests, its limits.

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

use super::timer::ConnectionTimer;
use super::worded::Worded;
use crate::gateway::Gateway;
use crate::http::{HttpService, Peer};
use crate::limits::Permit;
use crate::metrics::Metrics;

/// The largest head of a request, in bytes.
pub(crate) const HEAD_BYTES_LIMIT: usize = 64 * 1024;

/// What every connection is served with.
pub(super) struct Connections {
    pub(super) service: HttpService,
    pub(super) tls: Option<TlsAcceptor>,
    pub(super) gateway: Gateway,
    pub(super) stopping: CancellationToken,
}

/// How long a client has to take the rest of its answer when a server stops and no call runs any more.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// A place among all connections, and one among those of its address.
pub(super) type Place = (OwnedSemaphorePermit, Permit);

/// A connection that is open, also after it has become a WebSocket.
#[derive(Debug)]
pub(crate) struct Open {
    metrics: Metrics,
    received_bytes: AtomicU64,
    _place: Place,
}

impl Open {
    /// How many bytes came from the client so far.
    pub(crate) fn received_bytes(&self) -> u64 {
        self.received_bytes.load(Ordering::Relaxed)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.metrics.connections().dec();
    }
}

impl Connections {
    /// Serves one connection beside the others.
    pub(super) fn serve(self: &Arc<Self>, stream: TcpStream, peer: SocketAddr, place: Place) {
        // Answers are written whole; waiting to fill a packet would only delay them.
        let _ = stream.set_nodelay(true);
        let metrics = self.gateway.metrics().clone();
        metrics.connections().inc();
        let peer = Peer {
            address: peer.ip().to_canonical(),
            scheme: if self.tls.is_some() { "https" } else { "http" },
            open: Arc::new(Open {
                metrics,
                received_bytes: AtomicU64::new(0),
                _place: place,
            }),
        };
        let this = self.clone();
        self.gateway
            .tasks()
            .spawn(async move { this.carry(stream, peer).await });
    }

    async fn carry(&self, stream: TcpStream, peer: Peer) {
        let Some(tls) = &self.tls else {
            return self.answer(stream, peer).await;
        };
        let handshake = tls.accept(stream);
        let handshake = tokio::time::timeout(self.gateway.limits().head_timeout, handshake);
        let address: IpAddr = peer.address;
        let handshake = tokio::select! {
            handshake = handshake => handshake,
            () = self.stopping.cancelled() => return,
        };
        match handshake {
            Ok(Ok(stream)) => self.answer(stream, peer).await,
            Ok(Err(error)) => tracing::debug!(%address, %error, "a TLS handshake failed"),
            Err(_) => tracing::debug!(%address, "a TLS handshake took too long"),
        }
    }

    async fn answer(&self, stream: impl AsyncRead + AsyncWrite + Send + 'static, peer: Peer) {
        let limits = self.gateway.limits();
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(limits.write_timeout));
        let open = peer.open.clone();
        let stream = InspectReader::new(Box::pin(stream), move |bytes: &[u8]| {
            let length = bytes.len() as u64;
            open.received_bytes.fetch_add(length, Ordering::Relaxed);
        });
        let stream = Worded::new(stream, self.service.clone());
        let (service, address) = (&self.service, peer.address);
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            let peer = peer.clone();
            async move { Ok::<_, Infallible>(service.enter(peer, request).await) }
        });
        let connection = http1::Builder::new()
            .timer(ConnectionTimer::default())
            .header_read_timeout(limits.head_timeout)
            .max_header_size(HEAD_BYTES_LIMIT)
            // Most answers are small: one piece is sent for less than the two of a head and a body.
            .writev(false)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades();
        let mut connection = pin!(connection);
        // Alone in a set, it is looked at when it fires. Looked at with every request, the one token of
        // all connections would be what they wait for.
        let mut stopping = FuturesUnordered::from_iter([self.stopping.cancelled()]);
        let ended = tokio::select! {
            biased;
            ended = connection.as_mut() => ended,
            Some(()) = stopping.next() => {
                // The request that is under way is answered, and no other is taken.
                connection.as_mut().graceful_shutdown();
                tokio::select! {
                    ended = connection => ended,
                    () = self.nothing_more() => return,
                }
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%address, %error, "a connection broke");
        }
    }

    /// Waits until there is no more to say: whoever still sends its request then is not waited for.
    async fn nothing_more(&self) {
        self.gateway.until_idle().await;
        tokio::time::sleep(LAST_WORDS).await;
    }
}
