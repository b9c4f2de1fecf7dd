//! Why there is no answer, or no whole one. The causes below are told apart by `broken`.

use http::uri::InvalidUri;
use hyper_util::client::legacy;

#[derive(Debug, thiserror::Error)]
pub(crate) enum WireError {
    #[error("no request can carry this address")]
    Address(#[source] InvalidUri),
    #[error("the request was not answered")]
    Unanswered(#[source] legacy::Error),
    #[error("the answer broke off")]
    Cut(#[source] hyper::Error),
}

impl WireError {
    /// Whether there was a connection, so that the request may have left.
    pub(crate) fn had_connection(&self) -> bool {
        match self {
            Self::Address(_) => false,
            Self::Unanswered(error) => !error.is_connect(),
            Self::Cut(_) => true,
        }
    }
}
