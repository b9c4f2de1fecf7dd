//! The public interface of the service: start, addresses, counters and stop.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use serde_json::Value;
use thiserror::Error;
use tokio::net::{TcpListener, TcpSocket};
use tokio::task::JoinSet;

use crate::document;
use crate::fault::Endpoint;
use crate::listener::{Protocol, accept_connections};
use crate::state::ServiceState;
use crate::table::Row;
use crate::tls::{Authority, Flaw};

/// A DNS label this long is invalid, so the name fails without a DNS query.
const LABEL_TOO_LONG: usize = 64;

/// A running service. It stops when it is dropped.
#[derive(Debug)]
pub struct Service {
    state: Arc<ServiceState>,
    authority_pem: String,
    /// Reserves a port that nothing listens on.
    _closed_port: TcpSocket,
    /// The listeners with their connections; dropping them ends all.
    _listeners: JoinSet<()>,
}

/// The service could not start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// It fails on purpose, so other machines must not reach it.
    #[error("{0} is not a loopback address: use 127.0.0.1 or ::1")]
    NotLoopback(SocketAddr),
    /// A port is not available.
    #[error("cannot listen: {0}")]
    Listen(#[from] io::Error),
    /// A certificate could not be generated.
    #[error("cannot generate a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// A certificate is not usable.
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
}

impl Service {
    /// Starts on a free port of 127.0.0.1.
    ///
    /// # Errors
    /// If no port is available, or no certificate can be generated.
    pub async fn start() -> Result<Self, StartError> {
        Self::start_at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await
    }

    /// Starts on a fixed port. Other endpoints get free ports.
    ///
    /// # Errors
    /// If the address is in use or not a loopback address, or no certificate can be generated.
    pub async fn start_at(address: SocketAddr) -> Result<Self, StartError> {
        if !address.ip().is_loopback() {
            return Err(StartError::NotLoopback(address));
        }
        let authority = Authority::new()?;
        let closed_port = closed_port_socket(SocketAddr::new(address.ip(), 0))?;
        let mut addresses = HashMap::from([(Endpoint::ClosedPort, closed_port.local_addr()?)]);
        let mut bound = Vec::new();
        for (endpoint, protocol) in listeners(&authority)? {
            let port = if endpoint == Endpoint::Plain {
                address.port()
            } else {
                0
            };
            let listener = TcpListener::bind(SocketAddr::new(address.ip(), port)).await?;
            addresses.insert(endpoint, listener.local_addr()?);
            bound.push((listener, protocol));
        }
        let state = Arc::new(ServiceState::new(Addresses(addresses)));
        let mut listeners = JoinSet::new();
        for (listener, protocol) in bound {
            listeners.spawn(accept_connections(listener, protocol, state.clone()));
        }
        Ok(Self {
            state,
            authority_pem: authority.pem,
            _closed_port: closed_port,
            _listeners: listeners,
        })
    }

    /// The address for plain HTTP.
    pub fn address(&self) -> SocketAddr {
        self.state.addresses.at(Endpoint::Plain)
    }

    /// The URL of an endpoint, without a trailing slash.
    pub fn url(&self, endpoint: Endpoint) -> String {
        self.state.addresses.url(endpoint)
    }

    /// The certificate that a client has to trust to reach [`Endpoint::Tls`], as PEM.
    pub fn authority_pem(&self) -> &str {
        &self.authority_pem
    }

    /// The OpenAPI document of an endpoint: one operation for each row, and at working endpoints also the
    /// operations that do not fail.
    pub fn document(&self, endpoint: Endpoint) -> Value {
        document::document(endpoint, &self.url(endpoint))
    }

    /// The number of requests for a fault, including redirects.
    pub fn calls(&self, row: &Row) -> u64 {
        self.state.calls(&row.slug())
    }

    /// The number of orders placed.
    pub fn orders_done(&self) -> u64 {
        self.state.orders_done()
    }
}

/// All listeners.
fn listeners(authority: &Authority) -> Result<Vec<(Endpoint, Protocol)>, StartError> {
    let secure = |flaw| Ok::<_, StartError>(Protocol::Tls(authority.acceptor(flaw)?));
    Ok(vec![
        (Endpoint::Plain, Protocol::Plain),
        (Endpoint::HttpsOnSilence, Protocol::Silent),
        (Endpoint::Tls, secure(Flaw::Nothing)?),
        (Endpoint::SelfSigned, secure(Flaw::SelfSigned)?),
        (Endpoint::Expired, secure(Flaw::Expired)?),
        (Endpoint::OtherHost, secure(Flaw::OtherHost)?),
    ])
}

/// A socket with a port that does not listen.
fn closed_port_socket(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.bind(address)?;
    Ok(socket)
}

/// The addresses of the endpoints.
#[derive(Debug)]
pub(crate) struct Addresses(HashMap<Endpoint, SocketAddr>);

impl Addresses {
    /// The address of an endpoint; some share a port, and a name that does not resolve has none of its own.
    fn at(&self, endpoint: Endpoint) -> SocketAddr {
        let endpoint = match endpoint {
            Endpoint::HttpsOnPlain | Endpoint::UnresolvableName => Endpoint::Plain,
            Endpoint::HttpOnTls => Endpoint::Tls,
            other => other,
        };
        self.0[&endpoint]
    }

    pub(crate) fn url(&self, endpoint: Endpoint) -> String {
        let at = self.at(endpoint);
        match endpoint {
            Endpoint::UnresolvableName => {
                let label = "x".repeat(LABEL_TOO_LONG);
                format!("http://{label}.invalid:{}", at.port())
            }
            Endpoint::Plain | Endpoint::ClosedPort | Endpoint::HttpOnTls => format!("http://{at}"),
            Endpoint::Tls
            | Endpoint::SelfSigned
            | Endpoint::Expired
            | Endpoint::OtherHost
            | Endpoint::HttpsOnPlain
            | Endpoint::HttpsOnSilence => format!("https://{at}"),
        }
    }
}
