//! Accepts TCP and TLS connections within their limits, and drains them on shutdown.
//!
//! Requests are handled by the HTTP service.

mod connection;
mod head_errors;
mod timer;
mod tls;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use panpan_runtime::CancellationToken;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

use crate::caller::Principal;
use crate::gateway::Gateway;
use crate::http::HttpService;
use crate::limits::ConcurrencyLimit;
use connection::Connections;

pub(crate) use connection::{HEAD_BYTES_LIMIT, OpenConnection};

pub use tls::{TlsError, acceptor};

/// The pause after the system ran out of a resource, such as file descriptors.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(100);

/// Why the server cannot listen on an address.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Another program listens there.
    #[error("another program already listens on {0}")]
    Taken(SocketAddr),
    /// The user lacks the permission.
    #[error("this user may not listen on {0}")]
    NotAllowed(SocketAddr),
    /// The address does not belong to this machine.
    #[error("this machine does not have the address {0}")]
    NotHere(SocketAddr),
    /// Any other error.
    #[error("cannot listen on {0}")]
    Other(SocketAddr, #[source] io::Error),
}

/// Listens on an address.
pub async fn bind(address: SocketAddr) -> Result<TcpListener, ListenError> {
    TcpListener::bind(address)
        .await
        .map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => ListenError::Taken(address),
            io::ErrorKind::PermissionDenied => ListenError::NotAllowed(address),
            io::ErrorKind::AddrNotAvailable => ListenError::NotHere(address),
            _ => ListenError::Other(address, error),
        })
}

/// Serves connections until `stopping` fires, then waits up to `drain` for open connections to end.
///
/// Returns the number of connections that are still open afterwards.
pub async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    service: HttpService,
    gateway: &Gateway,
    stopping: CancellationToken,
    drain: Duration,
) -> usize {
    let limits = gateway.limits();
    let permits = Arc::new(Semaphore::new(limits.connections));
    let by_address =
        ConcurrencyLimit::new("connections", usize::MAX, limits.connections_per_address);
    let connections = Arc::new(Connections {
        service,
        tls,
        gateway: gateway.clone(),
        stopping: stopping.clone(),
    });
    loop {
        // The permit comes first: without one, connections wait in the system's queue and not in our memory.
        let permit = tokio::select! {
            permit = permits.clone().acquire_owned() => permit.expect("the semaphore is never closed"),
            () = stopping.cancelled() => break,
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopping.cancelled() => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                // A single address cannot take all permits.
                if let Ok(of_address) = by_address.acquire(&Principal::at(peer.ip())) {
                    connections.serve(stream, peer, (permit, of_address));
                }
            }
            Err(error) => pause_after(&error).await,
        }
    }
    drop(listener);
    drained(gateway, drain).await
}

/// Waits for open connections to end; returns how many are left after the time.
async fn drained(gateway: &Gateway, drain: Duration) -> usize {
    let tasks = gateway.tasks();
    tasks.close();
    match tokio::time::timeout(drain, tasks.wait()).await {
        Ok(()) => 0,
        Err(_) => tasks.len(),
    }
}

/// Pauses after an error that is the system's, such as too few file descriptors. A connection that broke before
/// it was accepted needs no pause.
async fn pause_after(error: &io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if !matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset
    ) {
        tracing::warn!(%error, "cannot accept a connection");
        tokio::time::sleep(EXHAUSTED_PAUSE).await;
    }
}
