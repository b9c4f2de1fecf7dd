//! Codes for transport failures, before any HTTP status.

use super::rows;

rows! {
    /// A transport failure.
    NetworkFailure {
        /// The connection was refused.
        Connection => ERR_CONNECTION_REFUSED,
        /// The request timed out.
        Timeout => ERR_TIMEOUT,
        /// The host name could not be resolved.
        Dns => ERR_DNS_FAILURE,
        /// The TLS handshake or the certificate check failed.
        Tls => ERR_SSL_ERROR,
        /// The connection was lost.
        Socket => ERR_SOCKET_ERROR,
    }
}
