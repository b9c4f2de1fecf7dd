//! Accepts connections, up to a limit, and serves them.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use crate::perform::{HANG_LIMIT, hang};
use crate::state::ServiceState;

/// The most concurrent connections of one listener; further connections wait.
pub const CONNECTIONS_LIMIT: usize = 256;

/// The delay after a failed accept.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(10);

/// The protocol of a listener.
#[derive(Clone)]
pub(crate) enum Protocol {
    /// Plain HTTP.
    Plain,
    /// TLS.
    Tls(TlsAcceptor),
    /// None: the listener never sends anything.
    Silent,
}

/// Accepts connections until it is dropped, which ends all of them.
pub(crate) async fn accept_connections(
    listener: TcpListener,
    protocol: Protocol,
    state: Arc<ServiceState>,
) {
    let permits = Arc::new(Semaphore::new(CONNECTIONS_LIMIT));
    let mut connections = JoinSet::new();
    while let Ok(permit) = permits.clone().acquire_owned().await {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(ACCEPT_RETRY_DELAY).await;
            continue;
        };
        while connections.try_join_next().is_some() {}
        let (protocol, state) = (protocol.clone(), state.clone());
        connections.spawn(async move {
            serve_connection(stream, protocol, &state).await;
            drop(permit);
        });
    }
}

/// Errors are ignored: clients are expected to disconnect.
async fn serve_connection(mut stream: TcpStream, protocol: Protocol, state: &ServiceState) {
    match protocol {
        Protocol::Plain => {
            let _ = state.serve(&mut stream).await;
        }
        Protocol::Silent => {
            let _ = hang(&mut stream).await;
        }
        Protocol::Tls(acceptor) => {
            if let Ok(Ok(mut stream)) = timeout(HANG_LIMIT, acceptor.accept(stream)).await {
                let _ = state.serve(&mut stream).await;
            }
        }
    }
}
