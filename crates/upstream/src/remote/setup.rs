//! Checks the address and the token of a remote panpan, and opens the connection pool.
//!
//! The user of this program chose the address, so every host is allowed.

use std::sync::Arc;
use std::time::Duration;

use http::header::HeaderValue;
use panpan_redact::Secret;
use url::Url;

use crate::client::CONNECT_TIMEOUT;
use crate::transport::{self, ConnectionPool, Resolver, SetupError, SystemLookup};

/// The reason that settings for a remote panpan are invalid.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// The address is not a URL. It is not repeated: it may contain a password.
    #[error("the server address is not a URL ({0}); expected a form such as http://127.0.0.1:7077")]
    Url(String),
    /// A scheme other than http and https.
    #[error("unsupported scheme {0}: in the server address; use http:// or https://")]
    Scheme(String),
    /// A user name or password, a query or a fragment.
    #[error("the server address must not contain a {0}")]
    Extra(&'static str),
    /// The token cannot be sent in a header.
    #[error("the token contains characters that a header cannot carry, such as a line break")]
    Token,
    /// The HTTP client cannot be initialised.
    #[error(transparent)]
    Setup(#[from] SetupError),
}

/// Parses the address; its path gets a slash at the end.
pub(super) fn base(text: &str) -> Result<Url, RemoteError> {
    let mut url = Url::parse(text).map_err(|error| RemoteError::Url(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(RemoteError::Scheme(url.scheme().to_owned()));
    }
    for (extra, is_present) in [
        (
            "user name or password",
            !url.username().is_empty() || url.password().is_some(),
        ),
        ("query", url.query().is_some()),
        ("fragment", url.fragment().is_some()),
    ] {
        if is_present {
            return Err(RemoteError::Extra(extra));
        }
    }
    let path = format!("{}/", url.path().trim_end_matches('/'));
    url.set_path(&path);
    Ok(url)
}

/// A path below the address.
pub(super) fn below(base: &Url, name: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}{name}", base.path()));
    url
}

/// The authorization header for a token; no log shows its value.
pub(super) fn bearer(token: &Secret<String>) -> Result<HeaderValue, RemoteError> {
    let text = format!("Bearer {}", token.expose());
    let mut value = HeaderValue::from_str(&text).map_err(|_| RemoteError::Token)?;
    value.set_sensitive(true);
    Ok(value)
}

/// Opens connections to any host, with TLS only for an https URL.
pub(crate) fn connection_pool(
    url: &Url,
    ca: Option<&[u8]>,
    timeout: Duration,
) -> Result<ConnectionPool, SetupError> {
    let tls = if url.scheme() == "https" {
        transport::with_system_roots(ca)?
    } else {
        transport::without_roots()?
    };
    let resolver = Resolver::unguarded(Arc::new(SystemLookup));
    Ok(ConnectionPool::new(
        tls,
        resolver,
        CONNECT_TIMEOUT.min(timeout),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_have_a_path() {
        for (text, called) in [
            ("http://127.0.0.1:7077", "http://127.0.0.1:7077/call"),
            ("http://127.0.0.1:7077/", "http://127.0.0.1:7077/call"),
            (
                "https://tools.example/panpan",
                "https://tools.example/panpan/call",
            ),
            (
                "https://tools.example/a/b//",
                "https://tools.example/a/b/call",
            ),
        ] {
            assert_eq!(below(&base(text).unwrap(), "call").as_str(), called);
        }
    }

    #[test]
    fn an_invalid_address_is_refused_without_repeating_a_password() {
        for (text, expected) in [
            ("127.0.0.1:7077", "not a URL"),
            ("localhost:7077", "unsupported scheme localhost:"),
            ("ftp://tools.example", "unsupported scheme ftp:"),
            ("http://", "not a URL"),
            ("http://me:hunter2@tools.example", "a user name or password"),
            ("http://me:hunter2@", "not a URL"),
            ("http://tools.example?token=hunter2", "a query"),
            ("http://tools.example#hunter2", "a fragment"),
        ] {
            let error = base(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn a_token_with_a_line_break_is_refused() {
        assert!(bearer(&Secret::new("pp_1234".to_owned())).is_ok());
        let invalid = bearer(&Secret::new("pp\r\nHost: evil".to_owned()));
        assert!(matches!(invalid, Err(RemoteError::Token)));
    }
}
