//! The service from outside: it starts, says where it is and what it was asked, and stops.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use serde_json::Value;
use thiserror::Error;
use tokio::net::{TcpListener, TcpSocket};
use tokio::task::JoinSet;

use crate::document;
use crate::door::{Door, keep};
use crate::fault::Place;
use crate::home::Home;
use crate::table::Row;
use crate::tls::{Authority, Flaw};

/// A label this long is in no name, so that nobody has to be asked for its address.
const LABEL_TOO_LONG: usize = 64;

/// A running service. It stops when it is dropped.
#[derive(Debug)]
pub struct Service {
    home: Arc<Home>,
    authority_pem: String,
    /// Holds a port on which nobody listens.
    _nobody: TcpSocket,
    /// The doors with their connections; dropping them ends them.
    _doors: JoinSet<()>,
}

/// Why a service did not start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// It fails on purpose, and nobody else should meet that.
    #[error("{0} is no loopback address: the service listens for this machine only")]
    NotLoopback(SocketAddr),
    /// A port could not be had.
    #[error("cannot listen: {0}")]
    Listen(#[from] io::Error),
    /// A certificate could not be made.
    #[error("cannot make a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// A certificate cannot be used.
    #[error("cannot speak TLS: {0}")]
    Tls(#[from] rustls::Error),
}

impl Service {
    /// Starts at any free port of 127.0.0.1.
    ///
    /// # Errors
    /// When no port can be had, or no certificate made.
    pub async fn start() -> Result<Self, StartError> {
        Self::start_at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await
    }

    /// Starts at a port that is known beforehand. What lives elsewhere gets any free port.
    ///
    /// # Errors
    /// When the address is taken or no loopback address, or no certificate can be made.
    pub async fn start_at(address: SocketAddr) -> Result<Self, StartError> {
        if !address.ip().is_loopback() {
            return Err(StartError::NotLoopback(address));
        }
        let authority = Authority::new()?;
        let nobody = unheard(SocketAddr::new(address.ip(), 0))?;
        let mut addresses = HashMap::from([(Place::Nobody, nobody.local_addr()?)]);
        let mut bound = Vec::new();
        for (place, door) in doors(&authority)? {
            let port = if place == Place::Plain {
                address.port()
            } else {
                0
            };
            let listener = TcpListener::bind(SocketAddr::new(address.ip(), port)).await?;
            addresses.insert(place, listener.local_addr()?);
            bound.push((listener, door));
        }
        let home = Arc::new(Home::new(Addresses(addresses)));
        let mut doors = JoinSet::new();
        for (listener, door) in bound {
            doors.spawn(keep(listener, door, home.clone()));
        }
        Ok(Self {
            home,
            authority_pem: authority.pem,
            _nobody: nobody,
            _doors: doors,
        })
    }

    /// Where it listens for plain HTTP.
    pub fn address(&self) -> SocketAddr {
        self.home.addresses.at(Place::Plain)
    }

    /// The address under which it is looked for at a place, without a slash at the end.
    pub fn url(&self, place: Place) -> String {
        self.home.addresses.url(place)
    }

    /// The certificate a client has to trust to reach [`Place::Tls`], as PEM.
    pub fn authority_pem(&self) -> &str {
        &self.authority_pem
    }

    /// The OpenAPI document of everything that is found at a place: one operation for each row, and at
    /// places that work also those that do not fail.
    pub fn document(&self, place: Place) -> Value {
        document::document(place, &self.url(place))
    }

    /// How often it was asked for a fault; hops of redirects count.
    pub fn calls(&self, row: &Row) -> u64 {
        self.home.calls(&row.slug())
    }

    /// How often an order was really carried out.
    pub fn orders_done(&self) -> u64 {
        self.home.orders_done()
    }
}

/// Everything that listens.
fn doors(authority: &Authority) -> Result<Vec<(Place, Door)>, StartError> {
    let secure = |flaw| Ok::<_, StartError>(Door::Tls(authority.acceptor(flaw)?));
    Ok(vec![
        (Place::Plain, Door::Plain),
        (Place::HttpsOnSilence, Door::Silent),
        (Place::Tls, secure(Flaw::Nothing)?),
        (Place::SelfSigned, secure(Flaw::SelfSigned)?),
        (Place::Expired, secure(Flaw::Expired)?),
        (Place::OtherHost, secure(Flaw::OtherHost)?),
    ])
}

/// A socket that has a port and does not listen.
fn unheard(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.bind(address)?;
    Ok(socket)
}

/// Where everything is.
#[derive(Debug)]
pub(crate) struct Addresses(HashMap<Place, SocketAddr>);

impl Addresses {
    /// Where a place is; some are the ports of others, and a name without an address is nowhere.
    fn at(&self, place: Place) -> SocketAddr {
        let place = match place {
            Place::HttpsOnPlain | Place::NoName => Place::Plain,
            Place::HttpOnTls => Place::Tls,
            other => other,
        };
        self.0[&place]
    }

    pub(crate) fn url(&self, place: Place) -> String {
        let at = self.at(place);
        match place {
            Place::NoName => {
                let label = "x".repeat(LABEL_TOO_LONG);
                format!("http://{label}.invalid:{}", at.port())
            }
            Place::Plain | Place::Nobody | Place::HttpOnTls => format!("http://{at}"),
            Place::Tls
            | Place::SelfSigned
            | Place::Expired
            | Place::OtherHost
            | Place::HttpsOnPlain
            | Place::HttpsOnSilence => format!("https://{at}"),
        }
    }
}
