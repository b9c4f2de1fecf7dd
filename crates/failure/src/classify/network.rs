//! Codes for transport failures, before any HTTP status.

use panpan_catalogue::{Entry, codes};

use crate::kind::Kind;

/// A transport failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NetworkFailure {
    /// The connection was refused.
    Connection,
    /// The request timed out.
    Timeout,
    /// The host name could not be resolved.
    Dns,
    /// The TLS handshake or the certificate check failed.
    Tls,
    /// The connection was lost.
    Socket,
}

impl NetworkFailure {
    /// All values.
    pub const ALL: [NetworkFailure; 5] = [
        NetworkFailure::Connection,
        NetworkFailure::Timeout,
        NetworkFailure::Dns,
        NetworkFailure::Tls,
        NetworkFailure::Socket,
    ];

    /// The catalogue row.
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
