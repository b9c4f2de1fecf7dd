//! What listens: takes connections, as many as there is room for, and leads them home.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use crate::home::Home;
use crate::perform::{HANG_LIMIT, hang};

/// How many connections one door serves at once; further ones wait.
pub const CONNECTIONS_LIMIT: usize = 256;

/// How long to wait when the system has no more room for connections.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// How a connection is greeted.
#[derive(Clone)]
pub(crate) enum Door {
    /// By plain HTTP.
    Plain,
    /// By TLS.
    Tls(TlsAcceptor),
    /// Not at all.
    Silent,
}

/// Takes connections for as long as somebody wants it; whoever drops it ends them all.
pub(crate) async fn keep(listener: TcpListener, door: Door, home: Arc<Home>) {
    let room = Arc::new(Semaphore::new(CONNECTIONS_LIMIT));
    let mut connections = JoinSet::new();
    while let Ok(place) = room.clone().acquire_owned().await {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        while connections.try_join_next().is_some() {}
        let (door, home) = (door.clone(), home.clone());
        connections.spawn(async move {
            greet(stream, door, &home).await;
            drop(place);
        });
    }
}

/// A caller that breaks off is what the service is there for: nobody is told.
async fn greet(mut stream: TcpStream, door: Door, home: &Home) {
    match door {
        Door::Plain => {
            let _ = home.serve(&mut stream).await;
        }
        Door::Silent => {
            let _ = hang(&mut stream).await;
        }
        Door::Tls(acceptor) => {
            if let Ok(Ok(mut stream)) = timeout(HANG_LIMIT, acceptor.accept(stream)).await {
                let _ = home.serve(&mut stream).await;
            }
        }
    }
}
