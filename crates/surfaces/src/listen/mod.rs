//! Connections: accepting them, keeping them within their limits, letting them end.
//!
//! Knows TCP and TLS. What is answered on a connection is the service's.

mod connection;
mod timer;
mod tls;
mod worded;

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
use crate::limits::Room;
use connection::Connections;

pub(crate) use connection::{HEAD_BYTES_LIMIT, Open};

pub use tls::{TlsError, acceptor};

/// How long nothing is accepted when the system has no more to give, such as file descriptors.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(100);

/// Why nobody can listen at an address.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Somebody else listens there.
    #[error("another program already listens on {0}")]
    Taken(SocketAddr),
    /// The system does not allow it.
    #[error("this user may not listen on {0}")]
    NotAllowed(SocketAddr),
    /// The machine does not have the address.
    #[error("this machine does not have the address {0}")]
    NotHere(SocketAddr),
    /// Anything else.
    #[error("cannot listen on {0}")]
    Other(SocketAddr, #[source] io::Error),
}

/// Begins to listen.
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

/// Serves connections until `stopping` fires, then lets those that are open end, for at most so long.
///
/// Gives the number of connections that were still open at the end.
pub async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    service: HttpService,
    gateway: &Gateway,
    stopping: CancellationToken,
    drain: Duration,
) -> usize {
    let limits = gateway.limits();
    let open = Arc::new(Semaphore::new(limits.connections));
    let by_address = Room::new("connections", usize::MAX, limits.connections_per_address);
    let connections = Arc::new(Connections {
        service,
        tls,
        gateway: gateway.clone(),
        stopping: stopping.clone(),
    });
    loop {
        // A place first: whoever finds none waits in the system's queue, not in our memory.
        let place = tokio::select! {
            place = open.clone().acquire_owned() => place.expect("the semaphore is never closed"),
            () = stopping.cancelled() => break,
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopping.cancelled() => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                // One address cannot take the places of all others.
                if let Ok(of_address) = by_address.enter(&Principal::at(peer.ip())) {
                    connections.serve(stream, peer, (place, of_address));
                }
            }
            Err(error) => pause_after(&error).await,
        }
    }
    drop(listener);
    ended(gateway, drain).await
}

/// Waits for those that are open, for at most so long; gives how many are left.
async fn ended(gateway: &Gateway, drain: Duration) -> usize {
    let tasks = gateway.tasks();
    tasks.close();
    match tokio::time::timeout(drain, tasks.wait()).await {
        Ok(()) => 0,
        Err(_) => tasks.len(),
    }
}

/// A connection that broke before it was accepted is nobody's business; a system that has nothing more
/// to give is asked again a little later.
async fn pause_after(error: &io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if !matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset
    ) {
        tracing::warn!(%error, "a connection could not be accepted");
        tokio::time::sleep(EXHAUSTED_PAUSE).await;
    }
}
