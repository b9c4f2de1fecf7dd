//! The error for a request without a complete response. `transport_failure` tells the causes apart.

use http::uri::InvalidUri;
use hyper_util::client::legacy;

#[derive(Debug, thiserror::Error)]
pub(crate) enum TransportError {
    #[error("the URL cannot be used in a request")]
    InvalidUrl(#[source] InvalidUri),
    #[error("no response was received")]
    NoResponse(#[source] legacy::Error),
    #[error("the response ended early")]
    Interrupted(#[source] hyper::Error),
}

impl TransportError {
    /// Whether there was a connection, so that the request may have been sent.
    pub(crate) fn had_connection(&self) -> bool {
        match self {
            Self::InvalidUrl(_) => false,
            Self::NoResponse(error) => !error.is_connect(),
            Self::Interrupted(_) => true,
        }
    }
}
