//! Failures of the network before any status was seen.

use panpan_catalogue::{Entry, codes};

use crate::kind::Kind;

/// In which way the network failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NetworkFailure {
    /// Nobody listens there, or the connection was turned away.
    Connection,
    /// No answer in time.
    Timeout,
    /// The name has no address.
    Dns,
    /// The handshake or the certificate failed.
    Tls,
    /// The connection broke.
    Socket,
}

impl NetworkFailure {
    /// Every way.
    pub const ALL: [NetworkFailure; 5] = [
        NetworkFailure::Connection,
        NetworkFailure::Timeout,
        NetworkFailure::Dns,
        NetworkFailure::Tls,
        NetworkFailure::Socket,
    ];

    /// The row of the catalogue.
    pub const fn entry(self) -> &'static Entry {
        match self {
            NetworkFailure::Connection => codes::ERR_CONNECTION_REFUSED,
            NetworkFailure::Timeout => codes::ERR_TIMEOUT,
            NetworkFailure::Dns => codes::ERR_DNS_FAILURE,
            NetworkFailure::Tls => codes::ERR_SSL_ERROR,
            NetworkFailure::Socket => codes::ERR_SOCKET_ERROR,
        }
    }
}

impl From<NetworkFailure> for Kind {
    fn from(failure: NetworkFailure) -> Self {
        failure.entry().into()
    }
}
